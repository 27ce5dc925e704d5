-- cli/command/prompt.lua: `skillrt prompt SKILL [ID]`: prints what an agent would be sent. Runs and writes nothing.

local core = require("skillrt.core")
local tables = require("skillrt.base.tables")

local M = {
  name = "prompt",
  looks = true,
  summary = "Shows the prompt that an agent would get for a step of a skill",
  description = "Without an ID, shows it for each step that an agent performs. State values are the initial ones.",
  arguments = {
    { name = "SKILL", is_skill = "first", many = true, usage = "SKILL [ID]",
      help = "a skill's folder, script, configuration, command or agent's file; ID: an action or phase of it" },
  },
  options = {
    { name = "set", value = "KEY=VALUE", many = true, help = "input for the skill, as for skillrt run" },
    require("skillrt.cli.trust").OPTION,
  },
  rest = "TASK ...",
}

-- The steps to print: all that an agent performs, or one.
local function chosen(skill, id)
  local list = {}
  for _, kind in ipairs({ "phase", "action" }) do
    for _, one in ipairs(skill[kind .. "s"]) do
      if id and one.id == id and one.run then
        return nil, ("%s: %s is a function: no agent is sent a prompt for it"):format(skill.name, id)
      elseif id and one.id == id or not id and one.agent and not one.run then
        list[#list + 1] = { kind = kind, definition = one }
      end
    end
  end
  if #list > 0 then
    return list
  end
  local ids = {}
  for _, one in ipairs(skill.phases) do
    ids[one.id] = true
  end
  for _, one in ipairs(skill.actions) do
    ids[one.id] = true
  end
  return nil, id and ("%s: has no step %q%s"):format(skill.name, id, require("skillrt.base.names").suggest(id, ids))
    or ("%s: no agent performs any of its steps"):format(skill.name)
end

-- The parts of a run that a task reads.
local function run_of(skill, input)
  local files = require("skillrt.base.files")
  local here = files.current()
  return require("skillrt.run.run").new {
    skill = setmetatable({ dir = files.join(here, skill.dir) }, { __index = skill }),
    books = { run_id = "RUN", input = input, cwd = here, outputs = {}, context_strategy = skill.context },
    store = require("skillrt.run.store").at(files.join(here, ("%s/%s-RUN"):format(
      require("skillrt.run.folder").path(), skill.name))),
    prompts = {},
    limits = { seconds_of = function() end },
  }
end

local function text_of(skill, one, input)
  local run = run_of(skill, input)
  local root = setmetatable({ input = input, outputs = {}, status = "running" }, { __index = skill.state })
  tables.fill(root, skill.state)
  local step = { number = 1, kind = one.kind, id = one.definition.id, attempt = 1, root = root,
    live = { home = { next_key = function() return "KEY" end } } }
  local definition = setmetatable({ output_free = true }, { __index = one.definition }) -- no folder is made
  local task = require("skillrt.run.task").new(run, step, definition)
  task.output = one.definition.output and not one.definition.output_free
    and run.store:path(one.definition.output) or nil
  return require("skillrt.agent.prompt").text(task)
end

-- On a terminal, text from a document must not move the cursor.
local function shown(text)
  if not core.terminal.is_terminal(1) then
    return text
  end
  local escape, lines = require("skillrt.base.terminal_text").escape, {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = escape(line)
  end
  return table.concat(lines, "\n")
end

---What an agent would be sent for a step; raises what is wrong with it.
---@param skill skillrt.Skill
---@param one { kind: "action"|"phase", definition: table }
---@param input table
---@return string
M.text_of = text_of

---@param args table
---@return integer|nil code
function M.run(args)
  local output = require("skillrt.report.output")
  local path, id = args.skill[1], args.skill[2]
  if args.skill[3] then
    return nil, ("%s: one step at a time"):format(args.skill[3]), "invalid"
  end
  local input, problem = require("skillrt.cli.settings").read(args.set)
  if not input then
    return nil, problem, "invalid"
  end
  local skill, message, code, traceback = require("skillrt.document.open").see(path)
  if not skill then
    return nil, message, code, nil, traceback
  end
  input.task = input.task or #args.rest > 0 and table.concat(args.rest, " ") or nil
  local list
  list, message = chosen(skill, id)
  if not list then
    return nil, message, "invalid"
  end
  for i, one in ipairs(list) do
    local ok, text = pcall(text_of, skill, one, input)
    if not ok then
      return nil, type(text) == "table" and text.message or text, "invalid"
    end
    if #list > 1 then
      output.write(("%s===== %s %s =====\n"):format(i > 1 and "\n" or "", one.kind, one.definition.id))
    end
    core.terminal.write(1, shown(text) .. "\n")
  end
  return 0
end

return M
