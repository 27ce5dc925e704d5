-- explain_spec.lua: `skillrt explain`: why an action was chosen, why another was not, what would have let it run;
-- of a run that is over, under way, or was killed; and what each step changed: `skillrt log --state`.
local kit = require "tests.support.cli_kit"
local target_machine = require "tests.support.target_machine"

local SCRIPT = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "why", state = { files = {}, n = 0, ok = false }, STRATEGY actions = {
  { id = "first", priority = 10, when = "n < 1 && files.length === 0", run = function()
    return { n = 1, deep = { a = 1, b = { 1 } } } end },
  { id = "second", priority = 10, when = "n >= 0", run = function()
    return { n = 2, ok = true, deep = { a = skillrt.json.null } } end },
  { id = "never", priority = 99, optional = true, when = { "files.length > 3 && n < 9", function(s)
    return s.n == 77 end }, run = function() end },
  { id = "last", priority = 1, when = "n === 2", run = function(_, ctx) WAIT end },
} }]]

local function script(more)
  return (SCRIPT:gsub("%u%u%u%u+", function(word) return more[word] or "" end))
end

local function lines(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

describe("skillrt explain", function()
  it("shows the candidates of each iteration, each clause with its values, priority and tie, and what was missing", function()
    local folder <close> = kit.folder()
    folder.file("why.lua", script {})
    assert.equal(0, kit.run(folder, { "why.lua", "--work-dir", "w", "--quiet" }).code)
    local out = lines(kit.run(folder, { "explain", "w", "--at", "1" }).out)
    assert.same({
      "[Iteration 1] first was chosen, of 2 that could run (record 2)",
      "  because   strategy priority: priority 10, as second has, which is declared later",
      "  - never  priority 99",
      "      no   files.length > 3   (files.length is 0)",
      "      yes  n < 9   (n is 0)",
    }, { table.unpack(out, 1, 5) })
    assert.matches("^      %?    the function at .*why.lua:7   %(not called%)$", out[6])
    assert.truthy(out[7]:find "^      it needs files.length > 3; and it needs the function at ")
    assert.same({ "  * first  priority 10", "      yes  n < 1   (n is 0)", "      yes  files.length === 0   (files.length is 0)",
      "  + second  priority 10", "      yes  n >= 0   (n is 0)" }, { table.unpack(out, 8, 12) })
    folder.file("why.lua", (script {}:gsub('"second", priority = 10', '"second", priority = 7')))
    assert.equal(0, kit.run(folder, { "why.lua", "--work-dir", "w2", "--quiet" }).code)
    out = lines(kit.run(folder, { "explain", "w2", "--at", "1" }).out)
    assert.equal("  because   strategy priority: priority 10, the next is second with 7", out[2])
    folder.file("why.lua", script { STRATEGY = 'strategy = function(_, list) return list[#list].id end,' })
    kit.run(folder, { "why.lua", "--work-dir", "w3", "--quiet" })
    assert.matches("%[Iteration 1%] second was chosen, of 2 that could run.*\n  because   strategy %S+ chose it and gave no reason\n",
      kit.run(folder, { "explain", "w3", "--at", "1" }).out)
    folder.file("why.lua", script { STRATEGY = 'strategy = "sequential",' })
    kit.run(folder, { "why.lua", "--work-dir", "w4", "--quiet" })
    assert.equal("  because   strategy sequential: declared before second", lines(kit.run(folder, { "explain", "w4", "--at", "1" }).out)[2])
    local all = kit.run(folder, { "explain", "w" }).out
    assert.truthy(all:find("[Iteration 2] second was chosen (record 3)\n  because   nothing else could run", 1, true), all)
    assert.truthy(all:find("it cannot run: it already ran (max_runs 1); and it needs n < 1", 1, true))
    assert.is_nil(all:find("[Now]", 1, true))
    local only = kit.run(folder, { "explain", "w", "never", "--at", "2" }).out
    assert.is_nil(only:find("+ second", 1, true))
    assert.truthy(only:find("- never", 1, true))
  end)

  it("shows the strategy's reason, which is recorded with the choice, and costs one that gives none nothing", function()
    local folder <close> = kit.folder()
    folder.file("why.lua", script { STRATEGY = [[strategy = function(s, list)
      if s.n == 0 then return "second", "two \27[2Jbefore one" end return list[1] and list[1].id end,]] })
    kit.run(folder, { "why.lua", "--work-dir", "w", "--quiet" })
    local out = kit.run(folder, { "explain", "w", "--at", "1" }).out
    assert.truthy(out:find("  because   two \\x1B[2Jbefore one\n", 1, true), out)
    local reasons = {}
    for _, record in ipairs(kit.objects(kit.run(folder, { "log", "w", "--json" }).out)) do
      if record.t == "start" then reasons[#reasons + 1] = record.why or false end
    end
    assert.same({ "two \27[2Jbefore one", false }, { reasons[1], reasons[2] })
  end)

  it("of a run under way shows how things stand now, and of a killed one, too", function()
    local folder <close> = kit.folder()
    folder.file("why.lua", script { WAIT = 'ctx.log("here") ctx.sleep(60)' })
    local run = kit.start(folder, { "why.lua", "--work-dir", "w" })
    assert.truthy(run.says "last: here")
    local function look()
      local out = kit.run(folder, { "explain", "w", "last" })
      assert.equal(0, out.code, out.err)
      assert.truthy(out.out:find("[Iteration 3] last was chosen", 1, true))
      assert.truthy(out.out:find("[Now] 0 of 4 actions could run\n  - last  priority 1\n", 1, true), out.out)
      assert.truthy(out.out:find("it cannot run: it is under way", 1, true))
    end
    look()
    run.signal "KILL"
    run.wait()
    look()
  end)

  it("reads the run alone, whatever became of the script, and names the nearest known action and an iteration that was not", function()
    local folder <close> = kit.folder()
    folder.file("why.lua", script {})
    assert.equal(0, kit.run(folder, { "why.lua", "--work-dir", "w", "--quiet" }).code)
    local before = kit.run(folder, { "explain", "w" }).out
    folder.file("why.lua", "error 'loaded'")
    assert.equal(before, kit.run(folder, { "explain", "w" }).out)
    assert(os.remove(folder.path .. "/why.lua"))
    assert.equal(before, kit.run(folder, { "explain", "w" }).out)
    local run = kit.run(folder, { "explain", "w", "frist" })
    assert.truthy(run.code == 2 and run.err:find('did you mean "first"', 1, true), run.err)
    assert.truthy(kit.run(folder, { "explain", "w", "--at", "9" }).err:find("nothing was chosen in iteration 9", 1, true))
  end)

  it("shows of a machine what the route of the state asked, and where it leads", function()
    local folder <close> = kit.folder()
    folder.file("door.lua", target_machine.DOOR)
    assert.equal(0, kit.run(folder, { "door.lua", "--work-dir", "w", "--quiet" }).code)
    local out = kit.run(folder, { "explain", "w", "--at", "3" }).out
    assert.same({ "[Iteration 3] lock was chosen in state closed (record 4)",
      "  because   the first of the state's route whose conditions hold", "  - open  to open",
      "      no   guests > 0   (guests is 0)", "      it needs guests > 0", "  * lock  to completed" }, lines(out))
  end)

  it("says of what takes over that it is no candidate by itself", function()
    local folder <close> = kit.folder()
    folder.file("over.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "over", state = {}, actions = {
  { id = "breaks", priority = 2, on_error = "mends", run = function() return nil, "broken" end },
  { id = "mends", run = function() return { mended = true } end },
} }]])
    kit.run(folder, { "over.lua", "--work-dir", "w", "--quiet" })
    local out = kit.run(folder, { "explain", "w", "mends" }).out
    assert.truthy(out:find("mends was chosen", 1, true), out)
    assert.is_nil(out:find("no part of the skill", 1, true), out)
  end)

  it("is told to programs as an object for each choice", function()
    local folder <close> = kit.folder()
    folder.file("why.lua", script {})
    kit.run(folder, { "why.lua", "--work-dir", "w", "--quiet" })
    local list = kit.objects(kit.run(folder, { "explain", "w", "--json" }).out)
    assert.same({ "first", 1, "never", false }, { list[1].id, list[1].n, list[1].candidates[1].id,
      list[1].candidates[1].could })
    assert.same({ text = "files.length > 3", holds = false, values = "files.length is 0" }, list[1].candidates[1].clauses[1])
  end)

  it("shows the choices inside sub-runs, of skills in files and of skills of the script, over and under way", function()
    local folder <close> = kit.folder()
    folder.file("inner.lua", [[return require("skillrt").skill { name = "in-file", state = { ready = false }, actions = {
      { id = "look", when = "!ready", run = function() return { ready = true } end },
      { id = "dig", priority = 9, when = "ready", run = function() end } } }]])
    folder.file("outer.lua", [[local skillrt = require "skillrt"
      local near = skillrt.skill { name = "near", mode = "sequential", phases = { { id = "read", output_free = true,
        run = function() return "x" end } } }
      local asks = skillrt.skill { name = "asks", state = { n = 1 }, actions = {
        { id = "never", when = "n > 1", run = function() end },
        { id = "asks", run = function(_, ctx) ctx.ask "go on?" end } } }
      return skillrt.skill { name = "outer", actions = { { id = "outer", run = function(_, ctx)
        ctx.run "inner.lua" ctx.run(near)
        ctx.run(skillrt.skill { name = "hidden", actions = { { id = "there", run = function() end } } })
        ctx.run(asks) end } } }]])
    kit.run(folder, { "outer.lua", "--work-dir", "w", "--quiet" })
    local run = kit.run(folder, { "explain", "w" })
    assert.equal(0, run.code, run.err)
    for _, words in ipairs {
      "[Iteration 1] look was chosen in sub-run 1.1 (in-file) (record 4)\n  because   nothing else could run\n"
        .. "  - dig  priority 9\n      no   ready   (ready is false)\n      it needs ready\n",
      "[Iteration 2] dig was chosen in sub-run 1.1 (in-file)", "[Phase] read began in sub-run 1.2 (near)",
      "[Iteration 1] there was chosen in sub-run 1.3 (hidden)",
      "[Now] 0 of 1 actions could run\n", "[Now] 0 of 2 actions could run in sub-run 1.4 (asks)\n",
      "      it needs n > 1\n" } do
      assert.truthy(run.out:find(words, 1, true), words .. "\n--\n" .. run.out)
    end
    local only = kit.run(folder, { "explain", "w", "dig" })
    assert.same({ 0, nil }, { only.code, only.out:find("outer was chosen", 1, true) })
    assert.truthy(only.out:find("dig was chosen in sub-run 1.1", 1, true))
    local none = kit.run(folder, { "explain", "w", "dog" })
    assert.equal("", none.out)
    assert.matches('has no action or phase dog.*did you mean "dig"', none.err)
  end)
end)

describe("skillrt log --state", function()
  it("shows what each step changed in the state: what is new, what was there before, what went", function()
    local folder <close> = kit.folder()
    folder.file("why.lua", script {})
    kit.run(folder, { "why.lua", "--work-dir", "w", "--quiet" })
    local out = kit.run(folder, { "log", "w", "--state" }).out
    local changes = {}
    for mark in out:gmatch "\n +([+~-] [^\n]+)" do changes[#changes + 1] = mark end
    assert.same({ "+ deep.a: 1", "+ deep.b: [1]", "~ n: 0 -> 1", "- deep.a: 1", "~ n: 1 -> 2", "~ ok: false -> true" }, changes)
    assert.is_nil(kit.run(folder, { "log", "w" }).out:find("deep.a", 1, true))
    local told
    for _, record in ipairs(kit.objects(kit.run(folder, { "log", "w", "--state", "--json" }).out)) do
      told = told or record.changes
    end
    assert.same({ { path = "deep.a", to = 1 }, { path = "deep.b", to = { 1 } }, { path = "n", from = 0, to = 1 } }, told)
  end)
end)
