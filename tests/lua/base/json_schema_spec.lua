-- json_schema_spec.lua: values judged by JSON Schemas, and schemas that are refused.
require "tests.support.json_shim"
local json = require "skillrt.base.json"
local json_schema = require "skillrt.base.json_schema"

local function judge(schema, text)
  assert(json_schema.check(schema))
  return json_schema.judge(schema, assert(json.decode(text)))
end

local function wrong(schema)
  local ok, message = json_schema.check(schema)
  assert.is_nil(ok)
  return message
end

local REVIEW = {
  type = "object", required = { "verdict", "findings" }, additionalProperties = false,
  properties = {
    verdict = { enum = { "pass", "fail" } },
    score = { type = "integer", minimum = 0, maximum = 10 },
    findings = { type = "array", maxItems = 2, items = { ["$ref"] = "#/$defs/finding" } },
  },
  ["$defs"] = { finding = { type = "object", required = { "file" }, properties = { file = { type = "string", minLength = 1 },
    line = { type = { "integer", "null" } } } } },
}

describe("a value judged by a JSON Schema", function()
  it("fits, or is told where it does not and why", function()
    assert.is_true(judge(REVIEW, '{"verdict":"pass","findings":[{"file":"a.c","line":null}]}'))
    for text, message in pairs {
      ['{"verdict":"pass"}'] = 'the answer has no "findings"',
      ['{"verdict":"maybe","findings":[]}'] = 'verdict must be one of ["pass","fail"], not "maybe"',
      ['{"verdict":"pass","findings":[{"file":""}]}'] = "findings[0].file must have at least 1 character, not 0",
      ['{"verdict":"pass","findings":{}}'] = "findings must be array, not an object",
      ['{"verdict":"pass","findings":[],"scor":1}'] = 'the answer must not have "scor" (did you mean "score"?)',
      ['{"verdict":"pass","findings":[],"score":11}'] = "score must be at most 10, not 11",
      ['{"verdict":"pass","findings":[],"score":1.5}'] = "score must be integer, not 1.5",
      ['{"verdict":"pass","findings":[{"file":"a"},{"file":"b"},{"file":"c"}]}'] =
        "findings must have at most 2 items, not 3",
      ['[]'] = "the answer must be object, not an array",
    } do
      assert.same({ nil, message }, { judge(REVIEW, text) }, text)
    end
  end)

  it("tells an empty list from an empty object, and 1.0 is whole", function()
    assert.is_true(judge({ type = "array" }, "[]"))
    assert.is_nil((judge({ type = "array" }, "{}")))
    assert.is_nil((judge({ type = "object" }, "[]")))
    assert.is_true(judge({ type = "integer" }, "1.0"))
  end)

  it("knows choices, numbers, lists and patterns", function()
    assert.is_true(judge({ anyOf = { { type = "string" }, { type = "null" } } }, "null"))
    assert.is_nil((judge({ oneOf = { { minimum = 1 }, { minimum = 2 } } }, "3")))
    assert.is_nil((judge({ ["not"] = { const = 1 } }, "1")))
    assert.is_nil((judge({ allOf = { { type = "number" }, { multipleOf = 5 } } }, "7")))
    assert.is_nil((judge({ type = "array", uniqueItems = true }, "[{\"a\":1},{\"a\":1}]")))
    assert.is_nil((judge({ additionalProperties = { type = "number" } }, '{"a":"b"}')))
    assert.is_true(judge({ pattern = "^PLN-\\d{3,4}[a-f_-]?$" }, '"PLN-1234-"'))
    assert.is_nil((judge({ pattern = "^PLN-\\d{3}$" }, '"PLN-12"')))
    assert.is_true(judge({ pattern = "^(red|green)$|^#(?=[0-9a-f]+$)" }, '"#0f0"'))
    assert.is_nil((judge({ pattern = "^(red|green)$" }, '"blue"')))
    assert.is_nil((judge({ exclusiveMaximum = 1 }, "1")))
  end)

  it("knows names by pattern, places in a list, conditions and null beside a type", function()
    local by_name = { patternProperties = { ["^n_"] = { type = "number" } }, additionalProperties = false }
    assert.is_true(judge(by_name, '{"n_a":1}'))
    assert.same({ nil, "n_a must be number, not \"x\"" }, { judge(by_name, '{"n_a":"x"}') })
    assert.is_nil((judge(by_name, '{"m":1}')))
    local row = { prefixItems = { { type = "string" }, { type = "number" } }, items = false }
    assert.is_true(judge(row, '["a",1]'))
    assert.same({ nil, "[2] is not allowed" }, { judge(row, '["a",1,2]') })
    assert.is_true(judge({ contains = { const = 2 } }, "[1,2]"))
    assert.same({ nil, "the answer has no item that fits `contains`" }, { judge({ contains = { const = 2 } }, "[1]") })
    local choice = { ["if"] = { properties = { kind = { const = "a" } } }, ["then"] = { required = { "x" } },
      ["else"] = { required = { "y" } } }
    assert.is_true(judge(choice, '{"kind":"a","x":1}'))
    assert.same({ nil, 'the answer has no "y"' }, { judge(choice, '{"kind":"b","x":1}') })
    assert.is_true(judge({ type = "string", nullable = true }, "null"))
    assert.is_nil((judge({ type = "string" }, "null")))
  end)

  it("is not deeper than the judge goes", function()
    local schema = { type = "array", items = { ["$ref"] = "#" } }
    assert.is_nil((judge(schema, ("["):rep(100) .. ("]"):rep(100))))
    local pairs_of = { type = "array", items = { type = "array", items = { ["$ref"] = "#" } } } -- 43 are 64 of its levels
    assert.is_true(judge(pairs_of, ("["):rep(43) .. ("]"):rep(43)))
    assert.is_nil((judge(pairs_of, ("["):rep(44) .. ("]"):rep(44))))
  end)
end)

describe("a JSON Schema", function()
  it("of more than 64 levels is refused", function()
    local schema = { type = "string" }
    for _ = 1, 63 do
      schema = { items = schema }
    end
    assert(json_schema.check(schema))
    assert.matches("is more than 64 levels deep", wrong { items = schema }, 1, true)
  end)

  it("with a keyword that nobody checks is refused", function()
    assert.equal('schema.a: keyword "minimun" is not checked by skillrt (did you mean "minimum"?)',
      wrong { properties = { a = { minimun = 1 } } })
    assert.matches('keyword "propertyNames" is not checked', wrong { propertyNames = {} })
    assert.is_true(json_schema.check { ["x-order"] = 1, format = "date" })
  end)

  it("that nothing can meet is refused before anything starts (W6)", function()
    assert.equal("schema: minItems 3 is above maxItems 2, so no value fits", wrong { minItems = 3, maxItems = 2 })
    assert.matches("additionalProperties = false forbids it", wrong { required = { "a" }, additionalProperties = false })
    assert.matches("not by type string", wrong { type = "string", enum = { 1 } })
    assert.matches("type \"text\" is not known", wrong { type = "text" })
    assert.matches("enum must be a list", wrong { enum = {} })
    assert.matches("%$ref", wrong { ["$ref"] = "#/$defs/x" })
    assert.matches("required must be a list", wrong { required = "a" })
    assert.matches("must be a schema", wrong { items = { properties = { a = 3 } } })
  end)

  it("with a list of no types is refused, as nothing could fit it", function()
    assert.matches("type must be a type or a list of types", wrong { type = {} }, 1, true)
  end)

  it("with a pattern that is no regular expression is refused", function()
    for _, pattern in ipairs { "(a|b", "a**", "[z-a]", "a{2,1}", 3 } do
      assert.matches("pattern", wrong { pattern = pattern }, nil, true)
    end
  end)

  it("is written with its lists as arrays", function()
    assert.equal('{"required":[],"type":["string","null"]}',
      json.encode(json_schema.normal { required = {}, type = { "string", "null" } }, { sorted = true }))
    for keyword in pairs(json_schema.KEYWORDS) do -- also as the name of a property, which is none
      local schema = { type = "object", properties = { [keyword] = { type = "string", enum = { "a" } }, ["default"] = { required = {} } } }
      local normal = json_schema.normal(schema)
      assert.same({ type = "string", enum = { "a" } }, normal.properties[keyword])
      assert.equal('{"required":[]}', json.encode(normal.properties.default))
      assert.truthy(json_schema.check(normal), keyword)
    end
    assert.equal('{"const":{"enum":{}},"enum":[{}]}', json.encode(json_schema.normal { enum = { {} }, const = { enum = {} } },
      { sorted = true }))
  end)
end)
