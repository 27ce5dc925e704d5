-- json_example_spec.lua: the least value that fits a JSON Schema.
local example = require "skillrt.base.json_example"
local json = require "skillrt.base.json"
local json_schema = require "skillrt.base.json_schema"

describe("an example of a JSON Schema", function()
  for text, wanted in pairs {
    ['{"type":"object","required":["a","d"],"properties":{"a":{"type":"integer","minimum":3},"b":{"enum":["x","y"]}}}']
      = '{"a":3,"b":"x","d":null}',
    ['{"type":"array","minItems":2,"items":{"type":"string","minLength":6}}'] = '["textxx","textxx"]',
    ['{"type":"array","items":{"const":7}}'] = "[7]",
    ['{"anyOf":[{"type":"null"},{"type":"string"}]}'] = "null",
    ['{"type":"number","exclusiveMinimum":2,"multipleOf":4}'] = "4",
    ['{"$defs":{"n":{"type":"boolean"}},"type":"object","required":["v"],"properties":{"v":{"$ref":"#/$defs/n"}}}'] = '{"v":true}',
    ['{"type":"string","maxLength":2}'] = '"te"',
    ['{"type":["integer","null"]}'] = "0",
  } do
    it("of " .. text .. " fits it", function()
      local schema = assert(json.decode(text))
      local value = example.of(schema)
      assert.equal(wanted, json.encode(value, { sorted = true }))
      assert.is_true((json_schema.judge(json_schema.normal(schema), value)))
    end)
  end

  it("of a schema that holds itself comes to an end", function()
    local schema = json.decode '{"type":"object","required":["next"],"properties":{"next":{"$ref":"#"}}}'
    assert.equal("table", type(example.of(schema)))
  end)
end)
