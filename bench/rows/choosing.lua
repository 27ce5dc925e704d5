-- choosing.lua: choosing among many actions after one state key changed, beside evaluating every
-- condition, as one does who keeps no books of who reads what.
--
-- The skill's own pieces are called here as the autonomous mode calls them. Ten actions read each key;
-- the same number of keys changes however many there are, as it is the run that changes them.
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
local build = os.getenv "SKILLRT_BUILD" or "build/release"
package.cpath = ("%s/lib/?.so;"):format(build) .. package.cpath

local READERS <const>, ROUNDS <const> = 10, 7
local CHANGING <const> = 200 -- keys, far apart, that change in turn

return function(measure)
  local when = require "skillrt.skill.when"
  local autonomous = require "skillrt.mode.autonomous"
  local books_of = require "skillrt.run.books"
  local skill_of = require "skillrt.skill"

  local function select_first(_, available)
    return available[1].id
  end

  -- the mode, its ledger, and the skill, of so many actions
  local function start(count)
    local state, actions = { turn = 0 }, {}
    for i = 1, count do
      local key = "key_" .. (i - 1) // READERS + 1
      state[key] = 0
      actions[i] = {
        id = "action-" .. i,
        priority = i % 97,
        when = ("%s !== %d"):format(key, i % READERS),
        max_runs = 1000000000,
        run = function() end,
      }
    end
    local skill = skill_of.new { name = "many", state = state, actions = actions, strategy = select_first,
      limits = { max_iterations = 1000000000 } }
    local ledger = books_of.new()
    books_of.apply(ledger, { t = "run", run = "r", skill = "many", state = state, input = {}, at = 0,
      context = "memory" })
    local mode = autonomous.new(skill, ledger, {})
    assert(mode:choose() == "start")
    return mode, ledger, skill
  end

  -- nanoseconds of one choice after one key changed, and with it a count that nobody reads: the search
  -- for progress then finds each state new, though the same action is chosen again and again
  local function choosing(mode, ledger, keys)
    local times, value, turn, changed = 2000, 0, 0, {}
    for i = 1, times do
      changed[i] = "key_" .. i % CHANGING * (keys // CHANGING) + 1
    end
    return measure.cpu(ROUNDS, function()
      value = value + 1
      for i = 1, times do
        turn = turn + 1
        ledger.state:patch { [changed[i]] = value % READERS, turn = turn }
        assert(mode:choose() == "start")
      end
    end) / times
  end

  local function evaluating(ledger, skill)
    local root = ledger.state.root
    return measure.cpu(ROUNDS, function()
      local best
      for _, one in ipairs(skill.actions) do
        if when.holds(one, root) and not (best and best.priority >= one.priority) then
          best = one
        end
      end
      assert(best)
    end)
  end

  local mode, ledger, skill = start(10000)
  local few, all = choosing(mode, ledger, 10000 // READERS), evaluating(ledger, skill)
  mode, ledger = start(100000)
  local many = choosing(mode, ledger, 100000 // READERS)
  return {
    measure.finding(
      "choosing among 10,000 actions after one key changed, against all conditions",
      all / few, ">=", 50, measure.time(few) .. " against " .. measure.time(all)
    ),
    measure.finding(
      "the same among 100,000 actions, against 10,000",
      many / few, "<=", 2, measure.time(many) .. " against " .. measure.time(few)
    ),
  }
end
