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
      .. "i" .. 't(("of %s"):format(x), function()\n'
      .. "pit(1) -- it 'is' not\n" .. 'TE' .. 'STS("nor this")'
    assert.same(
      { "a torn tail is cut", "keeps it", "without brackets", "one two", "left right", "of %s" },
      requirements.sentences(text)
    )
  end)

  it("names each row once, and refuses ranges", function()
    assert.same({ "R27", "R28", "F9" }, (requirements.rows "x (R27, R28, R27, F9)"))
    assert.same({}, (requirements.rows "UTF8 and CR12 and R"))
    for _, range in ipairs { "R27-R29", "R30-31", "F1-F3" } do
      local rows, ranges = requirements.rows("x (" .. range .. ", R5)")
      assert.same({ "R5" }, rows)
      assert.same({ range }, ranges)
    end
    assert.same({ "R1-R2" }, select(2, requirements.rows "x (R1\u{2013}R2)"))
    local by_row, faults = requirements.collect { ["tests/a_spec.lua"] = test_text("i" .. "t", "does it (R36" .. "-R52)") }
    assert.same({}, by_row)
    assert.same({ "tests/a_spec.lua: names R36-R52: name each row that the test proves" }, faults)
  end)

  it("refuses a test that names more than two rows", function()
    local _, faults = requirements.collect { ["tests/a_spec.lua"] = test_text("i" .. "t", "does it (R1, " .. "R2, R3)") }
    assert.same({ "tests/a_spec.lua: one test names 3 rows (does it (R1, R2, R3)): name two at most, or split it" }, faults)
  end)

  local LIST = "# head\nissue 12\tmachines\nissue 9\twaiting\nR1\tfirst | thing\nR2\tsecond\t12\nR3\tthird\t12\nF1\tfault\t9\n"
  local function proven(...)
    local by_row = {}
    for _, row in ipairs { ... } do
      by_row[row] = { { path = "tests/a_spec.lua", name = "does <it> (" .. row .. ")" } }
    end
    return requirements.page(LIST, by_row)
  end

  it("lists what is proven, and of the other rows the issue that brings them", function()
    local page, faults = proven "R1"
    assert.same({}, faults)
    assert.truthy(page:find("| R1 | first \\| thing | `tests/a_spec.lua`: does &lt;it> |", 1, true), page)
    assert.truthy(page:find("| R2 | second | open: issue 12 |", 1, true), page)
    assert.truthy(page:find("1 of 4 rows are proven.", 1, true), page)
    assert.truthy(page:find("Issue 12, machines:\nR2-R3.\n\nIssue 9, waiting:\nF1.\n", 1, true), page)
  end)

  it("refuses a row that nothing proves and no issue brings, one that is both, and one that is none", function()
    assert.same({ "tests/requirements.txt: no test proves R1: write one, or say which issue brings it" }, select(2, proven()))
    assert.same({ "tests/a_spec.lua: a test names R9, which is no row" }, select(2, proven("R1", "R9")))
    local _, faults = proven("R1", "R2")
    assert.equal(1, #faults)
    assert.truthy(faults[1]:find("tests/a_spec.lua: a test names R2, which is open until issue 12", 1, true))
    _, faults = requirements.page("R1\tfirst\t7\n", {})
    assert.same({ "tests/requirements.txt: R1 is open for issue 7, which is none" }, faults)
  end)

  it("holds for this tree: every row is proven by a test or open for an issue", function()
    assert.is_true((os.execute "lua5.4 tests/requirements.lua >/dev/null"))
  end)
end)
