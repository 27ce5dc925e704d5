-- cli/init.lua: the program's entry: finds the command, reads its arguments, returns its exit code.
--
-- A command is a file command/<name>.lua that returns a skillrt.Command; a word that is no command is the path of a
-- script to run. Called by csrc/main.c, which alone ends the process.

local core = require("skillrt.core")
local exit_codes = require("skillrt.cli.exit_codes")

local M = {}

---@class skillrt.Option
---@field name string        long name without the dashes; args has it with "_" for "-"
---@field value string?      its value's name in help: DIR; absent: a flag
---@field needed boolean?    the command requires it
---@field many boolean?      may be repeated: args has a list
---@field choices string[]?
---@field help string|fun(): string

---@class skillrt.Argument
---@field name string        its name in help: SCRIPT; args has it in lower case
---@field help string
---@field many boolean?      one or more words: args has a list
---@field optional boolean?  may be left out, with those after it
---@field is_run boolean?    it names a run; left out, it is the most recently active one
---@field is_skill "first"|"each"|nil  it names a skill by its path, or by the name that Claude Code keeps it by
---@field usage string?      instead of the name in the usage line

---@class skillrt.Command
---@field name string
---@field summary string           one line
---@field description string?      more, for --help and the manual
---@field arguments skillrt.Argument[]
---@field options skillrt.Option[]
---@field looks boolean?         it performs nothing: the gate asks only about code that runs when the skill is loaded
---@field drives boolean?        it drives a run, and has the exit code of that run's end
---@field inner skillrt.Option[]?  options of other commands, which no help shows
---@field own_codes boolean?     its description explains its exit codes
---@field missing nil|fun(script: string): integer  run: called for a script that does not exist
---@field saved nil|fun(name: string): string|nil  run: the script that is kept under a name
---@field rest string?             its name in help, if what follows "--" is passed on
---@field about nil|fun(words: string[]): string|nil  what is shown above its help, depending on the words of the line
---@field run fun(args: table): integer|nil, any, string?, string?, string?  the exit code; nil: it is refused: the
---message, the kind of failure, the run's directory if it is not args.dir, and the traceback of a script

---@param name any
---@return boolean
local function is_command(name)
  return type(name) == "string"
    and name:find("^%l[%l_]*$") ~= nil
    and core.asset("lua/skillrt/cli/command/" .. name .. ".lua") ~= nil
end

local GENERAL = { ["--help"] = "overview", ["-h"] = "overview", help = "help", ["--version"] = "version" }

-- The output must have arrived, or exit code 0 would be wrong; others say more.
---@param code integer
---@return integer
local function told(code)
  local problem = core.terminal.lost()
  if problem then
    require("skillrt.cli.ending").complain(problem, "not all of the output could be written")
  end
  return problem and code == exit_codes.completed and exit_codes.output or code
end

-- Whom the gate asks about code from others: the person at the command line, once that is read.
local function ask_person(looks, args)
  local function decide(code, path)
    return require("skillrt.cli.trust").decide(code, path, args)
  end
  require("skillrt.document.gate").person = { looks = looks, submitted = args and args.submitted, decide = decide }
end

local function path_of(word)
  return core.files.stat(word) and word or require("skillrt.document.kind").kept(word) or word
end

-- Puts the paths of skills in place of their names. `run` has done so: it looks before its options are read.
local function find_skills(command, args)
  for _, argument in ipairs(command.arguments) do
    local key = argument.name:lower()
    local words = argument.is_skill and args[key]
    if type(words) == "table" then
      for i = 1, argument.is_skill == "each" and #words or 1 do
        words[i] = path_of(words[i])
      end
    elseif words then
      args[key] = path_of(words)
    end
  end
end

---@param ... string  the command line
---@return integer code
function M.main(...)
  local argv = { ... }
  ask_person()
  local first = argv[1]
  if first == nil or (GENERAL[first] and not core.files.stat(first)) then
    return told(require("skillrt.cli.help").general(GENERAL[first], argv))
  end
  local here, problem = core.files.current()
  if not here then
    require("skillrt.cli.ending").complain(problem, "it was removed, or may not be read: go to another one")
    return exit_codes.usage
  end
  local name, at = "run", 1
  while argv[at] == "--quiet" or argv[at] == "--json" do
    at = at + 1 -- flags may stand before the command, too
  end
  if is_command(argv[at]) then
    name = table.remove(argv, at)
  end
  local command, script = require("skillrt.cli.command." .. name), argv[at]
  if name == "run" and script and script:find("^[%a/]") and not core.files.stat(script) then
    argv[at] = require("skillrt.document.kind").kept(script)
    if not argv[at] then
      return command.missing(script) -- printed before its options are read: they may be a command's
    end
  end
  local args, code = require("skillrt.cli.arguments").read(command, argv)
  if not args then
    return code --[[@as integer]]
  end
  find_skills(command, args)
  local first_word = command.arguments[1]
  if first_word and first_word.is_run and not args.dir then
    local last, message, cause = require("skillrt.cli.selection").last()
    if not last then
      return require("skillrt.cli.ending").refused(message, cause)
    end
    args.dir = last
  end
  ask_person(command.looks, args)
  local message, cause, dir, traceback
  code, message, cause, dir, traceback = command.run(args)
  if not code then
    dir = dir or type(args.dir) == "string" and args.dir or nil
    code = require("skillrt.cli.ending").refused(message, cause, dir, traceback)
  end
  return told(code)
end

return M
