-- reading_spec.lua: which schemas a provider can enforce strictly, and what people are shown of a stream.
local reading = require "skillrt.agent.wire.reading"

local function object(properties, more)
  local schema = { type = "object", properties = properties, required = {}, additionalProperties = false }
  for name in pairs(properties) do
    table.insert(schema.required, name)
  end
  for key, value in pairs(more or {}) do
    schema[key] = value
  end
  return schema
end

describe("a schema", function()
  it("is strict where each object is closed, needs all of its fields, and holds no other keyword", function()
    local text = { type = "string" }
    assert.is_true(reading.is_strict(object {}))
    assert.is_true(reading.is_strict(object { a = text, b = object { c = text } }))
    assert.is_true(reading.is_strict(object { a = { type = "array", items = object { b = text } } }))
    assert.is_true(reading.is_strict(object { a = { anyOf = { text, object { b = text } } } }))
    assert.is_false(reading.is_strict(text))
    assert.is_false(reading.is_strict { type = "object", properties = { a = text }, required = { "a" } })
    assert.is_false(reading.is_strict(object({ a = text }, { required = {} })))
    assert.is_false(reading.is_strict(object { a = { type = "string", format = "date" } }))
    local open = { type = "object" }
    assert.is_false(reading.is_strict(object { a = open }))
    assert.is_false(reading.is_strict(object { a = { type = "array", items = open } }))
    assert.is_false(reading.is_strict(object { a = { anyOf = { text, open } } }))
    assert.is_false(reading.is_strict(object({ a = text }, { ["$defs"] = { b = open } })))
  end)
end)

describe("what is shown of an event", function()
  local function text(event) return event.delta.text end

  it("is its text, and nothing of other events", function()
    local shown = reading.shown("delta", text)
    assert.equal("x", shown '{"delta":{"text":"x"}}')
    assert.is_nil(shown '{"delta":{"text":5}}')
    assert.is_nil(shown '{"delta":1}')
    assert.is_nil(shown '{"text":"x"}')
    assert.is_nil(shown 'delta, but no JSON')
  end)
end)

describe("what a model reads of a tool", function()
  it("says that it failed, and that there is nothing", function()
    assert.equal("x", reading.told { text = "x" })
    assert.equal("Error: x", reading.told { text = "x", is_error = true })
    assert.equal("(nothing)", reading.told { text = " \n" })
    assert.equal("Error: (nothing)", reading.told { text = "", is_error = true })
  end)
end)
