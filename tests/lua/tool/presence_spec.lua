-- presence_spec.lua: which tools the next request carries, and what a call to another makes of it.
require "tests.support.json_shim"
local presence_of = require "skillrt.tool.presence"
local registry_of = require "skillrt.tool.registry"
local tool = require "skillrt.tool"

local function made(settings)
  local registry = registry_of.new()
  for _, name in ipairs { "a", "b", "c", "lost" } do
    assert(registry:add(assert(tool.new({ name = name, perform = function() end }, "test"))))
  end
  return presence_of.new(registry, settings), registry
end

local function names(presence)
  local out = {}
  for i, one in ipairs(presence:tools()) do out[i] = one.name end
  return table.concat(out, " ")
end

describe("the present set", function()
  it("is what is sent, in its order; a call to another widens it for the next request, and is not performed (F53)", function()
    local one = made { names = { "b", "a" }, known = { "a", "b", "c" } }
    assert.equal("b a", names(one))
    assert.equal("a", one:called("a", one:has "a").name)
    local found, message, what = one:called "c"
    assert.is_nil(found)
    assert.matches("the tool c was not available; it is from now on, call it again", message)
    assert.equal("widened", what)
    assert.equal("b a c", names(one))
    assert.equal("c", one:called("c", one:has "c").name)
    assert.equal(1, one.absent)
    one:change { "a" }
    assert.equal("a", names(one))
  end)

  it("is all tools where a set names none (F53)", function()
    local one = made { names = {} }
    assert.equal("a b c lost", names(one))
    one:change { "b" }
    one:change {}
    assert.equal("a b c lost", names(one))
    assert.equal("", names((made { names = {}, known = {} })), "but for an agent that is given none at all")
  end)

  it("stays as it is, or becomes all, where that is said (F53)", function()
    local one = made { names = { "a" }, known = { "a", "b", "c" }, on_absent = "refuse" }
    local found, message, what = one:called "b"
    assert.same({ "refused", "a" }, { what, names(one) })
    assert.is_nil(found)
    assert.matches("the tool b is not available now; there are a", message)
    one = made { names = { "a" }, known = { "a", "b", "c" }, on_absent = "all" }
    assert.equal("all", select(3, one:called "b"))
    assert.equal("a b c", names(one))
  end)

  it("never holds a tool that is in no set, nor one that nobody knows", function()
    for _, on_absent in ipairs(presence_of.ON_ABSENT) do
      local one = made { names = { "a" }, known = { "a", "b" }, on_absent = on_absent }
      assert.equal("refused", select(3, one:called "lost"))
      assert.equal("unknown", select(3, one:called "nobody"))
      assert.is_nil((one:called "lost"))
      assert.is_nil(names(one):find "lost")
    end
  end)

  it("is all of them where no names are given", function()
    assert.equal("a b c lost", names((made {})))
    assert.equal("a b", names((made { known = { "a", "b" } })))
  end)

  it("has one tool for a name, and no name that a provider refuses", function()
    local _, registry = made {}
    local ok, message = registry:add(assert(tool.new({ name = "a", perform = print, source = "mcp:x" }, "test")))
    assert.is_nil(ok)
    assert.matches("two of that name, of skill and of mcp:x", message)
    for _, name in ipairs { "", "a b", "a.b", ("n"):rep(65), "\u{e9}" } do
      assert.is_nil((tool.new({ name = name, perform = print }, "test")))
    end
    registry:remove "a"
    assert.is_nil(registry:find "a")
  end)
end)
