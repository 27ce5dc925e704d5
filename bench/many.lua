-- many.lua: as many runs as asked for in one process, each of as many steps of a Lua function: prints the nanoseconds a
-- step takes, from when all are open until all have ended, and the bytes of the last row.
--
-- Usage: many.lua URL NAME RUNS STEPS. Called by bench/rows/fleet.lua.
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
package.cpath = (os.getenv "SKILLRT_BUILD" or "build/release") .. "/lib/?.so;" .. package.cpath

local core = require "skillrt.core"
local skillrt = require "skillrt"
local url, name, count, steps = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])

local skill = skillrt.skill { name = "steps", state = { n = 0 }, limits = { max_iterations = steps + 1 }, actions = {
  { id = "step", when = "n < " .. steps, max_runs = steps, run = function(state) return { n = state.n + 1 } end } } }
local runs = {}
for i = 1, count do
  runs[i] = assert(skill:open { work_dir = url:gsub("%?", ("/%s-%d?"):format(name, i)) })
end
local start = core.mono_ns()
for _, run in ipairs(runs) do
  while run:turn() do
    core.serve.wait(100, nil, {})
  end
end
print((core.mono_ns() - start) // (count * steps))
for _, run in ipairs(runs) do
  assert(run:result().status == "completed", run:result().message)
  run:close()
end
