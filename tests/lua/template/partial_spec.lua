-- template_partial_spec.lua: the Mustache specification, part two: partials, dynamic names,
-- inheritance, lambdas. Cases are ours.
-- luacheck: no max line length
local template = require "skillrt.template"

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

cases("template dynamic names", {
  { "name a partial by the data", text = '"{{>*d}}"', data = { d = "p" }, partials = { p = "in" }, want = '"in"' },
  { "do not hold the star", text = "{{>*d}}", data = { d = "p", ["*d"] = "q" }, partials = { p = "yes", q = "no" }, want = "yes" },
  { "give nothing for a miss", text = "<{{>*d}}>", partials = { d = "no" }, want = "<>" },
  { "give nothing for a partial that is missing", text = "<{{>*d}}>", data = { d = "p" }, partials = { q = "no" }, want = "<>" },
  { "take dotted names", text = "{{>*a.b.c}}", data = { x = 1, a = { b = { c = "p" } } }, partials = { p = "*{{x}}*" }, want = "*1*" },
  { "resolve the whole dotted name first", text = "<{{>*a.b}}>", data = { a = "t", t = { b = "p" } }, partials = { p = "no" }, want = "<>" },
  { "push nothing on the stack", text = "{{#s}}{{>*t.d}}{{/s}}", data = { s = { v = "s" }, t = { d = "p", v = "t" } }, partials = { p = "{{v}}" }, want = "s" },
  { "differ for each element", text = "{{#l}}{{>*k}}{{/l}}", data = { l = { { k = "a", v = 1 }, { k = "b", v = 2 } } }, partials = { a = "A{{v}}", b = "B{{v}}" }, want = "A1B2" },
  { "are not resolved twice", text = "<{{>**d}}{{>*a.*b}}>", data = { d = "t", t = "p", a = "x", b = "y" }, partials = { p = "no" }, want = "<>" },
  { "are indented", text = "\n {{>*d}}\n", data = { d = "p" }, partials = { p = "a\nb\n" }, want = "\n a\n b\n" },
  { "ignore white space behind the star", text = "|{{> * d }}|", data = { d = "p" }, partials = { p = "[]" }, want = "|[]|" },
  { "name a parent", text = "{{<*d}}{{$b}}mine{{/b}}{{/*d}}", data = { d = "p" }, partials = { p = "<{{$b}}theirs{{/b}}>" }, want = "<mine>" },
})

local three = {
  top = "{{<mid}}{{$a}}top{{/a}}{{/mid}}",
  mid = "{{<low}}{{$a}}mid{{/a}}{{$b}}mid {{$c}}c{{/c}}{{/b}}{{/low}}",
  low = "{{<base}}{{$a}}low{{/a}}{{/base}}",
  base = "[{{$a}}base{{/a}}|{{$b}}base{{/b}}|{{$d}}base{{/d}}]",
}
cases("template inheritance", {
  { "shows the default of a block", text = "{{$t}}Default {{x}}{{/t}}\n", data = { x = 1 }, want = "Default 1\n" },
  { "renders sections in a default", text = "{{$t}}a {{#o}}{{b}}{{/o}}{{^n}}c{{/n}}{{/t}}", data = { o = { b = "{{q}}" }, q = "no" }, want = "a {{q}}c" },
  { "takes a parent like a partial", text = "{{<p}}{{/p}}|{{>p}}", partials = { p = "{{$f}}default{{/f}}" }, want = "default|default" },
  { "overrides a block", text = "{{<p}}{{$t}}mine{{/t}}{{/p}}", partials = { p = "..{{$t}}theirs{{/t}}.." }, want = "..mine.." },
  { "does not let data override", text = "{{<p}}{{$v}}mine{{/v}}{{/p}}{{<p}}{{/p}}", data = { v = "no" }, partials = { p = "{{$v}}d{{/v}}" }, want = "mined" },
  { "overrides each parent apart", text = "{{<p}}{{$s}}1{{/s}}{{/p}} {{<p}}{{$s}}2{{/s}}{{/p}}", partials = { p = "|{{$s}}..{{/s}}{{$d}} d{{/d}}|" }, want = "|1 d| |2 d|" },
  { "keeps the line breaks of an override", text = "{{<p}}{{$b}}\npeaked\n\n:(\n{{/b}}{{/p}}", partials = { p = "{{$b}}peaking{{/b}}" }, want = "peaked\n\n:(\n" },
  { "ignores text between the blocks", text = "{{<p}} abc {{$f}}hm{{/f}} def {{x}}{{/p}}", data = { x = "no" }, partials = { p = "{{$f}}d{{/f}}" }, want = "hm" },
  { "is empty for a parent that is missing", text = "<{{<p}}{{$f}}x{{/f}}{{/p}}>", want = "<>" },
  { "puts the outermost override first", text = "{{>top}}", partials = three, want = "[top|mid c|base]" },
  { "falls back level by level", text = "{{<mid}}{{$c}}C{{/c}}{{/mid}}", partials = three, want = "[mid|mid C|base]" },
  { "reaches through four levels", text = "{{<top}}{{$a}}A{{/a}}{{$d}}D{{/d}}{{/top}}", partials = three, want = "[A|mid c|D]" },
  { "reaches through a plain partial", text = "{{<p}}{{$b}}mine{{/b}}{{/p}}", partials = { p = "{{>q}}", q = "{{$b}}theirs{{/b}}" }, want = "mine" },
  { "stops a recursion by an override", text = "{{<p}}{{$f}}over{{/f}}{{/p}}", partials = { p = "{{$f}}d{{/f}} {{$g}}{{<q}}{{/q}}{{/g}}", q = "{{$f}}qd{{/f}} {{<p}}{{$g}}stop{{/g}}{{/p}}" }, want = "over over over stop" },
  { "evaluates an override where it is expanded", text = "{{<p}}{{$b}}I say {{f}}.{{/b}}{{/p}}", data = { f = "apples", n = { f = "pears" } }, partials = { p = "{{#n}}{{$b}}{{/b}}{{/n}}" }, want = "I say pears." },
  { "keeps the delimiters of the definition", text = "{{=<% %>=}}<%<p%><%$b%>{{x}}<%x%><%/b%><%/p%>", data = { x = 1 }, partials = { p = "{{$b}}{{/b}}" }, want = "{{x}}1" },
})

cases("template inheritance on lines of its own", {
  { "indents a lone parent", text = "Hi,\n  {{<p}}{{/p}}\n.", partials = { p = "one\ntwo\n" }, want = "Hi,\n  one\n  two\n." },
  { "indents a parent over several lines", text = "  {{<p}}\n{{$b}}x{{/b}}\n{{/p}}\n.", partials = { p = "one\n{{$b}}{{/b}}\n" }, want = "  one\n  x\n." },
  { "leaves a parent inside a line alone", text = "a {{<p}}{{/p}} b\n", partials = { p = "1\n2" }, want = "a 1\n2 b\n" },
  { "gives back the white space before a parent that is not alone", text = "  {{<p}}{{/p}} b\n", partials = { p = "1" }, want = "  1 b\n" },
  { "takes the place of a default in a line", text = "{{<p}}{{$n}}mine{{/n}}{{/p}}", partials = { p = "stop:\n  {{$n}}default{{/n}}\n" }, want = "stop:\n  mine\n" },
  { "indents an override of several lines in a line", text = "{{<p}}{{$b}}\none\ntwo{{/b}}\n{{/p}}\n", partials = { p = "Hi,\n  {{$b}}{{/b}}\n" }, want = "Hi,\n  one\n  two\n" },
  { "moves an override to the place of the block", text = "{{<p}}{{$b}}\n    one\n    two\n{{/b}}{{/p}}\n", partials = { p = "Hi,\n  {{$b}}\n  {{/b}}\n" }, want = "Hi,\n  one\n  two\n" },
  { "takes the indentation of the default", text = "{{<p}}{{$b}}\none\ntwo\n{{/b}}{{/p}}\n", partials = { p = "Hi,\n{{$b}}\n  default\n{{/b}}\n" }, want = "Hi,\n  one\n  two\n" },
  { "moves nested blocks along", text = "{{<p}}{{$n}}\nthree\n{{/n}}{{/p}}\n", partials = { p = "{{$b}}\n  one\n  {{$n}}\n    two\n  {{/n}}\n{{/b}}\n" }, want = "  one\n    three\n" },
  { "takes from a line as much indentation as it has", text = "{{<p}}{{$b}}\n    one\n  two\n\tthree\n{{/b}}{{/p}}", partials = { p = "{{$b}}\n{{/b}}\n" }, want = "one\ntwo\n\tthree\n" },
  { "looks for indentation behind empty lines", text = "{{<p}}{{$b}}\n\n\r\n  one\n{{/b}}{{$c}}\n\n  \n{{/c}}{{/p}}", partials = { p = "{{$b}}\n    d\n{{/b}}\n{{$c}}\n{{/c}}\n." }, want = "\n\r\n    one\n\n  \n." },
  { "keeps the inner indentation of an override", text = "{{<p}}{{$b}}\n  if\n    then\n\n  end\n{{/b}}{{/p}}", partials = { p = "do\n        {{$b}}\n        {{/b}}\nend\n" }, want = "do\n        if\n          then\n\n        end\nend\n" },
  { "takes CRLF lines", text = "{{<p}}\r\n{{$b}}\r\n  one\r\n{{/b}}\r\n{{/p}}\r\n.", partials = { p = "Hi\r\n{{$b}}\r\nd\r\n{{/b}}\r\n" }, want = "Hi\r\none\r\n." },
  { "takes lone tags of a block away", text = "a\n  {{$b}}\n  x\n  {{/b}}\nb\n", want = "a\n  x\nb\n" },
  { "indents what the data does not", text = "{{<p}}{{$b}}\n{{x}}\n{{/b}}{{/p}}", data = { x = "1\n2" }, partials = { p = "  {{$b}}\n  {{/b}}\n" }, want = "  1\n2\n" },
})

local function wrap(mark)
  return function(text)
    return mark .. text .. mark
  end
end
local calls = 0
cases("template lambdas", {
  { "give text for a name", text = "{{l}}!", data = { l = function() return "world" end }, want = "world!" },
  { "give a template for a name", text = "{{l}}!", data = { p = "world", l = function() return "{{p}}" end }, want = "world!" },
  { "use the first delimiters for a name", text = "{{= | | =}}|&l|", data = { p = 1, l = function() return "|p| {{p}}" end }, want = "|p| 1" },
  { "are called every time", text = "{{l}} {{{l}}} {{l}}", data = { l = function() calls = calls + 1 return calls end }, want = "1 2 3" },
  { "are escaped", text = "{{l}}{{{l}}}", data = { l = function() return ">" end }, escape = "html", want = "&gt;>" },
  { "get the raw text of a section", text = "{{#l}}{{x}}{{/l}}", data = { x = "no", l = function(t) return t == "{{x}}" and "yes" or "no" end }, want = "yes" },
  { "give a template for a section", text = "<{{#l}}-{{/l}}>", data = { p = "Earth", l = function(t) return t .. "{{p}}" .. t end }, want = "<-Earth->" },
  { "use the delimiters of the section", text = "{{= | | =}}<|#l|-|/l|>", data = { p = "Earth", l = function(t) return t .. "{{p}} |p|" .. t end }, want = "<-{{p}} Earth->" },
  { "may stand in lists beside values", text = "{{#l}}p{{/l}}", data = { p = "E", l = { function(t) return "~{{" .. t .. "}}~" end, 1 } }, want = "~E~p" },
  { "are not pushed on the stack", text = "{{#o}}{{#l}}&{{/l}}{{/o}}", data = { o = "E", s = "S", l = function(t) return "{{s}}" .. t .. "{{.}}" end }, want = "S&E" },
  { "are not expanded a second time (F10)", text = "{{#l}}d{{/l}}", data = { d = "#{{x}}#", x = "no", l = function(t) return "~{{" .. t .. "}}~" end }, want = "~#{{x}}#~" },
  { "are each called", text = "{{#l}}A{{/l}} {{#l}}B{{/l}}", data = { l = wrap "_" }, want = "_A_ _B_" },
  { "are true for an inverted section", text = "<{{^l}}no{{/l}}>", data = { l = function() return false end }, want = "<>" },
  { "may render what they got", text = "{{#l}}a{{x}}{{/l}}", data = { x = "b", l = function(t, render) return render(t):upper() end }, want = "AB" },
  { "get lines without their lone tags", text = "{{#l}}\n a\n{{/l}}\n", data = { l = wrap "" }, want = " a\n" },
  { "are found by dotted names", text = "{{a.l}}{{#a.m}}t{{/a.m}}", data = { a = { l = function() return 1 end, m = wrap "|" } }, want = "1|t|" },
})
