-- requirements_spec.lua: tests/requirements.lua reads what tests claim and leaves nothing out.
local requirements = require "tests.requirements"

-- a test's text, put together here so that this file claims no row by its examples
local function test_text(word, sentence)
  return ("  %s(%q) {\n"):format(word, sentence)
end

describe("the page of requirements", function()
  it("finds the sentence of every C and Lua test, also one in several pieces", function()
    local text = test_text("TEST", "a torn tail is cut")
      .. test_text("i" .. "t", "keeps it")
      .. "i" .. 't "without brackets"\n'
      .. 'TE' .. 'ST("one "\n   "two") {\n'
      .. "i" .. 't("left " .. "right", function()\n'
      .. "pit(1) -- it 'is' not\n" .. 'TE' .. 'STS("nor this")'
    assert.same(
      { "a torn tail is cut", "keeps it", "without brackets", "one two", "left right" },
      requirements.sentences(text)
    )
  end)

  it("spells ranges out and names each row once", function()
    assert.same({ "R27", "R28", "R29", "F9" }, requirements.rows "x (R27-R29, F9, R28)")
    assert.same({ "R1", "R2" }, requirements.rows "x (R1\u{2013}R2)")
    assert.same({ "R30", "R31" }, requirements.rows "x (R30-31)")
    assert.same({}, requirements.rows "UTF8 and CR12 and R")
  end)

  it("lists the rows that no test names, and the rows that are none", function()
    local list = "# head\nR1\tfirst | thing\nR2\tsecond\nR3\tthird\nF1\tfault\n"
    local page, unknown = requirements.page(list, {
      R1 = { { path = "tests/a_spec.lua", name = "does <it> (" .. "R1)" } },
      R9 = { { path = "tests/b_spec.lua", name = "no such row" } },
    })
    assert.truthy(page:find("| R1 | first \\| thing | `tests/a_spec.lua`: does &lt;it> |", 1, true))
    assert.truthy(page:find("1 of 4 rows are named by a test.", 1, true))
    assert.truthy(page:find("## Rows without a test\n\nR2-R3, F1\n", 1, true))
    assert.same({ "tests/b_spec.lua: a test names R9, which is no row" }, unknown)
  end)
end)
