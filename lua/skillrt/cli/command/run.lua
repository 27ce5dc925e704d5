-- cli/command/run.lua: `skillrt run SCRIPT`, or `skillrt SCRIPT`: runs what the script returns.

local core = require("skillrt.core")

-- With --reset: keeps the run that is in a work directory next to it, under its own id (R144).
---@param dir string|nil  the work directory
---@return string|true|nil kept  where that run is now; true: there was none
---@return string? message
---@return string? code
local function put_aside(dir)
  if not dir then
    return nil, "--reset: needs --work-dir DIR, whose run is kept under another name", "usage"
  end
  local store = require("skillrt.run.store").at(dir)
  if not store:exists() then
    return true
  end
  local first, message, code = require("skillrt.run.runner").first(dir)
  if not first and code == "missing" and not store:cuts()[1] then
    return true -- one was begun, and died before its first record
  elseif not first then
    return nil, message, code
  end
  local holder = store:holder()
  if holder then
    return nil, ("%s: process %d on %s advances this run; stop it first"):format(dir, holder.pid or 0, holder.host),
      "busy"
  end
  return store:put_aside(first.run)
end

local M = {
  name = "run",
  drives = true,
  summary = "Runs a skill until it ends or pauses",
  description = "The word run may be omitted. A SCRIPT may also call skill:run itself. The words after -- are the "
    .. "task of a plain SKILL.md; a script gets them as ctx.args.",
  arguments = { { name = "SCRIPT", help = "a Lua script that returns a skill, a skill's folder or configuration, "
    .. "a workflow script (.js), or the name of a script, skill, command or agent in .claude, here or in your home" } },
  shows_limits = true,
  options = {
    { name = "work-dir", value = "DIR", help = "the run's directory; default: NAME-ID in the runs of the "
      .. "project, which is the nearest folder with .git, .claude, SKILL.md, skill.lua, runs ...; elsewhere in "
      .. "~/.local/state/skillrt/runs" },
    { name = "reset", help = "starts over in DIR; an existing run there is renamed to DIR.ID" },
    {
      name = "set",
      value = "KEY=VALUE",
      many = true,
      help = "input for the skill, as text; KEY:=JSON for other values; dots in KEY nest",
    },
    require("skillrt.cli.agent").OPTION,
    {
      name = "limit",
      value = "LIMIT=NUMBER",
      many = true,
      help = "sets a limit of this run: calls=50, usage.tokens=100000; overrides the skill's own",
    },
    {
      name = "at-most",
      value = "LIMIT=NUMBER",
      many = true,
      help = "caps a limit of this run; never raises the skill's own",
    },
    { name = "input", value = "FILE", help = "reads the input, a JSON object; -: standard input; --set adds to it" },
    require("skillrt.cli.agent").ENV_OPTION,
    { name = "session", value = "NAME", help = "loads the context of this session, and saves it for its next run" },
    { name = "strategy", value = "FILE", help = "a file with your own strategy, or the name of a built-in one" },
    {
      name = "durability",
      value = "WHAT",
      choices = { "power", "process" },
      help = "what finished steps survive: power (a power cut; the default), process (kill -9)",
    },
    {
      name = "sandbox",
      value = "LEVEL",
      choices = { "strict", "work", "off" },
      help = "what programs may reach: strict (what is granted), work (all but secrets; the folder is written), off; "
        .. "default: SKILLRT_SANDBOX, else by who named the program",
    },
    { name = "by-section", help = "gives an agent the numbered steps of a page one at a time" },
    { name = "dry-run", help = "a dry run: stub agents return minimal valid answers" },
    { name = "yes", help = "does not ask before many agents of a workflow (limits ask_above, ask_above_usd)" },
    { name = "wait", help = "stays while the run only waits: for a person, an event or a time" },
    require("skillrt.cli.trust").OPTION,
    { name = "strict", help = "refuses a skill if anything in its documents was not read as written" },
    { name = "log", value = "FILE", help = "appends each event to a file, one JSON object per line" },
    { name = "print", help = "prints the result alone on standard output; all else goes to standard error" },
    { name = "quiet", help = "prints errors and the last line only" },
    { name = "json", help = "prints one JSON object per event and line" },
  },
  rest = "TASK ...",
}

-- A strategy as people type it: a file of theirs, else a name.
local function strategy_of(text)
  local files = require("skillrt.base.files")
  if text and text:find("[/.]") then
    return files.join(files.current(), text)
  end
  return text
end

-- The command that begins with the word.
local function begun(word, commands)
  for _, name in ipairs(commands) do
    if #word > 1 and name:sub(1, #word) == word then
      return name
    end
  end
  return nil
end

-- The file or folder near a path that a person most likely meant.
local function beside(path)
  local files = require("skillrt.base.files")
  local folder, list = files.dirname(path), {}
  for i, entry in ipairs(files.list(folder) or {}) do
    list[i] = entry.name
  end
  local near = require("skillrt.base.names").nearest(path:match("[^/]*$"), list)
  return near and (folder == "." and near or files.join(folder, near))
end

---A script that does not exist may have another name, or be a misspelt command.
---@param script string
---@return integer|nil code
function M.missing(script)
  local ending = require("skillrt.cli.ending")
  local help = require("skillrt.cli.help")
  local all = {}
  if script == "" then
    ending.complain("SCRIPT: is empty; name a script or a skill's folder")
    return require("skillrt.cli.exit_codes").usage
  end
  for i, command in ipairs(help.commands()) do
    all[i] = command.name
  end
  local nearest = require("skillrt.base.names").nearest
  local is_word = not script:find("[/.]")
  local path = is_word and nearest(script, require("skillrt.document.kind").names())
  local near = not path and is_word and (begun(script, all) or nearest(script, all))
  path = path or not near and beside(script)
  ending.complain(("%s: no such file"):format(script), near and ("did you mean the command skillrt %s?"):format(near)
    or path and ("did you mean %s?"):format(path) or "skillrt --help lists the commands")
  return require("skillrt.cli.exit_codes").usage
end

-- A person's task for a skill that is no script: after "--", by --set task=, or asked for on a terminal.
local function take_task(skill, options, args, path)
  local guide, input = skill.guide, options.input
  if not guide and skill.loaded then
    return true -- a script reads ctx.args
  elseif #args.rest > 0 and input.task ~= nil then
    return nil, "the task is given twice: by --set task= and after --"
  elseif #args.rest > 0 then
    input.task = table.concat(args.rest, " ")
  end
  if not guide or not guide.is_plain or guide.is_command or #skill.phases > 1
    or input.task ~= nil then
    return true
  end
  local output = require("skillrt.report.output")
  if not args.quiet and not args.json and core.terminal.is_terminal(0) and core.terminal.is_terminal(1) then
    local text = output.read_line(nil, ("What should %s do? "):format(skill.name))
    input.task = text and text:find("%S") and text or nil
  end
  local message = "%s: needs a task; say what it should do:\nskillrt run %s -- TASK   (or --set task=TASK)"
  return input.task ~= nil or nil, message:format(skill.name, path)
end

-- The skill at `script`; or the result of the run that its script started itself.
local function run_script(script, options, args)
  local runner = require("skillrt.run.runner")
  local own = runner.own(options)
  local value, message, code, traceback = require("skillrt.document.open").load(script, { agent = options.agent,
    by_section = args.by_section, compiles = args.compiles, run = own.run, sandbox = args.sandbox })
  if not value and code == "no_skill" and own.last then
    return own.last
  elseif not value then
    return nil, code == "invalid" and require("skillrt.document.several").message(script) or message, code, traceback
  elseif require("skillrt.skill").is(value) then
    local loaded, findings = require("skillrt.cli.load_notes"), type(traceback) == "table" and traceback or nil
    local refused = findings and loaded.refused(findings, args.strict)
    if refused then
      return nil, refused, "invalid"
    elseif findings and not args.quiet then
      loaded.say(findings)
    end
    local ready, why = take_task(value, options, args, script)
    if not ready then
      return nil, why, "invalid"
    end
    if not args.quiet and options.input then
      loaded.say_unread(value, options.input)
      loaded.say_tools(value)
      loaded.say_session(value, options.session)
      loaded.say_agent(value, options.agent)
    end
    if args.reset then
      local kept, problem, cause = put_aside(args.work_dir)
      if not kept then
        return nil, problem, cause
      end
    end
    return runner.run(value, options)
  end
  return value
end

-- The skill that a command line names; nil: none, or it cannot be loaded.
local function named(words)
  for _, word in ipairs(words) do
    if word:sub(1, 1) ~= "-" and core.files.stat(word) then
      local ok, skill = pcall(require("skillrt.document.open").see, word)
      return ok and skill or nil
    end
  end
end

---What a skill says about itself and its input; shown above the options when the line names a script.
---@param words string[]
---@return string|nil
function M.about(words)
  local skill = named(words)
  if not skill then
    return nil
  end
  local text_of = require("skillrt.base.terminal_text")
  local lines = { text_of.escape(("%s %s"):format(skill.name, skill.version)) }
  lines[#lines + 1] = skill.description and text_of.escape((skill.description:gsub("%s+", " "))) or nil
  local rows = require("skillrt.skill.inputs").help(skill)
  if rows[1] then
    lines[#lines + 1] = "\nInputs:"
  end
  for _, row in ipairs(rows) do
    lines[#lines + 1] = text_of.escape(("  %-24s %s"):format(row[1], row[2]))
  end
  return table.concat(lines, "\n") .. "\n\n"
end

-- The run's options from the command line; or nil and what is wrong with it.
local function options_of(args)
  if args.work_dir == "" then
    return nil, "--work-dir: is empty; name a directory"
  end
  local settings, input = require("skillrt.cli.settings"), {}
  if args.set or args.input or args.given then
    local message
    input, message = settings.read(args.set, args.input, args.given)
    if not input then
      return nil, message
    end
  end
  local agent, limits, at_most, problem, also
  agent, problem = require("skillrt.cli.agent").read(args.agent, args.agent_env)
  if problem then
    return nil, problem
  end
  limits, problem = settings.amounts(args.limit, "--limit")
  at_most, also = settings.amounts(args.at_most, "--at-most", true)
  if problem or also then
    return nil, problem or also
  end
  if args.yes or args.dry_run then
    limits = limits or {}
    limits.ask_above, limits.ask_above_usd = 0, 0
  end
  if args.session then
    local file, why = require("skillrt.run.contexts").session_file(args.session)
    if not file then
      return nil, "--session: " .. why
    end
  end
  local strategy = strategy_of(args.strategy)
  return {
    work_dir = args.work_dir,
    input = input,
    args = args.rest,
    agent = args.dry_run and { kind = "dry", like = agent and require("skillrt.agent.choice").of(agent) } or agent,
    session = args.session,
    strategy = strategy,
    strategy_path = strategy,
    durability = args.durability,
    sandbox = args.sandbox,
    limits = limits,
    at_most = at_most,
    wait = args.wait,
    submit = args.submit,
    attended = require("skillrt.cli.ending").can_ask(args),
  }
end

---Runs what a line names, or submits it.
---@param args table
---@return skillrt.Result|nil result
---@return integer? code  set if nothing ran: the reason was already printed
function M.result(args)
  local script = args.script
  local ending, files = require("skillrt.cli.ending"), require("skillrt.base.files")
  if not core.files.stat(script) then
    return nil, M.missing(script)
  end
  if args.print then
    require("skillrt.report.output").divert()
  end
  local options, problem = options_of(args)
  if options then
    options.watcher, problem = require("skillrt.report.watch").new(args)
  end
  if not options or not options.watcher then
    return nil, ending.refused(problem, "invalid")
  end
  _G.arg = table.move(args.rest, 1, #args.rest, 1, { [0] = files.join(files.current(), script) }) -- as on a resume
  local result, why, code, traceback = run_script(script, options, args)
  return result, not result and ending.refused(why, code, args.work_dir, traceback) or nil
end

---@param args table
---@return integer|nil code
function M.run(args)
  local started = core.mono_ns()
  local result, code = M.result(args)
  return result and require("skillrt.cli.ending").tell(result, args, started) or code
end

return M
