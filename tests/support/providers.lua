-- providers.lua: replies as Anthropic's and OpenAI's servers write them: whole, and as streams of events, for
-- tests of agents that are models. Required by specs; knows nothing of skillrt but JSON.
local json = require "skillrt.base.json"

local M = {}

local function encode(value)
  return assert(json.encode(value, { sorted = true }))
end

-- A text in pieces of so many bytes, or a little more: no character is cut.
local function pieces(text, size)
  local out, pos = {}, 1
  while pos <= #text do
    local stop = math.min(#text, pos + size - 1)
    while (text:byte(stop + 1) or 0) & 0xC0 == 0x80 do stop = stop + 1 end
    out[#out + 1], pos = text:sub(pos, stop), stop + 1
  end
  return out
end

---Events as text/event-stream.
---@param events table[]  { type =, ... }, or texts
---@param named boolean?  with an event: line
function M.stream(events, named, line_end)
  local out = {}
  line_end = line_end or "\n"
  for _, event in ipairs(events) do
    if named and type(event) == "table" then
      out[#out + 1] = "event: " .. event.type
    end
    out[#out + 1] = "data: " .. (type(event) == "table" and encode(event) or event)
    out[#out + 1] = ""
  end
  return table.concat(out, line_end) .. line_end
end

---A reply that a fake ctx gives.
function M.as_stream(events, named)
  return { body = M.stream(events, named), extra = "content-type: text/event-stream\n" }
end

function M.as_json(value)
  return { body = encode(value), extra = "content-type: application/json\n" }
end

---A Messages reply as the events that build it up, its texts in pieces.
---@param content table[]
---@param more table?  stop_reason, usage
function M.anthropic_events(content, more)
  more = more or {}
  local events = { { type = "message_start", message = { id = "msg_1", type = "message", role = "assistant",
    model = "claude-sonnet-4-5-20250929", content = json.array {}, stop_reason = json.null,
    usage = { input_tokens = 11, cache_read_input_tokens = 7, cache_creation_input_tokens = 3, output_tokens = 1 } } },
    { type = "ping" } }
  local function add(event) events[#events + 1] = event end
  for i, block in ipairs(content) do
    local empty, deltas = {}, {}
    for key, value in pairs(block) do empty[key] = value end
    if block.type == "text" then
      empty.text = ""
      for k, piece in ipairs(pieces(block.text, 4)) do deltas[k] = { type = "text_delta", text = piece } end
    elseif block.type == "tool_use" then
      empty.input = {}
      local text = encode(block.input)
      deltas = { { type = "input_json_delta", partial_json = "" } }
      for _, piece in ipairs(pieces(text, #text // 2 + 1)) do
        deltas[#deltas + 1] = { type = "input_json_delta", partial_json = piece }
      end
    elseif block.type == "thinking" then
      empty.thinking, empty.signature = "", nil
      deltas = { { type = "thinking_delta", thinking = block.thinking },
        { type = "signature_delta", signature = block.signature } }
    end
    add { type = "content_block_start", index = i - 1, content_block = empty }
    for _, delta in ipairs(deltas) do
      add { type = "content_block_delta", index = i - 1, delta = delta }
    end
    add { type = "content_block_stop", index = i - 1 }
  end
  add { type = "message_delta", delta = { stop_reason = more.stop_reason or "end_turn", stop_sequence = json.null },
    usage = { output_tokens = more.output or 20 } }
  add { type = "message_stop" }
  return events
end

---A Messages reply, as a stream.
function M.anthropic(content, more)
  if type(content) == "string" then
    content = { { type = "text", text = content } }
  end
  return M.as_stream(M.anthropic_events(content, more), true)
end

---The same as one JSON object.
function M.anthropic_json(content, more)
  more = more or {}
  return M.as_json { id = "msg_1", type = "message", role = "assistant", model = "claude-sonnet-4-5-20250929",
    content = json.array(content), stop_reason = more.stop_reason or "end_turn",
    usage = { input_tokens = 11, output_tokens = 20 } }
end

---A chat completion as chunks. `calls`: { id, name, arguments }.
function M.chat_events(text, calls, finish)
  local events = {}
  local function add(delta, reason)
    events[#events + 1] = { id = "c1", object = "chat.completion.chunk", model = "gpt-5-2025-08-07",
      choices = { { index = 0, delta = delta, finish_reason = reason or json.null } } }
  end
  add { role = "assistant", content = "" }
  for _, piece in ipairs(pieces(text or "", 5)) do add { content = piece } end
  for i, call in ipairs(calls or {}) do
    add { tool_calls = { { index = i - 1, id = call.id, type = "function", ["function"] = { name = call.name,
      arguments = "" } } } }
    for _, piece in ipairs(pieces(call.arguments, #call.arguments // 2 + 1)) do
      add { tool_calls = { { index = i - 1, ["function"] = { arguments = piece } } } }
    end
  end
  add({}, finish or (calls and "tool_calls" or "stop"))
  events[#events + 1] = { id = "c1", object = "chat.completion.chunk", choices = json.array {},
    usage = { prompt_tokens = 30, completion_tokens = 5, prompt_tokens_details = { cached_tokens = 10 } } }
  events[#events + 1] = "[DONE]"
  return events
end

function M.chat(text, calls, finish)
  return M.as_stream(M.chat_events(text, calls, finish))
end

---A response of the Responses API, as a stream.
function M.responses(output, more)
  local response = { id = "resp_1", object = "response", status = "completed", model = "gpt-5", error = json.null,
    output = json.array(output),
    usage = { input_tokens = 30, output_tokens = 5, input_tokens_details = { cached_tokens = 10 } } }
  for key, value in pairs(more or {}) do
    response[key] = value
  end
  return M.as_stream({ { type = "response.created", response = { id = "resp_1" } },
    { type = "response.output_text.delta", delta = "..." },
    { type = "response." .. response.status, response = response } }, true)
end

---A whole HTTP reply, as bytes on the wire.
---@param reply table  { body, extra, status }
function M.bytes(reply, headers)
  return ("HTTP/1.1 %d Whatever\r\n%sConnection: close\r\n%s\r\n%s"):format(reply.status or 200,
    (reply.extra or ""):gsub("\n", "\r\n"), headers or ("Content-Length: %d\r\n"):format(#reply.body), reply.body)
end

local uses = 0

---What Anthropic's server says where the model calls tools: { name, input, id? } each; ids are never the same.
function M.uses(calls)
  local blocks = {}
  uses = uses + 1
  for i, call in ipairs(calls) do
    blocks[i] = { type = "tool_use", id = call.id or ("t%d_%d"):format(uses, i), name = call[1], input = call[2] }
  end
  return M.anthropic(blocks, { stop_reason = "tool_use" })
end

return M
