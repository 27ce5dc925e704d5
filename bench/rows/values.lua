-- values.lua: what a state costs that many steps look at. In one process, ratios of processor time; each round
-- takes both sides.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local build = os.getenv "SKILLRT_BUILD" or "build/release"
package.cpath = ("%s/lib/?.so;"):format(build) .. package.cpath

local ROUNDS <const>, STEPS <const> = 9, 20000

return function(measure)
  local json = require "skillrt.base.json"
  local state = require "skillrt.skill.state"

  -- Steps over a state of so many keys, so many of them under way: the oldest reads what it holds and
  -- ends with an update, a new one begins.
  local function steps_over(keys, holders)
    local tree = { done = json.array(), context = {}, n = 0 }
    for i = 1, keys do
      tree["key" .. i], tree.context["key" .. i] = i, i
    end
    local books, open, first, last = state.new(tree), {}, 1, 0
    local function begin()
      books:set("n", books.root.n + 1)
      last = last + 1
      open[last] = books:hold()
    end
    for _ = 1, holders do
      begin()
    end
    return function()
      local start = os.clock()
      for _ = 1, STEPS do
        local held = open[first]
        open[first], first = nil, first + 1
        local key = "key" .. first % keys + 1
        assert(held[key] and held.context.key1)
        books:release(held)
        books:patch { [key] = -first, box = { deep = { n = first } } }
        books:replace("context", key, -first)
        books:append("done", first)
        books:take_dirty()
        begin()
      end
      return (os.clock() - start) * 1e9 / STEPS
    end
  end

  local function compare(what, large, small)
    local ratios, ours, theirs = {}, {}, {}
    large()
    small()
    for round = 1, ROUNDS do
      ours[round], theirs[round] = large(), small()
      ratios[round] = ours[round] / theirs[round]
    end
    local detail = ("%s against %s"):format(measure.time(measure.median(ours)), measure.time(measure.median(theirs)))
    return measure.finding(what, measure.median(ratios), "<=", 2, detail)
  end

  return {
    compare("a step's state with 10,000 steps under way against 10", steps_over(100, 10000), steps_over(100, 10)),
    compare("a step's state with 100,000 keys against 100", steps_over(100000, 10), steps_over(100, 10)),
  }
end
