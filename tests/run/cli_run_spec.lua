-- cli_run_spec.lua: `skillrt SCRIPT`, driven as people do: its lines, its options, what it says
-- of bad input, and its exit codes.
local kit = require "tests.support.cli_kit"

local COUNT = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "count", mode = "autonomous", state = { n = 0 },
  actions = { { id = "more", when = "n < 2", max_runs = 5, run = function(s) return { n = s.n + 1 } end } },
}]]

local PHASES = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "steps", mode = "sequential",
  phases = {
    { id = "01-in", output = "in.json", run = function() return { a = 1 } end },
    { id = "02-never", when = "false", run = function() return {} end },
    { id = "03-bad", run = function() return nil, "no luck\27[2J" end },
  },
}]]

describe("skillrt SCRIPT", function()
  local function in_order(out, expected)
    local at = 1
    for _, line in ipairs(expected) do
      local from = out:find(line, at, true)
      assert.truthy(from, line .. " is missing in\n" .. out)
      at = from
    end
  end

  it("prints the lines of an autonomous run and its end (R83)", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", COUNT)
    local run = kit.run(folder, { "count.lua", "--work-dir", "w" })
    assert.equal(0, run.code)
    assert.equal("", run.err)
    in_order(run.out, {
      "Skill: count ", "[Iteration 1] Status: running, Completed: 0",
      "[Iteration 1] Executing: more", "[Iteration 1] Completed: more", "[Iteration 2] Status: running, Completed: 1",
      "[Iteration 2] Completed: more\ncompleted (task_completed): 2 steps in ",
    })
    assert.truthy(run.out:find(", in w\n", 1, true))
    assert.is_nil(run.out:find("===", 1, true))
  end)

  it("prints the lines of document 000's orchestrator for a skill-config, and for no other skill (R67)", function()
    local folder <close> = kit.folder()
    folder.file("skill-config.json", [[{ "skill_name": "count", "description": "Counts.", "execution_mode": "autonomous",
      "autonomous_config": { "actions": [{ "id": "more", "name": "More" }] } }]])
    folder.file("agent", "#!/bin/sh\necho '{\"status\": \"completed\", \"stateUpdates\": {}, \"summary\": \"one more\"}'\n")
    os.execute("chmod +x " .. folder.path .. "/agent")
    local run = kit.run(folder, { "run", "skill-config.json", "--agent", "./agent", "--work-dir", "w" })
    assert.equal(0, run.code, run.out .. run.err)
    in_order(run.out, {
      "=== Orchestrator Started ===", "Context Strategy: file", "[Iteration 1] Status: running, Completed: 0",
      "[Iteration 1] Executing: more", "[Iteration 1] Completed: one more", "=== All actions completed ===",
      "=== Orchestrator Finished ===", "completed (task_completed): 1 step in ",
    })
  end)

  it("prints the lines of phases, skipped and failed, and stops with code 1 (R30, R33)", function()
    local folder <close> = kit.folder()
    folder.file("steps.lua", PHASES)
    local run = kit.run(folder, { "run", "steps.lua", "--work-dir=w" })
    assert.equal(1, run.code)
    assert.truthy(run.out:find("[Orchestrator] Executing: 01-in\n", 1, true))
    assert.truthy(run.out:find("[Orchestrator] Skipping 02-never (condition not met): false\n", 1, true))
    assert.truthy(run.out:find("[Orchestrator] Failed at 03-bad: no luck\\x1B[2J\n", 1, true))
    assert.is_nil(run.out:find "\27")
    assert.truthy(run.err:find("next: skillrt retry w ", 1, true))
  end)

  it("says that nobody can answer the question of a run in memory, and how it could be answered", function()
    local folder <close> = kit.folder()
    folder.file("ask.lua", [[
      return require "skillrt".skill { name = "ask", context = "memory", strategy = "user_driven",
        actions = { { id = "left", run = function() end }, { id = "right", run = function() end } } }
    ]])
    local run = kit.run(folder, { "ask.lua", "--work-dir", "w" })
    assert.equal(3, run.code)
    assert.truthy(run.out:find("  1. left\n", 1, true))
    assert.truthy(run.err:find("it cannot be answered later: the run existed in memory only (context = \"memory\")", 1, true), run.err)
    assert.truthy(run.err:find("with context = \"file\" it can be answered now or later", 1, true))
    assert.is_nil(run.err:find "skillrt answer")
  end)

  it("is not ended by os.exit: the function has failed, and the exit code stays one of the table", function()
    local folder <close> = kit.folder()
    folder.file("leave.lua", [[
      return require "skillrt".skill { name = "leave", limits = { max_errors = 1 },
        actions = { { id = "leave", run = function() os.exit(42) end } } }
    ]])
    local run = kit.run(folder, { "leave.lua", "--work-dir", "w" })
    assert.equal(5, run.code)
    assert.truthy(run.out:find("Error: leave.lua:2: os.exit: a script must not end skillrt", 1, true), run.out)
    assert.truthy(run.out:find("paused (script_error): 0 steps", 1, true))
  end)

  it("says that no action was selected and what each one waits for, and pauses with code 5 (R83, F29)", function()
    local folder <close> = kit.folder()
    folder.file("b.lua", (COUNT:gsub("n < 2", "n === 9")))
    local run = kit.run(folder, { "b.lua", "--work-dir", "w" })
    assert.equal(5, run.code)
    assert.truthy(run.out:find("No action selected, terminating.\n", 1, true))
    assert.truthy(run.out:find("more: ", 1, true))
    assert.truthy(run.out:find("paused (blocked): 0 steps", 1, true))
  end)

  it("aborts with code 4 (F29)", function()
    local folder <close> = kit.folder()
    folder.file("a.lua", (COUNT:gsub("max_runs = 5", 'terminal = "aborted"')))
    local run = kit.run(folder, { "a.lua", "--work-dir", "w" })
    assert.equal(4, run.code)
  end)

  it("hands --set to the skill as texts, JSON values and nested objects, and what follows -- as ctx.args", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "s", state = { seen = {} }, schema = { seen = "object" }, actions = { { id = "look",
        run = function(s, ctx)
          print(ctx.input.dir, ctx.input.limits.deep, #ctx.input.list, ctx.args[1], ctx.args[2], arg[0], arg[1])
        end } } }]])
    local run = kit.run(folder, {
      "s.lua", "--set", "dir=a=b", "--set", "limits.deep:=3", "--set", "list:=[1,2]", "--work-dir", "w", "--", "--x", "y",
    })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find(("a=b\t3\t2\t--x\ty\t%s/s.lua\t--x\n"):format(folder.path), 1, true), run.out)
  end)

  it("names a --set that cannot be read", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", COUNT)
    for word, why in pairs {
      ["novalue"] = "write key=value", ["a:={"] = "--set a: JSON", ["a..b=1"] = "a part of the key is empty",
    } do
      local run = kit.run(folder, { "count.lua", "--set", word })
      assert.equal(2, run.code)
      assert.truthy(run.err:find(why, 1, true), run.err)
    end
    local run = kit.run(folder, { "count.lua", "--set", "a=1", "--set", "a.b=2" })
    assert.truthy(run.err:find("a is a value already, so a.b cannot be set", 1, true), run.err)
    run = kit.run(folder, { "count.lua", "--work-dir", "" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("--work-dir: is empty", 1, true), run.err)
    run = kit.run(folder, { "count.lua", "--strategy", "prioritty" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find('strategy "prioritty": not found (did you mean "priority"?)', 1, true), run.err)
  end)

  it("leaves alone a state.json that no run wrote: somebody's own (nothing is lost)", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", COUNT)
    assert(os.execute(("mkdir %s/mine"):format(folder.path)))
    folder.file("mine/state.json", '{ "my": "notes" }\n')
    local run = kit.run(folder, { "count.lua", "--work-dir", "mine" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("mine/state.json: was not written by a run", 1, true), run.err)
    assert.equal('{ "my": "notes" }\n', folder.read("mine/state.json"))
  end)

  it("is quiet: only the last line, and on the error stream what went wrong", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", COUNT)
    folder.file("steps.lua", PHASES)
    local run = kit.run(folder, { "--quiet", "count.lua", "--work-dir", "w" })
    assert.truthy(run.out:find "^completed %(task_completed%): 2 steps in [^\n]*, in w\n$")
    assert.equal("", run.err)
    run = kit.run(folder, { "--quiet", "steps.lua", "--work-dir", "v" })
    assert.truthy(run.out:find "^failed [^\n]*\n$")
    assert.truthy(run.err:find("Failed at 03-bad: no luck", 1, true))
    folder.file("late.lua", (COUNT:gsub("return { n = .- }", 'if s.n == 1 then error("no luck", 0) end %0')))
    run = kit.run(folder, { "--quiet", "late.lua", "--work-dir", "u" })
    assert.equal("[Iteration 2] Error: no luck", run.err:match "^[^\n]*", run.err)
  end)

  it("gives one JSON object a line, the last one the result", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", 'print("loud")\n' .. COUNT)
    local run = kit.run(folder, { "count.lua", "--json", "--work-dir", "w" })
    local events = kit.objects(run.out)
    local kinds = {}
    for i, event in ipairs(events) do
      kinds[i] = event.t
      assert.equal(events[1].run, event.run_id)
    end
    assert.same({ "run", "start", "done", "start", "done", "stop", "result" }, kinds)
    assert.same({ "completed", "task_completed", 2, 0 },
      { events[7].status, events[7].reason, events[7].steps, events[7].exit_code })
    assert.equal("loud\n", run.err)
  end)

  it("runs a script that runs its skill itself, and keeps the command line's work dir for it", function()
    local folder <close> = kit.folder()
    folder.file("self.lua", (COUNT:gsub("return skillrt.skill", "local s = skillrt.skill")) .. "\ns:run()\n")
    local run = kit.run(folder, { "self.lua", "--work-dir", "w" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("[Iteration 2] Completed: more\n", 1, true))
    assert.truthy(run.out:find(", in w\n", 1, true))
    assert.truthy(folder.read "w/state.json")
  end)

  it("takes a person's own strategy, and keeps it when the run goes on (F45)", function()
    local folder <close> = kit.folder()
    folder.file("two.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "two", state = { order = "" }, actions = {
        { id = "a", run = function(s) return { order = s.order .. "a" } end },
        { id = "b", run = function(s) return { order = s.order .. "b" } end } } }]])
    folder.file("last.lua", [[return { name = "last", select = function(state, available, ctx)
      if state.order == "b" and not ctx.answer then return nil, { ask = { question = "go?", options = {} } } end
      return available[#available].id end }]])
    local run = kit.run(folder, { "two.lua", "--strategy", "last.lua", "--work-dir", "w" })
    assert.equal(3, run.code, run.err)
    run = kit.run(folder, { "answer", "w", "yes" })
    assert.equal(0, run.code, run.err)
    assert.truthy(folder.read("w/state.json"):find('"order": "ba"', 1, true))
  end)
end)

describe("a run in trouble", function()
  it("pauses with code 5 where the disk is full, says so, and goes on once there is room", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", (COUNT:gsub("n < 2", "n < 300"):gsub("max_runs = 5", "max_runs = 300"):gsub("state =",
      "limits = { max_iterations = 400 }, state =")))
    -- more than is kept free for the last words, which some file systems count
    local pipe <close> = io.popen(("cd %s; trap '' XFSZ; ulimit -f 36; %s count.lua --work-dir w 2>&1 >out; echo code $?")
      :format(folder.path, kit.program))
    local said = pipe:read "a"
    assert.truthy(said:find("00000001.sj: ", 1, true), said)
    assert.truthy(said:find("next: skillrt resume w ", 1, true), said)
    assert.truthy(said:find("code 5\n", 1, true), said)
    local out = folder.read("out")
    local kept = tonumber(out:match("\npaused %(store_failed%): (%d+) steps"))
    local status = kit.run(folder, { "status", "w" })
    assert.equal(0, status.code, status.err)
    -- what the failed batch held is lost: no line may tell of it
    assert.equal(kept, tonumber(status.out:match("(%d+) finished")), status.out)
    assert.equal(kept, select(2, out:gsub("%] Completed: ", "")), out)
    local run = kit.run(folder, { "resume", "w", "--quiet" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("300 steps", 1, true))
  end)

  it("closes what a wrapped coroutine holds when that fails, and tells the error of the closing", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
      local function closing(text)
        return setmetatable({}, { __close = function() print("closed " .. text) if text == "b" then error("late", 0) end end })
      end
      local function fail(text)
        return select(2, pcall(coroutine.wrap(function()
          local held <close> = closing(text)
          coroutine.wrap(function() error("early", 0) end)()
        end)))
      end
      return require "skillrt".skill { name = "s", state = {}, actions = { { id = "a", run = function()
        print("told " .. fail "a" .. " " .. fail "b")
      end } } } ]])
    local run = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.truthy(run.out:find("closed a\nclosed b\ntold early late\n", 1, true), run.out .. run.err)
  end)

  it("is read as Lua reads files, and so are its helpers: a mark of UTF-8 and a line for the shell are left out", function()
    local folder <close> = kit.folder()
    local helper = "return { n = 7 }"
    for i, head in ipairs { "\xEF\xBB\xBF", "#!/usr/bin/env skillrt\n", "\xEF\xBB\xBF#!/usr/bin/env skillrt\n" } do
      folder.file("helper.lua", head .. helper)
      folder.file("s.lua", head .. [[
        return require "skillrt".skill { name = "s", state = {}, actions = { { id = "a", run = function()
          return { n = require "helper".n }
        end } } } ]])
      local run = kit.run(folder, { "s.lua", "--work-dir", "w" .. i, "--quiet" })
      assert.equal(0, run.code, run.err)
    end
  end)

  it("goes on to its end when nobody reads its lines any more", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", (COUNT:gsub("n < 2", "n < 90"):gsub("max_runs = 5", "max_runs = 90")))
    local to_full = "(%s count.lua --work-dir w; echo code $? >&2) 2>&1 >/dev/full"
    local to_head = "(%s count.lua --work-dir v; echo code $? >&2) 2>&1 | head -1"
    local pipe <close> = io.popen(("cd %s; " .. to_full .. "; " .. to_head):format(folder.path, kit.program, kit.program))
    local said = pipe:read "a"
    assert.truthy(said:find("code 74\n", 1, true), said) -- the lines are lost
    assert.truthy(kit.run(folder, { "log", "v" }).code == 0)
    for _, dir in ipairs { "w", "v" } do
      assert.truthy(kit.run(folder, { "status", dir }).out:find("completed (task_completed)", 1, true))
    end
  end)
end)

describe("a run that is given no directory", function()
  local A = [[return require "skillrt".skill { name = "a", state = {},
    actions = { { id = "a", run = function() return { x = 1 } end } } }]]

  -- A folder with the script, below it `project/src`; runs commands there, and says where the last run is.
  local function setting()
    local folder = kit.folder()
    folder.file("a.lua", A)
    local root = folder.path .. "/project"
    os.execute("mkdir -p " .. root .. "/src " .. folder.path .. "/home")
    local env = ("XDG_STATE_HOME=%s/state HOME=%s/home"):format(folder.path, folder.path)
    local function at(where, ...)
      local run = kit.run({ path = where, file = folder.file }, { env = env, ... })
      assert.equal(0, run.code, run.err)
      return run.out
    end
    local function place(where)
      local said = at(where, folder.path .. "/a.lua", "--quiet")
      local dir = at(where, "latest"):match "^(.-)/a%-[^/]*\n$"
      assert.truthy(said:find(" in " .. dir, 1, true), said)
      assert.truthy(at(where, "list"):find(dir, 1, true))
      assert.truthy(at(where, "status"):find "completed")
      return (dir:gsub("^" .. folder.path:gsub("%p", "%%%0"), "")), dir
    end
    return folder, root, place, at
  end

  it("lies in the runs of the project, the nearest folder that has one of the marks, and git passes over it", function()
    for _, mark in ipairs { ".git", ".hg", ".jj", ".claude", "SKILL.md", "skill.lua", "skill-config.json", "workflow.json",
      "runs" } do
      local folder <close>, root, _, at = setting()
      os.execute("mkdir " .. root .. "/" .. mark)
      assert.truthy(at(root .. "/src", folder.path .. "/a.lua", "--quiet"):find(root .. "/runs/a-", 1, true), mark)
      assert.equal(mark ~= "runs" and "*\n" or nil, folder.read "project/runs/.gitignore")
    end
    local folder <close>, root, place = setting()
    os.execute("mkdir -p " .. root .. "/runs")
    folder.file("project/runs/.gitignore", "mine\n")
    assert.equal("runs", (place(root)))
    assert.equal("/project/runs", (place(root .. "/src")))
    assert.equal("mine\n", folder.read "project/runs/.gitignore")
  end)

  it("lies in the person's state folder elsewhere, where every command finds it", function()
    local folder <close>, root, place, at = setting()
    local where, dir = place(root)
    assert.equal("/state/skillrt/runs", where)
    assert.is_nil(kit.read(root .. "/runs/.gitignore"))
    assert.truthy(at(root, "du"):find(dir, 1, true))
    assert.truthy(at(folder.path .. "/home", "prune", "--all"):find("removed " .. dir, 1, true))
  end)

  it("lies in no project that is the home folder or one that everybody writes to", function()
    local folder <close>, root, place = setting()
    os.execute(("cd %s; mkdir -p home/.claude home/inside; chmod 1777 project; mkdir project/.git"):format(folder.path))
    assert.equal("/state/skillrt/runs", (place(folder.path .. "/home/inside")))
    assert.equal("/state/skillrt/runs", (place(root .. "/src")))
    os.execute("chmod 0777 " .. root)
    assert.equal("/project/runs", (place(root .. "/src")))
  end)

  it("begun in the project's runs by its path, too, is passed over by git", function()
    local folder <close>, root, _, at = setting()
    os.execute("mkdir " .. root .. "/.git")
    at(root, folder.path .. "/a.lua", "--quiet", "--work-dir", "runs/mine")
    assert.equal("*\n", folder.read "project/runs/.gitignore")
    at(root, folder.path .. "/a.lua", "--quiet", "--work-dir", "others/mine")
    assert.is_nil(folder.read "project/others/.gitignore")
  end)
end)

describe("bad input", function()
  local function says(code, words, files, ...)
    local folder <close> = kit.folder()
    for name, text in pairs(files) do folder.file(name, text) end
    local run = kit.run(folder, words)
    assert.equal(code, run.code, run.err)
    for _, text in ipairs { ... } do
      assert.truthy(run.err:find(text, 1, true), text .. " is missing in\n" .. run.err)
    end
    assert.is_nil(run.err:find "stack traceback")
    assert.equal("", run.out)
  end

  it("names a script that is missing, and the command that may be meant", function()
    says(2, { "nowhere.lua" }, {}, "skillrt: nowhere.lua: no such file", "skillrt --help")
    says(2, { "run", "" }, {}, "skillrt: SCRIPT: is empty; name a script or a skill's folder")
    says(2, { "status", "some.lua" }, { ["some.lua"] = "" }, "some.lua/state.json: Not a directory", "a run is a directory; name that")
    says(2, { "rollback", "runs/a@7", "--to", "3" }, {}, "name the run: runs/a (rollback: --to 7)")
    says(2, { "reusme" }, {}, "reusme: no such file", "did you mean the command skillrt resume?")
    says(2, { "resum", "runs/a", "--from", "b" }, {}, "resum: no such file", "did you mean the command skillrt resume?")
    says(2, { "stat", "runs/a" }, {}, "stat: no such file", "did you mean the command skillrt status?")
    says(2, { "run", "comit.lua" }, { ["commit.lua"] = "" }, "comit.lua: no such file", "did you mean commit.lua?")
    says(2, { "run", "../x/comit" }, {}, "comit: no such file", "skillrt --help lists the commands")
  end)
  it("names file and line of a syntax error", function()
    says(2, { "x.lua" }, { ["x.lua"] = "local a = 1\nreturn }\n" }, "x.lua:2:", "near '}'")
  end)
  it("names an unknown field and the nearest known one", function()
    says(2, { "x.lua" }, { ["x.lua"] = (COUNT:gsub("actions", "action", 1)) }, "x.lua:2:", '"actions"')
  end)
  it("says what a script has to return", function()
    says(2, { "x.lua" }, { ["x.lua"] = "return 5" }, "x.lua: must return a skill", "a number")
  end)
  it("refuses a binary chunk", function()
    says(2, { "x.lua" }, { ["x.lua"] = string.dump(function() end) }, "x.lua")
  end)
  it("refuses a work dir that holds a run, and says how to go on with it", function()
    local folder <close> = kit.folder()
    folder.file("c.lua", COUNT)
    kit.run(folder, { "c.lua", "--work-dir", "w" })
    local run = kit.run(folder, { "c.lua", "--work-dir", "w" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("holds a run already", 1, true))
    assert.truthy(run.err:find("skillrt resume w", 1, true))
  end)
  it("refuses a work dir that cannot be made", function()
    says(2, { "c.lua", "--work-dir", "c.lua/w" }, { ["c.lua"] = COUNT }, "c.lua", "Not a directory")
  end)
  it("names an option that is not known, and the nearest", function()
    says(2, { "c.lua", "--work-dri", "w" }, { ["c.lua"] = COUNT }, "unknown option '--work-dri'", "--work-dir", "Usage:")
    says(2, { "c.lua", "--durability", "no" }, { ["c.lua"] = COUNT }, "--durability", "power")
    says(2, { "c.lua", "--at-most", "calls=x" }, { ["c.lua"] = COUNT }, "--at-most")
    says(2, { "c.lua", "d.lua" }, { ["c.lua"] = COUNT }, "too many arguments")
    says(2, { "diff" }, {}, "missing argument 'A'")
  end)
end)

describe("what a function says by ctx.log", function()
  it("is seen before the call behind it is over, not when its step ends", function()
    local folder <close> = kit.folder()
    folder.file("says.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "says", actions = { { id = "a", run = function(_, ctx)
  ctx.log("about to wait")
  ctx.await { kind = "command", argv = { "sh", "-c", "while [ ! -e go ]; do sleep 0.02; done" }, timeout = 20 }
end } } }]])
    local run = kit.start(folder, { "says.lua", "--work-dir", "w" })
    local seen = run.says "a: about to wait" -- the program behind it waits for the file
    folder.file("go", "")
    assert.is_true(seen)
    assert.equal(0, run.wait().code)
  end)

  it("says before the run that nothing reads what is set, and behind it that no step ran", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[return require("skillrt").skill { name = "s", actions = { { id = "a", optional = true,
      when = "input.mode === 'fast'", run = function(state, ctx) ctx.log(state.input.name or "nobody") end } } }]])
    local run = kit.run(folder, { "s.lua", "--set", "mood=fast", "--set", "name=Ann" })
    assert.equal(0, run.code)
    assert.truthy(run.err:find("--set mood: nothing in s.lua reads it", 1, true), run.err)
    assert.is_nil(run.err:find("--set name", 1, true), run.err)
    assert.truthy(run.out:find("no step ran", 1, true), run.out)
    assert.truthy(run.out:find("completed (nothing_ran): 0 steps", 1, true), run.out)
    run = kit.run(folder, { "s.lua", "--set", "mode=fast", "--set", "name=Ann" })
    assert.equal("", run.err)
    assert.truthy(run.out:find("completed (task_completed): 1 step", 1, true), run.out)
    folder.file("all.lua", [[return require("skillrt").skill { name = "all", actions = { { id = "a",
      run = function(_, ctx) for key in pairs(ctx.input) do ctx.log(key) end end } } }]])
    assert.equal("", kit.run(folder, { "all.lua", "--set", "mood=fast" }).err)
  end)

  it("says in its last line which steps failed for good, though it completed", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[return require("skillrt").skill { name = "s", actions = {
      { id = "extra", optional = true, on_error = "skip", run = function() return nil, "no", "permanent" end },
      { id = "twice", run = function(_, ctx)
        if ctx.attempt == 1 then return nil, "not yet", "transient" end
        return { n = 1 }
      end } } }]])
    local run = kit.run(folder, { "s.lua", "--quiet", "--work-dir", "w" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("in w; failed: extra\n", 1, true), run.out)
  end)
end)
