-- worker_kit.lua: what the specs of workers share: scripts, a file that their steps write to as the witness of what was
-- done, and when, and the same tests for a folder and for a database, by the real program.
local kit = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

local assert = require "luassert"
local busted = require "busted"
local describe, it, setup, teardown = busted.describe, busted.it, busted.setup, busted.teardown

local M = {}

-- Its step leaves a line behind, and says so where another one is under way.
local ALONE <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "alone", state = { done = false }, actions = {
  { id = "act", when = "!done", run = function(_, ctx)
      ctx.await { kind = "command", argv = { "sh", "-c",
        "mkdir busy 2>/dev/null || echo overlap >> witness; echo " .. ctx.input.name
        .. " >> witness; sleep 0.3; rmdir busy 2>/dev/null" } }
      return { done = true }
    end } } }
]]

local ASK <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "ask", state = { done = false }, actions = {
  { id = "ask", when = "!done", run = function(_, ctx)
      return { done = true, colour = ctx.await { kind = "ask", question = "Which colour?" } }
    end } } }
]]

-- Ends the process that performs it.
local POISON <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "poison", state = { done = false }, actions = {
  { id = "deadly", when = "!done", run = function()
      local pid = io.open "/proc/self/stat":read "n"
      os.execute("echo died >> witness; kill -9 " .. pid)
      return { done = true }
    end } } }
]]

-- Ends the process that loads it, once there is a file.
local DEADLY <const> = [[
local skillrt = require "skillrt"
local file = io.open "armed"
if file then
  os.execute("echo died >> witness; kill -9 " .. io.open "/proc/self/stat":read "n")
end
return skillrt.skill { name = "deadly", state = { done = false }, actions = {
  { id = "live", when = "!done", run = function() return { done = true } end } } }
]]

-- Two steps, of which the second may not be begun by who drains.
M.SLOW = [[
local skillrt = require "skillrt"
local function step(ctx, word)
  ctx.await { kind = "command", argv = { "sh", "-c", "echo begun " .. word .. " >> witness; while ! test -f go; do "
    .. "sleep 0.05; done; echo ended " .. word .. " >> witness" } }
end
return skillrt.skill { name = "slow", state = { n = 0 }, actions = {
  { id = "one", when = "n === 0", run = function(_, ctx) step(ctx, "one") return { n = 1 } end },
  { id = "two", when = "n === 1", run = function(_, ctx) step(ctx, "two") return { n = 2 } end },
} }
]]

---@class tests.Workers  what the tests of one place have
---@field folder table    of tests.support.cli_kit
---@field place string    of all runs
---@field url fun(key: string): string  of one run there
---@field server table?   of a database

-- `define(w)`: the tests.
local function suite(what, place, url, server, define)
  describe(what, function()
    local folder = kit.folder()
    local env = ("HOME=%s/home XDG_STATE_HOME=%s/home NO_COLOR=1"):format(folder.path, folder.path)

    local function skillrt(...) return kit.run(folder, { env = env, ... }) end
    local function good(...)
      local result = skillrt(...)
      assert.equal(0, result.code, result.out .. result.err)
      return result.out
    end
    local function aborted(run) assert.equal(4, skillrt("abort", run).code) end
    local function start(...) return kit.start(folder, { env = env, ... }) end
    local function witness()
      local text = folder.read "witness" or ""
      os.remove(folder.path .. "/witness")
      return text
    end
    -- Until a text is in the witness.
    local function seen(text)
      for _ = 1, 1000 do
        if (folder.read "witness" or ""):find(text, 1, true) then return end
        os.execute "sleep 0.02"
      end
      error(text .. " did not come within 20 s")
    end
    -- Until a run is as `status` says.
    local function becomes(key, text)
      local out
      for _ = 1, 1500 do
        out = skillrt("status", url(key)).out
        if out:find(text, 1, true) then return out end
        os.execute "sleep 0.05"
      end
      error(("%s: not %q within 75 s: %s"):format(key, text, out))
    end

    setup(function()
      os.execute("mkdir " .. folder.path .. "/home")
      if server then good("fleet", "init", place, "--lease", "30") end
      folder.file("alone.lua", ALONE)
      folder.file("ask.lua", ASK)
      folder.file("poison.lua", POISON)
      folder.file("deadly.lua", DEADLY)
      folder.file("slow.lua", M.SLOW)
    end)
    teardown(function() getmetatable(folder).__close() end)
    define({ folder = folder, env = env, place = place, url = url, server = server, skillrt = skillrt, good = good,
      aborted = aborted, start = start, witness = witness, seen = seen, becomes = becomes })
  end)
end

---Describes workers of a folder and of a database.
---@param define fun(w: tests.Workers)
function M.suites(define)
  local runs = os.tmpname()
  os.remove(runs)
  suite("a worker of a folder", runs, function(key) return runs .. "/" .. key end, nil, define)
  local server, why = postgres.start()
  if server then
    suite("a worker of a database", server.url, server.run, server, define)
    describe("the server of the workers", function()
      it("is there until they have ended", function() getmetatable(server).__close() end)
    end)
  else
    print("left out: " .. why)
    describe("a worker of a database", function() busted.pending("need a server: " .. why) end)
  end
end

return M
