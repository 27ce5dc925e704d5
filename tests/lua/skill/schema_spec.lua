-- schema_spec.lua: definitions are checked field by field and say what to do.
require "tests.support.json_shim"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"
local schema = require "skillrt.skill.schema"

local FIELDS = {
  id = { type = "id", required = true },
  priority = { type = "number", default = 0 },
  tags = { type = "text", list = true },
  mode = { enum = { "sequential", "autonomous" }, default = "sequential" },
  file = { type = "path" },
  limits = { fields = { max_errors = { type = "positive", default = 3 }, wait = { type = "seconds" } } },
  env = { type = { "string", "boolean" }, map = true },
  flag = { type = "boolean", default = true },
}

local function refuse(definition)
  local normal, message = schema.record(definition, FIELDS, "thing", { preconditions = "when" })
  assert.is_nil(normal)
  return message
end

describe("a checked record", function()
  it("fills every default, also those of a nested record that is absent", function()
    local normal = schema.record({ id = "a" }, FIELDS, "thing")
    assert.same({ id = "a", priority = 0, mode = "sequential", flag = true, limits = { max_errors = 3 } }, normal)
  end)

  it("keeps false apart from absent", function()
    assert.is_false(schema.record({ id = "a", flag = false }, FIELDS, "thing").flag)
  end)

  it("takes a single value for a list of one", function()
    assert.same({ "x" }, schema.record({ id = "a", tags = "x" }, FIELDS, "thing").tags)
  end)

  it("shares no default between two records (F37)", function()
    local fields = { list = { default = { 1 } } }
    local a, b = schema.record({}, fields, "a"), schema.record({}, fields, "b")
    a.list[1] = 2
    assert.equal(1, b.list[1])
  end)

  local cases = {
    { "an unknown field, with the nearest known name", { id = "a", priorty = 1 },
      'thing: unknown field "priorty" (did you mean "priority"?)' },
    { "an unknown field that is like no other, with all there are", { id = "a", zzzzzz = 1 },
      'thing: unknown field "zzzzzz" (there are: env, file, flag, id, limits, mode, priority, tags)' },
    { "a word of another document, with the word used here", { id = "a", preconditions = "x" },
      'thing: unknown field "preconditions" (write "when")' },
    { "a value without a name", { id = "a", "stray" }, 'thing: holds "stray" without a name (write name = value)' },
    { "a missing field", {}, 'thing: field "id" is missing' },
    { "a wrong type", { id = "a", priority = "high" }, 'thing: field "priority" must be a number, not "high"' },
    { "infinity", { id = "a", priority = math.huge }, 'thing: field "priority" must be a number, not ' },
    { "NaN", { id = "a", priority = 0 / 0 }, 'thing: field "priority" must be a number, not ' },
    { "a wrong word of an enum", { id = "a", mode = "sequental" },
      'must be one of sequential, autonomous, not "sequental" (did you mean "sequential"?)' },
    { "a limit of 0", { id = "a", limits = { max_errors = 0 } },
      'thing: field "limits": field "max_errors" must be a positive whole number, not 0' },
    { "a limit with a fraction", { id = "a", limits = { max_errors = 1.5 } }, "must be a positive whole number, not 1.5" },
    { "a negative time", { id = "a", limits = { wait = -1 } }, "must be a number of seconds above 0" },
    { "an unknown field deep inside", { id = "a", limits = { max_error = 1 } },
      'thing: field "limits": unknown field "max_error" (did you mean "max_errors"?)' },
    { "a list with a wrong item", { id = "a", tags = { "x", 7 } }, 'field "tags"[2] must be a text that is not empty, not 7' },
    { "a map with a wrong value", { id = "a", env = { PATH = 7 } }, 'field "env" "PATH" must be a text or true or false, not 7' },
    { "something that is no table", "text", 'thing: must be a table, not "text"' },
  }
  for _, case in ipairs(cases) do
    it("refuses " .. case[1], function()
      assert.has_match(case[3], refuse(case[2]), 1, true)
    end)
  end
end)

describe("an id", function()
  for _, good in ipairs({ "a", "01-init", "03.5-consolidation", "Action_1", ("x"):rep(64) }) do
    it("may be " .. good, function()
      assert.equal(good, names.id(good))
    end)
  end
  for name, bad in pairs({
    empty = "", slash = "a/b", dots = "a..b", dot = ".a", dash = "-a", blank = "a b", nul = "a\0b", newline = "a\n",
    unicode = "é", long = ("x"):rep(65), number = 7, shell = "$(rm)",
  }) do
    it("may not be a text with: " .. name .. " (F13)", function()
      local id, problem = names.id(bad)
      assert.is_nil(id)
      assert.is_string(problem)
    end)
  end
  it("may have 1024 bytes", function()
    local longest = ("x/"):rep(511) .. "xx"
    assert.equal(longest, names.confined(longest))
    assert.same({ nil, "must be a path of at most 1024 bytes" }, { names.confined(longest .. "x") })
  end)
end)

describe("a path below a folder", function()
  for given, normal in pairs({
    ["a.json"] = "a.json", ["./a//b/./c.md"] = "a/b/c.md", ["a..b/c"] = "a..b/c", ["ein ß.md"] = "ein ß.md", ["..."] = "...",
  }) do
    it("may be " .. given, function()
      assert.equal(normal, names.confined(given))
    end)
  end
  for _, bad in ipairs({ "", "/etc/passwd", "..", "../a", "a/../b", "a/..", "a\0b", "a\nb", ".", "./", "a/", ("x"):rep(300), 7 }) do
    it(("may not be %q (F13)"):format(tostring(bad):sub(1, 20)), function()
      local path, problem = names.confined(bad)
      assert.is_nil(path)
      assert.is_string(problem)
    end)
  end
end)

describe("the nearest known name", function()
  for wrong, right in pairs({ priorty = "priority", agnet = "agent", tpyes = "types", When = "when", effect = "effects", idd = "id" }) do
    it("to " .. wrong .. " is " .. right, function()
      assert.equal(right, names.nearest(wrong, { "types", "priority", "agent", "when", "effects", "id" }))
    end)
  end
  it("is none for a name like no other, or too long to be one", function()
    assert.is_nil(names.nearest("xyzzy", { "priority", "agent" }))
    assert.is_nil(names.nearest(("x"):rep(1000), { ("x"):rep(999) }))
  end)
end)

describe("a copy of what JSON can hold", function()
  it("is deep and keeps marked arrays (F37, F70)", function()
    local original = { list = json.array({}), deep = { { 1 } }, null = json.null }
    local copy = schema.copy(original)
    assert.is_true(json.is_array(copy.list))
    assert.not_equal(original.deep[1], copy.deep[1])
    assert.same(original.deep, copy.deep)
    assert.equal(json.null, copy.null)
  end)

  local loop = {}
  loop.again = loop
  local deep = {}
  for _ = 1, 200 do
    deep = { deep }
  end
  for name, case in pairs({
    ["a function"] = { { a = { print } }, "state.a[1] is a function, which cannot be saved" },
    ["NaN"] = { { a = 0 / 0 }, "which cannot be saved; use a finite number" },
    ["infinity"] = { { a = math.huge }, "state.a is inf, which cannot be saved" },
    ["a cycle"] = { loop, "state.again contains itself" },
    ["a gap"] = { { a = { 1, nil, 3, [7] = 1 } }, "state.a is a list with gaps" },
    ["items and names together"] = { { a = { 1, b = 2 } }, "state.a mixes items and names" },
    ["a key that is no text"] = { { a = { [true] = 1 } }, "state.a has the key true; keys must be texts" },
    ["a tree too deep"] = { deep, "is more than 128 levels deep" },
    ["a file"] = { { a = io.stdout }, "state.a is a userdata" },
  }) do
    it("refuses " .. name .. ", naming the place", function()
      local copy, message = schema.copy(case[1], "state")
      assert.is_nil(copy)
      assert.has_match(case[2], message, 1, true)
    end)
  end

  it("takes the same table twice where it is no cycle", function()
    local twice = { 1 }
    assert.same({ a = { 1 }, b = { 1 } }, schema.copy({ a = twice, b = twice }))
  end)
end)
