-- state_spec.lua: the state's tree: merge patches, snapshots, revisions, views, differences.
local json = require "skillrt.base.json"
local readonly = require "skillrt.base.readonly"
local state = require "skillrt.skill.state"

local null = json.null

describe("a merge patch", function()
  -- The cases of RFC 7396, appendix A: original, patch, result.
  for i, case in ipairs {
    { [[{"a":"b"}]], [[{"a":"c"}]], [[{"a":"c"}]] },
    { [[{"a":"b"}]], [[{"b":"c"}]], [[{"a":"b","b":"c"}]] },
    { [[{"a":"b"}]], [[{"a":null}]], [[{}]] },
    { [[{"a":"b","b":"c"}]], [[{"a":null}]], [[{"b":"c"}]] },
    { [[{"a":["b"]}]], [[{"a":"c"}]], [[{"a":"c"}]] },
    { [[{"a":"c"}]], [[{"a":["b"]}]], [[{"a":["b"]}]] },
    { [[{"a":{"b":"c"}}]], [[{"a":{"b":"d","c":null}}]], [[{"a":{"b":"d"}}]] },
    { [[{"a":[{"b":"c"}]}]], [[{"a":[1]}]], [[{"a":[1]}]] },
    { [[{"e":null}]], [[{"a":1}]], [[{"a":1,"e":null}]] },
    { [[{}]], [[{"a":{"bb":{"ccc":null}}}]], [[{"a":{"bb":{}}}]] },
    { [[{"a":"foo"}]], [[{"a":{"b":1}}]], [[{"a":{"b":1}}]] },
  } do
    it(("does what RFC 7396 shows, case %d (F36)"):format(i), function()
      local books = state.new(json.decode(case[1]))
      books:patch(json.decode(case[2]))
      assert.equal(case[3], json.encode(books.root))
      local old = json.decode(case[1])
      assert.equal(case[3], json.encode(state.merge(old, json.decode(case[2]))))
      assert.equal(case[1], json.encode(old))
    end)
  end

  it("shares nothing with a patch (F37)", function()
    local books = state.new { list = { 1 }, box = { deep = {} } }
    local patch = { box = { deep = { x = 1 } } }
    books:patch(patch)
    patch.box.deep.x = 2
    assert.same({ list = { 1 }, box = { deep = { x = 1 } } }, books.root)
  end)

  it("raises the revision of a key only when its value differs", function()
    local books = state.new { a = { b = 1 }, c = 1 }
    books:take_dirty()
    local revision, progress = books.revisions.a, books.progress
    books:patch { a = { b = 1 }, c = 1 }
    assert.equal(0, books:take_dirty().n)
    assert.equal(revision, books.revisions.a)
    assert.equal(progress, books.progress)
    books:patch { a = { b = 1.0 } } -- an integer is not a float
    local keys = books:take_dirty()
    assert.equal(1, keys.n)
    assert.equal("a", keys[1])
    assert.equal(progress + 1, books.progress)
    books:set("status", "running") -- bookkeeping is no progress
    assert.equal(progress + 1, books.progress)
    assert.equal("status", books:take_dirty()[1])
    books:ignore { "status" }
    books:set("status", "completed")
    assert.same({ 0, "completed" }, { books:take_dirty().n, books.root.status })
    books:release(books:begin(2, "current_action", "a")) -- a condition may read how many steps there were
    keys = books:take_dirty()
    assert.same({ 2, "iteration_count", "current_action" }, { keys.n, keys[1], keys[2] })
  end)

  it("agrees with a plain one over random trees, held or not (F36)", function()
    local seed = 7
    local function random(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed // 65536 % n + 1
    end
    local function tree(depth)
      local kind = random(depth > 3 and 3 or 6)
      if kind == 1 then return random(3) elseif kind == 2 then return "s" .. random(3) elseif kind == 3 then return true end
      if kind == 4 then return json.array { random(3) } end
      local out = {}
      for _ = 1, random(3) do out["k" .. random(4)] = tree(depth + 1) end
      return out
    end
    local function plain(old, patch)
      if type(patch) ~= "table" or json.is_array(patch) then return state.copy(patch) end
      local out = type(old) == "table" and not json.is_array(old) and old or {}
      for k, v in pairs(patch) do
        if v == null then out[k] = nil else out[k] = plain(out[k], v) end
      end
      return out
    end
    local books, other = state.new {}, {}
    for i = 1, 400 do
      local patch = { ["k" .. random(4)] = random(5) == 1 and null or tree(1) }
      local held = i % 2 == 0 and books:hold()
      local before = held and json.encode(held)
      books:patch(patch)
      other = plain(other, patch)
      if held then
        assert.equal(before, json.encode(held))
        books:release(held)
      end
      assert.equal(json.encode(other), json.encode(books.root))
    end
  end)
end)

describe("the difference of two trees", function()
  it("is the patch that leads from one to the other", function()
    local before = { a = 1, b = { c = 1, d = { 1, 2 } }, gone = true, same = { x = {} } }
    local after = { a = 1, b = { c = 2, d = { 1 } }, new = { y = 1 }, same = { x = {} } }
    local patch = state.diff(before, after)
    assert.same({ b = { c = 2, d = { 1 } }, new = { y = 1 }, gone = null }, patch)
    local books = state.new(before)
    books:patch(patch)
    assert.same(after, books.root)
  end)
end)

describe("the fingerprint of a state", function()
  it("is equal for equal values and differs where a value differs, of keys or of all (F33)", function()
    local books = state.new { a = { 1 }, b = "x", context = {} }
    local all, a, b = books:whole_fingerprint(), books:fingerprint { "a" }, books:fingerprint { "b" }
    books:patch { a = { 2 } }
    assert.not_equal(all, books:whole_fingerprint())
    assert.not_equal(a, books:fingerprint { "a" })
    assert.equal(b, books:fingerprint { "b" })
    books:patch { a = { 1 } }
    assert.equal(all, books:whole_fingerprint())
    books:set("iteration_count", 9)
    assert.equal(all, books:whole_fingerprint())
    books:replace("context", "k", 1)
    assert.not_equal(all, books:whole_fingerprint())
  end)

  it("of the whole differs though two values change at once by as much (F33)", function()
    local books, seen = state.new { turn = 0, context = {} }, {}
    for turn = 1, 3000 do
      books:patch { turn = turn, ["key" .. turn % 20] = turn // 20 % 10 }
      local whole = books:whole_fingerprint()
      assert.is_nil(seen[whole], "turn " .. turn)
      seen[whole] = true
    end
  end)

  it("of the whole looks only at keys that changed, and is what a state of those values has (F33)", function()
    local books, seed = state.new { context = {} }, 20261122
    local function random(most)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed // 65536 % most + 1
    end
    for round = 1, 300 do
      local values = { null, random(3), tostring(random(3)), { random(3) }, { n = random(2) } }
      books:patch { ["key" .. random(6)] = values[random(#values)] }
      if random(3) == 1 then
        books:take_dirty()
      end
      if random(4) == 1 then
        assert.equal(state.new(books.root):whole_fingerprint(), books:whole_fingerprint(), "round " .. round)
      end
    end
    local looked, hash = {}, books.hash
    books:whole_fingerprint()
    books.hash = function(self, key)
      looked[#looked + 1] = key
      return hash(self, key)
    end
    books:patch { key1 = "something else" }
    books:whole_fingerprint()
    assert.same({ "key1" }, looked)
  end)
end)

describe("a view of the state", function()
  it("is the same for the same table, passes values through and hides the tree (F34)", function()
    local tree = { box = { 1, 2 }, n = 1 }
    local view = state.view(tree)
    assert.equal(view, state.view(tree))
    assert.equal(view.box, view.box)
    assert.equal(view, state.view(view))
    assert.is_not_nil(readonly.target(view))
    assert.is_nil(readonly.target(tree))
    assert.equal(2, #view.box)
    assert.is_true(json.is_array(view.box))
    assert.equal('{"box":[1,2],"n":1}', json.encode(view))
    assert.is_nil(getmetatable(view).__index)
    assert.has_error(function() setmetatable(view, {}) end)
    assert.equal(5, state.view(5))
  end)

  it("is copied whole, so that a returned part is a plain value again", function()
    local copy = state.copy(state.view { box = { { x = json.array {} } } })
    assert.same({ box = { { x = {} } } }, copy)
    assert.is_nil(readonly.target(copy.box))
    assert.is_true(json.is_array(copy.box[1].x))
  end)
end)

describe("a name in the state", function()
  it("belongs to the runtime where it says so, or begins with an underscore (F35)", function()
    for _, name in ipairs { "status", "errors", "completed_actions", "error_count", "_x", "context", "outputs" } do
      assert.is_true(state.is_reserved(name))
    end
    assert.is_false(state.is_reserved "files")
  end)
end)
