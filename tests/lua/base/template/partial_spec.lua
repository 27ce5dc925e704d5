-- template_partial_spec.lua: the Mustache specification, part two: partials. Cases are ours.
-- luacheck: no max line length
local template = require "skillrt.base.template"

local function check(case)
  local got, message = template.render(case.text, case.data or {}, case.partials, { escape = case.escape })
  assert.equal(case.want, got, message)
end

local function cases(title, list)
  describe(title, function()
    for _, case in ipairs(list) do
      it(case[1], function()
        check(case)
      end)
    end
  end)
end

local tree = { v = "X", kids = { { v = "Y", kids = {} }, { v = "Z", kids = {} } } }
cases("template partials", {
  { "stand in place of their tag", text = '"{{>p}}"', partials = { p = "from partial" }, want = '"from partial"' },
  { "are empty when missing", text = '"{{>p}}"', partials = {}, want = '""' },
  { "see the context", text = "{{#o}}{{>p}}{{/o}}", data = { o = { x = 1 }, y = 2 }, partials = { p = "*{{x}}{{y}}*" }, want = "*12*" },
  { "may call themselves", text = "{{>n}}", data = tree, partials = { n = "{{v}}<{{#kids}}{{>n}}{{/kids}}>" }, want = "X<Y<>Z<>>" },
  { "may call each other", text = "{{>a}}", partials = { a = "1{{>b}}1", b = "2" }, want = "121" },
  { "keep white space around", text = "| {{>p}} |", partials = { p = "\t|\t" }, want = "| \t|\t |" },
  { "are not indented in the middle of a line", text = "  {{x}}  {{> p}}\n", data = { x = "|" }, partials = { p = ">\n>" }, want = "  |  >\n>\n" },
  { "vanish with a CRLF line end", text = "|\r\n{{>p}}\r\n|", partials = { p = ">" }, want = "|\r\n>|" },
  { "are indented without a line before", text = "  {{>p}}\n>", partials = { p = ">\n>" }, want = "  >\n  >>" },
  { "are indented without a line behind", text = ">\n  {{>p}}", partials = { p = ">\n>" }, want = ">\n  >\n  >" },
  { "are indented, but not the data in them", text = "\\\n {{>p}}\n/\n", data = { c = "<\n->" }, partials = { p = "|\n{{{c}}}\n|\n" }, want = "\\\n |\n <\n->\n |\n/\n" },
  { "add up their indentation", text = " {{>a}}\n", partials = { a = "a\n  {{>b}}\n", b = "b\nc\n" }, want = " a\n   b\n   c\n" },
  { "leave empty lines empty", text = "  {{>p}}\n", partials = { p = "a\n\nb\r\n\r\nc\n" }, want = "  a\n\n  b\r\n\r\n  c\n" },
  { "ignore white space in the tag", text = "|{{> p }}|", partials = { p = "[]" }, want = "|[]|" },
  { "may be named like files", text = "{{> en/head-1.md }}", partials = { ["en/head-1.md"] = "H" }, want = "H" },
})

describe("template partials from a function", function()
  it("are asked for by name, once for each indentation", function()
    local asked = {}
    local function find(name)
      asked[#asked + 1] = name
      return name == "p" and "<{{x}}>" or nil
    end
    assert.equal("<1><1>", template.render("{{>p}}{{>p}}{{>q}}{{>q}}", { x = 1 }, find))
    assert.same({ "p", "q" }, asked)
  end)
end)
