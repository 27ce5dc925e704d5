-- agent/wire/anthropic.lua: the Messages API: writes a conversation, and reads a message, whole or from the events
-- that build it.
--
-- Turns alternate, every tool call has its result in the following turn, nothing is empty. A stream counts only if it
-- ended with its own mark; what came before an error or a cut is no answer. Pure.

local extract = require("skillrt.agent.extract")
local json = require("skillrt.base.json")
local reading = require("skillrt.agent.wire.reading")
local count = require("skillrt.agent.usage").count
local tables = require("skillrt.base.tables")

---@type skillrt.Wire
local M = {}

---The tool that carries an answer in a schema, as the provider has no other way.
M.ANSWER = "answer"

-- ---- written ----

function M.headers(agent, endpoint)
  local headers = { ["anthropic-version"] = agent.version }
  local declared = { ["anthropic-version"] = agent.version }
  if agent.beta then
    headers["anthropic-beta"] = table.concat(agent.beta, ",")
    declared["anthropic-beta"] = headers["anthropic-beta"]
  end
  if endpoint.key then
    local bearer = agent.auth == "bearer" or agent.auth == nil and endpoint.is_token
    local name = bearer and "Authorization" or "x-api-key"
    headers[name] = (bearer and "Bearer " or "") .. endpoint.key
    declared[name] = "{key}"
  end
  return headers, declared
end

-- ---- messages ----

local function text_block(text)
  return { type = "text", text = text }
end

-- A result's text must not be empty.
local function result_block(result)
  return {
    type = "tool_result",
    tool_use_id = result.id,
    content = result.text:find("%S") and result.text or "(nothing)",
    is_error = result.is_error,
  }
end

local function blocks_of(turn)
  local out = {}
  if turn.role == "user" then
    out[1] = text_block(turn.text)
  elseif turn.role == "model" then
    return turn.content
  else
    for i, result in ipairs(turn.results) do
      out[i] = result_block(result)
    end
  end
  return out
end

local function role_of(turn)
  return turn.role == "model" and "assistant" or "user"
end

M.field = "messages"

---The messages of a turn; one of the same role as the last message is merged into it. Empty ones are dropped.
---@param turn skillrt.Turn
---@param last table|nil
---@return table[] messages
---@return boolean? merged  the first one replaces the last
function M.turned(turn, last)
  if turn.empty then
    return {}
  end
  local role, blocks = role_of(turn), blocks_of(turn)
  local merged = last ~= nil and last.role == role
  local content = merged and tables.append({}, last.content) or {}
  tables.append(content, blocks)
  return { { role = role, content = json.array(content) } }, merged
end

-- A list with a mark for the provider's cache in its last member.
local function marked(list)
  local copy = tables.append({}, list)
  local last = { cache_control = { type = "ephemeral" } }
  tables.fill(last, copy[#copy])
  copy[#copy] = last
  return json.array(copy)
end

---Marks the end of a message, so that everything up to there is read from the cache next time.
---@param agent table
---@param message table
---@return table
function M.mark(agent, message)
  return agent.cache and { role = message.role, content = marked(message.content) } or message
end

---Tools and system prompt come before all messages: with a mark after them, other conversations read them from the
---cache.
---@param agent table
---@param body table  of wire.body
---@return table|nil  a copy; nil: there is nothing to mark
function M.mark_head(agent, body)
  local extra = agent.extra or {}
  if not agent.cache or extra.tools or extra.system or not (body.tools or body.system) then
    return nil
  end
  local copy = tables.fill({}, body)
  if body.system then
    copy.system = marked({ text_block(body.system) })
  else
    copy.tools = marked(body.tools)
  end
  return copy
end

local function tools_of(want, answers_by_tool)
  local out = {}
  for i, tool in ipairs(want.tools) do
    out[i] = { name = tool.name, description = tool.description, input_schema = tool.input }
  end
  if answers_by_tool then
    out[#out + 1] = {
      name = M.ANSWER,
      description = "Gives your answer. Call it once, when the work is done.",
      input_schema = want.schema,
    }
  end
  return #out > 0 and json.array(out) or nil
end

-- Tools take objects only; another schema is passed another way.
local function by_tool(agent, want)
  return want.schema and want.schema.type == "object" and agent.structured == "tool"
end

---The body of a request, but for its messages.
---@param agent table
---@param want table  { tools, schema, model, effort }
---@return table
function M.body(agent, want)
  local tooled = by_tool(agent, want)
  local body = {
    model = want.model,
    max_tokens = agent.max_tokens or agent.vendor.max_tokens,
    system = agent.system,
    stream = agent.stream or nil,
    tools = tools_of(want, tooled),
  }
  if tooled then
    body.tool_choice = { type = #want.tools > 0 and "any" or "tool", name = #want.tools == 0 and M.ANSWER or nil }
  end
  if want.schema and not tooled or want.effort then
    body.output_config = {
      format = want.schema and not tooled and { type = "json_schema", schema = want.schema } or nil,
      effort = want.effort,
    }
  end
  tables.fill(body, agent.extra)
  return body
end

-- ---- read ----

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

-- The blocks, once all their pieces have arrived.
local WHOLE = { text = "text", thinking = "thinking" }

local function close(block)
  local text = table.concat(block._parts)
  block._parts = nil
  local field = WHOLE[block.type]
  if field then
    block[field] = (block[field] or "") .. text
  elseif text ~= "" then
    block.input, block._problem = extract.object(text)
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

-- ---- what it says ----

local function used_of(said)
  return {
    input = count(said, "input_tokens"),
    output = count(said, "output_tokens"),
    cache_read = count(said, "cache_read_input_tokens"),
    cache_write = count(said, "cache_creation_input_tokens"),
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

local function reply_of(self)
  local message, texts, calls = self.message, {}, {}
  assert(type(message.content) == "table")
  for _, block in ipairs(message.content) do
    if block.type == "text" and type(block.text) == "string" then
      texts[#texts + 1] = block.text
    elseif block.type == "tool_use" then
      if not json.is_object(block.input) then -- of a message that was no stream
        block.input, block._problem = {}, "its arguments are not a JSON object"
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

---Fields of events whose texts are joined.
M.joins = { "text", "partial_json", "thinking" }

M.show = reading.shown('"text_delta"', function(event)
  return event.delta.text
end)

M.read = reading.of({
  new = function()
    return { open = {} }
  end,
  event = function(self, event)
    local take = EVENT[event.type]
    if take then -- ping, and event types of the future
      take(self, event)
    end
  end,
  whole = function(self, message)
    self.message, self.stopped = message, true
  end,
  is_over = function(self)
    return self.stopped and next(self.open) == nil
  end,
  said = reply_of,
})

return M
