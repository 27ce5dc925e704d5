-- cli/help.lua: what is printed by --help and --version, and for a wrong command line.
--
-- Everything comes from the commands' own tables and from exit_codes.lua, as in the manual.

local core = require("skillrt.core")
local exit_codes = require("skillrt.cli.exit_codes")
local limits = require("skillrt.skill.limits")
local names = require("skillrt.base.names")

local M = {}

-- The commands people use most come first; others follow by name.
local ORDER = { "run", "resume", "retry", "status", "log", "answer" }

---All commands.
---@return skillrt.Command[]
function M.commands()
  local list, place = {}, {}
  for i, name in ipairs(ORDER) do
    place[name] = i
  end
  for _, path in ipairs(core.assets("lua/skillrt/cli/command/")) do
    list[#list + 1] = require("skillrt.cli.command." .. path:match("([^/]+)%.lua$"))
  end
  table.sort(list, function(a, b)
    local left, right = place[a.name] or 99, place[b.name] or 99
    if left ~= right then
      return left < right
    end
    return a.name < b.name
  end)
  return list
end

---The usage of a command: "skillrt retry DIR [--json]".
---@param command skillrt.Command
---@return string
function M.usage(command)
  local words = { "skillrt", command.name }
  for _, argument in ipairs(command.arguments) do
    local word = argument.usage or argument.many and argument.name .. " ..." or argument.name
    words[#words + 1] = argument.optional and ("[%s]"):format(word) or word
  end
  for _, option in ipairs(command.options) do
    local word = option.value and ("--%s %s"):format(option.name, option.value) or "--" .. option.name
    words[#words + 1] = option.needed and word or ("[%s]%s"):format(word, option.many and " ..." or "")
  end
  if command.rest then
    words[#words + 1] = ("[-- %s]"):format(command.rest)
  end
  return table.concat(words, " ")
end

-- Wraps words to at most 80 columns; the first line has begun already.
local function wrapped(text, indent)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if #indent + #line + #word + 1 > 80 and line ~= "" then
      lines[#lines + 1] = line
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. indent)
end

local function put(text)
  core.terminal.write(1, text)
end

---The exit codes; for a command that drives no run only those it may have.
---@param command skillrt.Command?
---@return string
function M.exit_text(command)
  local lines = { "Exit codes:" }
  for _, row in ipairs(exit_codes.TABLE) do
    if not command or command.drives or row.of_all then
      lines[#lines + 1] = ("  %3d  %s"):format(row.code, wrapped(row.text, "       "))
    end
  end
  return table.concat(lines, "\n")
end

-- The limits of a skill, for commands that deal with them.
local function limits_text()
  local lines = { "Limits of a skill (limits = { NAME = ... }) and their defaults:" }
  for _, row in ipairs(limits.TABLE) do
    local default = row.default ~= nil and (" (%s)"):format(row.default) or ""
    local text = row.text:gsub("`", "") .. default
    lines[#lines + 1] = ("  %-18s %s"):format(row.name, wrapped(text, (" "):rep(21)))
  end
  return table.concat(lines, "\n")
end

---@return string
function M.overview()
  local lines = {
    "skillrt runs agent skills durably: every step is recorded, a crash is resumed.",
    "",
    "Usage:",
    "  skillrt SCRIPT [OPTION ...] [-- ARG ...]     the same as skillrt run SCRIPT",
    "  skillrt COMMAND [OPTION ...]                 skillrt COMMAND --help says more",
    "",
    "Commands:",
  }
  for _, command in ipairs(M.commands()) do
    lines[#lines + 1] = ("  %-10s %s"):format(command.name, wrapped(command.summary, (" "):rep(13)))
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = M.exit_text()
  lines[#lines + 1] = ""
  lines[#lines + 1] = "A run is a directory with a journal. The manual: man skillrt"
  return table.concat(lines, "\n") .. "\n"
end

---The help text of an option, or of an argument; some are functions, called only when shown.
---@param option skillrt.Option|skillrt.Argument
---@return string
function M.words(option)
  local words = option.help
  words = type(words) == "function" and words() or words --[[@as string]]
  return option.is_skill and "a path, or a name in .claude, here or in your home: " .. words or words
end

---The help of one command.
---@param command skillrt.Command
---@return string
function M.text(command)
  local lines = { "Usage: " .. wrapped(M.usage(command), (" "):rep(7)), "" }
  lines[#lines + 1] = wrapped(command.summary .. ". " .. (command.description or ""), "")
  lines[#lines + 1] = ""
  for _, argument in ipairs(command.arguments) do
    lines[#lines + 1] = ("  %-24s %s"):format(argument.name, wrapped(M.words(argument), (" "):rep(27)))
  end
  for _, option in ipairs(command.options) do
    local left = "--" .. option.name .. (option.value and " " .. option.value or "")
    lines[#lines + 1] = ("  %-24s %s"):format(left, wrapped(M.words(option), (" "):rep(27)))
  end
  lines[#lines + 1] = ("  %-24s %s"):format("--help", "shows this")
  if command.shows_limits then
    lines[#lines + 1] = ""
    lines[#lines + 1] = limits_text()
  end
  if not command.own_codes then
    lines[#lines + 1] = ""
    lines[#lines + 1] = M.exit_text(command)
  end
  return table.concat(lines, "\n") .. "\n"
end

---@param command skillrt.Command
---@param words string[]?  the command line: a command may say more about what it names
---@return integer code
function M.command(command, words)
  put(command.about and command.about(words or {}) or "")
  put(M.text(command))
  return exit_codes.completed
end

---@param command skillrt.Command
---@param message string
---@return integer code
function M.wrong(command, message)
  local lines = require("skillrt.base.terminal_text").lines(message)
  io.stderr:write(("skillrt %s: %s\nUsage: %s\n"):format(command.name, table.concat(lines, "\n"),
    wrapped(M.usage(command), (" "):rep(7))))
  io.stderr:write(("`skillrt %s --help` says more.\n"):format(command.name))
  return exit_codes.usage
end

local function help_about(name)
  local all = {}
  for _, command in ipairs(M.commands()) do
    all[command.name] = command
  end
  if all[name] then
    return M.command(all[name])
  end
  io.stderr:write(("skillrt help: there is no command %s%s\n"):format(names.show(name), names.suggest(name, all)))
  return exit_codes.usage
end

---What was asked for without a command: help, version, or nothing.
---@param what "overview"|"help"|"version"|nil
---@param argv string[]
---@return integer code
function M.general(what, argv)
  if what == "version" then
    put(("skillrt %s (%s)\n"):format(core.version, _VERSION))
    return exit_codes.completed
  elseif what == "help" and argv[2] then
    return help_about(argv[2])
  elseif what == nil then
    io.stderr:write(M.overview())
    return exit_codes.usage
  end
  put(M.overview())
  return exit_codes.completed
end

return M
