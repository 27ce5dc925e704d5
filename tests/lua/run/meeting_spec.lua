-- meeting_spec.lua: updates that meet what other steps made of the state: told alike whichever way it is worked out,
-- and at the cost of the update.
local json = require "skillrt.base.json"
local meeting = require "skillrt.run.outcome.meeting"
local skillrt = require "skillrt"
local state = require "skillrt.skill.state"

local function replaced(base, now, patch)
  local _, _, names = meeting.updates({ books = { state = { root = { k = now } } }, skill = {} }, { root = { k = base } },
    { k = patch })
  return names ~= nil
end

-- How many instructions of Lua a function takes, in hundreds.
local function work(fn)
  local count = 0
  debug.sethook(function() count = count + 1 end, "", 100)
  fn()
  debug.sethook()
  return count
end

local function members(n)
  local out = {}
  for i = 1, n do out["m" .. i] = i end
  return out
end

describe("an update that meets what other steps made of a field", function()
  it("replaces something exactly where the order of both matters", function()
    local seed = 1
    local function random(most)
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return (seed >> 8) % most + 1
    end
    local function value(depth, may_remove)
      local kind = random(8)
      if kind <= 3 or depth == 0 then
        return random(2)
      elseif kind == 4 then
        return json.array { random(2) }
      elseif kind == 5 and may_remove then
        return json.null
      end
      local out = {}
      for _ = 1, random(4) - 1 do out[("abc"):sub(random(3)):sub(1, 1)] = value(depth - 1, may_remove) end
      return out
    end
    local told = { [true] = 0, [false] = 0 }
    for _ = 1, 5000 do
      local base, patch = value(3), value(3, true)
      local now = random(2) == 1 and value(3) or state.merge(base, { a = value(2) })
      base, now = random(6) > 1 and base or nil, random(6) > 1 and now or nil
      local theirs = state.diff({ it = base }, { it = now }).it
      local matters = not state.equal(now, base)
        and not state.equal(state.merge(state.merge(base, patch), theirs), state.merge(now, patch))
      assert.equal(matters, replaced(base, now, patch), json.encode { base, now, patch })
      told[matters] = told[matters] + 1
    end
    assert.is_true(told[true] > 500 and told[false] > 500)
  end)

  it("costs the same whatever the field holds", function()
    local function cost(n)
      local base, now = members(n), members(n + 50)
      return work(function()
        for i = 1, 100 do replaced(base, now, { ["new" .. i] = i }) end
      end)
    end
    assert.is_true(cost(20000) < 1.5 * cost(20))
  end)

  it("in a run of n parallel steps that each add a member to one object takes memory in proportion to n", function()
    local function run(n)
      local actions, ids = {}, {}
      for i = 1, n do
        ids[i] = "a" .. i
        actions[i] = { id = ids[i], run = function(_, ctx)
          ctx.sleep(0.001)
          return { all = { ["m" .. i] = i } }
        end }
      end
      local skill = skillrt.skill { name = "meet", context = "memory", state = { all = {} }, actions = actions,
        strategy = { name = "all", select = function() return ids end },
        limits = { max_parallel = n, max_iterations = n + 1 } }
      collectgarbage()
      collectgarbage("stop")
      local before = collectgarbage("count")
      local result = assert(skill:run {})
      local cost = collectgarbage("count") - before
      collectgarbage("restart")
      assert.equal("completed", result.status, result.message)
      assert.same(members(n), result.state.all)
      return cost
    end
    run(10)
    assert.is_true(run(800) < 6 * run(200)) -- 4 times the steps
  end)
end)
