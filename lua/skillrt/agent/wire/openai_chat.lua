-- agent/wire/openai_chat.lua: the Chat Completions API: writes a conversation, and reads a completion or its chunks.
--
-- A stream counts once a choice gives its finish reason; not every server of this API ends it with [DONE]. Pure.

local extract = require("skillrt.agent.extract")
local json = require("skillrt.base.json")
local reading = require("skillrt.agent.wire.reading")
local count = require("skillrt.agent.usage").count
local tables = require("skillrt.base.tables")

local M = {}

-- ---- written ----

M.field = "messages"

---What comes before all turns.
---@param agent table
---@return table[] messages
function M.opening(agent)
  return { agent.system and { role = "system", content = agent.system } or nil }
end

local function results_of(turn)
  local out = {}
  for i, result in ipairs(turn.results) do
    out[i] = { role = "tool", tool_call_id = result.id, content = reading.told(result) }
  end
  return out
end

---The messages of a turn; two user messages in a row are merged.
---@param turn skillrt.Turn
---@param last table|nil
---@return table[] messages
---@return boolean? merged  the first one replaces the last
function M.turned(turn, last)
  if turn.role == "results" then
    return results_of(turn)
  elseif turn.role == "model" then
    return { not turn.empty and turn.content[1] or nil }
  elseif last and last.role == "user" then -- what was between them was empty
    return { { role = "user", content = last.content .. "\n\n" .. turn.text } }, true
  end
  return { { role = "user", content = turn.text } }
end

local function format_of(agent, want)
  if not want.schema or agent.structured == "words" then
    return nil
  elseif agent.structured == "object" then
    return { type = "json_object" }
  end
  return { type = "json_schema",
    json_schema = { name = "answer", schema = want.schema, strict = reading.is_strict(want.schema) } }
end

---The body of a request, but for its messages.
---@param agent table
---@param want table
---@return table
function M.body(agent, want)
  local tools = {}
  for i, tool in ipairs(want.tools) do
    tools[i] = { type = "function",
      ["function"] = { name = tool.name, description = tool.description, parameters = tool.input } }
  end
  local own = not agent.url and not os.getenv(agent.vendor.url_env)
  local body = {
    model = want.model,
    tools = #tools > 0 and json.array(tools) or nil,
    response_format = format_of(agent, want),
    stream = agent.stream or nil,
    stream_options = agent.stream and { include_usage = true } or nil,
    reasoning_effort = want.effort,
    max_completion_tokens = own and agent.max_tokens or nil,
    max_tokens = not own and agent.max_tokens or nil,
  }
  tables.fill(body, agent.extra)
  return body
end

-- ---- read ----

local function append(to, key, text)
  if type(text) == "string" then
    to[key] = to[key] or {}
    to[key][#to[key] + 1] = text
  end
end

-- Calls come in pieces, each with its index; the first piece has its id and name.
local function add_call(self, piece, i)
  local index = math.tointeger(piece.index) or i - 1
  local call = self.calls[index]
  if not call then
    call = { arguments = {} }
    self.calls[index] = call
    self.order[#self.order + 1] = index
  end
  local fn = piece["function"] or {}
  call.id = type(piece.id) == "string" and piece.id ~= "" and piece.id or call.id
  call.name = type(fn.name) == "string" and fn.name ~= "" and fn.name or call.name
  local given = fn.arguments
  if given ~= nil and given ~= json.null and type(given) ~= "string" then -- never taken for none
    given = json.encode(given)
  end
  append(call, "arguments", given)
end

local function add_part(self, part, finish)
  append(self, "text", part.content)
  append(self, "refusal", part.refusal)
  for i, piece in ipairs(tables.object(part.tool_calls)) do
    add_call(self, piece, i)
  end
  self.finish = type(finish) == "string" and finish or self.finish
end

-- A chunk, or a completion.
local function add(self, object, field)
  local choice = type(object.choices) == "table" and object.choices[1]
  if type(choice) == "table" and type(choice[field]) == "table" then
    add_part(self, choice[field], choice.finish_reason)
  end
  self.usage = type(object.usage) == "table" and object.usage or self.usage
  self.model = type(object.model) == "string" and object.model or self.model
end

local STOP = { stop = "end", length = "length", tool_calls = "tools", function_call = "tools",
  content_filter = "refused" }

local function used_of(said)
  local cached = count(tables.object(said).prompt_tokens_details, "cached_tokens")
  return {
    input = math.max(0, count(said, "prompt_tokens") - cached),
    output = count(said, "completion_tokens"),
    cache_read = cached,
  }
end

local function whole(parts)
  return parts and table.concat(parts) or ""
end

local function calls_of(self)
  local calls, sent = {}, {}
  table.sort(self.order)
  for _, index in ipairs(self.order) do
    local one = self.calls[index]
    if one.name then
      local text = whole(one.arguments)
      local input, problem = extract.object(text)
      local written = { name = one.name, arguments = not problem and text ~= "" and text or "{}" }
      local item = { id = one.id, type = "function", ["function"] = written }
      sent[#sent + 1] = item
      calls[#calls + 1] = { id = one.id, name = one.name, input = input, problem = problem,
        rename = function(id, name)
          item.id, written.name = id, name
        end }
    end
  end
  return calls, #sent > 0 and json.array(sent) or nil
end

local function reply_of(self)
  local text, refusal = whole(self.text), whole(self.refusal)
  local calls, sent = calls_of(self)
  local said = text:find("%S") and text or nil
  local stop = refusal ~= "" and "refused" or #calls > 0 and "tools" or STOP[self.finish] or "end"
  if self.finish == "length" then
    stop, calls = "length", {}
  end
  return {
    text = text,
    content = (said or sent) and { { role = "assistant", content = said, tool_calls = sent } } or {},
    calls = calls,
    stop = stop,
    reason = refusal ~= "" and refusal or self.finish,
    used = used_of(self.usage),
    model = self.model,
  }
end

---Fields of chunks whose texts are joined.
M.joins = { "content", "arguments" }

M.show = reading.shown('"content"', function(chunk)
  return chunk.choices[1].delta.content
end)

M.read = reading.of({
  new = function()
    return { calls = {}, order = {} }
  end,
  event = function(self, chunk)
    add(self, chunk, "delta")
  end,
  whole = function(self, completion)
    add(self, completion, "message")
  end,
  is_over = function(self)
    return self.finish
  end,
  said = reply_of,
})

return M
