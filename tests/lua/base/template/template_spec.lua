-- template_spec.lua: the Mustache specification, part one: interpolation, sections, inverted
-- sections, comments, delimiters. Cases are ours, one table per section of the specification.
-- luacheck: no max line length
local template = require "skillrt.base.template"
local json_null = require("cjson").null

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

cases("template interpolation", {
  { "leaves text without tags alone", text = "plain { text } }}\n", want = "plain { text } }}\n" },
  { "puts a value in place of its name", text = "to {{who}}!\n", data = { who = "you" }, want = "to you!\n" },
  { "escapes nothing by default", text = "{{x}}", data = { x = '<a&"b">' }, want = '<a&"b">' },
  { "escapes HTML when asked", text = "{{x}}", data = { x = '& " < >' }, escape = "html", want = "&amp; &quot; &lt; &gt;" },
  { "never escapes triple braces", text = "{{{x}}}", data = { x = "<&>" }, escape = "html", want = "<&>" },
  { "never escapes an ampersand tag", text = "{{&x}}", data = { x = "<&>" }, escape = "html", want = "<&>" },
  { "writes an integer", text = "{{n}} {{{n}}} {{&n}}", data = { n = 85 }, want = "85 85 85" },
  { "writes a float shortly", text = "{{n}} {{m}}", data = { n = 1.21, m = 3.0 }, want = "1.21 3" },
  { "writes a float so that it reads back", text = "{{a}} {{b}} {{c}} {{d}}", data = { a = 0.1, b = 0.1 + 0.2, c = 1e300, d = 2^53 }, want = "0.1 0.30000000000000004 1e+300 9007199254740992" },
  { "writes nothing for null", text = "<{{x}}{{{x}}}{{&x}}>", data = { x = json_null }, want = "<>" },
  { "writes nothing for a name that is missing", text = "<{{x}}{{{x}}}{{&x}}>", want = "<>" },
  { "writes booleans", text = "{{t}} {{f}}", data = { t = true, f = false }, want = "true false" },
  { "reads dotted names", text = "{{a.b.c}}", data = { a = { b = { c = "deep" } } }, want = "deep" },
  { "reads dotted names in a section of the same path", text = "{{#a}}{{b.c}}{{/a}}", data = { a = { b = { c = 1 } } }, want = "1" },
  { "writes nothing for a broken chain", text = "<{{a.b.c}}>", data = { a = {} , b = { c = "no" } }, want = "<>" },
  { "resolves only the first part outwards", text = "<{{#a}}{{b.c}}{{/a}}>", data = { a = { b = { x = 1 } }, b = { c = "ERROR" } }, want = "<>" },
  { "does not read the library of strings", text = "<{{s.len}}{{#s}}{{upper}}{{/s}}>", data = { s = "text" }, want = "<>" },
  { "takes the top of the stack for a dot", text = "{{.}}", data = "me", want = "me" },
  { "escapes the dot like a name", text = "{{.}}|{{{.}}}|{{&.}}", data = '"&', escape = "html", want = '&quot;&amp;|"&|"&' },
  { "keeps white space around a tag", text = "| {{x}} |\n  {{x}}\n", data = { x = "-" }, want = "| - |\n  -\n" },
  { "ignores white space inside a tag", text = "|{{ x }}|{{{ x }}}|{{& x }}|{{\tx\n}}|", data = { x = 1 }, want = "|1|1|1|1|" },
  { "never expands data again (F10)", text = "{{a}}", data = { a = "{{b}}", b = "ERROR" }, want = "{{b}}" },
  { "inserts $& and %1 as they are (F10)", text = "{{a}}", data = { a = "$& %1 %% \\1" }, want = "$& %1 %% \\1" },
})

local list = { list = { { n = 1 }, { n = 2 }, { n = 3 } } }
cases("template sections", {
  { "renders for true", text = "<{{#x}}yes{{/x}}>", data = { x = true }, want = "<yes>" },
  { "leaves out for false", text = "<{{#x}}no{{/x}}>", data = { x = false }, want = "<>" },
  { "leaves out for null", text = "<{{#x}}no{{/x}}>", data = { x = json_null }, want = "<>" },
  { "leaves out for what is missing", text = "<{{#x}}no{{/x}}>", want = "<>" },
  { "renders for 0 and the empty text", text = "{{#n}}a{{/n}}{{#s}}b{{/s}}", data = { n = 0, s = "" }, want = "ab" },
  { "enters an object", text = "{{#o}}{{name}}{{/o}}", data = { o = { name = "Joe" } }, want = "Joe" },
  { "finds outer names inside", text = "{{#o}}{{a}},{{b}}{{/o}}", data = { a = 1, o = { b = 2 } }, want = "1,2" },
  { "prefers the inner name", text = "{{#o}}{{a}}{{/o}}", data = { a = "out", o = { a = "in" } }, want = "in" },
  { "repeats for a list", text = "{{#list}}{{n}};{{/list}}", data = list, want = "1;2;3;" },
  { "leaves out for an empty list", text = "<{{#list}}no{{/list}}>", data = { list = {} }, want = "<>" },
  { "nests", text = "{{#a}}{{#b}}{{#c}}{{x}}{{y}}{{z}}{{/c}}{{/b}}{{/a}}", data = { a = { x = 1, b = { y = 2, c = { z = 3 } } } }, want = "123" },
  { "climbs through five levels", text = "{{#a}}{{one}}{{#b}}{{one}}{{two}}{{#c}}{{one}}{{two}}{{three}}{{#d}}{{two}}{{/d}}{{/c}}{{two}}{{/b}}{{one}}{{/a}}", data = { a = { one = 1 }, b = { two = 2 }, c = { three = 3, d = { x = 1 } } }, want = "1121232" .. "21" },
  { "nests the same name", text = "{{#b}}A {{#b}}B {{/b}}C{{/b}}", data = { b = true }, want = "A B C" },
  { "forgets its names at its end", text = "{{#o}}{{a}}{{/o}}<{{a}}>{{#l}}{{b}}{{/l}}<{{b}}>{{#s}}{{/s}}{{.}}", data = setmetatable({ o = { a = 1 }, l = { { b = 2 } }, s = "s" }, { __tostring = function() return "root" end }), want = "1<>2<>root" },
  { "may appear twice", text = "{{#b}}1{{/b}} 2 {{#b}}3{{/b}}", data = { b = true }, want = "1 2 3" },
  { "takes strings for a dot", text = "{{#l}}({{.}}){{/l}}", data = { l = { "a", "b" } }, want = "(a)(b)" },
  { "takes numbers for a dot", text = "{{#l}}({{.}}){{/l}}", data = { l = { 1, 2.5 } }, want = "(1)(2.5)" },
  { "takes lists of lists for a dot", text = "{{#l}}({{#.}}{{.}}{{/.}}){{/l}}", data = { l = { { 1, 2 }, { "a" } } }, want = "(12)(a)" },
  { "escapes dots in lists", text = "{{#l}}{{.}}{{{.}}}{{/l}}", data = { l = { "<" } }, escape = "html", want = "&lt;<" },
  { "walks a list at the root", text = "{{#.}}({{v}}){{/.}}", data = { { v = "a" }, { v = "b" } }, want = "(a)(b)" },
  { "takes dotted names", text = "{{#a.b}}yes{{/a.b}}{{#a.c}}no{{/a.c}}", data = { a = { b = true } }, want = "yes" },
  { "enters a string for a dot", text = "{{#s}}{{.}}{{/s}}", data = { s = "text" }, want = "text" },
  { "keeps the outer dot for true", text = "{{#l}}{{#yes}}{{.}}{{/yes}}{{/l}}", data = { l = { "a", "b" }, yes = true }, want = "ab" },
  { "keeps white space around it", text = " | {{#b}}\t|\t{{/b}} | \n", data = { b = true }, want = " | \t|\t | \n" },
  { "keeps white space inside it", text = " | {{#b}} {{! c }}\n {{/b}} | \n", data = { b = true }, want = " |  \n  | \n" },
  { "takes indented inline sections as they are", text = " {{#b}}YES{{/b}}\n {{#b}}GOOD{{/b}}\n", data = { b = true }, want = " YES\n GOOD\n" },
  { "takes lines of lone tags away", text = "| This\n{{#b}}\n|\n{{/b}}\n| A\n", data = { b = true }, want = "| This\n|\n| A\n" },
  { "takes indented lines of lone tags away", text = "| This\n  {{#b}}\n|\n  {{/b}}\t\n| A\n", data = { b = true }, want = "| This\n|\n| A\n" },
  { "takes CRLF lines of lone tags away", text = "|\r\n{{#b}}\r\n{{/b}}\r\n|", data = { b = true }, want = "|\r\n|" },
  { "needs no line before", text = "  {{#b}}\n#{{/b}}\n/", data = { b = true }, want = "#\n/" },
  { "needs no line behind", text = "#{{#b}}\n/\n  {{/b}}", data = { b = true }, want = "#\n/\n" },
  { "ignores white space inside its tags", text = "|{{# b }}={{/ b }}|", data = { b = true }, want = "|=|" },
})

cases("template inverted sections", {
  { "renders for false, null, nothing and the empty list", text = "{{^f}}a{{/f}}{{^n}}b{{/n}}{{^m}}c{{/m}}{{^l}}d{{/l}}", data = { f = false, n = json_null, l = {} }, want = "abcd" },
  { "leaves out for true, objects and lists", text = "<{{^t}}a{{/t}}{{^o}}b{{/o}}{{^l}}c{{/l}}>", data = { t = true, o = { x = 1 }, l = { 1 } }, want = "<>" },
  { "takes dotted names and broken chains", text = "{{^a.b}}1{{/a.b}}{{^a.x}}2{{/a.x}}{{^q.r}}3{{/q.r}}", data = { a = { b = true } }, want = "23" },
  { "nests", text = "{{^b}}A {{^b}}B {{/b}}C{{/b}}", want = "A B C" },
  { "takes lines of lone tags away", text = "|\n  {{^b}}  \n|\n  {{/b}}\n|\r\n{{^b}}\r\n{{/b}}\r\n|", want = "|\n|\n|\r\n|" },
  { "keeps white space in a line", text = " | {{^b}}\t|\t{{/b}} | \n", want = " | \t|\t | \n" },
  { "serves as the else of a section", text = "{{#x}}{{x}}{{/x}}{{^x}}none{{/x}}", data = { x = "some" }, want = "some" },
})

cases("template comments", {
  { "vanish in a line", text = "12345{{! text }}67890", want = "1234567890" },
  { "span lines", text = "12345{{!\n two\n lines\n}}67890\n", want = "1234567890\n" },
  { "vanish with their line", text = "Begin.\n{{! alone }}\nEnd.\n", want = "Begin.\nEnd.\n" },
  { "vanish with their indented line", text = "Begin.\n  {{! alone }}  \nEnd.\n", want = "Begin.\nEnd.\n" },
  { "vanish with all their lines", text = "Begin.\n  {{!\n  two\n  }}\nEnd.\n", want = "Begin.\nEnd.\n" },
  { "vanish with a CRLF line", text = "|\r\n{{! alone }}\r\n|", want = "|\r\n|" },
  { "need no line before or behind", text = "  {{! a }}\n!\n  {{! b }}", want = "!\n" },
  { "leave the white space of a line", text = "  12 {{! 34 }}\n", want = "  12 \n" },
  { "keep the white space around", text = "12345 {{! c }} 67890", want = "12345  67890" },
  { "may hold anything", text = "{{! {{x} = # / > }}.", want = "." },
  { "two in a line are not alone", text = " {{! a }} {{! b }}\n|", want = "  \n|" },
})

cases("template delimiters", {
  { "change for the tags behind", text = "{{=<% %>=}}(<%text%>){{text}}", data = { text = "Hey" }, want = "(Hey){{text}}" },
  { "may be special characters", text = "({{=[ ]=}}[text])", data = { text = "It works" }, want = "(It works)" },
  { "may be special in patterns and change back", text = "{{=( )=}}(x)(={{ }}=){{x}}", data = { x = 1 }, want = "11" },
  { "may be one and the same", text = "{{=| |=}}|text||{text}||&text|", data = { text = 1 }, want = "111" },
  { "hold inside and behind sections", text = "{{#s}}{{x}}|x|{{/s}}{{=| |=}}|#s|{{x}}|x||/s|", data = { s = true, x = 1 }, want = "1|x|{{x}}1" },
  { "hold in inverted sections", text = "{{^s}}{{x}}{{/s}}{{=| |=}}|^s||x||/s|", data = { x = 1 }, want = "11" },
  { "do not reach into partials", text = "{{>p}} {{=| |=}}|>p|", data = { x = 1 }, partials = { p = ".{{x}}." }, want = ".1. .1." },
  { "do not come out of partials", text = "{{>p}} .{{x}}. .|x|.", data = { x = 1 }, partials = { p = ".{{x}}. {{= | | =}} .|x|." }, want = ".1.  .1. .1. .|x|." },
  { "keep the white space around", text = "| {{=@ @=}} |", want = "|  |" },
  { "keep the white space of a line", text = " | {{=@ @=}}\n", want = " | \n" },
  { "vanish with their line", text = "Begin.\n  {{=@ @=}}\nEnd.\r\n@={{ }}=@\r\n.", want = "Begin.\nEnd.\r\n." },
  { "need no line before or behind", text = "  {{=@ @=}}\n=\n  @=| |=@", want = "=\n" },
  { "may have white space around", text = "|{{=   @\n  @   =}}|", want = "||" },
})
