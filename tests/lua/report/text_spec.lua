-- report_text_spec.lua: what agents and files say never reaches a terminal as anything but text.
local text = require "skillrt.base.terminal_text"

describe("report.text", function()
  it("shows control characters, ESC, C1, bidi controls and broken UTF-8 as escapes", function()
    for given, shown in pairs {
      ["plain"] = "plain",
      ["a\27[31mb\7"] = "a\\x1B[31mb\\x07",
      ["a\nb\r\tc\0"] = "a\\nb\\r\\tc\\x00",
      ["\127\u{9B}31m"] = "\\x7F\\u{9B}31m",
      ["\u{202E}evil\u{2066}"] = "\\u{202E}evil\\u{2066}",
      ["\u{200B}\u{FEFF}"] = "\\u{200B}\\u{FEFF}",
      ["rm\u{3164}a\u{115F}\u{2800}\u{34F}"] = "rm\\u{3164}a\\u{115F}\\u{2800}\\u{34F}",
      ["\xff\xfeok\xc3"] = "\\xFF\\xFEok\\xC3",
      ["\xed\xa0\x80"] = "\\xED\\xA0\\x80",
      ["日本 é"] = "日本 é",
    } do
      assert.equal(shown, text.escape(given))
    end
  end)

  it("lets no byte through that a terminal obeys, whatever the text", function()
    math.randomseed(7)
    for _ = 1, 1000 do
      local bytes = {}
      for i = 1, math.random(0, 24) do bytes[i] = string.char(math.random(0, 255)) end
      local safe = text.escape(table.concat(bytes))
      assert.is_nil(safe:find "%c")
      assert.truthy(utf8.len(safe))
      for _, code in utf8.codes(safe) do
        assert.is_false(code >= 0x7F and code <= 0x9F or code >= 0x2028 and code <= 0x202E)
      end
    end
  end)

  it("measures columns: wide characters are two, marks none", function()
    assert.equal(5, text.width "hello")
    assert.equal(4, text.width "日本")
    assert.equal(1, text.width "e\u{301}")
    assert.equal(2, text.width "🚀")
  end)

  it("cuts to columns and never splits a character", function()
    assert.equal("hello", text.cut("hello", 5))
    assert.equal("he...", text.cut("hello!", 5))
    assert.equal("日...", text.cut("日本日本", 6))
    math.randomseed(8)
    local pieces = { "a", "é", "日", "e\u{301}", "🚀" }
    for _ = 1, 1000 do
      local made = {}
      for i = 1, math.random(0, 20) do made[i] = pieces[math.random(#pieces)] end
      local columns = math.random(1, 20)
      local cut = text.cut(table.concat(made), columns)
      assert.truthy(utf8.len(cut))
      assert.is_true(text.width(cut) <= columns, cut .. " is wider than " .. columns)
    end
  end)

  it("breaks a text of many lines into escaped lines", function()
    assert.same({ "a", "  b\\x1B", "c" }, text.lines "a\r\n\tb\27\nc\n")
  end)

  it("says durations for people, and quotes words for a shell", function()
    assert.same({ "12 ms", "1.5 s", "42 s", "3:07 min", "1:02:03 h" }, {
      text.duration(12), text.duration(1500), text.duration(42000), text.duration(187000), text.duration(3723000),
    })
    assert.equal("runs/a-1", text.shell "runs/a-1")
    assert.equal("'it'\\''s; rm -rf'", text.shell "it's; rm -rf")
  end)
end)
