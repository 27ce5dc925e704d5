-- json_spec.lua: the exact JSON codec as Lua sees it, beside lua-cjson where both should agree.
local json = require("skillrt.core").json
local cjson = require "cjson"

-- every case must fail as the world does: nil, message, code
local function refused(code, wanted, value, message, got)
  assert.is_nil(value)
  assert.equal(code, got)
  assert.equal(wanted, message)
end

local function chain(depth)
  local value = {}
  for _ = 2, depth do
    value = { x = value }
  end
  return value
end

describe("json numbers", function()
  it("keeps integers integers and doubles doubles, to the last bit (F70)", function()
    local numbers = { 0, 1, -1, 127, math.maxinteger, math.mininteger, 2 ^ 53, 2 ^ 53 + 1, 0.1, 1 / 3, 1e300, 5e-324, -0.0,
      1.7976931348623157e308, 123456.789, 1.0, 100.0, 2.5e-7, 3.0e15, 3.0e17, 3.0e18 }
    for _, number in ipairs(numbers) do
      local text = assert(json.encode(number))
      local back = json.decode(text)
      assert.equal(math.type(number), math.type(back), text)
      assert.equal(string.pack("n", number), string.pack("n", back), text)
    end
  end)

  it("writes a whole double with its point", function()
    assert.equal("[1.0,-0.0,100.0,1e18,1e-7,0.00001,1]", json.encode { 1.0, -0.0, 100.0, 1e18, 1e-7, 1e-5, 1 })
  end)

  it("reads a number wider than int64 as the nearest double, and -0 as a double", function()
    assert.equal(2.0 ^ 63, json.decode "9223372036854775808")
    assert.equal("float", math.type(json.decode "9223372036854775808"))
    assert.equal(-math.huge, 1 / json.decode "-0")
    assert.equal("integer", math.type(json.decode "9223372036854775807"))
  end)

  it("refuses NaN and infinities, naming where they are", function()
    refused("invalid", "value: cannot encode NaN", json.encode(0 / 0))
    refused("invalid", "value.a[2]: cannot encode an infinite number", json.encode { a = { 1, -math.huge } })
  end)
end)

describe("json arrays and objects", function()
  it("keeps [] an array and {} an object through any number of turns (F70)", function()
    for _, text in ipairs { "[]", "{}", "[[],{}]", '{"a":[],"b":{},"c":[{}]}' } do
      assert.equal(text, json.encode(json.decode(text)))
    end
  end)

  it("writes an unmarked empty table as {} and a marked one as []", function()
    assert.equal("{}", json.encode {})
    assert.equal("[]", json.encode(json.array()))
    assert.equal("[]", json.encode(json.empty_array))
    assert.equal("[]", json.encode(setmetatable({}, json.array_mt)))
    assert.equal("[]", json.encode(setmetatable({}, json.empty_array_mt)))
    assert.equal('{"a":1}', json.encode(setmetatable({ a = 1 }, json.empty_array_mt)))
  end)

  it("marks the table it is given and returns it", function()
    local list = {}
    assert.equal(list, json.array(list))
    assert.equal(list, json.array(list))
    list[1] = "x"
    assert.equal('["x"]', json.encode(list))
    assert.error_matches(function() json.array(setmetatable({}, {})) end, "bad argument #1 .*has a metatable already")
    assert.error_matches(function() json.array(1) end, "bad argument #1 .*table expected")
  end)

  it("tells arrays from objects", function()
    assert.is_true(json.is_array(json.decode "[]"))
    assert.is_true(json.is_array { 1 })
    assert.is_true(json.is_array(json.empty_array))
    assert.is_true(json.is_array(setmetatable({}, { __json_target = json.array() })))
    assert.is_false(json.is_array {})
    assert.is_false(json.is_array(json.decode "{}"))
    assert.is_false(json.is_array "[]")
    assert.is_false(json.is_array(json.null))
  end)

  it("writes an array whose items were set in any order", function()
    local list = {}
    for i = 40, 1, -1 do
      list[i] = i
    end
    local mixed = { [4] = 4, [2] = 2, 1, [3] = 3 }
    assert.equal("[1,2,3,4]", json.encode(mixed))
    assert.equal(list, json.array(list))
    assert.equal(40, #json.decode(json.encode(list)))
    assert.equal(7, json.decode(json.encode(list))[7])
  end)

  it("reads arrays and objects of every size around its chunks", function()
    for _, n in ipairs { 1, 2, 23, 24, 25, 47, 48, 49, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1500 } do
      local list, named = {}, {}
      for i = 1, n do
        list[i] = i
        named["key number " .. i] = { i }
      end
      assert.same(list, setmetatable(json.decode(json.encode(list)), nil))
      for _, sorted in ipairs { true, false } do
        local back = json.decode(json.encode(named, { sorted = sorted }))
        local count = 0
        for key, value in pairs(back) do
          assert.equal(named[key][1], value[1])
          count = count + 1
        end
        assert.equal(n, count)
      end
    end
  end)

  it("refuses what JSON cannot say, naming the path", function()
    local case = function(wanted, value)
      refused("invalid", wanted, json.encode(value, { name = "state" }))
      refused("invalid", wanted, json.encode(value, { name = "state", sorted = false }))
    end
    case("state: cannot encode nil", nil)
    case("state.findings[3].cb: cannot encode a function", { findings = { 1, 2, { cb = print } } })
    case('state["odd key"]["12"].x_1: cannot encode a coroutine', { ["odd key"] = { ["12"] = { x_1 = coroutine.create(print) } } })
    case("state.f: cannot encode a userdata", { f = io.stdout })
    case("state: cannot encode an array with holes (use null for what is missing)", { 1, 2, nil, 4 })
    case("state: cannot encode an array with holes (use null for what is missing)", { [2] = 1 })
    case("state.m: cannot encode a table with both items and named members", { m = { 1, 2, x = 1 } })
    case("state: cannot encode a table whose keys are neither strings nor 1..n", { [1.5] = 1 })
    case("state: cannot encode a table whose keys are neither strings nor 1..n", { [true] = 1 })
    case("state: cannot encode a table whose keys are neither strings nor 1..n", { [-1] = 1 })
    case("state: cannot encode named members of a table marked as an array", setmetatable({ x = 1 }, json.array_mt))
    case("state.s: cannot encode a string that is not valid UTF-8", { s = "\xff" })
    case('state["a?"]: cannot encode a string that is not valid UTF-8', { ["a\xff"] = 1 })
    case('state["? ~?"]: cannot encode a function', { ["\31 ~\127"] = print })
  end)

  it("refuses a table inside itself but not one that appears twice", function()
    local inner = { 1 }
    assert.equal('{"a":[1],"b":[1]}', json.encode { a = inner, b = inner })
    local loop = { a = {} }
    loop.a.b = loop
    refused("invalid", "value.a.b: cannot encode a table inside itself", json.encode(loop))
  end)
end)

describe("json text", function()
  it("sorts keys byte by byte unless told not to", function()
    local value = { b = 1, a = 2, B = 3, ab = 4, ["a\0"] = 5, [""] = 6, ["é"] = 7, abcdefghi = 8, abcdefgh = 9, abcdefghZ = 10 }
    assert.equal('{"":6,"B":3,"a":2,"a\\u0000":5,"ab":4,"abcdefgh":9,"abcdefghZ":10,"abcdefghi":8,"b":1,"é":7}',
      json.encode(value))
    assert.same(value, json.decode(json.encode(value, { sorted = false })))
  end)

  it("indents as people and other tools expect", function()
    local text = '{\n  "a": [\n    1,\n    {\n      "b": []\n    }\n  ],\n  "c": {}\n}'
    assert.equal(text, json.encode(json.decode(text), { indent = 2 }))
    assert.equal("[\n 1\n]", json.encode({ 1 }, { indent = 1 }))
    assert.equal("[1]", json.encode({ 1 }, { indent = 0 }))
  end)

  it("escapes what must be escaped and nothing else", function()
    assert.equal([["\"\\/\b\f\n\r\t\u0000\u001f]] .. '\x7f"', json.encode '"\\/\b\f\n\r\t\0\x1f\x7f')
    assert.equal('"前端 é 😀"', json.encode "前端 é 😀")
    for length = 0, 40 do
      for at = 1, length do
        local text = ("x"):rep(at - 1) .. "\n" .. ("y"):rep(length - at)
        assert.equal(text, json.decode(json.encode(text)))
      end
    end
  end)

  it("reads every escape", function()
    assert.equal("\"\\/\b\f\n\r\tA\0é😀", json.decode [["\"\\\/\b\f\n\r\t\u0041\u0000\u00e9\ud83d\ude00"]])
    local long = ("\\u00e9"):rep(1000)
    assert.equal(("é"):rep(1000), json.decode('"' .. long .. '"'))
  end)

  it("refuses keys that appear twice, however they are written", function()
    refused("invalid", 'JSON: line 1, column 8 (byte 7): key "a" appears twice', json.decode '{"a":1,"a":2}')
    assert.is_nil((json.decode [[{"a":1,"\u0061":2}]]))
    assert.is_nil((json.decode '{"":1,"":2}'))
    assert.is_truthy(json.decode '{"a":1,"b":{"a":2}}')
    for _, n in ipairs { 2, 20, 24, 25, 60, 200 } do
      local members = {}
      for i = 1, n do
        members[i] = ('"a rather long key %d":%d'):format(i, i)
      end
      local good = "{" .. table.concat(members, ",") .. "}"
      assert.is_truthy(json.decode(good))
      for _, again in ipairs { 1, n // 2, n } do
        members[n + 1] = members[math.max(again, 1)]
        local value, message = json.decode("{" .. table.concat(members, ",") .. "}")
        assert.is_nil(value)
        assert.matches("appears twice$", message)
      end
    end
  end)

  it("names the text, the line and the column of a mistake", function()
    refused("invalid", "state.json: line 3, column 8 (byte 26): expected ',' or '}', found 'x'",
      json.decode('{"a": 1,\n "b": 2,\n "é": 1x}', { name = "state.json" }))
    refused("invalid", "JSON: line 1, column 3 (byte 2): expected the end of the text, found 'x'", json.decode "1 x")
  end)
end)

describe("json limits", function()
  it("takes nesting up to the limit and refuses one more, both ways", function()
    assert.is_truthy(json.encode(chain(128)))
    refused("limit", "value..." .. (".x"):rep(126) .. ": cannot encode tables nested so deep", json.encode(chain(129)))
    refused("limit", "value[1]: cannot encode tables nested so deep", json.encode({ json.empty_array }, { depth = 1 }))
    local loop = {}
    loop[1] = loop
    refused("limit", "value[1]: cannot encode tables nested so deep", json.encode(loop, { depth = 1 }))
    assert.is_truthy(json.decode(("["):rep(128) .. ("]"):rep(128)))
    refused("limit", "JSON: line 1, column 129 (byte 128): nested too deep", json.decode(("["):rep(129)))
    assert.is_truthy(json.decode(json.encode(chain(1024), { depth = 1024 }), { depth = 1024 }))
    refused("limit", "JSON: line 1, column 3 (byte 2): nested too deep", json.decode("[[[]]]", { depth = 2 }))
  end)

  it("takes texts up to the size limit and refuses one byte more, both ways", function()
    assert.equal('"1234"', json.encode("1234", { size = 6 }))
    refused("limit", "value: more than 6 bytes of JSON", json.encode("12345", { size = 6 }))
    refused("limit", "value: more than 6 bytes of JSON", json.encode(("x"):rep(100000), { size = 6 }))
    assert.equal("1234", json.decode('"1234"', { size = 6 }))
    refused("limit", "JSON: 7 bytes, more than the limit of 6", json.decode('"12345"', { size = 6 }))
  end)

  it("raises on wrong arguments and options, and only then", function()
    assert.error_matches(function() json.encode() end, "value expected")
    assert.error_matches(function() json.decode(1) end, "string expected")
    assert.error_matches(function() json.decode {} end, "string expected")
    assert.error_matches(function() json.encode(1, 2) end, "table expected")
    assert.error_matches(function() json.encode(1, { sort = true }) end, "there is no option 'sort'")
    assert.error_matches(function() json.decode("1", { sorted = true }) end, "there is no option 'sorted'")
    assert.error_matches(function() json.encode(1, { sorted = 1 }) end, "option 'sorted' must be a boolean")
    assert.error_matches(function() json.encode(1, { indent = "2" }) end, "option 'indent' must be a whole number")
    assert.error_matches(function() json.encode(1, { indent = 99 }) end, "from 0 to 16")
    assert.error_matches(function() json.encode(1, { depth = 5000 }) end, "from 1 to 1024")
    assert.error_matches(function() json.encode(1, { name = 1 }) end, "option 'name' must be a string")
    assert.error_matches(function() json.encode(1, { 1 }) end, "options have names")
  end)
end)

describe("json proxies", function()
  it("writes the table a proxy stands for, without calling its metamethods", function()
    local never = function() error "called" end
    local proxy = function(target)
      return setmetatable({}, { __json_target = target, __index = never, __pairs = never, __len = never, __newindex = never })
    end
    assert.equal('{"a":1,"b":[1,2],"c":[]}', json.encode(proxy { a = 1, b = proxy { 1, 2 }, c = proxy(json.array()) }))
    assert.equal("[7]", json.encode(proxy(proxy(proxy { 7 }))))
    local endless = {}
    setmetatable(endless, { __json_target = endless })
    refused("invalid", "value: cannot encode a proxy of a proxy without end", json.encode(endless))
    local real = {}
    real.self = proxy(real)
    refused("invalid", "value.self: cannot encode a table inside itself", json.encode(proxy(real)))
  end)

  it("asks a proxy whose table has to be made first, and lets an error of its making pass", function()
    local made = 0
    local meta = { __json_target = function(proxy)
      made = made + 1
      return { n = made, inner = json.decode(json.encode { rawlen(proxy) }) }
    end }
    assert.equal('[{"inner":[0],"n":1},{"inner":[0],"n":2}]', json.encode { setmetatable({}, meta), setmetatable({}, meta) })
    refused("invalid", "value: cannot encode a table with __pairs but no __json_target",
      json.encode(setmetatable({}, { __pairs = pairs, __json_target = function() return 1 end })))
    assert.has_error(function()
      json.encode { setmetatable({}, { __json_target = function() error("no table", 0) end }) }
    end, "no table")
    assert.equal("[1]", json.encode { 1 })
  end)

  it("refuses a table that hides its members, and reads an object of a class as it is", function()
    refused("invalid", "value: cannot encode a table with __pairs but no __json_target",
      json.encode(setmetatable({}, { __pairs = pairs })))
    assert.equal('{"a":1}', json.encode(setmetatable({ a = 1 }, { __index = { method = print } })))
  end)
end)

describe("json beside lua-cjson", function()
  it("shares its null, so values pass between the two", function()
    assert.equal(cjson.null, json.null)
    local text = '{"a":[1,2,{"b":null}],"c":"x","d":true,"e":1.5}'
    assert.equal(text, json.encode(cjson.decode(text)):gsub("(%d)%.0", "%1") .. "")
    assert.same(cjson.decode(text), cjson.decode(cjson.encode(json.decode(text))))
  end)

  it("honours the array marks of a lua-cjson that has some", function()
    local before = package.loaded.cjson
    finally(function() package.loaded.cjson = before end)
    local array_mt, empty_array_mt = {}, {}
    local value = { a = setmetatable({}, array_mt), b = setmetatable({}, empty_array_mt), c = setmetatable({}, {}) }
    assert.equal('{"a":{},"b":{},"c":{}}', json.encode(value))
    package.loaded.cjson = { array_mt = array_mt, empty_array_mt = empty_array_mt, empty_array = io.stdout }
    assert.equal('{"a":[],"b":[],"c":{}}', json.encode(value))
    assert.is_true(json.is_array(value.a))
    refused("invalid", "value: cannot encode a userdata", json.encode(io.stdout))
  end)

  it("digests equal values equally, in whatever order their keys were set", function()
    local a, b = {}, {}
    for i = 1, 50 do
      a["k" .. i] = i
      b["k" .. 51 - i] = 51 - i
    end
    assert.equal(json.digest(a), json.digest(b))
    assert.equal("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", json.digest {})
    assert.equal("4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945", json.digest(json.array()))
    assert.not_equal(json.digest { 1 }, json.digest { 1.0 })
    refused("invalid", "value[1]: cannot encode a function", json.digest { print })
  end)

  it("reads a text once more at most to count members, however deep objects of many lie in each other", function()
    local members = {}
    for i = 1, 30 do
      members[i] = ('"%d":%d'):format(i, i)
    end
    local wide = table.concat(members, ",")
    local flat = '{"in":[' .. ("12345678,"):rep(200000) .. "1]}"
    local deep = flat
    for _ = 1, 100 do
      deep = ('{%s,"in":%s}'):format(wide, deep)
    end
    local function seconds(text)
      local from = os.clock()
      assert(json.decode(text))
      return os.clock() - from
    end
    seconds(flat)
    assert.is_true(seconds(deep) < 10 * seconds(flat) + 0.05)
    local inner = json.decode(deep)
    for _ = 1, 100 do
      assert(inner["30"] == 30)
      inner = inner["in"]
    end
    assert.equal(200001, #inner["in"])
  end)

  it("sorts the members of a large object, whatever they are", function()
    local text, value = {}, {}
    for i = 1, 2000 do
      local key = ("k%05d"):format(i)
      local item = ({ i, i + 0.5, "t" .. i, i % 2 == 0, json.null, { i } })[i % 6 + 1]
      value[key] = item
      text[i] = ('"%s":%s'):format(key, json.encode(item))
    end
    local small, plain = {}, {}
    for i = 1, 1000 do
      plain[("k%05d"):format(i)], small[i] = "t" .. i, ('"k%05d":"t%d"'):format(i, i)
    end
    assert.equal("{" .. table.concat(text, ",") .. "}", json.encode(value, { sorted = true }))
    assert.equal("{" .. table.concat(small, ",") .. "}", json.encode(plain, { sorted = true }))
  end)

  it("holds what it encodes, though the function of a proxy in it takes it away", function()
    local value, text = {}, {}
    for i = 1, 1000 do
      value[("key number %05d"):format(i)] = "text " .. i
      text[i] = ('"key number %05d":"text %d"'):format(i, i)
    end
    value.a = setmetatable({}, { __json_target = function()
      for key in pairs(value) do
        value[key] = nil
      end
      collectgarbage()
      return { 1 }
    end })
    local given = json.encode(value, { sorted = true })
    assert.truthy(given == nil or given == '{"a":[1],' .. table.concat(text, ",") .. "}")
  end)
end)
