-- snapshot_spec.lua: a state that steps hold as it was: what they see, what it costs, the way back.
local json = require "skillrt.base.json"
local state = require "skillrt.skill.state"

local null = json.null

-- Small whole numbers from 1 to n, always the same.
local function random_from(seed)
  return function(n)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed // 65536 % n + 1
  end
end

-- What scripts can do with a view, put together: must be the plain tree again.
local function walked(view)
  if type(view) ~= "table" then
    return view
  end
  local out = json.is_array(view) and json.array {} or {}
  for key, value in pairs(view) do
    assert(view[key] == value)
    out[key] = walked(value)
  end
  assert(#out == #view)
  return out
end

describe("what a step holds", function()
  it("stays as it was, whatever is changed meanwhile, and how (F37)", function()
    local books = state.new { a = { x = { 1 }, y = { z = 1 } }, b = { 2 }, gone = null, last = true, context = {} }
    local before = json.encode(books.root)
    local held = books:hold()
    local list = held.b
    books:patch { a = { y = { z = 2, w = { 1 } }, x = null }, gone = 1, last = null }
    books:append("b", 3)
    books:replace("context", "new", { 4 })
    books:set("c", 5)
    assert.equal(before, json.encode(held))
    assert.equal(before, json.encode(walked(held)))
    assert.same({ 1, 2, nil }, { #held.b, list[1], list[2] })
    assert.equal(held.a.y, held.a.y)
    assert.is_nil(held.c)
    assert.is_nil(held.context.new)
    assert.has_error(function() held.c = 1 end)
    assert.equal(
      '{"a":{"y":{"w":[1],"z":2}},"b":[2,3],"c":5,"context":{"new":[4]},"gone":1}',
      json.encode(books.root)
    )
    books:release(held)
  end)

  it("is one and the same for steps that begin before the next change", function()
    local books = state.new { n = 1 }
    local first, second = books:hold(), books:hold()
    assert.equal(first, second)
    books:release(first)
    books:patch { n = 2 }
    assert.equal(1, second.n)
    books:release(second)
    assert.has_error(function() books:release(second) end)
  end)

  it("may be walked through while the state changes", function()
    local books = state.new { a = 1, b = 2, c = 3, list = { 1, 2, 3 } }
    local held, seen = books:hold(), {}
    for key, value in pairs(held) do
      books:patch { [key] = null, [key .. key] = 0 }
      seen[#seen + 1] = key .. (type(value) == "number" and value or "")
    end
    assert.equal("a1 b2 c3 list", table.concat(seen, " "))
    for _, key in ipairs(seen) do
      assert.is_not_nil(held[key:sub(1, 1)] or held[key])
    end
  end)

  it("is compared with the present like any tree", function()
    local books = state.new { a = 1, b = { c = { 1 } } }
    local held = books:hold()
    books:patch { a = null, b = { c = { 2 } } }
    assert.same({ a = null, b = { c = { 2 } } }, state.diff(held, books.root))
    assert.same({ a = 1, b = { c = { 1 } } }, state.diff(books.root, held))
    assert.same({ b = { c = { 1 } }, a = 1 }, state.copy(held))
  end)

  -- One model for all: a plain copy beside each held one.
  local function churn(seed, rounds, visit)
    local random = random_from(seed)
    local function value(depth)
      local kind = random(depth > 2 and 4 or 6)
      if kind == 1 then return random(3) elseif kind == 2 then return random(3) + 0.0 elseif kind == 3 then return random(2) == 1 end
      if kind == 4 then return json.array { random(3), null } end
      local out = {}
      for _ = 1, random(3) do out["k" .. random(4)] = value(depth + 1) end
      return out
    end
    local books = state.new { log = json.array {}, context = {}, nothing = null }
    local open = {}
    for round = 1, rounds do
      if random(3) == 1 then
        open[#open + 1] = { held = books:hold(), text = json.encode(books.root) }
      end
      if #open > 0 and random(4) == 1 then
        local one = table.remove(open, random(#open))
        books:release(one.held)
      end
      local what = random(6)
      if what == 1 then
        books:append("log", value(3))
      elseif what == 2 then
        books:replace("context", "k" .. random(3), random(3) == 1 and null or value(2))
      elseif what == 3 then
        books:set("k" .. random(4), value(1))
      else
        books:patch { ["k" .. random(4)] = random(5) == 1 and null or value(0) }
      end
      visit(books, open, round)
    end
  end

  it("agrees with a copy of each moment, over random changes, holds and releases (F36, F37)", function()
    churn(11, 800, function(_, open, round)
      local one = open[round % math.max(1, #open) + 1]
      if one then
        assert.equal(one.text, json.encode(one.held))
        assert.equal(one.text, json.encode(walked(one.held)))
      end
    end)
  end)

  it("is found again from the present and what leads back, also in a state read back", function()
    churn(5, 400, function(books, open, round)
      if round % 8 ~= 0 then
        return
      end
      local undos = {}
      for i, one in ipairs(open) do
        undos[i] = json.decode(json.encode(books:undo_patch(one.held)))
      end
      local again, held = state.new(json.decode(json.encode(books.root))), {}
      for i in ipairs(open) do
        held[i] = again:hold_undone(undos[i])
      end
      again:patch { k1 = { new = 1 }, k2 = null }
      again:append("log", "more")
      for i, one in ipairs(open) do
        assert.equal(one.text, json.encode(held[i]))
        again:release(held[i])
      end
    end)
  end)
end)

describe("what a held state costs", function()
  -- Instructions of Lua's machine: the same number every time.
  local function instructions(run)
    local count = 0
    debug.sethook(function() count = count + 1 end, "", 1)
    run()
    debug.sethook()
    return count
  end

  -- A step among others: the oldest ends with an update, a new one begins. On average.
  local function step_cost(keys, holders)
    local tree = { done = json.array {}, context = {}, n = 0 }
    for i = 1, keys do tree["key" .. i], tree.context["key" .. i] = i, i end
    local books, open, first = state.new(tree), {}, 1
    local function start()
      books:set("n", books.root.n + 1)
      open[#open + 1] = books:hold()
    end
    local function finish()
      local held = open[first]
      first = first + 1
      assert(held.key1 and held.context.key1 and held.n)
      books:release(held)
      books:patch { ["key" .. first % keys + 1] = -first, box = { deep = { n = first } } }
      books:replace("context", "key" .. first % keys + 1, -first)
      books:append("done", first)
    end
    for _ = 1, holders do start() end
    for _ = 1, 20 do finish(); start() end
    local times = 1000
    return instructions(function()
      for _ = 1, times do finish(); start() end
    end) / times
  end

  it("is the same with 10,000 steps under way as with 10, and with 20,000 keys as with 100", function()
    local little = step_cost(100, 10)
    local many, wide = step_cost(100, 10000), step_cost(20000, 10)
    assert.is_true(many <= 2 * little, ("%.0f against %.0f"):format(many, little))
    assert.is_true(wide <= 2 * little, ("%.0f against %.0f"):format(wide, little))
  end)

  it("is that of what changed since, where the way back is asked for", function()
    local tree = { log = json.array {} }
    for i = 1, 20000 do tree["key" .. i], tree.log[i] = { i }, i end
    local books = state.new(tree)
    local held = books:hold()
    books:patch { key7 = { 1 } }
    books:append("log", 0)
    local count = instructions(function() books:undo_patch(held) end)
    assert.is_true(count < 1000, count)
    assert.same({ key7 = { was = { 7 } }, log = { length = 20000 } }, books:undo_patch(held))
  end)

  it("keeps nothing that nobody can see, however long one step is under way", function()
    local books = state.new { n = 0, done = json.array {} }
    local first, held = books:hold(), books:hold()
    for i = 1, 20000 do
      books:patch { n = i }
      books:append("done", i)
      books:release(held)
      held = books:hold()
    end
    assert.equal(0, first.n)
    assert.equal(0, #first.done)
    assert.is_true(books.past.kept < 2000, books.past.kept)
    books:release(first)
    books:release(held)
    assert.is_nil(next(books.past.cells))
  end)
end)
