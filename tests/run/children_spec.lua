-- children_spec.lua: runs that a step of another run waits for (ctx.run with a queue), performed by other workers: the
-- same for a folder and for a database, by the real program. A file that the children write to is the witness.
local kit = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

-- Waits for a child, as the input says; `how`: within a time, or in parallel.
local PARENT <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "parent", state = { done = false }, actions = {
  { id = "ask", when = "!done", run = function(state, ctx)
      local input, result, message, class, more = state.input, nil, nil, nil, nil
      local function child()
        return ctx.run(input.child or "child.lua", { n = 7, fails = input.fails }, { queue = "kids" })
      end
      if input.within then
        result, message, class = ctx.within(tonumber(input.within), child)
      else
        result, message, class, more = child()
      end
      return { done = true, got = result and result.state.n, message = message, class = class,
        ended = (result or more or {}).status }
    end } } }
]]

local CHILD <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "child", state = { n = 0 }, on_indoubt = "skip", actions = {
  { id = "square", when = "!n", on_error = "fail", max_errors = 1, run = function(state, ctx)
      ctx.await { kind = "command", argv = { "sh", "-c",
        "echo child >> witness; while test -f hold; do sleep 0.05; done" } }
      if state.input.fails then return nil, "no square", "permanent" end
      return { n = state.input.n * state.input.n }
    end, undo = function(_, ctx) ctx.await { kind = "command", argv = { "sh", "-c", "echo undone >> witness" } } end } } }
]]

-- Many children, each of which two programs perform; they are counted by the witness.
local MANY <const> = [[
local skillrt = require "skillrt"
local actions = {}
for n = 0, 2 do
  actions[n + 1] = { id = "round" .. n, when = "n === " .. n, run = function(state, ctx)
      local sum = state.sum
      for _, result in ipairs(ctx.map({ 1, 2, 3 }, function(k)
        return assert(ctx.run("one.lua", { name = ("%s-%d-%d"):format(state.input.name, n, k) }, { queue = "kids" }))
      end)) do
        sum = sum + result.state.one
      end
      return { n = n + 1, sum = sum }
    end }
end
return skillrt.skill { name = "many", state = { n = 0, sum = 0 }, actions = actions }
]]
local ONE <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "one", state = { one = 0 }, on_indoubt = "skip", actions = {
  { id = "act", when = "!one", run = function(state, ctx)
      ctx.await { kind = "command", argv = { "sh", "-c", "echo " .. state.input.name .. " >> witness; sleep 0.02" } }
      return { one = 1 }
    end } } }
]]

-- Damages its state while it waits for a child.
local SPOILT <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "spoilt", mode = "sequential", state = { n = 0 }, invariants = "n <= 3", phases = {
  { id = "keep", checkpoint = true, run = function() return "kept", { n = 1 } end },
  { id = "wait", parallel = true, run = function(_, ctx)
      return (ctx.run("child.lua", { n = 7 }, { queue = "kids" })).status
    end },
  { id = "spoil", parallel = true, run = function(_, ctx)
      ctx.await { kind = "command", argv = { "sh", "-c", "until grep -q child witness; do sleep 0.05; done" } }
      return "spoilt", { n = 9 }
    end } } }
]]

local STRIKES <const> = 16

-- `place`: of all runs; `url`: of one run there; `server`: of a database.
local function suite(what, place, url, server)
  describe(what, function()
    local folder, serial = kit.folder(), 0
    local env = ("HOME=%s/home XDG_STATE_HOME=%s/home NO_COLOR=1"):format(folder.path, folder.path)

    local function skillrt(...) return kit.run(folder, { env = env, ... }) end
    local function good(...)
      local result = skillrt(...)
      assert.equal(0, result.code, result.out .. result.err)
      return result.out
    end
    local function start(...) return kit.start(folder, { env = env, ... }) end
    -- A worker of the parents and one of the children, from now on.
    local function begin()
      local own, kids = start("worker", place), start("worker", place, "--queue", "kids")
      return setmetatable({ own = own, kids = kids }, { __close = function()
        for _, program in ipairs { own, kids } do getmetatable(program).__close() end
      end })
    end
    local function finish(program)
      program.signal "TERM"
      program.wait()
    end
    local function submit(...)
      serial = serial + 1
      local name = "p" .. serial
      good("submit", place, "pack", "--trust", "--key", name, ...)
      return name
    end
    local function witness()
      local text = folder.read "witness" or ""
      os.remove(folder.path .. "/witness")
      return text
    end
    local function field(run, name) return good("state", url(run)):match('"' .. name .. '": *"?([^",\n}]*)') end
    -- The names of the children of a run, as lists show them.
    local function children(parent)
      local list = {}
      for line in good("list", place):gmatch "[^\n]+" do
        list[#list + 1] = line:match("/(" .. parent .. "%.%x+)")
      end
      return list
    end
    -- The journal of a run, as a folder has it.
    local function lines(run)
      if server then
        return server.query("select convert_from(string_agg(lines, '' order by batch), 'utf8') from skillrt.journal where run = '"
          .. run .. "'")
      end
      return folder.read("runs/" .. run .. "/journal/00000001.sj")
    end
    local function until_true(test, why)
      for _ = 1, 200 do
        if test() then return end
        os.execute "sleep 0.05"
      end
      error(why .. "\n" .. good("list", place) .. kit.complaints(folder))
    end
    local function stands(run, word)
      until_true(function() return skillrt("status", url(run)).out:find(word, 1, true) end, run .. " is not " .. word)
    end
    -- A child that is under way: its name.
    local function held(parent)
      until_true(function() return (folder.read "witness" or ""):find "child" end, "no child of " .. parent .. " is performed")
      return children(parent)[1]
    end

    setup(function()
      assert(os.execute(("cd %s && mkdir pack many spoilt"):format(folder.path)))
      folder.file("pack/skill.lua", PARENT)
      folder.file("pack/child.lua", CHILD)
      folder.file("spoilt/skill.lua", SPOILT)
      folder.file("spoilt/child.lua", CHILD)
      folder.file("many/skill.lua", MANY)
      folder.file("many/one.lua", ONE)
      folder.file("inline.lua", PARENT:gsub('input.child or "child.lua"',
        'skillrt.skill { name = "own", actions = { { id = "a", run = function() end } } }'))
      if server then good("fleet", "init", server.url, "--lease", "2") else assert(os.execute("mkdir " .. folder.path .. "/runs")) end
    end)
    before_each(function()
      witness()
      os.remove(folder.path .. "/hold")
    end)
    teardown(function()
      if server then getmetatable(server).__close() end
      getmetatable(folder).__close()
    end)

    it("are performed by workers of their queue, while their parent has no process, and give it their result (F79)", function()
      local _ <close> = begin()
      folder.file("hold", "")
      local parent = submit()
      local child = held(parent)
      stands(parent, "waiting_for_event")
      assert.matches("run " .. child, good("status", url(parent)), 1, true)
      for _, name in ipairs { "run:" .. child, "@run:" .. child } do -- nobody else gives its outcome
        skillrt("send", url(parent), name, '{"status":"completed","result":{"state":{"square":1}}}')
      end
      assert.matches("child of " .. parent, good("status", url(child)), 1, true)
      assert.matches("it is under way, and waits for " .. child, good("explain", url(parent)), 1, true)
      os.remove(folder.path .. "/hold")
      stands(parent, "completed")
      assert.equal("49", field(parent, "got"))
      assert.equal("child\n", witness())
      assert.matches("child of " .. parent, good("log", url(child)), 1, true)
      assert.matches(child, good("log", url(parent)), 1, true)
    end)

    it("give it their failure, or that they were aborted", function()
      local workers <close> = begin()
      local parent = submit("--set", "fails=true")
      stands(parent, "completed")
      assert.equal("permanent", field(parent, "class"))
      assert.equal("failed", field(parent, "ended"))
      assert.matches("no square", field(parent, "message"))
      finish(workers.kids)
      local waits = submit()
      stands(waits, "waiting_for_event")
      assert.equal(4, skillrt("abort", "--trust", url(children(waits)[1])).code)
      stands(waits, "completed")
      assert.equal("canceled", field(waits, "class"))
    end)

    it("are aborted where their parent is, or gives them up, or is rolled back to before them", function()
      local workers <close> = begin()
      folder.file("hold", "")
      local late = submit("--set", "within=3")
      local child = held(late)
      stands(late, "completed")
      assert.equal("timeout", field(late, "class"))
      os.remove(folder.path .. "/hold")
      stands(child, "aborted (canceled)")
      finish(workers.kids)
      local aborted, rolled = submit(), submit()
      stands(aborted, "waiting_for_event")
      stands(rolled, "waiting_for_event")
      finish(workers.own)
      local one, two = children(aborted)[1], children(rolled)[1]
      assert.matches("waits for its child", skillrt("move", url(aborted), "away").err, 1, true)
      assert.matches("waits for its child", skillrt("move", url(one), "away").err, 1, true)
      witness()
      assert.equal(4, skillrt("abort", "--trust", url(aborted)).code)
      good("rollback", url(rolled), "--to", "1")
      local _ <close> = start("worker", place, "--queue", "kids")
      stands(one, "aborted (canceled)")
      stands(two, "aborted (canceled)")
      assert.equal("", witness()) -- nothing of them was performed
      -- has a child of its own
      skillrt("resume", url(rolled), "--trust")
      local _ <close> = start("worker", place)
      stands(rolled, "completed")
      assert.equal(2, #children(rolled))
      assert.equal("child\n", witness())
    end)

    it("are aborted where their parent damages its state, and is taken back to before them", function()
      local _ <close> = begin()
      folder.file("hold", "")
      good("submit", place, "spoilt", "--trust", "--key", "spoilt")
      stands("spoilt", "paused (rolled_back)")
      local child = children("spoilt")[1]
      os.remove(folder.path .. "/hold")
      stands(child, "aborted (canceled)")
      os.execute "sleep 1.5" -- a worker looks once a second
      assert.matches("paused (rolled_back)", skillrt("status", url "spoilt").out, 1, true) -- a person resumes it
    end)

    it("give their outcome also where the parent waits anew, behind a rollback", function()
      local workers <close> = begin()
      local parent = submit()
      stands(parent, "completed")
      finish(workers.own)
      local seq = lines(parent):match '\nJ1 %x+ (%x+)[^\n]*"kind":"child"'
      good("rollback", url(parent), "--to", tonumber(seq, 16))
      skillrt("resume", url(parent), "--trust")
      local _ <close> = start("worker", place)
      stands(parent, "completed")
      assert.equal("49", field(parent, "got"))
      assert.equal(1, #children(parent))
      assert.equal("child\n", witness())
    end)

    it("end also where their parent was removed", function()
      local _ <close> = begin()
      folder.file("hold", "")
      local parent = submit()
      local child = held(parent)
      if server then
        server.query("delete from skillrt.run where run = '" .. parent .. "'")
        server.query("delete from skillrt.journal where run = '" .. parent .. "'")
      else
        assert(os.execute("rm -r " .. folder.path .. "/runs/" .. parent))
      end
      os.remove(folder.path .. "/hold")
      stands(child, "completed")
    end)

    it("say what cannot be submitted, and are sub-runs where no worker performs their parent", function()
      local _ <close> = begin()
      local gone = submit("--set", "child=other.lua")
      stands(gone, "completed")
      assert.matches("other.lua: no such file was submitted with parent; submit the folder", field(gone, "message"), 1, true)
      good("submit", place, "inline.lua", "--trust", "--key", "inline")
      stands("inline", "completed")
      assert.matches("this one is in no file", field("inline", "message"), 1, true)
      local told = good("run", "pack", "--trust", "--work-dir", url "here")
      assert.matches("[Sub-run 1.1]", told, 1, true)
      assert.equal("49", field("here", "got"))
      assert.equal(0, #children "here")
    end)

    it("are submitted once and performed once, and their outcome comes once, whoever is killed when (F79)", function()
      local workers = {}
      local function start_one(i)
        workers[i] = kit.start(folder, { env = env, "worker", place, "--queue", i % 2 == 0 and "kids" or "default", "--quiet" })
      end
      local count = server and 4 or 2
      for i = 1, count do start_one(i) end
      local _ <close> = setmetatable({}, { __close = function()
        for _, worker in ipairs(workers) do worker.signal "KILL" end
      end })
      for i = 1, 3 do good("submit", place, "many", "--trust", "--key", "many" .. i, "--set", "name=many" .. i) end
      for strike = 1, STRIKES do
        os.execute(("sleep 0.%d"):format(15 + strike * 37 % 50))
        local i = strike % count + 1
        workers[i].signal "KILL"
        workers[i].wait()
        start_one(i)
      end
      for i = 1, 3 do
        local run = "many" .. i
        until_true(function()
          local told = skillrt("status", url(run)).out
          for _, name in ipairs { run, table.unpack(children(run)) } do
            if skillrt("status", url(name)).out:find("poison", 1, true) then skillrt("resume", url(name), "--trust", "--quiet") end
          end
          return told:find "completed" end, run .. " has not completed")
        assert.equal("9", field(run, "sum"))
        assert.equal(9, #children(run))
        local taken = select(2, good("log", url(run)):gsub("Event: @run:", ""))
        assert.equal(9, taken)
      end
      local seen = {}
      for name in witness():gmatch "[^\n]+" do
        assert.is_nil(seen[name], name .. " was performed twice")
        seen[name] = true
      end
    end)
  end)
end

suite("children of runs in a folder", "runs", function(name) return "runs/" .. name end)
local server, why = postgres.start()
if server then
  suite("children of runs in a database", server.url, server.run, server)
else
  print("left out: " .. why)
  describe("children of runs in a database", function() pending("need a server: " .. why) end)
end
