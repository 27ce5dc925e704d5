-- template_fault_spec.lua: what a template says when it is wrong, and where it stops.
-- luacheck: no max line length
local template = require "skillrt.base.template"

local function fault(text, data, partials, options)
  local result, message, code, faults = template.render(text, data or {}, partials, options)
  assert.is_nil(result)
  assert.equal("invalid", code)
  assert.is_table(faults)
  return message, faults
end

describe("template errors", function()
  local wrong = {
    { "a section that is never closed", "a\n {{#x}}", "template:2:2: 'x' is never closed: add {{/x}}" },
    { "a parent", "a {{<p}}{{/p}}", "template:1:3: <p: blocks and parents are not known: write a partial, {{> name}}" },
    { "a block", "{{$b}}x{{/b}}", "template:1:1: $b: blocks and parents are not known: write a partial, {{> name}}" },
    { "an end without a beginning", "ab\n\n{{/x}}", "template:3:1: end of 'x', which was never opened" },
    { "an end of something else", "{{#a}}\n{{/b}}", "template:2:1: end of 'b', but 'a' of line 1, column 1 is still open" },
    { "a tag that is never closed", "ab{{x", "template:1:3: the tag is never closed: no }} behind it" },
    { "a triple tag closed like a plain one", "{{{x}}", "template:1:1: the tag is never closed: no }}} behind it" },
    { "a tag at the very end", "x{{", "template:1:2: the tag is never closed: no }} behind it" },
    { "a tag without a name", "{{ }}", "template:1:1: the tag has no name" },
    { "a name with white space", "{{a b}}", "template:1:1: the name 'a b' has white space in it" },
    { "a name with an empty part", "{{a..b}}", "template:1:1: the name 'a..b' has an empty part" },
    { "a tag without a name between other delimiters", "{{=<< >>=}}<<>>", "template:1:12: the tag has no name" },
    { "a triple tag that ends elsewhere", "{{{x} }", "template:1:1: the tag is never closed: no }}} behind it" },
    { "delimiters that are none", "{{=<%=}}", "template:1:1: set delimiters holds two delimiters without '=' or white space in them" },
    { "delimiters that never end", "{{=<% %>", "template:1:1: the tag is never closed: no =}} behind it" },
  }
  for _, case in ipairs(wrong) do
    it(("name line and column of %s"):format(case[1]), function()
      assert.equal(case[3], (fault(case[2])))
    end)
  end

  it("carry line and column as numbers too", function()
    local _, faults = fault "one\n two {{x"
    assert.same({ 2, 6 }, { faults[1].line, faults[1].column })
  end)

  it("use the name that was given", function()
    assert.equal("head.mustache:1:1: the tag has no name", (fault("{{}}", {}, nil, { name = "head.mustache" })))
  end)

  it("name the partial they are in, at its own column", function()
    assert.equal("p:2:3: the tag has no name", (fault("  {{>p}}\n", {}, { p = "a\nb {{}}" })))
  end)

  it("come from compile as well", function()
    local compiled, message, code = template.compile "{{#x}}"
    assert.same({ nil, "template:1:1: 'x' is never closed: add {{/x}}", "invalid" }, { compiled, message, code })
  end)

  it("name a value that has no text", function()
    assert.equal("template:1:1: the value is a list, which has no text: use a section", (fault("{{x}}", { x = { 1 } })))
    assert.matches("the value is an object", (fault("{{x}}", { x = { a = 1 } })))
    assert.matches("the value is a thread", (fault("{{x}}", { x = coroutine.create(print) })))
  end)

  it("name a function of the data: none is called (F10)", function()
    local called = false
    local function touch()
      called = true
      return "{{x}}"
    end
    assert.equal("template:2:1: the value is a function, which has no text: use a section", (fault("a\n{{f}}", { f = touch })))
    assert.equal("template:1:1: the value is a function: functions in the data are not called", (fault("{{#f}}a{{/f}}", { f = touch })))
    assert.is_false(called)
  end)

  it("are raised for a caller's mistake", function()
    assert.has_error(function() template.render(nil, {}) end, "template.render: the text must be a string, not a nil")
    assert.has_error(function() template.compile(1) end, "template.compile: the text must be a string, not a number")
    assert.has_error(function() template.render("", {}, nil, { escape = "xml" }) end)
  end)
end)

describe("template strict", function()
  it("reports every missing name and partial with its place (F10)", function()
    local message, faults = fault("{{a}} {{b.c}}\n{{#l}}{{d}}{{/l}}{{>q}}", { b = { x = 1 }, l = { 1, 2 } }, {}, { strict = true })
    assert.equal(
      "template:1:1: nothing in the data is called 'a'\n"
        .. "template:1:7: nothing in the data is called 'b.c'\n"
        .. "template:2:7: nothing in the data is called 'd'\n"
        .. "template:2:18: no partial is called 'q'",
      message
    )
    assert.equal(4, #faults)
  end)

  it("lets sections ask for what may be missing", function()
    assert.equal("none", template.render("{{#a}}{{a}}{{/a}}{{^a}}none{{/a}}", {}, nil, { strict = true }))
  end)

  it("takes null and false for present", function()
    local data = { a = require("cjson").null, b = false }
    assert.equal("false", template.render("{{a}}{{b}}", data, nil, { strict = true }))
  end)
end)

describe("template limits", function()
  it("stop a partial that calls itself for ever", function()
    assert.matches("call each other more than 100 deep", (fault("{{>p}}", {}, { p = "x{{>p}}" })))
    assert.matches("call each other more than 7 deep", (fault("{{>p}}", {}, { p = "x{{>p}}" }, { max_depth = 7 })))
  end)

  it("stop a partial that doubles itself", function()
    local function double(name)
      local level = tonumber(name)
      return level < 30 and ("x{{>%d}}{{>%d}}"):format(level + 1, level + 1) or "x"
    end
    assert.matches("more than 5000 steps", (fault("{{>1}}", {}, double, { max_steps = 5000 })))
  end)

  it("count what is inside each other, not what follows each other", function()
    local list = {}
    for i = 1, 150 do
      list[i] = i
    end
    assert.equal(("p"):rep(150), template.render("{{#list}}{{>p}}{{/list}}", { list = list }, { p = "p" }))
  end)

  it("stop nesting and the size of the result", function()
    assert.matches("nested deeper than 100 levels", (fault(("{{#a}}"):rep(101) .. ("{{/a}}"):rep(101))))
    local list = {}
    for i = 1, 100 do
      list[i] = ("x"):rep(100)
    end
    assert.matches("longer than 5000 bytes", (fault("{{#l}}{{.}}{{/l}}", { l = list }, nil, { max_bytes = 5000 })))
  end)
end)

describe("template compile", function()
  it("compiles a text once", function()
    local one, two = template.compile "once {{x}}", template.compile "once {{x}}"
    assert.equal(one.block, two.block)
    assert.equal("once 1", one:render { x = 1 })
    assert.equal("once 2", template.render(one, { x = 2 }))
  end)

  it("forgets texts it was not asked for again", function()
    local first = template.compile "first {{x}}"
    for i = 1, 300 do
      template.compile(("%d %s"):format(i, ("y"):rep(8000)))
    end
    assert.are_not.equal(first.block, template.compile("first {{x}}").block)
  end)

  it("reads a view of a table through its metamethods", function()
    local inner = { a = 1 }
    local view = setmetatable({}, { __index = inner, __pairs = function() return next, inner end })
    assert.equal("1", template.render("{{#v}}{{a}}{{/v}}", { v = view }))
  end)
end)

describe("a template's filters", function()
  it("make of a value what the caller says, a list too", function()
    local filters = { upper = string.upper, count = function(list) return #list end }
    local text = assert(template.render("{{a.b|upper}} {{#l}}{{.|upper}}{{/l}} {{l|count}}", { a = { b = "x" }, l = { "y", "z" } },
      nil, { filters = filters }))
    assert.equal("X YZ 2", text)
  end)

  it("that nobody gave are named with their place", function()
    assert.matches("template:1:3: there is no filter 'upper'", (fault("a {{x|upper}}", { x = 1 })))
  end)
end)
