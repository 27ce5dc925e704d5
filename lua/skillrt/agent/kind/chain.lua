-- agent/kind/chain.lua: several agents, asked one after the other until one succeeds (F47).
--
-- At a usage limit the chain asks its next member or waits for the limit to end, as `on_limit` says.
--
-- Uses only what every agent has. Calls of all members but the last are retried before the next member is asked; the
-- last one's failure is the step's.

local Agent = require("skillrt.agent.kind")
local function_result = require("skillrt.agent.function_result")
local tables = require("skillrt.base.tables")

---@class skillrt.agent
---@field chain fun(members: table): skillrt.Agent  the next member is asked when one has failed for good

---@class skillrt.ChainAgent: skillrt.Agent
local M = Agent.new({ kind = "chain", FIELDS = {
  links = { list = true, required = true },
  on = { enum = { "transient", "rate_limit", "timeout", "invalid_output", "permanent" }, list = true },
  on_limit = { enum = { "next", "wait" } },
} })

---{ first, second, on = "timeout" } -> { links = { first, second }, on = "timeout" }
---@param definition any
---@return any
function M.normal(definition)
  return Agent.gathered(definition, "links")
end

---@param definition table
---@param where string
---@param check fun(value: any, where: string): table?, string?  of its members
---@return table? agent
---@return string? message
function M:check(definition, where, check)
  local agent, message = Agent.check(self, definition, where)
  if not agent then
    return nil, message
  end
  local members = agent.links
  agent.links, agent.on = {}, agent.on and tables.set(agent.on)
  agent.idempotent, agent.acts, agent.is_script = true, false, false
  for i, value in ipairs(members) do
    local member
    member, message = check(value, ("%s: member %d"):format(where, i))
    if not member then
      return nil, message
    end
    for _, link in ipairs(member.links or { member }) do
      agent.links[#agent.links + 1] = link
      agent.idempotent = agent.idempotent and link.idempotent
      agent.acts = agent.acts or link.acts
      agent.is_script = agent.is_script or link.is_script
    end
  end
  if #agent.links == 0 then
    return nil, where .. ": needs at least one agent"
  end
  return agent
end

---A chain needs HTTP only if all of its members do.
---@return boolean
function M:needs_http()
  for _, link in ipairs(self.links) do
    if not link:needs_http() then
      return false
    end
  end
  return true
end

---@return string[]
function M:functions()
  local all = {}
  for _, link in ipairs(self.links) do
    table.move(link:functions(), 1, #link:functions(), #all + 1, all)
  end
  return all
end

---The most that all members together may use.
---@param definition table
---@param cost_of fun(agent: any): table|nil
---@return table|nil
function M.cost(definition, cost_of)
  local sum = { calls = 0, tokens = 0, dollars = 0 }
  for _, member in ipairs(definition.links or definition) do
    local one = cost_of(member)
    if not one then
      return nil
    end
    for what, most in pairs(one) do
      sum[what] = sum[what] + most
    end
  end
  return sum
end

-- What ends a chain: the run is being stopped, or a person decided.
local FINAL = { canceled = true, skipped = true }

-- Whether such a failure makes the chain ask its next member.
local function asks_next(self, class)
  if class == "rate_limit" and self.on_limit then
    return self.on_limit == "next"
  end
  return not FINAL[class] and (not self.on or self.on[class] == true)
end

local function ask_member(member, ctx, task)
  local results = table.pack(pcall(member.perform, member, ctx, task))
  if results[1] then
    return table.unpack(results, 2, results.n)
  end
  return function_result.raised(member:label(), results[2])
end

-- Removes what this member left as its output, so that it is not taken for the next member's. Done once: a resume
-- finds what the next one wrote.
local function put_aside(ctx, task)
  local problem = not task.bare and task.put_aside and ctx.once("put aside what it left", task.put_aside)
  return problem or nil
end

---@param ctx table
---@param task skillrt.Task
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
function M:perform(ctx, task)
  local waits = not asks_next(self, "rate_limit")
  local retry = (task.member_retry or waits) and { waits = waits }
  tables.fill(retry, task.member_retry)
  local patient = setmetatable({ retry = retry }, { __index = task })
  local last = #self.links
  local outcome, message, class, call
  for i, member in ipairs(self.links) do
    outcome, message, class, call = ask_member(member, ctx, i < last and patient or task)
    if outcome or not asks_next(self, class) then
      break
    elseif i < last then
      ctx.log(("%s; trying agent %d of the chain"):format(message, i + 1))
      local problem = put_aside(ctx, task)
      if problem then
        return nil, problem, "permanent"
      end
    end
  end
  return outcome, message, class, call
end

return M
