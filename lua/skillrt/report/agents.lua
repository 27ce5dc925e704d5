-- report/agents.lua: the agents of a run that are under way or failed, a line for each: label, model, usage,
-- duration, its last words.
--
-- Takes the records in their order, as lines.lua does, and what arrives for their calls. Called by live.lua and
-- status.lua.

local places = require("skillrt.run.places")
local text_of = require("skillrt.base.terminal_text")

local M = {}

---@class skillrt.report.Agent
---@field label string
---@field model string?   else where its call went
---@field step integer
---@field place string    of its newest call
---@field at integer      UTC ms
---@field tokens number
---@field dollars number
---@field said { rest: string, [integer]: string }  its last lines
---@field words string?   how it ended
---@field state "working"|"done"|"failed"

---@class skillrt.report.Agents
---@field list skillrt.report.Agent[]  in the order they were asked
---@field by_branch table<string, skillrt.report.Agent>
local Agents = {}
Agents.__index = Agents

---@return skillrt.report.Agents
function M.new()
  return setmetatable({ list = {}, by_branch = {} }, Agents)
end

local function branch_of(step, place)
  return ("%d %s"):format(step, places.prefix_of(place))
end

local TAKE <const> = {}

function TAKE.used(one, record)
  one.tokens, one.dollars = one.tokens + (record.used.tokens or 0), one.dollars + (record.used.dollars or 0)
end

function TAKE.result(one, record)
  one.state = record.c == one.place and "done" or one.state
end

function TAKE.tool(one, record)
  one.state, one.words = "working", record.name
end

function TAKE.attempt(one, record)
  one.words = record.message
end

function TAKE.note(one, record)
  if record.failed then
    one.state, one.words = "failed", record.text
  end
end

---@param record table
function Agents:take(record)
  if not (record.step and record.c) then
    return
  end
  local branch = branch_of(record.step, record.c)
  local one = self.by_branch[branch]
  if record.t == "call" and record.label then
    if not one or one.label ~= record.label or one.state == "failed" then
      one = { label = record.label, step = record.step, at = record.at, tokens = 0, dollars = 0,
        said = { rest = "" } }
      self.list[#self.list + 1], self.by_branch[branch] = one, one
    end
    one.state, one.place, one.model = "working", record.c, record.model or record.to
  elseif one and TAKE[record.t] then
    TAKE[record.t](one, record)
  end
end

---The agent of a call; nil: the call belongs to none.
---@param step integer
---@param place string
---@return skillrt.report.Agent|nil
function Agents:of(step, place)
  return self.by_branch[branch_of(step, place)]
end

---What the agent of a call has printed, as live.lua keeps it; nil: the call belongs to no agent.
---@param step integer
---@param place string
---@return { rest: string, [integer]: string }|nil
function Agents:said(step, place)
  local one = self:of(step, place)
  return one and one.said
end

---How many there are by state, in words; nil: none.
---@return string|nil
function Agents:count()
  local count = { working = 0, done = 0, failed = 0 }
  for _, one in ipairs(self.list) do
    count[one.state] = count[one.state] + 1
  end
  return self.list[1] and ("agents: %d working, %d done, %d failed"):format(count.working, count.done, count.failed)
end

---A line of one.
---@param one skillrt.report.Agent|table
---@param wall_ms integer
---@return string
function M.line(one, wall_ms)
  if one.state == "failed" then
    return "x " .. one.words
  end
  local parts = { one.label, one.model }
  if (one.tokens or 0) > 0 then
    parts[#parts + 1] = one.tokens < 1000 and ("%d tokens"):format(one.tokens)
      or ("%.1fk tokens"):format(one.tokens / 1000)
  end
  parts[#parts + 1] = (one.dollars or 0) > 0 and ("$%.2f"):format(one.dollars) or nil
  parts[#parts + 1] = text_of.duration(math.max(0, wall_ms - one.at))
  local said = one.said or {}
  parts[#parts + 1] = said.rest and said.rest:find("%S") and said.rest or said[#said] or one.words
  return "* " .. table.concat(parts, "  ")
end

---The lines of a step's agents: those that work, then those that failed.
---@param step integer
---@param wall_ms integer
---@return { [1]: string, [2]: string }[] rows  kind and text
function Agents:rows(step, wall_ms)
  local rows = {}
  for _, state in ipairs({ "working", "failed" }) do
    for _, one in ipairs(self.list) do
      if one.step == step and one.state == state then
        rows[#rows + 1] = { state == "failed" and "error" or "info", "  " .. M.line(one, wall_ms) }
      end
    end
  end
  return rows
end

return M
