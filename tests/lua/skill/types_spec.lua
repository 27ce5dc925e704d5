-- types_spec.lua: the types a schema declares, and how updates of steps side by side meet.
local json = require "skillrt.base.json"
local merge = require "skillrt.skill.merge"
local skill = require "skillrt.skill"
local state = require "skillrt.skill.state"
local types = require "skillrt.skill.types"

describe("a declared type", function()
  it("fits what it names, and nothing else", function()
    local values = { text = "a", whole = 3, round = 3.0, part = 0.5, yes = true, list = json.array { 1 },
      empty = {}, none = json.array {}, box = { a = 1 } }
    for declared, fitting in pairs {
      string = "text", number = "part round whole", integer = "round whole", boolean = "yes",
      object = "box empty", any = "box empty list none part round text whole yes",
      ["any[]"] = "empty list none", ["integer[]"] = "empty list none", ["string[]"] = "empty none",
      ["number[][]"] = "empty none",
    } do
      local found = {}
      for name, value in pairs(values) do
        found[#found + 1] = types.fits(declared, value) and name or nil
      end
      table.sort(found)
      assert.equal(fitting, table.concat(found, " "), declared)
      assert.is_true(types.fits(declared, json.null))
    end
    assert.is_false(types.fits("integer", 1 / 0))
    assert.is_true(types.fits("integer[][]", json.array { json.array { 1 } }))
  end)

  it("is refused where it is unknown, with the nearest one", function()
    assert.equal("integer[][]", types.check "integer[][]")
    assert.matches('not "strng" %(did you mean "string"%?%)', select(2, types.check "strng"))
    assert.matches('not "int%[%]"', select(2, types.check "int[]"))
    assert.matches("not a table", select(2, types.check {}))
    local ok, message = pcall(skill.new, { name = "s", schema = { n = "strng" }, actions = { { id = "a", run = print } } })
    assert.is_false(ok)
    assert.matches('field "schema": "n" must be .*did you mean "string"', message)
  end)

  it("is found in the words of documents, TypeScript's too", function()
    for words, declared in pairs {
      ["string | null"] = "string", ["'a' | 'b'"] = "string", ["Array<string>"] = "string[]", array = "any[]",
      ["Finding[]"] = "any[]", ["Record<string, number>"] = "object", Finding = "any", ["{ a: string }"] = "object",
      integer = "integer", ["number[] | undefined"] = "number[]",
    } do
      assert.equal(declared, types.of_words(words), words)
    end
  end)
end)

describe("a schema", function()
  local function made(schema, more)
    local definition = { name = "s", schema = schema, actions = { { id = "a", run = print } } }
    for key, value in pairs(more or {}) do definition[key] = value end
    return skill.new(definition)
  end

  it("says a type, and how updates of steps side by side meet", function()
    local one = made { a = "string", b = { type = "object[]", merge = "append" }, c = { merge = "fail" } }
    assert.same({ a = "string", b = "object[]", c = "any" }, one.schema)
    assert.same({ b = "append", c = "fail" }, one.merge)
    assert.has_error(function() made { a = { type = "string", merge = "append" } } end)
    assert.has_error(function() made { a = { type = "string", merge = "sum" } } end)
    assert.has_error(function() made { a = { merge = "apend" } } end)
  end)

  it("leaves {} in a state from JSON an object, also deep inside, and makes it a list in a script's (F70)", function()
    local function first() return { deep = { box = {}, list = json.array {} }, top = {}, declared = {} } end
    local from_json = made({ declared = "any[]" }, { state = first(), marked = true })
    assert.equal('{"declared":[],"deep":{"box":{},"list":[]},"top":{}}', json.encode(from_json.state))
    local scripts = made({ declared = "object" }, { state = first() })
    assert.equal('{"declared":{},"deep":{"box":[],"list":[]},"top":[]}', json.encode(scripts.state))
  end)
end)

describe("updates of steps side by side", function()
  local function list(...) return json.array { ... } end

  it("meet as the schema says: last, append, union, sum, fail", function()
    for i, case in ipairs {
      { "last", 1, 0, 2, 2 },
      { "append", list(1, 2), list(1), list(1, 3), list(1, 2, 3) },
      { "append", list(1, 2), list(1), list(3), list(1, 2, 3) },
      { "append", nil, nil, list(3), list(3) },
      { "append", list(1), list(1), list(1, 2), list(1, 2) },
      { "union", list("a", "b"), list("a"), list("a", "c", "b"), list("a", "b", "c") },
      { "union", list({ x = 1 }), list(), list({ x = 1 }, { x = 2 }), list({ x = 1 }, { x = 2 }) },
      { "sum", 7, 5, 6, 8 },
      { "sum", nil, nil, 2, 2 },
      { "sum", 0.5, 0, 1, 1.5 },
      { "fail", 1, 1, 2, 2 },
      { "fail", 2, 1, 2, 2 },
      { "append", list(1), list(1), json.null, json.null },
    } do
      local value, problem = merge.value(case[1], case[2], case[3], case[4])
      assert.is_nil(problem)
      assert.equal(json.encode(case[5]), json.encode(value), i)
      assert.equal(math.type(case[5]), math.type(value))
    end
  end)

  it("are refused where they cannot meet", function()
    assert.matches("another step changed it", select(2, merge.value("fail", 2, 1, 3)))
    assert.matches("another step changed it", select(2, merge.value("fail", 2, 1, json.null)))
    assert.matches("must be a list to be appended, not the number 3", select(2, merge.value("append", nil, nil, 3)))
    assert.matches("must be a number to be summed, not a string", select(2, merge.value("sum", 1, 1, "x")))
    assert.matches("must be a list to be united, not an object", select(2, merge.value("union", nil, nil, { a = 1 })))
  end)

  it("take what the step saw from the state it holds, and change nothing they are given", function()
    local books = state.new { found = list({ n = 1 }) }
    local held = books:hold()
    books:patch { found = list({ n = 1 }, { n = 2 }) }
    local update = list({ n = 1 }, { n = 3 })
    local value = merge.value("append", books.root.found, held.found, update)
    assert.equal('[{"n":1},{"n":2},{"n":3}]', json.encode(value))
    assert.equal('[{"n":1},{"n":2}]', json.encode(books.root.found))
    assert.equal('[{"n":1},{"n":3}]', json.encode(update))
    books:release(held)
  end)

  it("give the same in every order where they append, unite or sum", function()
    local function merged(way, base, updates)
      local now = base
      for _, update in ipairs(updates) do now = merge.value(way, now, base, update) end
      local out = json.decode(json.encode(now))
      if type(out) == "table" then table.sort(out) end
      return json.encode(out)
    end
    for way, case in pairs {
      append = { list(1), list(1, 2), list(1, 3), list(4) },
      union = { list(1), list(1, 2), list(3, 2), list(4) },
      sum = { 10, 11, 8, 10.5 },
    } do
      local base, a, b, c = table.unpack(case)
      local first = merged(way, base, { a, b, c })
      for _, order in ipairs { { a, c, b }, { b, a, c }, { b, c, a }, { c, a, b }, { c, b, a } } do
        assert.equal(first, merged(way, base, order), way)
      end
    end
  end)
end)
