-- expr_refuse_spec.lua: texts that are no condition: each is refused when it is compiled, at its place.
local expr = require "skillrt.expr"

local function complaint(text)
  local made, message, code = expr.compile(text)
  assert.is_nil(made)
  assert.equal("invalid", code)
  return message
end

describe("a text that is no condition", function()
  it("is refused with line, column, a caret and what was probably meant (F20, F31)", function()
    local said = "1:8: expected an operator, found '='\n  status = 'x'\n         ^ did you mean '==='?"
    assert.equal(said, complaint "status = 'x'")
    assert.equal("2:3: expected a value, found the end\n  &&\n    ^", complaint "a\n&&")
    assert.equal("1:4: expected an operator, found '='\n  状态 = 1\n       ^ did you mean '==='?", complaint "状态 = 1")
  end)

  it("has names of letters of every script, and of nothing else beyond ASCII", function()
    for _, code in ipairs { 0xAA, 0xB5, 0xBA, 0xC0, 0xD6, 0xD8, 0x416, 0x5D0, 0x1FFF, 0x2071, 0x207F, 0x2C00, 0x3005, 0x3007,
      0x3042, 0x72B6, 0xAC00, 0xF900, 0xFF10, 0xFF21, 0xFF5A, 0xFF66, 0x20000, 0x3FFFF } do
      assert.truthy(expr.compile(("a%s === 1"):format(utf8.char(code))), ("U+%X"):format(code))
    end
    for _, code in ipairs { 0xA9, 0xB4, 0xBF, 0xD7, 0xF7, 0x2013, 0x2192, 0x2BFF, 0x3001, 0x300C, 0x303F, 0x30FB, 0xE000,
      0xFE10, 0xFF08, 0xFF0F, 0xFF1A, 0xFF3B, 0xFF5B, 0x1F600, 0x1FFFF, 0x40000 } do
      assert.is_nil(expr.compile(("a%s === 1"):format(utf8.char(code))), ("U+%X"):format(code))
    end
  end)

  local refused = {
    { "a and b", "did you mean '&&'" }, { "a or b", "did you mean '||'" }, { "not a", "did you mean '!'" },
    { "a ~= b", "did you mean '!=='" }, { "a <> b", "did you mean '!=='" }, { "a =< b", "did you mean '<='" },
    { "a & b", "did you mean '&&'" }, { "kind in list", "list.includes(value)" }, { "a === “x”", 'did you mean "\'"' },
    { "(a && b", "'(' is not closed" }, { "a[0", "'[' is not closed" }, { "a)", "')' closes nothing" },
    { "'abc", "string is not closed" }, { "'a\nb'", "string is not closed" },
    { "l.map(x => x)", "'.map()' is not available" },
    { "l.map(x => x)", ".includes() .startsWith() .endsWith() .some() .every()" }, { "a = 1", "'==='" },
    { "a += 1", "assignments" }, { "a++", "assignments" }, { "--a", "assignments" }, { "a -= 1", "assignments" },
    { "f(x)", "function calls" }, { "a.b(x)", "'.b()' is not available" }, { "(a)(b)", "function calls" },
    { "eval('1')", "function calls" }, { "a['includes'](1)", "function calls" }, { "a?.(1)", "function calls" },
    { "new Date()", "'new' is not allowed" }, { "function () {}", "'function' is not allowed" }, { "this", "'this'" },
    { "`x`", "template literals" }, { "a`x`", "template literals" }, { "{}", "object literals" },
    { "/x/", "regular expressions" }, { "a // b", "comments" }, { "x => x", "arrow function" },
    { "l.some((a, b) => a)", "one parameter" }, { "l.some(f)", "one parameter" },
    { "l.some(x => { return x })", "must be an expression" }, { "a ?? b || c", "may not be mixed" },
    { "a && b ?? c", "may not be mixed" }, { "a ? b", "expected ':'" }, { "a b", "found 'b'" },
    { "a.", "expected a name" }, { "010", "may not begin with 0" }, { "1px", "too much in a number" },
    { "'\\u12'", "four hex digits" }, { "'\\u{110000}'", "10FFFF" }, { "'x\\uD83D'", "is no character" }, { "'\\x1'", "two hex digits" },
    { "'\\1'", "octal" }, { "[1,,2]", "found ','" }, { "[...a]", "spreading" }, { "a, b", "one expression" },
    { "a; b", "one expression" }, { "", "empty" }, { " \n ", "empty" }, { "l.includes()", "between ( and )" },
    { "l.length()", "without ()" }, { "a ** b", "found '**'" }, { "a\0b", "0x00" }, { "a \27[31m", "0x1b" },
    { "\xff", "not UTF-8" }, { "a >> 1", "found '>>'" }, { "a === ", "found the end" },
  }
  for _, case in ipairs(refused) do
    it(("names the mistake in %q (F20, F32)"):format(case[1]), function()
      local message = complaint(case[1])
      assert.truthy(message:find(case[2], 1, true), message)
    end)
  end

  it("is never too much: length, nesting and stack are bounded (F32)", function()
    assert.truthy(complaint(("a"):rep(5000)):find("4096 bytes", 1, true))
    local deep = {
      ("("):rep(4096), ("["):rep(4000), ("!"):rep(4000) .. "a", ("- "):rep(2000) .. "a", ("a?"):rep(2000),
      ("a["):rep(2000), ("a.some(x=>"):rep(400), "a" .. ("?.b"):rep(1300),
      "a" .. ("+a"):rep(2000), "a" .. ("[0]"):rep(1300),
    }
    for _, text in ipairs(deep) do
      local message = complaint(text)
      assert.truthy(message:find "nested more than 64 levels", message)
    end
    assert.is_true((assert(expr.compile(("a&&"):rep(1300) .. "a")) { a = 1 }))
    assert.is_true((assert(expr.compile(("("):rep(63) .. "a" .. (")"):rep(63))) { a = 1 }))
  end)

  it("is never shown with control characters or beyond a line's width (F32)", function()
    local message = complaint(("x && "):rep(60) .. "\27]0;t\7 = 1")
    assert.falsy(message:find "[\1-\9\11-\31\127]")
    for line in message:gmatch "[^\n]+" do assert.is_true(#line < 100) end
  end)

  it("is refused, never raised, and soon, whatever the bytes (F32)", function()
    local lua = os.getenv "LUA" or "lua5.4"
    local driver <close> = assert(io.popen(lua .. " tests/fuzz/fuzz_expr.lua 0.7 20240611 2>&1"))
    local said = driver:read "a"
    assert.truthy(said:find "^%d+ conditions, %d+ of them valid", said)
  end)
end)
