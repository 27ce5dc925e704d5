-- expr.lua: compiled conditions beside Lua functions that do the same by hand, and how fast texts compile.
--
-- Run from the tree: lua5.4 bench/expr.lua. Prints millions a second and ratios; needs no build.
package.path = "./lua/?.lua;./lua/?/init.lua;./bench/?.lua;" .. package.path
local expr = require "skillrt.expr"
local measure = require "measure"

local ROUNDS <const>, TIMES <const> = 7, 200000

local state = {
  status = "running", reviewed = false, error_count = 1, retry_count = 1, max_retries = 3,
  files = { "a.c", "b.c", "c.h" }, completed_actions = { "collect", "scan", "review" },
  context = { files = { 1, 2, 3 } }, items = { { done = true }, { done = true }, { done = false } },
}

local cases = {
  { "!reviewed", function(s) return not s.reviewed end },
  { "status === 'running'", function(s) return s.status == "running" end },
  { "files.length > 0 && !reviewed", function(s) return #s.files > 0 and not s.reviewed end },
  { "error_count < 3", function(s) return s.error_count < 3 end },
  { "retry_count < max_retries", function(s) return s.retry_count < s.max_retries end },
  { "context.files.length > 0", function(s) return #s.context.files > 0 end },
  { "completed_actions.includes('review')", function(s)
    for _, id in ipairs(s.completed_actions) do
      if id == "review" then return true end
    end
    return false
  end },
  { "items.every(x => x.done)", function(s)
    for _, item in ipairs(s.items) do
      if not item.done then return false end
    end
    return true
  end },
}

local function times(run)
  return function()
    for _ = 1, TIMES do run(state) end
  end
end

print "| condition | compiled | by hand | takes |"
print "|---|---|---|---|"
local product = 1
for _, case in ipairs(cases) do
  local text, by_hand = case[1], case[2]
  local condition = assert(expr.compile(text))
  assert(condition(state) == by_hand(state), text)
  local ours = measure.cpu(ROUNDS, times(condition)) / TIMES
  local theirs = measure.cpu(ROUNDS, times(by_hand)) / TIMES
  product = product * ours / theirs
  print(("| `%s` | %.1f M/s | %.1f M/s | %.1f x |"):format(text, 1e3 / ours, 1e3 / theirs, ours / theirs))
end
print(("a condition takes %.1f times as long as Lua by hand (geometric mean)"):format(product ^ (1 / #cases)))

local compiling = measure.cpu(ROUNDS, function()
  for _ = 1, 200 do
    for _, case in ipairs(cases) do expr.compile(case[1]) end
  end
end) / (200 * #cases)
print(("compiling one takes %s"):format(measure.time(compiling)))
