-- owned.lua: holds as many runs as asked for in one process until its standard input ends; each waits for a day. Says
-- when all wait.
--
-- Usage: owned.lua URL RUNS. Called by bench/rows/fleet.lua.
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
package.cpath = (os.getenv "SKILLRT_BUILD" or "build/release") .. "/lib/?.so;" .. package.cpath

local skillrt = require "skillrt"
local url, count = arg[1], tonumber(arg[2])

local skill = skillrt.skill { name = "sleeper", state = {}, actions = {
  { id = "sleep", run = function(_, ctx) ctx.sleep(86400) end } } }
local runs = {}
for i = 1, count do
  runs[i] = assert(skill:open { work_dir = url:gsub("%?", ("/held-%d?"):format(i)) })
  runs[i]:turn()
end
print "held"
io.flush()
io.read "a"
