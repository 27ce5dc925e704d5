-- cli/command/new.lua: `skillrt new NAME`: generates a skill's folder that runs as it is, from the answers to a few
-- questions or from flags.

local core = require("skillrt.core")
local tables = require("skillrt.base.tables")
local trim = require("skillrt.base.text").trim

local M = {
  name = "new",
  summary = "Creates a skill: asks a few questions, then writes its config and folder",
  description = "On a terminal it asks for whatever no option gives. Afterwards edit skill-config.json in the "
    .. "folder, then `skillrt generate DIR --out DIR`. With --page, --js or --lua it asks nothing, and writes one file "
    .. "of 20 lines, which runs at once.",
  arguments = { { name = "NAME", help = "lower-case letters, digits and hyphens: code-review" } },
  options = {
    {
      name = "mode",
      value = "MODE",
      choices = { "sequential", "autonomous", "hybrid" },
      help = "sequential, autonomous or hybrid; default: as --phases and --actions ask, else sequential",
    },
    { name = "description", value = "TEXT", help = "what it does and when to use it" },
    { name = "display-name", value = "TEXT", help = "its name for people; default: made from NAME" },
    { name = "phases", value = "NAMES", help = "sequential and hybrid: names, separated by commas" },
    { name = "actions", value = "NAMES", help = "autonomous and hybrid: names, separated by commas" },
    {
      name = "context",
      value = "WHERE",
      choices = { "file", "memory" },
      help = "how steps pass results on: file (the default) or memory",
    },
    { name = "triggers", value = "WORDS", help = "phrases that start it, separated by commas" },
    {
      name = "lang",
      value = "LANG",
      choices = { "en", "zh" },
      help = "the documents' language: en (the default) or zh",
    },
    { name = "page", help = "writes a page of instructions, NAME/SKILL.md" },
    { name = "js", help = "writes a workflow script, NAME.js" },
    { name = "lua", help = "writes a skill in Lua, NAME.lua" },
    { name = "out", value = "DIR", help = "the skill's folder; default: NAME. Of one file: where it is written" },
    { name = "yes", help = "asks nothing; takes the defaults" },
    { name = "force", help = "overwrites existing files, after showing the differences" },
    { name = "dry-run", help = "shows what would be written; writes nothing" },
    { name = "quiet", help = "prints warnings, errors and the last line only" },
  },
}

local function words_of(text)
  local list = {}
  text = text:gsub("，", ","):gsub("、", ",")
  for part in text:gmatch("[^,\n]+") do
    local word = trim(part)
    if word ~= "" then
      list[#list + 1] = word
    end
  end
  return list
end

local function has_loop(answers)
  return answers.mode ~= "sequential"
end

local function has_phases(answers)
  return answers.mode ~= "autonomous"
end

local function starter()
  return require("skillrt.document.generate.starter")
end

-- The questions in order: the key of each answer, and its default.
local QUESTIONS = {
  {
    key = "display_name",
    ask = "Display name",
    default = function(answers)
      return starter().title(answers.name)
    end,
  },
  { key = "description", ask = "What does it do, and when is it used?", needed = true,
    default = function(answers)
      return ("Performs the steps of %s, one after the other"):format(answers.display_name)
    end,
  },
  {
    key = "mode",
    ask = "Mode: sequential (phases in order), autonomous (actions chosen by state), hybrid (both)",
    needed = true,
    choices = { "sequential", "autonomous", "hybrid" },
    default = function()
      return "sequential"
    end,
  },
  {
    key = "phases",
    ask = "Phases, separated by commas",
    list = true,
    when = has_phases,
    default = function(answers)
      return has_loop(answers) and "Prepare, Finish" or "Collect, Analyze, Report"
    end,
  },
  {
    key = "actions",
    ask = "Actions, separated by commas",
    list = true,
    when = has_loop,
    default = function()
      return "Inspect, Work, Verify"
    end,
  },
  {
    key = "context",
    ask = "Results between steps: file or memory",
    choices = { "file", "memory" },
    default = function()
      return "file"
    end,
  },
  {
    key = "triggers",
    ask = "What do users say to start it, separated by commas",
    list = true,
    default = function(answers)
      return answers.display_name:lower()
    end,
  },
}

local function is_choice(question, text)
  return tables.has(question.choices or { text }, text)
end

-- An answer, as it is stored; or nil and why it is refused.
local function take(question, text)
  if not utf8.len(text) then
    return nil, "is no UTF-8"
  elseif not question.list then
    if not is_choice(question, text) then
      return nil, "must be one of " .. table.concat(question.choices, ", ")
    end
    return text
  end
  local list = words_of(text)
  if #list == 0 then
    return nil, "needs at least one name, separated by commas"
  end
  return list
end

-- Asks until an answer is accepted; nil at the end of the input.
local function ask(question, default)
  local output = require("skillrt.report.output")
  local text_of = require("skillrt.base.terminal_text")
  while true do
    local said = output.read_line(nil, ("%s [%s]: "):format(question.ask, text_of.escape(default)))
    if not said then
      output.write("\n")
      return nil
    end
    said = trim(said)
    local value, why = take(question, said == "" and default or said)
    if value then
      return value
    end
    output.write(why .. "\n")
  end
end

-- The mode of a skill that has the phases and actions that are given; nil: neither is.
local function mode_of(args)
  if args.actions then
    return args.phases and "hybrid" or "autonomous"
  end
  return args.phases and "sequential"
end

-- The flags that are required where no person can be asked.
local function missing(args)
  local flags = {}
  for _, question in ipairs(QUESTIONS) do
    if question.needed and not args[question.key] then
      flags[#flags + 1] = "--" .. question.key
    end
  end
  return flags
end

local function answer_all(args, can_ask)
  local answers = { name = args.name }
  for _, question in ipairs(QUESTIONS) do
    local given, applies = args[question.key], not question.when or question.when(answers)
    if given and not applies then
      return nil, ("--%s: a skill that is %s has none"):format(question.key, answers.mode)
    elseif applies then
      local default, why = question.default(answers), nil
      if given then
        answers[question.key], why = take(question, given)
      elseif can_ask then
        answers[question.key] = ask(question, default)
        why = "the input ended; nothing was written"
      else
        answers[question.key] = take(question, default)
      end
      if answers[question.key] == nil then
        return nil, ("--%s: %s"):format((question.key:gsub("_", "-")), why)
      end
    end
  end
  return answers
end

-- Whether the name is usable; else there is nothing to ask about.
local function name_problem(name)
  local _, _, _, findings = require("skillrt.document.generate.config").normalise({ skill_name = name })
  for _, finding in ipairs(findings) do
    if finding.key == "skill_name" and finding.level == "error" then
      return (finding.what:gsub("^skill_name: ", "NAME "))
    end
  end
  return nil
end

-- Writes a first test and notes its approval: its author need not approve it.
local function write_spec(out, name)
  local files = require("skillrt.base.files")
  local path = ("%s/tests/%s_spec.lua"):format(out, name)
  if files.stat(path) then
    return
  end
  local ok, message = files.make_folders(out .. "/tests")
  if ok then
    ok, message = files.write(path, starter().spec(name))
  end
  if not ok then
    require("skillrt.report.output").say("warning", require("skillrt.base.terminal_text").escape(message))
    return
  end
  local trust = require("skillrt.document.trust")
  for _, code in ipairs({ trust.code(out, nil, { path }), trust.code(out) }) do
    trust.remember(code, out)
  end
end

local function tell_next(args, out)
  local output = require("skillrt.report.output")
  local text_of = require("skillrt.base.terminal_text")
  if not (args.quiet or args.dry_run) then
    local dir = text_of.escape(text_of.shell(out))
    output.say("info", ("next: edit %s/skill-config.json, then skillrt generate %s --out %s"):format(dir, dir, dir))
    output.say("info", ("      skillrt run %s --agent PROGRAM_OR_URL"):format(dir))
    output.say("info", ("      skillrt test %s"):format(dir))
  end
end

-- The forms that are one file: its template, its path, and the command that runs it.
local FILES <const> = {
  { form = "page", template = "SKILL.md", path = "%s/SKILL.md", run = "run %s --agent PROGRAM_OR_URL -- WORDS" },
  { form = "js", template = "workflow.js", path = "%s.js", run = "run %s --agent PROGRAM_OR_URL" },
  { form = "lua", template = "skill.lua", path = "%s.lua", run = "%s" },
}

local function form_of(args)
  local chosen
  for _, one in ipairs(FILES) do
    if args[one.form] then
      if chosen then
        return nil, ("--%s and --%s exclude each other"):format(chosen.form, one.form)
      end
      chosen = one
    end
  end
  for _, name in ipairs({ "mode", "phases", "actions", "context", "triggers", "lang" }) do
    if chosen and args[name] then
      return nil, ("--%s is of a skill's folder, and --%s writes one file"):format(name, chosen.form)
    end
  end
  return chosen
end

-- Writes a skill that is one file and notes its approval: its author need not approve it.
local function write_one(args, one)
  local files = require("skillrt.base.files")
  local output, text_of = require("skillrt.report.output"), require("skillrt.base.terminal_text")
  local path = one.path:format(args.name)
  path = args.out and files.join(args.out, path) or path
  local template = files.asset(("templates/new/%s.mustache"):format(one.template))
  local text = assert(require("skillrt.base.template").render(template, { name = args.name,
    title = args.display_name or starter().title(args.name),
    description = args.description and require("skillrt.base.json").encode(args.description) }))
  if args.dry_run then
    output.write(text)
    return 0
  elseif files.stat(path) and not args.force then
    return nil, path .. ": already exists; name another one, or use --force", "exists"
  end
  local ok, message, code = files.make_folders(files.dirname(path))
  if ok then
    ok, message, code = files.write(path, text)
  end
  if not ok then
    return nil, message, code
  end
  local trust = require("skillrt.document.trust")
  local written = trust.code(path)
  if written then
    trust.remember(written, files.dirname(path))
  end
  local runs = one.form == "page" and files.dirname(path) or path
  output.say("good", ("wrote %s"):format(text_of.escape(path)))
  if not args.quiet then
    output.say("info", "next: skillrt " .. one.run:format(text_of.escape(text_of.shell(runs))))
  end
  return 0
end

---@param args table
---@return integer|nil code
function M.run(args)
  local help = require("skillrt.cli.help")
  local problem = name_problem(args.name)
  if problem then
    return help.wrong(M, problem)
  end
  local one, both = form_of(args)
  if both then
    return help.wrong(M, both)
  elseif one then
    return write_one(args, one)
  end
  args.mode = args.mode or mode_of(args)
  local can_ask = not args.yes and core.terminal.is_terminal(0) and core.terminal.is_terminal(1)
  local flags = (args.yes or can_ask) and {} or missing(args)
  if #flags > 0 then
    local message = "there is no terminal to ask on: give %s, or --yes for the defaults"
    return help.wrong(M, message:format(table.concat(flags, " and ")))
  end
  local out = args.out or args.name
  local files = require("skillrt.base.files")
  if not args.force and not args.dry_run and files.stat(out .. "/skill-config.json") then
    return nil, out .. ": already holds a skill; name another folder by --out, or use --force", "exists"
  end
  local answers, message = answer_all(args, can_ask)
  if not answers then
    return nil, message, "invalid"
  end
  local code = require("skillrt.cli.writing").generate(starter().config(answers), args.name, {
    out = out,
    lang = args.lang,
    force = args.force,
    dry_run = args.dry_run,
    quiet = args.quiet,
  })
  if code == 0 then
    if not args.dry_run then
      write_spec(out, args.name)
    end
    tell_next(args, out)
  end
  return code
end

return M
