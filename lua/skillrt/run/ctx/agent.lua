-- run/ctx/agent.lua: ctx.agent: a prompt to an agent, as workflow scripts make it; the result is its text, or a value
-- that fits a schema.
--
-- Knows agents and tasks; the calls are the agent's own. Used by ctx.lua.

local choice = require("skillrt.agent.choice")
local json_schema = require("skillrt.base.json_schema")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local task_of = require("skillrt.run.task")

local M = {}

---@class skillrt.AgentOptions
---@field agent string|table|nil   a declared agent, or one as `--agent` takes it; default: the skill's
---@field agent_type string?       one of the skill's by name, a file's, or a host's own: Explore, Plan
---@field schema table?            JSON Schema of the answer: then the result is that value, else a text
---@field model string?
---@field effort string?           "low", "medium", "high", "xhigh", "max"
---@field label string?            its name for people
---@field phase string?            the heading it is shown under
---@field tools string[]?          those it may use
---@field timeout number?          seconds
---@field isolation string|table|nil  "worktree", or { base = a commit, repository = a folder }
local OPTIONS <const> = {
  agent = {},
  agent_type = { type = "text" },
  schema = { type = "table" },
  model = { type = "text" },
  effort = { enum = { "low", "medium", "high", "xhigh", "max" } },
  label = { type = "text" },
  phase = { type = "text" },
  tools = { type = "text", list = true },
  timeout = { type = "seconds" },
  cwd = { type = "text" },
  isolation = {},
}

local ISOLATION <const> = {
  repository = { type = "text", required = true },
  commit = { type = "text", required = true },
}

-- A ctx whose calls carry a label and a heading, and whose programs run in the given folder; adds their usage to
-- `spent`.
local function labeled(ctx, options, spent)
  return setmetatable({
    await = function(request)
      request.label, request.phase = options.label, options.phase
      request.cwd = request.argv and options.cwd or request.cwd
      return ctx.await(request)
    end,
    used = function(used)
      ctx.used(used)
      for name, amount in pairs(used) do
        spent[name] = (spent[name] or 0) + amount
      end
    end,
  }, { __index = ctx })
end

-- The folder of an agent with its own worktree, named by the place it is asked at.
local function worktree_path(run, step, ctx)
  local place = require("skillrt.run.branch.draws").place_of(step):gsub("[^%w]+", "-")
  return run.store:path(("worktrees/%d-%s"):format(ctx.step, place))
end

-- What is wrong with the arguments; found before anything is sent.
local function checked(run, prompt, given)
  if type(prompt) ~= "string" or not prompt:find("%S") then
    return nil, "the prompt must be a text, not " .. names.show(prompt)
  end
  local options, message = schema.record(given or {}, OPTIONS, "its options")
  local agent
  if options then
    agent, message = choice.of_prompt(run.skill, options.agent, options.agent_type)
  end
  if options and options.schema and not message then
    local ok, why = json_schema.check(options.schema, "schema", true)
    options.schema = ok and json_schema.normal(options.schema) or nil
    message = not ok and why or nil
  end
  local isolation = options and options.isolation
  if isolation and isolation ~= "worktree" and not message then
    message = select(2, schema.record(isolation, ISOLATION, "isolation"))
  end
  if message then
    return nil, message
  end
  return options, agent
end

-- The agent's work on a prompt: its answer.
local function ask(run, step, definition, ctx, agent, prompt, options, spent)
  local task = task_of.new(run, step, definition, { timeout = options.timeout, agent = agent, retry = {} })
  task.prompt = prompt
  task.answer, task.schema, task.model, task.effort = "text", options.schema, options.model, options.effort
  task.bare, task.tools, task.cwd, task.agent_type = true, options.tools, options.cwd, options.agent_type
  local outcome, message, class = agent:perform(labeled(ctx, options, spent), task)
  if not outcome then
    return nil, message, class
  end
  local answer = outcome.output
  if answer == nil then -- answered as steps are
    answer = outcome.summary or outcome.updates
  end
  if answer == nil then
    return nil, ("%s: gave no answer"):format(agent:label()), "invalid_output"
  end
  return type(answer) == "string" and answer:gsub("\r?\n$", "") or answer
end

-- The same in a worktree of its own.
local function ask_apart(run, step, ctx, options, perform)
  local worktree = require("skillrt.skill.workflow.worktree")
  local path = worktree_path(run, step, ctx)
  local base = options.isolation
  if base == "worktree" then
    local message, class
    base, message, class = worktree.base(ctx, run.input_dir)
    if not base then
      return nil, message, class
    end
  end
  return worktree.within(ctx, base, path, function(folder)
    options.cwd = folder
    return perform()
  end)
end

---@param run table
---@param step skillrt.Step
---@param definition skillrt.Action
---@param ctx table
---@param prompt string
---@param given skillrt.AgentOptions?
---@return any answer
---@return string? message
---@return string? class  "definition": the request is invalid
---@return boolean? kept  its worktree was kept
---@return skillrt.Usage spent
function M.perform(run, step, definition, ctx, prompt, given)
  local options, agent = checked(run, prompt, given)
  if not options then
    return nil, "ctx.agent: " .. agent, "definition", false, {}
  end
  local answer, message, class, kept
  local spent = {}
  local function perform()
    return ask(run, step, definition, ctx, agent, prompt, options, spent)
  end
  if options.isolation then
    answer, message, class, kept = ask_apart(run, step, ctx, options, perform)
  else
    answer, message, class = perform()
  end
  return answer, message, class, kept, spent
end

return M
