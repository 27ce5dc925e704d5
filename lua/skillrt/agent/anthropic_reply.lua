-- agent/anthropic_reply.lua: a reply of the Messages API: a message as JSON, or the events that build one up.
--
-- A stream counts when it was ended by its own mark; what came before an error or a cut is no answer. Pure.

local found = require("skillrt.agent.found")
local json = require("skillrt.base.json")
local condition = require("skillrt.agent.condition")

local M = {}

local STOP = {
  end_turn = "end",
  stop_sequence = "end",
  tool_use = "tools",
  pause_turn = "pause",
  max_tokens = "length",
  model_context_window_exceeded = "length",
  refusal = "refused",
}

-- ---- from events ----

local DELTA = {}

function DELTA.text_delta(block, delta)
  block._parts[#block._parts + 1] = delta.text
end

function DELTA.input_json_delta(block, delta)
  block._parts[#block._parts + 1] = delta.partial_json
end

function DELTA.thinking_delta(block, delta)
  block._parts[#block._parts + 1] = delta.thinking
end

function DELTA.signature_delta(block, delta)
  block.signature = (block.signature or "") .. delta.signature
end

-- What its pieces are, once they are whole.
local WHOLE = { text = "text", thinking = "thinking" }

local function close(block)
  local text = table.concat(block._parts)
  block._parts = nil
  local field = WHOLE[block.type]
  if field then
    block[field] = (block[field] or "") .. text
  elseif text ~= "" then
    block.input, block._problem = found.object(text)
  end
end

local EVENT = {}

function EVENT.message_start(self, event)
  self.message = event.message
  self.message.content, self.count = {}, 0
end

function EVENT.content_block_start(self, event)
  local block = event.content_block
  block._parts = {}
  self.open[event.index] = block
  self.count = self.count + 1
  self.message.content[self.count] = block
end

function EVENT.content_block_delta(self, event)
  local block, add = self.open[event.index], DELTA[event.delta.type]
  if add then
    add(block, event.delta)
  end
end

function EVENT.content_block_stop(self, event)
  close(self.open[event.index])
  self.open[event.index] = nil
end

function EVENT.message_delta(self, event)
  self.message.stop_reason = event.delta.stop_reason or self.message.stop_reason
  for key, value in pairs(event.usage or {}) do
    self.message.usage = self.message.usage or {}
    self.message.usage[key] = value
  end
end

function EVENT.message_stop(self)
  self.stopped = true
end

local function one_event(self, text)
  local event, why = json.decode(text)
  if type(event) ~= "table" then
    return condition.broken("an event is no JSON object: " .. tostring(why))
  elseif event.type == "error" then
    return condition.of(event.error)
  end
  local handle = EVENT[event.type]
  if not handle then
    return nil -- ping, and what comes to be
  end
  local ok = pcall(handle, self, event)
  return not ok and condition.broken(("event %s is not what it should be"):format(tostring(event.type))) or nil
end

local function message_of_events(body)
  local list, cut = found.events(body)
  if not list then
    return nil, condition.broken(tostring(cut))
  end
  local self = { open = {} }
  for i = 1, #list do
    local failure = one_event(self, list[i])
    if failure then
      return nil, failure
    end
  end
  if not self.stopped or next(self.open) then
    return nil, condition.broken(cut and "the stream was cut inside an event"
      or "the stream ended without message_stop")
  end
  return self.message
end

-- ---- what it says ----

local function used_of(usage)
  usage = type(usage) == "table" and usage or {}
  local function count(name)
    return math.tointeger(tonumber(usage[name])) or 0
  end
  return {
    input = count("input_tokens"),
    output = count("output_tokens"),
    cache_read = count("cache_read_input_tokens"),
    cache_write = count("cache_creation_input_tokens"),
  }
end

-- The blocks that may be sent back: no empty text.
local function kept(content)
  local out = {}
  for _, block in ipairs(content) do
    if not (block.type == "text" and not tostring(block.text):find("%S")) then
      local copy = {}
      for key, value in pairs(block) do
        copy[key] = key ~= "_problem" and value or nil
      end
      out[#out + 1] = copy
    end
  end
  return json.array(out)
end

local function reply_of(message)
  local texts, calls = {}, {}
  for _, block in ipairs(message.content) do
    if block.type == "text" and type(block.text) == "string" then
      texts[#texts + 1] = block.text
    elseif block.type == "tool_use" then
      if type(block.input) ~= "table" or json.is_array(block.input) then -- of a message that was no stream
        block.input, block._problem = {}, "its arguments are no JSON object"
      end
      calls[#calls + 1] = { id = block.id, name = block.name, input = block.input, problem = block._problem }
    end
  end
  local stop = STOP[message.stop_reason] or "end"
  local content, at = kept(message.content), 0
  for _, block in ipairs(content) do
    if block.type == "tool_use" then
      at = at + 1
      calls[at].rename = function(id, name)
        block.id, block.name = id, name
      end
    end
  end
  return {
    text = table.concat(texts),
    content = content,
    calls = stop ~= "length" and calls or {}, -- a call that was cut off is none
    stop = stop,
    reason = stop == "refused" and texts[1] or message.stop_reason,
    used = used_of(message.usage),
    model = type(message.model) == "string" and message.model or nil,
  }
end

---What an event adds to the text, for people who watch.
---@param data string
---@return string?
function M.show(data)
  local event = data:find('"text_delta"', 1, true) and json.decode(data)
  local delta = type(event) == "table" and event.delta
  return type(delta) == "table" and type(delta.text) == "string" and delta.text or nil
end

---@param reply table
---@return skillrt.ModelReply|nil
---@return skillrt.Failure?
function M.read(reply)
  local message, problem
  if found.is_stream(reply.extra) then
    message, problem = message_of_events(reply.body or "")
  else
    message, problem = json.decode(reply.body or "")
    if message == nil then
      problem = condition.broken("the reply is no JSON: " .. tostring(problem))
    elseif type(message) == "table" and message.type == "error" then
      message, problem = nil, condition.of(message.error)
    end
  end
  if message == nil then
    return nil, problem
  elseif type(message) ~= "table" or type(message.content) ~= "table" then
    return nil, condition.broken("the reply is no message")
  end
  local ok, out = pcall(reply_of, message)
  if not ok then
    return nil, condition.broken("the message is not what it should be")
  end
  return out
end

return M
