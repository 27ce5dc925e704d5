-- agent/tool_cost.lua: what tools cost that are sent with every request: their bytes as a provider is sent them, and
-- what exchanges come to with the provider's prompt cache counted: tools stand first, so another list of them is
-- another prompt from its first byte on (F56).
--
-- Estimates are named so. Pure; knows agents and prices, no runs.

local json = require("skillrt.base.json")
local tally = require("skillrt.agent.tally")

local M = {}

---How tokens are counted where no provider has.
M.TOKENIZER = "bytes / 4, an estimate"

---@param bytes integer
---@return integer
function M.tokens(bytes)
  return (bytes + 3) // 4
end

---Bytes of the tools of a request, as its provider's API has them; exact.
---@param agent table  a model
---@param tools skillrt.Tool[]
---@return integer
function M.bytes(agent, tools)
  local body = agent.wire.body(agent, { tools = tools, model = "m" })
  return body.tools and #assert(json.encode(body.tools, { sorted = true })) or 0
end

---@class skillrt.tool_cost.Exchange
---@field talk any          which talk it is part of
---@field list string       which list of tools is sent
---@field tools integer     tokens of it
---@field rest integer      tokens of all else that is sent
---@field output integer

local LEAST <const> = 1024 -- tokens of a prefix that a provider keeps

---What exchanges cost, one after the other, within the time that a cache holds: the talk so far is read again where
---the list of tools is the same, and the tools by another talk, too (a provider that has a price for writing is given
---marks behind both, others keep any prefix).
---@param exchanges skillrt.tool_cost.Exchange[]
---@param model string
---@param prices table?  of the agent
---@return skillrt.Used
function M.cost(exchanges, model, prices)
  local row = tally.row(model, prices)
  local marked = not row or row.cache_write ~= nil
  local sum, before, seen = tally.new(), {}, {}
  for _, one in ipairs(exchanges) do
    local whole, last, read = one.tools + one.rest, before[one.talk], 0
    if last and last.list == one.list then
      read = math.min(last.whole, whole)
    elseif seen[one.list] and one.tools >= LEAST then
      read = one.tools
    end
    before[one.talk], seen[one.list] = { list = one.list, whole = whole }, true
    local fresh = whole - read
    tally.add(sum, { input = marked and 0 or fresh, cache_write = marked and fresh or 0, cache_read = read,
      output = one.output }, model, prices)
  end
  return sum
end

---The exchanges of steps that follow each other, as far as they can be told before: so many in each, each longer by
---`growth` tokens than the one before.
---@param steps { list: string, tools: integer, rest: integer }[]
---@param rounds integer
---@param growth integer
---@param one_talk boolean?  one talk goes through all of them
---@return skillrt.tool_cost.Exchange[]
function M.foreseen(steps, rounds, growth, one_talk)
  local out = {}
  for s, step in ipairs(steps) do
    for i = 1, rounds do
      local before = (one_talk and (s - 1) * rounds or 0) + i - 1
      out[#out + 1] = { talk = one_talk and 1 or s, list = step.list, tools = step.tools,
        rest = step.rest + before * growth, output = growth // 2 }
    end
  end
  return out
end

return M
