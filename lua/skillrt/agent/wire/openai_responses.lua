-- agent/wire/openai_responses.lua: the Responses API: writes a conversation as items, and reads a response, whole or
-- from the event that ends its stream. Pure.

local extract = require("skillrt.agent.extract")
local json = require("skillrt.base.json")
local condition = require("skillrt.agent.condition")
local reading = require("skillrt.agent.wire.reading")
local count = require("skillrt.agent.usage").count
local tables = require("skillrt.base.tables")

local M = {}

-- ---- written ----

M.field = "input"

---The items that a turn becomes.
---@param turn skillrt.Turn
---@return table[] items
function M.turned(turn)
  if turn.role == "user" then
    return { { role = "user", content = turn.text } }
  elseif turn.role == "model" then
    return turn.content
  end
  local out = {}
  for i, result in ipairs(turn.results) do
    out[i] = { type = "function_call_output", call_id = result.id, output = reading.told(result) }
  end
  return out
end

local function format_of(agent, want)
  if not want.schema or agent.structured == "words" then
    return nil
  elseif agent.structured == "object" then
    return { format = { type = "json_object" } }
  end
  return { format = { type = "json_schema", name = "answer", schema = want.schema,
    strict = reading.is_strict(want.schema) } }
end

---The body of a request, but for its items.
---@param agent table
---@param want table
---@return table
function M.body(agent, want)
  local tools = {}
  for i, tool in ipairs(want.tools) do
    tools[i] = { type = "function", name = tool.name, description = tool.description, parameters = tool.input,
      strict = false }
  end
  local body = {
    model = want.model,
    instructions = agent.system,
    tools = #tools > 0 and json.array(tools) or nil,
    text = format_of(agent, want),
    stream = agent.stream or nil,
    store = agent.store,
    include = not agent.store and json.array({ "reasoning.encrypted_content" }) or nil,
    max_output_tokens = agent.max_tokens,
    reasoning = want.effort and { effort = want.effort } or nil,
  }
  tables.fill(body, agent.extra)
  return body
end

-- ---- read ----

local ENDS = { ["response.completed"] = true, ["response.incomplete"] = true, ["response.failed"] = true }

local function used_of(said)
  local cached = count(tables.object(said).input_tokens_details, "cached_tokens")
  return {
    input = math.max(0, count(said, "input_tokens") - cached),
    output = count(said, "output_tokens"),
    cache_read = cached,
  }
end

local ITEM = {}

function ITEM.message(self, item)
  local said
  for _, part in ipairs(item.content) do
    if part.type == "output_text" then
      self.texts[#self.texts + 1] = part.text
      said = said or part.text:find("%S") ~= nil
    elseif part.type == "refusal" then
      self.refusal = part.refusal
    end
  end
  if said then
    self.content[#self.content + 1] = item
  end
end

function ITEM.function_call(self, item)
  local input, problem = extract.object(item.arguments)
  item.arguments = problem and "{}" or item.arguments
  self.calls[#self.calls + 1] = { id = item.call_id, name = item.name, input = input, problem = problem,
    rename = function(id, name)
      item.call_id, item.name = id, name
    end }
  self.content[#self.content + 1] = item
end

-- Reasoning is sent back only where it can be read without the provider's store.
function ITEM.reasoning(self, item)
  if type(item.encrypted_content) == "string" then
    self.content[#self.content + 1] = item
  end
end

local function reply_of(reply)
  local response, self = reply.response, { texts = {}, content = {}, calls = {} }
  if response.status == "failed" or type(response.error) == "table" then
    return nil, condition.of(response.error)
  end
  assert(type(response.output) == "table")
  for _, item in ipairs(response.output) do
    local take = ITEM[item.type]
    if take then
      take(self, item)
    end
  end
  local details = tables.object(response.incomplete_details)
  local stop = self.refusal and "refused" or #self.calls > 0 and "tools" or "end"
  if response.status == "incomplete" then
    stop = details.reason == "content_filter" and "refused" or "length"
    self.calls = {}
  end
  return {
    text = table.concat(self.texts),
    content = self.content,
    calls = self.calls,
    stop = stop,
    reason = self.refusal or details.reason,
    used = used_of(response.usage),
    model = type(response.model) == "string" and response.model or nil,
  }
end

---Fields of events whose texts are joined.
M.joins = { "delta" }

M.show = reading.shown('"response.output_text.delta"', function(event)
  return event.delta
end)

M.read = reading.of({
  new = function()
    return {}
  end,
  event = function(self, event) -- earlier events only show its progress
    self.response = ENDS[event.type] and event.response or self.response
  end,
  whole = function(self, response)
    self.response = response
  end,
  is_over = function(self)
    return self.response
  end,
  said = reply_of,
})

return M
