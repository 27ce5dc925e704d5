-- agent/values.lua: the values of an agent's placeholders in a task, in two forms: filled in, and as declared, before
-- secrets and what differs between attempts are filled in.
--
-- A call is identified by what was declared. Knows the words of a task, no kinds of agents.

local place = require("skillrt.base.placeholders")
local prompt = require("skillrt.agent.prompt")

local M = {}

---Where the values of placeholders come from; env only where a field allows it.
M.ROOTS = {}
for root in ([[input state state_text inputs output work_dir dir run_id skill step attempt key id
  name context_strategy prompt task item index]]):gmatch("%S+") do
  M.ROOTS[root] = true
end

---@class skillrt.Values
---@field real table<string, any>
---@field declared table<string, any>
---@field secrets string[]  values filled in from the environment: no reply may contain them
local Values = {}
Values.__index = Values

-- The whole task as JSON, made on first use.
local function lazily(agent, task, text)
  local body, declared
  return function(which)
    return function()
      if not body then
        body, declared = prompt.task(task, text, agent)
      end
      return body and (which == "real" and body or declared) or nil
    end
  end
end

---@param agent table
---@param task skillrt.Task
---@param text string  the whole text of the task
---@return skillrt.Values
function M.new(agent, task, text)
  local step, secrets = task.action or task.phase or {}, {}
  local whole = lazily(agent, task, text)
  local real = {
    input = task.input or {},
    inputs = task.inputs or {},
    id = step.id,
    name = step.name,
    work_dir = task.store:path(),
    task = whole("real"),
    prompt = function()
      return text
    end,
    env = function(name)
      local value = os.getenv(name)
      secrets[#secrets + 1] = value
      return value
    end,
  }
  setmetatable(real, { __index = task })
  local declared = {
    key = "{key}",
    attempt = "{attempt}",
    task = whole("declared"),
    env = function(name)
      return ("{env.%s}"):format(name)
    end,
  }
  return setmetatable({ real = real, declared = setmetatable(declared, { __index = real }), secrets = secrets }, Values)
end

---Fills in a text; the second value is the text as declared.
---@param text string
---@return string|nil filled
---@return string declared_or_message
function Values:fill(text)
  if not text:find("{", 1, true) then
    return text, text
  end
  local filled, message = place.fill(text, self.real)
  if not filled then
    return nil, message
  end
  return filled, assert(place.fill(text, self.declared))
end

return M
