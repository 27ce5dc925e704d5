-- run/steering.lua: a person steers one agent of a run: skips it, asks it again, or tells it something more.
--
-- An agent is named by its label, or by the place of its call, with the number of its step before it ("2/1.1") where
-- several steps have a call there. One under way is found among the run's calls; in a run that has ended, among those
-- that a resume performs again. Called by turn/arrivals.lua, resume.lua and cli/steering.lua.

local names = require("skillrt.base.names")
local places = require("skillrt.run.places")
local record = require("skillrt.base.record")
local reply_of = require("skillrt.run.call.reply")

local M = {}

local NO_TALK <const> = "%s cannot be told more: %s is asked once, and holds no conversation"

-- The agent that is meant; or nil and why there is none.
local function find(agents, name)
  local found, labels, at = {}, {}, {}
  for _, one in ipairs(agents) do
    local place = ("%d/%s"):format(one.step, one.place)
    labels[one.label] = true
    if one.label == name or one.place == name or place == name then
      found[#found + 1], at[#at + 1] = one, place
    end
  end
  table.sort(at)
  if found[2] then
    return nil, ("%d agents are called %s; name one by its call: %s"):format(#found, names.show(name),
      names.listed(at, 10))
  end
  local there = next(labels) and "there are: " .. names.listed(names.sorted(labels), 10) or "there are none"
  return found[1], not found[1] and ("no agent %s can be steered now; %s"):format(names.show(name), there) or nil
end

local function emit(turn, step, agent, what)
  return turn:emit({ t = "steer", step = step, c = agent.place, steer = what.steer, label = agent.label,
    text = what.text and record.printable(what.text), arrival = what.arrival })
end

---Steers an agent that is under way, or waits.
---@param turn skillrt.Turn
---@param what table  { steer = "skip"|"again"|"tell", agent, text, arrival }
---@return boolean|nil ok
---@return string? message
function M.take(turn, what)
  local agents = {}
  for _, step in pairs(turn.books.steps) do
    for place, call in pairs(step.live.execution and step.live.execution.calls or {}) do
      local label = call.branch.state ~= "ended" and call.request.label
      agents[#agents + 1] = label and { label = label, step = step.number, place = place, call = call } or nil
    end
  end
  local agent, why = find(agents, what.agent)
  local call = agent and agent.call
  if not call then
    return nil, why
  elseif what.steer == "tell" and not call.request.converses then
    return nil, NO_TALK:format(agent.label, call.to)
  elseif what.steer == "again" and not call:open() then
    return nil, ("%s has not been asked yet"):format(agent.label)
  end
  local ok, problem = emit(turn, call.step.number, agent, what)
  if ok and what.steer ~= "tell" then
    reply_of.steer(turn.calls, call, what.steer == "skip" and "skip" or "retry")
    call.execution:go_on()
  end
  return ok, problem
end

---Why no agent can be steered this way in a run that no process advances: its books only know what was sent to it.
---@param books skillrt.Books
---@param what table
---@return string|nil why
function M.problem(books, what)
  local agents = {}
  for _, step in pairs(books.steps) do
    for place, call in pairs(step.calls) do
      agents[#agents + 1] = call.label and { label = call.label, step = step.number, place = place, call = call } or nil
    end
  end
  local agent, why = find(agents, what.agent)
  local call = agent and agent.call
  return call and what.steer == "tell" and not call.converses and NO_TALK:format(agent.label, call.to) or why
end

---Steers an agent of a run that has ended and whose action is performed again.
---@param turn skillrt.Turn
---@param id string|nil  of that action
---@param what table
---@return boolean|nil ok
---@return string? message
function M.resume(turn, id, what)
  local held, last, agents = id and turn.books.held and turn.books.held[id] or {}, {}, {}
  for _, place in ipairs(held.order or {}) do
    local known = held.known[place]
    if known and known.label then
      last[places.prefix_of(place)] = { label = known.label, step = held.number, place = place, known = known }
    end
  end
  for _, agent in pairs(last) do
    agents[#agents + 1] = agent
  end
  local agent, why = find(agents, what.agent)
  if not agent then
    return nil, why
  elseif what.steer == "tell" and not agent.known.converses then
    return nil, NO_TALK:format(agent.label, agent.known.to)
  elseif what.steer == "skip" and not (held.blamed or {})[agent.place] then
    return nil, ("%s has answered; only an agent that failed or is under way can be skipped"):format(agent.label)
  end
  return emit(turn, held.number, agent, what)
end

return M
