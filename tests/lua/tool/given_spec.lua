-- given_spec.lua: whether a tool may be used, by what it says of its approval; and what becomes of what it gives.
require "tests.support.json_shim"
local R = require "tests.support.runs"
local approval = require "skillrt.tool.approval"
local files = require "skillrt.base.files"
local result_of = require "skillrt.tool.result"

-- What is made of a use with these arguments.
local function word(says, input, state, tool)
  tool = tool or {}
  tool.approval = says
  assert.is_nil(approval.check(says, "s"))
  return approval.of(tool, input or {}, { state = state or {} }, tool.interaction)
end

describe("the approval of a tool", function()
  it("is a word, or a condition that holds or asks: also where it is neither true nor false", function()
    assert.same({ "always", "ask", "never", "always" }, { word(nil), word "ask", word "never", word "always" })
    assert.same({ "always", "ask" }, { word("input.a < 3", { a = 2 }), word("input.a < 3", { a = 3 }) })
    for _, input in ipairs { {}, { a = "x" }, { a = {} }, { a = 1 } } do assert.equal("ask", word("input.a", input)) end
    assert.same({ "ask", "always" }, { word("input.b.c === 1", {}), word("open && input.a", { a = true }, { open = true }) })
    assert.equal("ask", word("input.free", { a = 1 }, { input = { free = true } }), "the state's input is not the tool's")
  end)

  it("is a function's word: true always, false and nothing never; any other is an error, and is not let through", function()
    local said
    local function says(input, state)
      if said == "state" then return input.n == state.n end
      return said
    end
    for given, wanted in pairs { [true] = "always", ask = "ask", never = "never", always = "always" } do
      said = given
      assert.equal(wanted, word(says))
    end
    said = false
    assert.equal("never", word(says))
    said = nil
    assert.equal("never", word(function() end))
    said = "state"
    assert.same({ "always", "never" }, { word(says, { n = 1 }, { n = 1 }), word(says, { n = 1 }, { n = 2 }) })
    said = "yes"
    assert.has_error(function() word(says) end, 'approval gave "yes"; it gives always, ask, never, true or false')
  end)

  it("is asked of what acts and may not be repeated, where people take part", function()
    assert.equal("ask", word(nil, {}, {}, { acts = true, interaction = "interactive" }))
    assert.equal("always", word(nil, {}, {}, { acts = true, idempotent = true, interaction = "interactive" }))
    assert.equal("always", word(nil, {}, {}, { interaction = "interactive" }))
    assert.equal("always", word("always", {}, {}, { acts = true, interaction = "interactive" }))
    assert.equal("always", word(nil, {}, {}, { acts = true, interaction = "autonomous" }))
  end)

  it("is refused where nobody can be asked", function()
    local tool = { name = "t", approval = "ask" }
    for _, case in ipairs { { {}, {} }, { { approve = error }, { bare = true } } } do
      local ok, message = approval.given(case[1], tool, {}, case[2])
      assert.is_nil(ok)
      assert.equal("t needs a person's approval, and no person can be asked", message)
    end
  end)
end)

describe("what a tool gives", function()
  after_each(R.clean)

  it("is told where it raises, and the talk goes on; what stops the script goes on, too", function()
    for _, raised in ipairs { "oh no", { message = "oh no" }, 7 } do
      local text, message = result_of.guarded({ name = "t", perform = function() error(raised, 0) end }, {}, {}, {})
      assert.is_nil(text)
      assert.equal("t failed: " .. (raised == 7 and "7" or "oh no"), message)
    end
  end)

  it("is cut between characters, wherever its bound lies, and the file has all of it", function()
    local dir, text = R.folder(), ("a\u{E9}\u{20AC}\u{1F600}"):rep(20)
    for most = 1, 40 do
      local loop = { settings = {}, task = { step = 1, store = require("skillrt.run.store").at(dir) } }
      local given = result_of.bounded(loop, { max_result = most }, "2." .. most, text)
      local head, path, offset =
        given.text:match "^(.-)\n%(the first %d+ of 200 bytes; all of it is in (%S+), continue with offset (%d+)%)$"
      assert.truthy(utf8.len(head), most)
      assert.same({ text, text:sub(1, offset), true }, { R.read(path), head, most - offset < 4 and most - offset >= 0 })
      assert.equal(files.digest(text):sub(1, 32), given.digest)
    end
  end)

  it("is left out where the run keeps no files", function()
    local loop = { settings = { max_tool_result = 3 }, task = { step = 1, context_strategy = "memory" } }
    assert.equal("abc\n(the first 3 of 6 bytes; the rest is left out)", result_of.bounded(loop, {}, "1", "abcdef").text)
    assert.same({ text = "no", is_error = true }, result_of.bounded(loop, {}, "1", nil, "no"))
  end)
end)
