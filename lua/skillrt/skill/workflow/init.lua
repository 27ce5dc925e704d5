-- skill/workflow/init.lua: a workflow as a skill: a Lua function over ctx, or a JavaScript file in the form that
-- coding agents use (docs/write/workflows.md).
--
-- One action performs it; its return value is `result` in the state. Agents without an answer are counted, and such a
-- run does not end as a full success. Knows skills and scripts, no run.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local skill = require("skillrt.skill")
local tables = require("skillrt.base.tables")

local M = {}

---The largest script, in bytes.
M.MAX_SCRIPT = 1024 * 1024

---Where a run keeps copies of its script and its files.
M.COPIES = "workflow/"

local REST_SECONDS <const> = 60

-- Agents without an answer prevent a full success, whatever the script made of it.
local function has_failed(state)
  local failed = state.agents and state.agents.failed or {}
  return #failed > 0, ("%d of %d agents gave no result: %s"):format(#failed, state.agents and state.agents.asked or 0,
    table.concat(failed, "\n", 1, math.min(#failed, 3)))
end

-- The files that a name may mean.
local function named(folders, name)
  local paths = {}
  for _, folder in ipairs(folders) do
    tables.append(paths, { files.join(folder, name .. ".js"), files.join(folder, name .. ".ts") })
  end
  return paths
end

---Where another script may be: a path from the script's folder; a name in the project's folder, then in the person's.
---@param dir string
---@return fun(name: string): { source: string, name: string, path: string }|nil, string?
function M.found_by(dir)
  return function(name)
    local is_path = name:find("/", 1, true) or name:find("%.m?[jt]s$")
    local paths = is_path and { files.join(dir, name) }
      or named({ dir, files.join(dir, ".claude/workflows"), ".claude/workflows", files.claude_home() .. "/workflows" },
        name)
    for _, path in ipairs(paths) do
      local text = files.read(path, M.MAX_SCRIPT)
      if text then
        return { source = text, name = path:match("[^/]+$"), path = path }
      end
    end
    return nil, ("workflow %s: no such script; looked for %s"):format(names.show(name), table.concat(paths, ", "))
  end
end

---The words after `--` as a script gets them: JSON if they are JSON, else one text; nil: there are none.
---@param words string[]?
---@return any
function M.argument(words)
  local text = words and words[1] and table.concat(words, " ")
  local value = text and json.decode(text)
  if value == nil then
    value = text
  end
  return value
end

-- The arguments of a script: what follows `--`, else the values of --set, else none.
local function arguments(ctx)
  if ctx.args[1] then
    return M.argument(ctx.args)
  end
  return next(ctx.input) ~= nil and ctx.input or nil
end

-- A valid skill name.
local function id_of(name)
  local id = name:lower():gsub("[^%w._-]+", "-"):gsub("^[^%w]+", ""):gsub("%.%.+", "."):sub(1, 60)
  return id ~= "" and id or "workflow"
end

-- A skill's definition with this function as its only action.
local function with_action(definition, run)
  definition.state = definition.state or {}
  definition.agents = definition.agents or {}
  definition.terminate = { { when = has_failed, status = "failed", reason = "agents_failed" } }
  definition.limits = definition.limits or {}
  definition.limits.max_errors = definition.limits.max_errors or 1 -- a script that failed would fail again
  definition.actions = { { id = "workflow", run = run, max_retries = 0, resumable = true } }
  return definition
end

---A workflow in Lua: `run(ctx, args)` returns its result, any JSON value.
---@param given function|table  or { name, description, agents, limits, run }
---@param new fun(definition: table): skillrt.Skill  makes the skill for the calling script
---@return skillrt.Skill
function M.of(given, new)
  local definition = type(given) == "function" and { run = given } or given
  if type(definition) ~= "table" or type(definition.run) ~= "function" then
    error("skillrt.workflow: needs a function(ctx, args), or a table with one as its field run", 3)
  end
  local copy = tables.fill({}, definition)
  local run = definition.run
  copy.run, copy.name = nil, definition.name or "workflow"
  return new(with_action(copy, function(_, ctx)
    local result, message, class = run(ctx, arguments(ctx))
    if result == nil and type(message) == "string" then
      return nil, message, class
    end
    return { result = result == nil and json.null or result }
  end))
end

-- The part of the meta that is known without running the script: its name.
local function name_in(source)
  return source:match("name%s*:%s*(['\"])([^'\"]+)%1", (source:find("meta%s*=")))
end

-- Keeps with the run the files of its script, for people who look at it, and for a resume if the script is gone:
-- under names by which they are found from there. Files that the script names by a literal are kept before it asks
-- for them.
local function keeper(ctx, dir)
  local self, known, looked = {}, {}, {}
  function self.file(name, text)
    if not known[name] then
      known[name] = true
      ctx.write(M.COPIES .. name, text)
    end
  end
  function self.page(name)
    if type(name) ~= "string" or looked[name] then
      return
    end
    looked[name] = true
    local page = require("skillrt.agent.file").find(name, dir)
    local text = page and files.read(page.path)
    if text then
      self.file(("agents/%s.md"):format(name), text)
    end
  end
  function self.script(name)
    local nested, message = M.found_by(dir)(name)
    if nested then
      self.source(files.is_confined(name) and name:find("/", 1, true) and name or nested.name, nested.source)
    end
    return nested, message
  end
  function self.source(name, text)
    if known[name] then
      return
    end
    self.file(name, text)
    for literal in text:gmatch("workflow%(%s*{?[%s%a]*:?%s*['\"]([^'\"\n]+)['\"]") do
      self.script(literal)
    end
    for literal in text:gmatch("agentType%s*:%s*['\"]([^'\"\n]+)['\"]") do
      self.page(literal)
    end
  end
  return self
end

-- Whether a script asks agents without naming one itself.
local function needs_agent(source)
  local code = source:gsub("/%*.-%*/", ""):gsub("//[^\n]*", "")
  return code:find("%f[%w_$]agent%s*%(") and not code:find("agent%a*%s*:")
end

---A workflow from a JavaScript file.
---@param path string
---@param options { agent: any }?
---@return skillrt.Skill|nil skill
---@return string? message
---@return string? code
function M.load(path, options)
  local source, message, code = files.read(path, M.MAX_SCRIPT)
  if not source then
    return nil, message, code
  elseif not source:find("export%s+const%s+meta%s*[:=]") then
    return nil, path .. ": is not a workflow script: it must begin with `export const meta = { name, description }`",
      "invalid"
  end
  local file, dir = path:match("[^/]+$"), files.dirname(path)
  local agent = options and options.agent
  local _, name = name_in(source)
  local script, recorded = require("skillrt.skill.workflow.script"), require("skillrt.skill.workflow.recorded")
  local made
  made, message = skill.check(with_action({
    name = id_of(name or file:gsub("%.m?[jt]s$", "")),
    description = "workflow script " .. file,
    agents = agent and { default = agent } or {},
    missing = not agent and needs_agent(source) and not recorded.beside(path) and { "agent()" } or nil,
    dir = dir,
    source = path,
  }, function(_, ctx)
    local kept = keeper(ctx, dir)
    kept.source(file, source)
    local answers = files.read(path .. recorded.BESIDE)
    if answers then
      kept.file(file .. recorded.BESIDE, answers)
    end
    local done, why, class, _, thrown = script.perform(ctx, {
      source = source,
      name = file,
      args = arguments(ctx),
      limits = ctx.limits,
      budget = function()
        return ctx.budget("output_tokens")
      end,
      timeout = REST_SECONDS,
      find = kept.script,
      options_of = function(ask)
        kept.page(ask.options.agent_type)
        kept.page(ask.options.agent)
        return ask.options
      end,
      recorded = recorded.beside(path),
    })
    if thrown then
      error(why, 0)
    elseif not done then
      return nil, why, class
    end
    local agents = { asked = done.asked, skipped = done.skipped, failed = json.array(done.failed) }
    agents.adopted = done.taken > 0 and done.taken or nil
    agents.used = done.used[1] and json.array(done.used) or nil
    agents.worktrees = done.worktrees[1] and json.array(done.worktrees) or nil
    return { result = done.value, agents = agents }
  end))
  return made, message, not made and "invalid" or nil
end

return M
