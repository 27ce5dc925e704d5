-- skill/protocol.lua: what an action or phase declares for the execution protocol: how it is prepared, validated,
-- repaired, cleaned up and undone, what follows a class of failure, and how people take part
-- (docs/write/protocol.md).
--
-- Only checks the declarations; run/step/lifecycle.lua and run/step/undo.lua perform them. Called by action.lua and
-- init.lua.

local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")

local M = {}

---How people take part in a run, or in one of its actions.
M.INTERACTION = { "autonomous", "interactive", "supervised" }

---The fields that actions and phases may have.
M.FIELDS = {
  prepare = { type = "function" },
  validate = { type = { "function", "table", "string" } },
  repair = { type = "count" },
  cleanup = { type = "function" },
  undo = { type = { "function", "string" } },
  sources = { type = { "function", "string", "table" } },
  alternative = { type = "text" },
  interaction = { enum = M.INTERACTION },
  prompt_keys = { type = "text", list = true },
  prompt_bytes = { type = "positive" },
}

-- The table form of `validate`; a function alone is its `check`, a text the agent that judges.
local VALIDATE <const> = {
  schema = { type = "table" },
  effects = { type = "boolean" },
  check = { type = "function" },
  agent = { type = "text" },
  prompt = { type = "text" },
}

---The fields of a skill.
M.OF_SKILL = {
  interaction = { enum = M.INTERACTION, default = "autonomous" },
  protocol = { type = "boolean" },
  timeouts = { fields = { context_load = { type = "amount" }, step = { type = "amount" }, run = { type = "amount" } } },
  notify = { type = "text", list = true },
  ask_on_tie = { type = "boolean" },
}

---The default for how often a result that a check refused is requested again.
M.REPAIR = 2

---Time limits in seconds, 0: none. Those of the whole run and of failures apply if a skill follows the protocol.
M.CONTEXT_LOAD, M.STEP, M.RUN, M.SAME_FAILURES = 30, 300, 1800, 5

---Fills in the time limits that a skill did not set (R177-R179).
---@param skill skillrt.Skill  its limits are set
function M.times(skill)
  local times, limits = skill.timeouts, skill.limits
  times.context_load, times.step = times.context_load or M.CONTEXT_LOAD, times.step or M.STEP
  times.run = times.run or skill.protocol and M.RUN or 0
  if times.run > 0 and not limits.run_timeout then
    limits.run_timeout = times.run
  end
  limits.same_failures = limits.same_failures or skill.protocol and M.SAME_FAILURES or nil
end

local function check_validate(one, agents, where)
  local given = one.validate
  given = type(given) == "function" and { check = given } or type(given) == "string" and { agent = given } or given
  local checked, message = schema.record(given, VALIDATE, where .. ': field "validate"')
  if not checked then
    return message
  elseif next(given) == nil then
    return where .. ': field "validate" says nothing; give schema, effects, check or agent'
  elseif checked.agent and not agents[checked.agent] then
    return ('%s: field "validate": agent %s is not declared%s'):format(where, names.show(checked.agent),
      names.suggest(checked.agent, agents))
  end
  if checked.schema then
    local json_schema = require("skillrt.base.json_schema")
    local ok, why = json_schema.check(checked.schema, where .. ": validate.schema")
    if not ok then
      return why
    end
  end
  one.validate = checked
end

local function check_sources(one, agents, where)
  local list = type(one.sources) == "table" and one.sources or { one.sources }
  for i, source in ipairs(list) do
    if type(source) ~= "function" and not agents[source] then
      return ('%s: field "sources": %s is neither a function nor a declared agent%s'):format(where,
        #list > 1 and ("%d, %s"):format(i, names.show(source)) or names.show(source),
        type(source) == "string" and names.suggest(source, agents) or "")
    end
  end
  one.sources = list
end

---Checks an action or phase; its `protocol` becomes true if its steps do more than their work.
---@param one table     in its normal form except for these fields
---@param ctx table     { agents, interaction }: of its skill
---@param where string
---@return string? problem
function M.check(one, ctx, where)
  local agents = ctx.agents
  local message = one.validate ~= nil and check_validate(one, agents, where)
    or one.sources ~= nil and check_sources(one, agents, where)
  if message then
    return message
  end
  if one.validate and not one.repair then
    one.repair = M.REPAIR
  end
  if one.kind == "phase" and type(one.undo) == "string" then
    return where .. ': field "undo" of a phase must be a function'
  end
  one.supervised = (one.interaction or ctx.interaction) == "supervised" or nil
  one.protocol = (one.supervised or one.prepare or one.validate or one.repair or one.cleanup or one.sources)
    and true or nil
  return nil
end

return M
