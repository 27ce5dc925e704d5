-- expr_spec.lua: conditions, sentence by sentence. What a text must not be is in expr_refuse_spec.lua,
-- the comparison with node in expr_node_spec.lua.
local cjson = require "cjson"
local expr = require "skillrt.expr"
local json = require "skillrt.base.json"

local null = cjson.null

local function list(...)
  return setmetatable({ ... }, { __is_json_array = true })
end

local function condition(text)
  return assert(expr.compile(text))
end

local function holds(text, state)
  return (condition(text)(state or {}))
end

local function value(text, state)
  return (assert(expr.value(text))(state or {}))
end

describe("a condition", function()
  it("reads paths with or without `state.`, with brackets and with `?.` (F31)", function()
    local state = { status = "pending", outputs = { ["03.5-consolidation"] = { issues = list("a") } }, n = list(7) }
    assert.is_true(holds("status === 'pending'", state))
    assert.is_true(holds("state.status === 'pending'", state))
    assert.is_true(holds("state?.status === 'pending' && state['status'] === 'pending'", state))
    assert.is_true(holds("outputs['03.5-consolidation'].issues.length > 0", state))
    assert.equal(7, value("n[0]", state))
    assert.equal(7, value("n['0']", state))
    assert.is_nil(value("n?.[3]", state))
    assert.is_true(holds("nothing?.here.at.all === undefined", state))
  end)

  it("means what the conditions of a reviewer, a writer and a tester say (R30, R62)", function()
    local state = {
      status = "running", completed_actions = list("action-collect"), context = { files = list("a.c") },
      scan_completed = false, pending_dimensions = list(), error_count = 2, needs_review = true, critical_count = 1,
      report_generated = false, quality_gate = null, methods = list(), retry_count = 1, max_retries = 3,
    }
    local expected = {
      ["status === 'pending'"] = false, ["state.status === 'running'"] = true,
      ["completed_actions.includes('action-collect')"] = true, ["context.files.length > 0"] = true,
      ["!scan_completed"] = true, ["scan_completed"] = false, ["pending_dimensions.length > 0"] = false,
      ["error_count < 3"] = true, ["error_count >= 3"] = false, ["needs_review === true"] = true,
      ["critical_count >= 1"] = true, ["scan_completed && !report_generated"] = false,
      ["pending_dimensions.length === 0"] = true, ["needs_review !== true"] = false,
      ["quality_gate !== null"] = false, ["quality_gate === 'fail'"] = false, ["methods.length === 0"] = true,
      ["retry_count < max_retries"] = true, ["retry_count >= max_retries"] = false, ["success === true"] = false,
    }
    for text, truth in pairs(expected) do
      assert.equal(truth, holds(text, state), text)
    end
  end)

  it("has JavaScript's truthiness, not Lua's (F31)", function()
    for _, text in ipairs { "0", "''", "null", "undefined", "NaN", "false", "missing", "-0" } do
      assert.is_false(holds(text), text)
    end
    for _, text in ipairs { "1", "'0'", "'false'", "[]", "-1", "Infinity", "state" } do
      assert.is_true(holds(text), text)
    end
    assert.is_false(holds("a", { a = null }))
    assert.is_false(holds("a", { a = 0 }))
    assert.is_true(holds("a", { a = {} }))
  end)

  it("tells strict from loose equality (F31)", function()
    assert.is_true(holds "1 == '1' && 1 !== '1' && null == undefined && null !== undefined && NaN !== NaN")
    assert.is_true(holds "[1] == 1 && [1, 2] == '1,2' && '' == 0 && true == 1 && null != 0")
    assert.is_true(holds("a === null && b === undefined && a == b", { a = null }))
    assert.is_true(holds("a === 1 && b === 1", { a = 1, b = 1.0 }))
    assert.is_true(holds("a === b", { a = 2 ^ 53, b = math.tointeger(2 ^ 53) + 1 }))
  end)

  it("counts and orders strings by characters (F31)", function()
    assert.equal(1, value "'\u{1F600}'.length")
    assert.equal(3, value("s.length", { s = "一二三" }))
    assert.is_true(holds "'\u{1F600}' > '\u{FF5E}'")
    assert.is_true(holds "'Z' < 'a' && '10' < '9' && 10 > 9 && '10' > 9")
    assert.equal("b", value("s[1]", { s = "abc" }))
    assert.equal("二\u{1F600}", value("s[1] + s[2]", { s = "一二\u{1F600}" }))
    assert.is_nil(value("s[3]", { s = "一二三" }))
  end)

  it("prints and computes numbers as doubles (F31)", function()
    local printed = {
      ["1 + '2'"] = "12", ["'' + 1e21"] = "1e+21", ["'' + 1e20"] = "100000000000000000000", ["'' + 0.1"] = "0.1",
      ["'' + -0"] = "0", ["'' + 1/0"] = "Infinity", ["'' + -1/0"] = "-Infinity", ["'' + 0/0"] = "NaN",
      ["'' + 1e-7"] = "1e-7", ["'' + 0.000001"] = "0.000001", ["'' + 5e-324"] = "5e-324",
      ["'' + 1.7976931348623157e308"] = "1.7976931348623157e+308", ["'' + (0.1 + 0.2)"] = "0.30000000000000004",
      ["'' + 5.684341886080802e-14"] = "5.684341886080802e-14", ["'' + [1, [2, null], 'x']"] = "1,2,,x",
    }
    for text, expected in pairs(printed) do assert.equal(expected, value(text), text) end
    assert.equal(-1, value "-7 % 3")
    assert.equal(2.5, value "5 / 2")
    assert.equal(255, value "0xff")
    assert.equal("integer", math.type(value "6 / 2"))
    assert.equal(1024, value "1_000 + .5 + 5. + 1.85e1")
    assert.is_true(holds("n + 1 === n", { n = 9007199254740992 }))
    assert.is_true(holds("n === 9007199254740992", { n = 9007199254740993 }))
    assert.is_false(holds("n !== -9007199254740992", { n = -9007199254740993 }))
    assert.is_true(holds("n === 9007199254740991", { n = 9007199254740991 }))
    assert.is_false(holds("n === 9007199254740991", { n = 9007199254740992 }))
    assert.is_true(holds("n * n > 0", { n = math.maxinteger }))
    assert.is_true(holds "1 / -0 < 0 && 1 % 0 !== 1 % 0")
  end)

  it("has ternaries, `??`, typeof, signs and parentheses, with JavaScript's precedence (F31)", function()
    assert.equal("few", value("n > 3 ? 'many' : n > 0 ? 'few' : 'none'", { n = 2 }))
    assert.equal(0, value("n ?? 5", { n = 0 }))
    assert.equal(5, value("n ?? 5", { n = null }))
    assert.equal(7, value "1 + 2 * 3")
    assert.equal(0.5, value("n?.5:1", { n = 1 }))
    assert.equal("undefined", value "typeof nothing")
    assert.equal("object", value("typeof n", { n = null }))
    assert.is_true(holds "!false || false && false")
    assert.equal(3, value "- -3")
    assert.equal(3, value "+'3'")
    assert.equal("a", value "false || 'a'")
  end)

  it("knows the escapes of strings and both quotes (F31)", function()
    assert.equal("a\n\t\0'\"\\", value [['a\n\t\0\'"\\']])
    assert.equal("A\u{E9}\u{1F600}\u{1F600}q", value [["\x41\u00e9\u{1F600}\uD83D\uDE00\q"]])
    assert.equal("ab", value "'a\\\nb'")
  end)

  it("has .includes .startsWith .endsWith .some .every, nested as one likes (F31)", function()
    local files = list({ name = "a.c", tags = list "new" }, { name = "b.h", tags = list() })
    local state = { files = files, ids = list(1, 0 / 0), f = "f" }
    assert.is_true(holds("files.some(f => f.name.endsWith('.c'))", state))
    assert.is_false(holds("files.every(f => f.name.endsWith('.c'))", state))
    assert.is_true(holds("files.some(f => f.tags.some(tag => tag === 'new' && f.name.startsWith('a')))", state))
    assert.is_true(holds("files.every(f => files.some((g) => g === f))", state))
    assert.is_true(holds("ids.includes(1) && ids.includes(NaN) && !ids.includes('1')", state))
    assert.is_true(holds "[].every(x => false) && ![].some(x => true)")
    assert.is_true(holds("['a', 'f'].includes(f) && 'if'.includes(f)", state))
    assert.equal("f", value("ids.some(f => f === 1) && f", state))
  end)

  it("knows a length of lists and texts only, as JavaScript does; {} is an object (F31)", function()
    local state = { files = list(), o = { k = 1 }, e = {}, own = { length = 4 }, s = "", f = { a = {} } }
    assert.is_true(holds("files.length === 0 && !files.includes(1) && files.every(f => false) && s.length === 0", state))
    assert.is_true(holds("o.length === undefined && o.k === 1 && own.length === 4", state))
    assert.is_true(holds("e.length === undefined && f.a.length === undefined && f['a']['length'] === undefined", state))
    assert.is_false(holds("e.length === 0", state))
    assert.is_false(holds("e.length < 1 || e.length >= 0 || e.length", state))
    assert.matches("e is an object", select(2, condition "e.includes(1)"(state)))
  end)

  it("reads through read-only views, never behind them", function()
    local function view(t)
      return setmetatable({}, {
        __index = function(_, key)
          local v = t[key]
          return type(v) == "table" and view(v) or v
        end,
        __len = function() return #t end,
        __pairs = function() return pairs(t) end,
        __newindex = function() error "read-only" end,
        __is_json_array = json.is_array(t),
      })
    end
    local state = view { files = { { name = "a" }, { name = "b" } }, none = list(), o = { k = { 1, 2 } } }
    assert.is_true(holds("files.length === 2 && files[1].name === 'b' && files.some(f => f.name === 'a')", state))
    assert.is_true(holds("none.length === 0 && o.k.includes(2) && '' + o.k === '1,2'", state))
  end)
end)

describe("where JavaScript would throw, a condition", function()
  local cases = {
    ["files.length > 0"] = "files is undefined: cannot read .length",
    ["!files.length"] = "files is undefined: cannot read .length",
    ["gate.kind === 'x'"] = "gate is null: cannot read .kind",
    ["gate['a b']"] = 'gate is null: cannot read ["a b"]',
    ["files[0]"] = "files is undefined: cannot read [0]",
    ["files.includes('a')"] = "files is undefined: cannot call .includes()",
    ["n.includes(1)"] = "n is a number: .includes() needs an array or a string",
    ["n.some(x => x)"] = "n is a number: .some() needs an array",
    ["o.every(x => x)"] = "o is an object: .every() needs an array",
    ["[1].startsWith('1')"] = "[1] is an array: .startsWith() needs a string",
    ["o?.missing.k"] = "o?.missing is undefined: cannot read .k",
    ["(files?.a).b"] = "files?.a is undefined: cannot read .b",
  }
  for text, reason in pairs(cases) do
    it(("is false and says why: `%s` (F31)"):format(text), function()
      local truth, why = condition(text) { n = 1, gate = null, o = { k = 1 } }
      assert.is_false(truth)
      assert.equal(reason, why)
    end)
  end

  it("has no value, and the reason", function()
    local got, why = condition "a.b.c":evaluate { a = {} }
    assert.is_nil(got)
    assert.equal("a.b is undefined: cannot read .c", why)
  end)
end)

describe("a condition tells", function()
  it("the state keys that it reads, sorted (R74)", function()
    assert.same({ "files", "reviewed" }, condition("files.length === 0 && !reviewed").reads)
    assert.same({ "a", "b", "c" }, condition("state.c[b] ?? a.some(x => x.c === state['b'])").reads)
    assert.same({ "list" }, condition("list.some(x => list.some(y => x === y))").reads)
    assert.is_false(condition("state.a").reads_all)
    assert.is_true(condition("state[key]").reads_all)
    assert.is_true(condition("state === null").reads_all)
    assert.same({}, condition("1 + 1").reads)
  end)

  it("of what it cannot read the place, also behind a carriage return, which ends no line", function()
    local made, message = expr.compile("a.\r\tb" .. (" b"):rep(60))
    assert.is_nil(made)
    assert.matches("^1:%d+: ", message)
    assert.truthy(message:find("\\r", 1, true), message)
  end)

  it("its text and its tree with positions", function()
    local made = condition "a && (b.c  > 1 )"
    assert.equal("a && (b.c  > 1 )", made.text)
    assert.equal("a && (b.c  > 1 )", tostring(made))
    assert.equal("logical", made.ast.type)
    local term = made.ast.terms[2]
    assert.equal("b.c  > 1", made.text:sub(term.from, term.to))
    assert.equal("b.c", made.text:sub(term.left.from, term.left.to))
  end)

  it("why it is false, with the values, safe to print", function()
    local state = { files = list(), status = "new\27[31m", done = false, deep = { list(1), 2 }, n = 5 }
    local cases = {
      ["files.length > 0"] = "files.length > 0 is false: files.length is 0",
      ["n > 1 && files.length > 0 && done"] = "files.length > 0 is false: files.length is 0",
      ["status === 'done'"] = [[status === 'done' is false: status is "new\x1B[31m"]],
      ["done"] = "done is false",
      ["n > 1 && missing"] = "missing is false: missing is undefined",
      ["!n"] = "!n is false: n is 5",
      ["missing.length > 0"] = "missing.length > 0 is false: missing is undefined: cannot read .length",
      ["deep.includes(n)"] = "deep.includes(n) is false: deep is [[...], 2], n is 5",
      ["n > 9 || done"] = "n > 9 || done is false: n is 5, done is false",
      ["deep.some(x => x === n)"] = "deep.some(x => x === n) is false: deep is [[...], 2], n is 5",
      ["n === 5"] = "n === 5 is true: n is 5",
    }
    for text, expected in pairs(cases) do assert.equal(expected, condition(text):explain(state)) end
    local shown = condition("!s"):explain { s = ("一二"):rep(1000) }
    assert.truthy(shown:find('s is "一二一', 1, true) and #shown < 100 and utf8.len(shown), shown)
    local short, long = {}, {}
    for i = 1, 9 do short["k" .. i], long[("a_rather_long_name_of_a_key_%d"):format(i)] = i, i end
    assert.equal("!s is false: s is {k1, k2, k3, k4, k5, k6, k7, k8, ...}", condition("!s"):explain { s = short })
    assert.equal("!s is false: s is {" .. ("a_rather_long_name_of..., "):rep(3) .. "...}", condition("!s"):explain { s = long })
  end)

  it("whether it is the same for every state", function()
    local cases = {
      ["true"] = true, ["1 > 2"] = false, ["x"] = "nil", ["x && false"] = false, ["x || true"] = true,
      ["a.b || true"] = "nil", ["true || a.b"] = true, ["!(x && false)"] = true, ["!(a.b && false)"] = "nil",
      ["s === 'a' && t === 'b'"] = "nil", ["n > 3 && n < 3"] = "nil", ["x ? false : 0"] = "nil", ["true ? x : 1"] = "nil",
      ["false ? x : 1"] = true, ["(a.b && false) ? 0 : 1"] = "nil",
    }
    for text, expected in pairs(cases) do
      local known = expr.constant(condition(text))
      if known == nil then known = "nil" end
      assert.equal(expected, known, text)
    end
  end)
end)

describe("evaluating a condition", function()
  it("is built in time that grows with its text, whatever operators it has (F32)", function()
    for _, operator in ipairs { "+", "-", "%", "<", "===", "==" } do
      local begun = os.clock()
      assert(expr.compile("a" .. (" " .. operator .. " 1"):rep(60)))
      assert.is_true(os.clock() - begun < 1, operator)
    end
  end)

  it("ends when its steps are used up, and says so (F32)", function()
    local many = {}
    for i = 1, 2000 do many[i] = i end
    local truth, why = condition("l.every(a => l.every(b => l.every(c => a + b + c > 0)))") { l = many }
    assert.is_false(truth)
    assert.truthy(why:find "more steps")
    local small = assert(expr.compile("l.every(a => a > 0)", { max_steps = 100 }))
    assert.is_false((small { l = many }))
    assert.is_true(holds("l.every(a => a > 0)", { l = many }))
  end)

  it("searches no huge string for a huge one, which could take minutes (F32)", function()
    local started = os.clock()
    local truth, why = condition("s.includes(t)") { s = ("a"):rep(1000000), t = ("a"):rep(400000) .. "b" }
    assert.is_false(truth)
    assert.truthy(why:find "more steps")
    assert.is_true(os.clock() - started < 1)
    assert.is_true(holds("s.includes(t)", { s = ("a"):rep(1000000) .. "b", t = ("a"):rep(200) .. "b" }))
  end)

  it("builds no huge strings (F32)", function()
    local truth, why = condition("(s + s).length > 0") { s = ("x"):rep(600000) }
    assert.is_false(truth)
    assert.truthy(why:find "1 MiB")
  end)

  it("reaches nothing but the state: no globals, no metatables, no code (F32)", function()
    for text in ("os _G string print load process globalThis s.constructor s.rep l.__proto__"):gmatch "%S+" do
      assert.is_nil(value(text, { s = "x", l = list(1) }), text)
    end
  end)

  it("passes on what is not its own: a state that raises, a limit from outside", function()
    local state = setmetatable({}, { __index = function() error("stop", 0) end })
    assert.has_error(function() condition("a.b > 1")(state) end, "stop")
    assert.has_error(function() condition("a")(state) end, "stop")
  end)

  it("wants a table for a state and a string for a text: anything else is the caller's bug", function()
    assert.error_matches(function() condition("a")(nil) end, "needs a state")
    assert.error_matches(function() expr.compile(nil) end, "condition is a string")
  end)
end)
