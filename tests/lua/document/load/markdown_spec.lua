-- load_markdown_spec.lua: the small readers: Markdown blocks, Mermaid graphs, JavaScript
-- literals, lines of JSON keys, conditions in prose.
local condition = require "skillrt.document.load.condition"
local js = require "skillrt.document.load.js"
local json = require "skillrt.base.json"
local json_lines = require "skillrt.document.load.json_lines"
local markdown = require "skillrt.document.load.markdown"

require "skillrt.skill.action" -- conditions know JSON's null through it

local function kinds(text)
  local out = {}
  for i, block in ipairs(markdown.parse(text)) do
    out[i] = ("%s:%d"):format(block.kind, block.line)
  end
  return table.concat(out, " ")
end

describe("Markdown", function()
  it("is headings, items, tables, code and text, each with its line", function()
    local text = "# T #\n\ntext\nmore\n\n- a\n  b\n- [x] c\n1. d\n\n| A | B |\n|---|:-:|\n| 1 | 2 |\n\n```js\n# no\n```\n"
    assert.equal("heading:1 text:3 item:6 item:8 item:9 table:11 code:15", kinds(text))
    local blocks = markdown.parse(text)
    assert.same({ "T", "text\nmore", "a b" }, { blocks[1].text, blocks[2].text, blocks[3].text })
    assert.same({ nil, true, "c" }, { blocks[3].checked, blocks[4].checked, blocks[4].text })
    assert.same({ cells = { "1", "2" }, line = 13 }, blocks[6].rows[1])
    assert.same({ "js", "# no", true }, { blocks[7].lang, blocks[7].text, blocks[7].closed })
  end)

  it("counts lines from where the text begins in its file", function()
    assert.equal(11, markdown.parse("\n# T\n", 10)[1].line)
  end)

  it("knows headings that are underlined, and lines that only divide", function()
    assert.equal("heading:1 heading:3 text:6", kinds "Title\n===\nPart\n---\n\ntext\n\n---\n")
  end)

  it("keeps a bar that is escaped in its cell", function()
    assert.same({ "a | b", "`c || d`", "" }, markdown.cells "| a \\| b | `c \\|\\| d` | |")
  end)

  it("keeps a shorter fence inside a longer one, and what looks like another fence", function()
    local blocks = markdown.parse "````md\n```js\n1\n```\n````\n# T\n"
    assert.same({ "code", "```js\n1\n```", "heading" }, { blocks[1].kind, blocks[1].text, blocks[2].kind })
    blocks = markdown.parse "```md\n```js\n1\n```\n"
    assert.same({ "```js\n1", true, 1 }, { blocks[1].text, blocks[1].closed, #blocks })
    assert.is_false(markdown.parse("```\nopen\n")[1].closed)
    assert.equal("code:1 heading:4", kinds "~~~\n```\n~~~\n# T\n")
  end)

  it("keeps comments apart", function()
    assert.equal("heading:1 comment:2 text:5", kinds "# T\n<!-- a\n- b\n-->\nc\n")
  end)

  it("takes text of Windows, and a mark of byte order", function()
    local blocks = markdown.parse "\239\187\191# T\r\n- a\r\n"
    assert.same({ "T", "a" }, { blocks[1].text, blocks[2].text })
  end)

  it("finds a section by words in its heading, to the next of its level", function()
    local blocks = markdown.parse "# T\n## 2. Preconditions (must)\n- a\n### more\n- b\n## Other\n- c\n"
    local section = markdown.section(blocks, { "precondition" })
    assert.same({ 3, 2 }, { #section, section.heading.line })
    assert.is_nil(markdown.section(blocks, { "precondition" }, true))
  end)

  it("gives links outside of code", function()
    local links = markdown.links(markdown.parse "[a](b.md) `[c](d.md)`\n\n| x |\n|---|\n| [e](<f g.md>) |\n")
    assert.same({ "b.md", 1 }, { links[1].target, links[1].line })
    assert.equal(2, #links)
  end)
end)

describe("a literal of JavaScript", function()
  it("is a value; what is none stays code", function()
    local text = "{ a: 'x', \"b\": [1, {c: null}], d: f(1, 2), ...rest, n: -1.5, t: `u`, v: `${w}`, // z\n last: true, }"
    local out = {}
    for _, entry in ipairs((js.entries(text, 1))) do
      out[entry.key or "-"] = js.is_code(entry.value) and "code " .. entry.value.code or entry.value
    end
    assert.same({
      a = "x", b = { 1, { c = json.null } }, d = "code f(1, 2)", ["-"] = "code ...rest", n = -1.5, t = "u",
      v = "code `${w}`", last = true,
    }, out)
  end)

  it("that is not whole gives what it has", function()
    local entries, after = js.entries("{ a: 1, b: 'x' -> 'y' ", 1)
    assert.is_nil(after)
    assert.equal(1, entries[1].value)
    assert.is_true(js.is_code(entries[2].value))
    assert.same({}, (js.entries("{ a: " .. ("["):rep(100000), 1)))
  end)
end)

describe("the lines of a JSON text", function()
  it("are known for each key and item, also beside braces in texts", function()
    local lines = json_lines.of '{\n "a": "{[\\"",\n "b": [\n  {"c": 1},\n  [2,\n 3]\n ], "d": {}\n}'
    assert.same({ 2, 3, 4, 4, 5, 6, 7 }, {
      lines.a, lines.b, lines["b[1]"], lines["b[1].c"], lines["b[2]"], lines["b[2][2]"], lines.d,
    })
    assert.equal(4, json_lines.nearest(lines, "b[1].x.y[3]"))
    assert.is_nil(json_lines.nearest(lines, "q"))
  end)
end)

describe("a precondition in a document", function()
  local function fields(name)
    return name == "ready"
  end

  it("is read where it is a condition (R47)", function()
    for text, wanted in pairs {
      ["`a > 1`"] = "a > 1",
      ["`done` - when all is read"] = "done",
      ["state.x === true"] = "state.x === true",
      ["ready"] = "ready",
      ["scan_completed"] = "scan_completed",
      ["`a || b`"] = "a || b",
    } do
      assert.equal(wanted, condition.item(text, fields).condition, text)
    end
  end)

  it("is none where the document says so", function()
    local chinese = "\u{65E0}\u{7279}\u{6B8A}\u{524D}\u{7F6E}\u{6761}\u{4EF6}"
    for _, text in ipairs { "None", "-", "N/A", "No special preconditions", "\u{65E0}", chinese } do
      assert.is_nil(condition.item(text), text)
    end
  end)

  it("is not guessed where words join several in one item", function()
    local told = condition.item "`a === 1` OR `b`"
    assert.is_nil(told.condition)
    assert.truthy(told.problem:find("several conditions", 1, true))
  end)

  it("that is judged says its words, whatever they are", function()
    local made = condition.judged("the `x` isn't \\ good\n" .. ("long "):rep(60))
    assert.is_true(require("skillrt.expr").compile(made) ~= nil)
    assert.is_false((require("skillrt.expr").compile(made)({})))
  end)

  it("stays prose where it is prose, with the condition it may mean", function()
    local words = { "all files read", "Approved", "`a ===`", "`a` and then `b`", "\u{5B58}\u{5728}", "none of the files is open at all" }
    for _, text in ipairs(words) do
      local told = condition.item(text, fields)
      assert.is_nil(told.condition, text)
      assert.is_string(told.problem)
    end
    assert.equal("n.length === 6", condition.item("all done (n.length === 6)").hint)
    assert.is_nil(condition.item("all done (see below)").hint)
  end)

  it("in a table's cell is a list, and = means equality", function()
    local out = {}
    for i, told in ipairs(condition.cell("status=pending, n=3, `x.includes('a,b')`, tasks left > 0", fields)) do
      out[i] = told.condition or "?"
    end
    assert.same({ "status === 'pending'", "n === 3", "x.includes('a,b')", "?" }, out)
    assert.same({}, condition.cell("-", fields))
  end)

  it("promises only what is one word", function()
    local function effect(text)
      return condition.effects(text)[1].effect
    end
    assert.same({ "a=true", "status=running", "n++", "list.length>0" }, {
      effect "`a=true`", effect "status\u{2192}running", effect "n++", effect "`list.length>0`",
    })
    assert.is_nil(effect "done = true once all is read")
    assert.is_nil(effect "write the report")
    assert.is_nil(effect "items.push(x)")
  end)
end)
