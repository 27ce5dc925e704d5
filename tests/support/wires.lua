-- wires.lua: a model's replies that call tools, or say something, as each API writes them, and what a request tells
-- of their results; for specs of tool loops.
local P = require "tests.support.providers"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local function with(url, more)
  local fields = { url = url }
  for key, value in pairs(more or {}) do fields[key] = value end
  return fields
end

local function said(text)
  return { type = "message", role = "assistant", content = { { type = "output_text", text = text } } }
end

---By name: agent(url, more), asks(calls, text), says(text), results(body) -> { { id, text } ... }, name of the first
---tool; all(body): the results of the whole talk.
local OF = {
  anthropic = {
    agent = function(url, more) return skillrt.agent.anthropic(with(url, more)) end,
    asks = function(calls, text)
      local blocks = { text and { type = "text", text = text } or nil }
      for _, call in ipairs(calls) do
        blocks[#blocks + 1] = { type = "tool_use", id = call.id, name = call.name, input = call.input }
      end
      return P.anthropic(blocks, { stop_reason = "tool_use" })
    end,
    says = function(text) return P.anthropic(text) end,
    results = function(body)
      local out = {}
      for i, block in ipairs(body.messages[#body.messages].content) do out[i] = { block.tool_use_id, block.content } end
      return out, body.tools[1].name
    end,
    all = function(body)
      local out = {}
      for _, message in ipairs(body.messages) do
        for _, block in ipairs(message.content) do
          if block.type == "tool_result" then out[#out + 1] = { block.tool_use_id, block.content } end
        end
      end
      return out
    end,
  },
  chat = {
    agent = function(url, more) return skillrt.agent.openai(with(url, more)) end,
    asks = function(calls, text)
      local list = {}
      for i, call in ipairs(calls) do
        list[i] = { id = call.id, name = call.name, arguments = json.encode(call.input) }
      end
      return P.chat(text or "", list)
    end,
    says = function(text) return P.chat(text) end,
    results = function(body)
      local out = {}
      for _, message in ipairs(body.messages) do
        if message.role == "tool" then out[#out + 1] = { message.tool_call_id, message.content } end
      end
      return out, body.tools[1]["function"].name
    end,
  },
  responses = {
    agent = function(url, more)
      local fields = with(url, more)
      fields.api = "responses"
      return skillrt.agent.openai(fields)
    end,
    asks = function(calls, text)
      local list = { text and said(text) or nil }
      for i, call in ipairs(calls) do
        list[#list + 1] = { type = "function_call", id = "fc" .. i, call_id = call.id, name = call.name,
          arguments = json.encode(call.input) }
      end
      return P.responses(list)
    end,
    says = function(text) return P.responses { said(text) } end,
    results = function(body)
      local out = {}
      for _, item in ipairs(body.input) do
        if item.type == "function_call_output" then out[#out + 1] = { item.call_id, item.output } end
      end
      return out, body.tools[1].name
    end,
  },
}

OF.chat.all, OF.responses.all = OF.chat.results, OF.responses.results

return {
  of = OF,
  ---An answer that is taken.
  GOOD = '{"status":"completed","stateUpdates":{"ok":true},"summary":"done"}',
}
