-- started.lua: writes the names of the modules that a plain run of a script loads; embed.lua compiles these.
--
-- Run by `make started`: lua5.4 csrc/started.lua FILE, with lua/ on the path and core.so built.
-- A module that is missing in the list costs a start the time of unpacking and parsing it, nothing else.
local cli = require "skillrt.cli"
local path = assert(arg[1], "started.lua: give the file to write") -- a run has words of its own in `arg`

local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "started", state = { n = 0 }, actions = {
  { id = "count", when = "n < 3", max_runs = 3, run = function(state) return { n = state.n + 1 } end } } }
]]

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir -p " .. folder))
local script <close> = assert(io.open(folder .. "/started.lua", "w"))
script:write(SKILL)
script:close()
local code = cli.main("run", folder .. "/started.lua", "--work-dir", folder .. "/run", "--quiet")
os.execute("rm -r " .. folder)
if code ~= 0 then
  os.exit(code)
end

local names = {}
for name in pairs(package.loaded) do
  local file = name:find "^skillrt" and package.searchpath(name, package.path)
  names[#names + 1] = file and file:match "lua/(skillrt/.*)$"
end
table.sort(names)
local list <close> = assert(io.open(path, "w"))
list:write(table.concat(names, "\n"), "\n")
