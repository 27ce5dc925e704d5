-- outcome_spec.lua: what of a step's result may enter the books.
local R = require "tests.support.runs"
local books_of = require "skillrt.run.books"
local json = require "skillrt.base.json"
local outcome = require "skillrt.run.outcome"
local store = require "skillrt.run.store"

local function settle(result, more)
  more = more or {}
  local books = books_of.new()
  books_of.apply(books, { t = "run", run = "r", skill = "s", input = {}, pins = {}, at = 0, context = more.context or "file",
    state = more.state or {} })
  books_of.apply(books, { t = "start", step = 1, n = 1, at = 0, [more.kind or "action"] = "a" })
  local run = { books = books, store = more.dir and store.at(more.dir), skill = { schema = more.schema } }
  return outcome.record(run, books.steps[1], { output = more.output, effects = {} }, result.updates, result)
end

describe("an outcome", function()
  after_each(R.clean)

  it("has its reserved fields left out and named (F34)", function()
    local entry = settle { updates = { a = 1, status = "x", errors = {}, _y = 1 } }
    assert.same({ a = 1 }, entry.set)
    assert.same({ "_y", "errors", "status" }, entry.refused)
  end)

  it("must name fields, without dots, in the declared types (F34, F36)", function()
    for wanted, case in pairs {
      ["named fields, found the key 1"] = { { "x" } },
      ["dotted key is not a path"] = { { ["a.b"] = 1 } },
      ["declared as number, got a string"] = { { n = "1" }, { n = "number" } },
      ["declared as object, got an array"] = { { n = { 1 } }, { n = "object" } },
      ["declared as string[], got an object"] = { { n = { x = 1 } }, { n = "string[]" } },
      ["declared as boolean, got the number 1"] = { { n = 1 }, { n = "boolean" } },
      ["declared as integer, got the number 1.5"] = { { n = 1.5 }, { n = "integer" } },
      ["declared as integer, got a string"] = { { n = "1" }, { n = "integer" } },
      ["declared as integer[], got an array"] = { { n = { 1, 1.5 } }, { n = "integer[]" } },
    } do
      local entry, failure = settle({ updates = case[1] }, { schema = case[2] })
      assert.is_nil(entry)
      assert.equal("permanent", failure.class)
      assert.matches(wanted, failure.message, nil, true)
    end
    assert(settle({ updates = { n = json.null, other = 1 } }, { schema = { n = "number" } }))
    assert(settle({ updates = { n = 3.0, m = 4, list = { 1, 2 } } }, { schema = { n = "integer", m = "integer", list = "integer[]" } }))
  end)

  it("keeps a list a list when it is emptied by {}, also deep inside, and leaves the author's table alone (F70)", function()
    local updates = { list = {}, box = { list = {}, object = {} }, declared = {} }
    local entry = settle({ updates = updates }, {
      state = { list = { 1 }, box = { list = { 1 }, object = { x = 1 } } }, schema = { declared = "string[]" } })
    assert.equal('{"box":{"list":[],"object":{}},"declared":[],"list":[]}', json.encode(entry.set))
    assert.is_nil(getmetatable(updates.list))
    assert.is_nil(getmetatable(updates.box.list))
  end)

  it("of an action may be written to a file of its own; without one its updates are enough", function()
    local dir = R.folder()
    local entry = settle({ output = "text" }, { dir = dir, output = "deep/out.txt" })
    assert.equal("deep/out.txt", entry.file)
    assert.is_nil(entry.out)
    assert.equal("text", R.read(dir .. "/deep/out.txt"))
    assert.is_nil(settle({ updates = {} }, { dir = dir, output = "other.txt" }).file)
  end)

  it("of a phase is taken from its file where it is text, and stays there where it is not (R23)", function()
    local dir = R.folder()
    R.write(dir .. "/a.json", '{"n":1}')
    assert.same({ n = 1 }, settle({}, { kind = "phase", dir = dir, output = "a.json" }).out)
    R.write(dir .. "/a.json", "not json")
    assert.equal("not json", settle({}, { kind = "phase", dir = dir, output = "a.json" }).out)
    R.write(dir .. "/a.png", "\137PNG\255")
    assert.equal(json.null, settle({}, { kind = "phase", dir = dir, output = "a.png" }).out)
    R.write(dir .. "/elsewhere.md", "there")
    local entry = settle({ output_file = "elsewhere.md" }, { kind = "phase", dir = dir, output = "a.md" })
    assert.same({ "there", "elsewhere.md" }, { entry.out, entry.file })
  end)

  it("has its words made printable, so that the record can be kept", function()
    local entry = settle { updates = {}, summary = "a\255", concerns = "b\255" }
    assert.same({ "a\u{FFFD}", "b\u{FFFD}" }, { entry.summary, entry.why })
  end)
end)
