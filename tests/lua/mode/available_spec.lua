-- available_spec.lua: what may be chosen, kept up to date: always what asking all would give.
local when = require "skillrt.skill.when"
local available = require "skillrt.mode.available"
local skillrt = require "skillrt"
local state = require "skillrt.skill.state"

local seed
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n + 1
end

local CONDITIONS = {
  "k%d > 2", "!k%d", "k%d === 1 && k3 !== 2", "k%d.length > 0", "state.k%d === null || k2", "k%d.x.y === 1",
}

local function random_skill(count)
  local actions = {}
  for i = 1, count do
    local kind = random(8)
    actions[i] = {
      id = "a" .. i, priority = random(5), run = print, max_runs = random(3),
      when = kind == 8 and function(s) return s.k1 == s.k2 end
        or kind ~= 7 and CONDITIONS[(kind - 1) % #CONDITIONS + 1]:format(random(6)) or nil,
    }
  end
  return skillrt.skill { name = "random", actions = actions }
end

local function value()
  local kind = random(6)
  return kind == 1 and random(4) or kind == 2 and "text" or kind == 3 and { 1 } or kind == 4 and { x = { y = random(2) } }
    or kind == 5 and true or false
end

describe("the available actions", function()
  it("are always what evaluating everything gives, in rank order (R60, F8)", function()
    for round = 1, 12 do
      seed = round
      local skill = random_skill(30)
      local books, runs = state.new { k1 = 1, k2 = 2 }, {}
      local list = available.new(skill.actions, {
        spent = function(one) return (runs[one.id] or 0) >= one.max_runs end,
        holds = function(one) return (when.holds(one, books.root)) end,
        test_of = when.test_of, refill = when.refill,
      })
      for step = 1, 60 do
        if random(3) == 1 then
          local id = "a" .. random(30)
          runs[id] = (runs[id] or 0) + 1
          list:recheck(id)
        else
          books:patch { ["k" .. random(6)] = value() }
        end
        list:update(books:take_dirty(), books.root)
        local expected = {}
        for _, one in ipairs(skill.actions) do
          if (runs[one.id] or 0) < one.max_runs and when.holds(one, books.root) then
            expected[#expected + 1] = one
          end
        end
        table.sort(expected, function(a, b)
          if a.priority ~= b.priority then return a.priority > b.priority end
          return a.index < b.index
        end)
        assert.equal(#expected, #list, ("round %d, step %d"):format(round, step))
        for i, one in ipairs(expected) do
          assert.equal(one.id, list[i].id)
          assert.is_true(list:has(one.id))
          assert.equal(one, list:get(one.id))
        end
        assert.is_nil(list[#expected + 1])
        assert.is_nil(list[0])
      end
    end
  end)

  it("say which keys none of them depends on: what changes there is not looked at", function()
    local function unread(conditions)
      local actions = {}
      for i, condition in ipairs(conditions) do
        actions[i] = { id = "a" .. i, run = print, when = condition }
      end
      local skill = skillrt.skill { name = "s", actions = actions }
      return available.new(skill.actions, { test_of = when.test_of }):unread { "a", "b", "c" }
    end
    assert.same({ "a", "c" }, unread { "b > 1", "d" })
    assert.same({}, unread { "b > 1", function(s) return s.d end }) -- it may look at any
  end)

  it("stand by declaration where that is asked for, and know ids that need no declaration (F27)", function()
    local skill = skillrt.skill { name = "x", actions = {
      { id = "low", priority = 1, run = print }, { id = "high", priority = 9, run = print } } }
    local list = available.new(skill.actions, {
      spent = function() return false end,
      holds = function() return true end,
      test_of = when.test_of, refill = when.refill,
    }, "declaration", { ["action-complete"] = true })
    list:update({ n = 0 }, {})
    assert.same({ "low", "high" }, { list[1].id, list[2].id })
    assert.is_true(list:has "action-complete")
    assert.is_false(list:has "nobody")
    assert.is_nil(list:get "action-complete")
  end)
end)
