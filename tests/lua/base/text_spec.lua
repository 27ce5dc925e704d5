-- text_spec.lua: what is done to texts from outside takes time that grows with them alone: a
-- quarter of a megabyte of what is worst for a pattern is read in a moment, in every module that reads.
local action_md = require "skillrt.document.load.action_md"
local condition = require "skillrt.document.load.condition"
local expr = require "skillrt.expr"
local front_matter = require "skillrt.document.load.front_matter"
local js = require "skillrt.document.load.js"
local json_lines = require "skillrt.document.load.json_lines"
local live = require "skillrt.report.live"
local markdown = require "skillrt.document.load.markdown"
local prose_of = require "tests.support.prose_of"
local effect = require "skillrt.skill.effect"
local outline = require "skillrt.base.outline"
local state_md = require "skillrt.document.load.state_md"
local tables = require "skillrt.document.load.tables"
local template = require "skillrt.base.template"
local text = require "skillrt.base.text"
local values = require "skillrt.document.check.reach.values"

local MANY <const> = 1 << 18

describe("a text", function()
  it("loses the white space at its ends", function()
    for given, wanted in pairs { [""] = "", [" "] = "", [" a b\t\n"] = "a b", a = "a", ["\n\na"] = "a" } do
      assert.equal(wanted, text.trim(given))
    end
    assert.equal(" a b", text.trim_end " a b \n")
    assert.equal("", text.trim_end " \n")
    assert.equal("-a", text.without_end("-a-.-", ".-"))
    assert.equal("c", text.behind_last("a\nb\nc", "\n"))
    assert.equal("", text.behind_last("a\n", "\n"))
    assert.equal("a", text.behind_last("a", "\n"))
  end)

  it("is cut to a number of bytes behind a whole character, with a mark", function()
    assert.equal("abcd", text.cut("abcd", 4))
    assert.equal("abc...", text.cut("abcd", 3))
    assert.equal("abc", text.cut("abcd", 3, ""))
    assert.equal("", text.cut("", 0))
    assert.equal("é...", text.cut("éé", 2))
    assert.equal("é...", text.cut("éé", 3))
    assert.equal("éé", text.cut("éé", 4))
    assert.equal("(...)", text.cut("\u{1F600}", 3, "(...)"))
    assert.equal("a...", text.cut("a\xFF\x80", 2)) -- no UTF-8, but what looks like a character stays whole
  end)

  it("has an end of a number of bytes that begins with a whole character", function()
    assert.equal("abcd", text.tail("abcd", 4))
    assert.equal("bcd", text.tail("abcd", 3))
    assert.equal("é", text.tail("éé", 3))
    assert.equal("é", text.tail("éé", 2))
    assert.equal("", text.tail("éé", 1))
    assert.equal("éé", text.tail("éé", 4))
    assert.equal("", text.tail("", 4))
    assert.equal("", text.tail("ab", 0))
  end)

  it("of a number is the shortest that reads back as the same, whole ones without a point", function()
    for wanted, given in pairs { ["0.7"] = 0.7, ["3"] = 3, ["-3"] = -3.0, ["0.1"] = 0.1, ["1e+300"] = 1e300, ["0"] = -0.0,
      ["9223372036854775807"] = math.maxinteger, ["-9223372036854775808"] = math.mininteger,
      ["0.30000000000000004"] = 0.1 + 0.2, ["9007199254740991"] = 2.0 ^ 53 - 1, ["inf"] = math.huge } do
      assert.equal(wanted, text.number(given))
      assert.is_true(tonumber(text.number(given)) == given or given == math.huge)
    end
  end)

  it("is taken apart into its lines, also the last and empty ones", function()
    for given, wanted in pairs { [""] = "<>", a = "<a>", ["a\n"] = "<a><>", ["\n\nb"] = "<><><b>" } do
      local shown = ""
      for line in text.lines(given) do shown = shown .. "<" .. line .. ">" end
      assert.equal(wanted, shown)
    end
  end)
end)

-- Processor time, in seconds, of what is done to a text made of many of these.
local function seconds(run, unit, before, behind)
  local given = (before or "") .. unit:rep(MANY // #unit) .. (behind or "x")
  local start = os.clock()
  run(given)
  return os.clock() - start
end

local function blocks(given)
  return markdown.parse(given)
end

local function code(lang)
  return function(given)
    return { { kind = "code", lang = lang, line = 1, text = given, closed = true } }
  end
end

local ts = code "ts"

local function heard(given)
  local said = { rest = "" }
  live.hear(said, given)
  live.hear(said, given .. "\n")
end

-- What reads; the unit that is worst for it; what stands before and behind.

local CASES = {
  { "trim", text.trim, " ", "a", "b" },
  { "trim_end", text.trim_end, " ", "a", "b" },
  { "without_end", function(t) text.without_end(t, "-") end, "-", "a", "b" },
  { "behind_last", function(t) text.behind_last(t, "\r") end, "a" },
  { "lines", function(t) for _ in text.lines(t) do end end, "\n" },
  { "what a task says", heard, "a", "\r" },
  { "a task's progress", heard, "a\r" },
  { "a task's lines", heard, "a\n" },
  { "a task's long line", heard, "\r\na", "" },
  { "a string as a number", function(t) expr.compile "a == 1" { a = t } end, " ", "1", "1" },
  { "wide spaces as a number", function(t) expr.compile "a == 1" { a = t } end, "\u{A0}", "", "" },
  { "wide spaces behind a number", function(t) expr.compile "a == 1" { a = t } end, "\u{3000}", "1", "" },
  { "an effect", function(t) effect.list { t } end, " ", "a", "b" },
  { "a template's tag", function(t) template.compile("{{" .. t .. "}}") end, " ", "a", "b" },
  { "a title", blocks, " ", "# a", "b" },
  { "a title of marks", blocks, "#", "# a", " b #" },
  { "a line below a line with a bar", blocks, " ", "a | b\n" },
  { "a paragraph", blocks, "ab\n" },
  { "an item of many lines", blocks, "  a\n", "- a\n" },
  { "an item of blanks", blocks, "\t", "- a", "b" },
  { "a cell of links begun", tables.plain, "[" },
  { "a cell of labels", tables.plain, "[a](" },
  { "a condition in brackets", condition.item, "(", "a b " },
  { "a condition in wide brackets", condition.item, "\u{FF08}", "a b " },
  { "a condition of backticks", condition.cell, "`", "", "x" },
  { "a condition of blanks", condition.cell, " ", "a", "=1" },
  { "effects of blanks", condition.effects, " ", "`a", "`" },
  { "front matter", function(t) front_matter.read("---\n" .. t .. "\n---\n", "SKILL.md", {
    warn = function() end, error = function() end, note = function() end }) end, " ", "a: [b", "c" },
  { "an update", function(t) action_md.read(ts(t)) end, " ", "stateUpdates: {", "b" },
  { "fields", function(t) state_md.read(ts(t), "a.md") end, "\t", "interface State {\n a: b", "c // d" },
  { "a field's note", function(t) state_md.read(ts(t), "a.md") end, "\t", "interface State {\n a: b // c", "d" },
  { "interfaces", function(t) state_md.read(ts(t), "a.md") end, "interface aState " },
  { "the type of a field", function(t) values.values { literals = {}, items = {}, kind = t } end, " ", "a", "|" },
  { "comments begun", function(t) js.entries(t, 1) end, "/*", "{ a: [" },
  { "texts begun", function(t) js.entries(t, 1) end, "`\\", "{ a: [a, " },
  { "a code's blanks", function(t) js.entries(t, 1) end, "\t", "{ a: f(b", "c) }" },
  { "a document's code", function(t) prose_of(ts(t)) end, "function a" },
  { "a key of many parts", function(t) json_lines.nearest({}, t) end, "a." },
  { "an outline's comments", outline.is, "<!-- " },
  { "an outline's blanks", outline.is, " ", "# a\n-", "[" },
}

describe("a quarter of a megabyte that is worst for", function()
  for _, case in ipairs(CASES) do
    it(case[1] .. " is read in a moment", function()
      local took = seconds(case[2], case[3], case[4], case[5])
      assert.is_true(took < 0.5, ("%.1f s"):format(took))
    end)
  end
end)
