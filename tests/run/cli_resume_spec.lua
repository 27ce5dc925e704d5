-- cli_resume_spec.lua: going on with runs: resume, retry, answer; what is refused, and its codes.
local kit = require "tests.support.cli_kit"

-- "flaky" fails while there is no file "ready" beside the script.
local FLAKY = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "flaky", mode = "autonomous", state = { n = 0 }, limits = { max_errors = 1, max_retries = 0 },
  actions = {
    { id = "first", run = function() return { n = 1 } end },
    { id = "second", when = "n === 1", run = function()
        local file = io.open("ready")
        if not file then return nil, "not ready" end
        file:close()
        return { n = 2 }
      end },
  },
}]]

local ASK = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "ask", mode = "autonomous", state = { n = 0 }, strategy = "user_driven",
  actions = {
    { id = "left", description = "goes \27[31mleft", when = "n < 1", run = function(s) return { n = 1 } end },
    { id = "right", when = "n < 1", run = function(s) return { n = 2 } end, optional = true },
  },
}]]

local PHASES = [[
local skillrt = require "skillrt"
local function mark(id) return function() print("ran " .. id) return { id } end end
return skillrt.skill { name = "phases", mode = "sequential", phases = {
  { id = "01-a", output = "a.json", run = mark "a" }, { id = "02-b", output = "b.json", run = mark "b" },
} }]]

local function count(text, piece)
  local n, at = 0, 1
  while true do
    local from, to = text:find(piece, at, true)
    if not from then return n end
    n, at = n + 1, to + 1
  end
end

describe("skillrt retry", function()
  it("tries the last failed action again, with one error less, and repeats nothing else (R70, F26)", function()
    local folder <close> = kit.folder()
    folder.file("flaky.lua", FLAKY)
    local run = kit.run(folder, { "flaky.lua", "--work-dir", "w" })
    assert.equal(1, run.code)
    assert.truthy(run.out:find("[Iteration 2] Error: not ready", 1, true))
    assert.truthy(folder.read("w/state.json"):find('"error_count": 1', 1, true))
    run = kit.run(folder, { "resume", "w" }) -- what stands in its way is still there
    assert.equal(1, run.code)
    assert.truthy(run.err:find("skillrt retry", 1, true))
    folder.file("ready", "")
    run = kit.run(folder, { "retry", "w" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("Retrying: second\n", 1, true))
    assert.is_nil(run.out:find("Executing: first", 1, true))
    assert.truthy(folder.read("w/state.json"):find('"error_count": 0', 1, true))
  end)

  it("changes nothing where no step has failed (R70)", function()
    local folder <close> = kit.folder()
    folder.file("phases.lua", PHASES)
    kit.run(folder, { "phases.lua", "--work-dir", "w" })
    local before = folder.read "w/journal/00000001.sj"
    local run = kit.run(folder, { "retry", "w" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("no step of this run has failed", 1, true))
    assert.truthy(before:find '"t":"stop"')
    assert.equal(1, count(kit.run(folder, { "log", "w" }).out, "Run completed"))
  end)
end)

describe("skillrt resume", function()
  it("runs the phases from one on again, and names one that does not exist (R35)", function()
    local folder <close> = kit.folder()
    folder.file("phases.lua", PHASES)
    kit.run(folder, { "phases.lua", "--work-dir", "w" })
    local run = kit.run(folder, { "resume", "w", "--from", "02-b" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("ran b\n", 1, true))
    assert.is_nil(run.out:find("ran a\n", 1, true))
    run = kit.run(folder, { "resume", "w", "--from", "03-c" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("Phase not found: 03-c", 1, true))
  end)

  it("performs nothing of a completed run again, also where its script loads a helper", function()
    local folder <close> = kit.folder()
    folder.file("inner.lua", [[local skillrt = require "skillrt"
return skillrt.skill { name = "outer", actions = { { id = "a", run = function(_, ctx)
  assert(ctx.await { kind = "command", argv = { "sh", "-c", "echo paid >> bill" } })
end } } }]])
    folder.file("outer.lua", 'return dofile "inner.lua"')
    assert.equal(0, kit.run(folder, { "outer.lua", "--work-dir", "w" }).code)
    local run = kit.run(folder, { "resume", "w" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("the run is completed", 1, true), run.err)
    assert.equal("paid\n", folder.read "bill")
  end)

  it("says what was under way and what is completed, and repeats no finished step (R69, R87)", function()
    local folder <close> = kit.folder()
    folder.file("slow.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "slow", state = { n = 0 },
        agents = { sh = skillrt.agent.command { "sh", "-c", "[ -e go ] || exec sleep 60; echo {}", idempotent = true } },
        actions = {
          { id = "quick", run = function() return { n = 1 } end },
          { id = "long", when = "n === 1", agent = "sh", prompt = "wait a while", idempotent = true } } }]])
    local run = kit.start(folder, { "slow.lua", "--work-dir", "w" })
    assert.truthy(run.says "Executing: long")
    run.signal "INT"
    run = run.wait()
    assert.equal(130, run.code)
    assert.truthy(run.out:find("paused (user_exit): 1 step", 1, true))
    assert.truthy(run.err:find("next: skillrt resume w", 1, true))
    folder.file("go", "")
    run = kit.run(folder, { "resume", "w" })
    assert.equal(0, run.code, run.out .. run.err)
    assert.truthy(run.out:find("Resuming from: long\nAlready completed: quick\n"
      .. "Resuming: long (command sh is repeated)\n", 1, true), run.out)
    assert.is_nil(run.out:find("Executing: quick", 1, true))
  end)

  it("refuses a changed script by name with code 8, and goes on with --accept-changes", function()
    local folder <close> = kit.folder()
    folder.file("ask.lua", ASK)
    kit.run(folder, { "ask.lua", "--work-dir", "w" })
    folder.file("ask.lua", ASK .. "\n-- changed\n")
    local run = kit.run(folder, { "answer", "w", "left" })
    assert.equal(8, run.code)
    assert.truthy(run.err:find("ask.lua", 1, true))
    assert.truthy(run.err:find("--accept-changes", 1, true))
    run = kit.run(folder, { "answer", "w", "left", "--accept-changes" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("Resuming with changed files: ask.lua\n", 1, true))
  end)

  it("says which question is open, how long a sleep lasts, and which step begins anew", function()
    local folder <close> = kit.folder()
    folder.file("waits.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "waits", state = {}, limits = { max_retries = 0 },
        strategy = function(_, available)
          local ids = {}
          for i = 1, #available do ids[i] = available[i].id end
          return ids
        end,
        actions = {
          { id = "ask", run = function(_, ctx) ctx.ask { question = "which?" } return {} end },
          { id = "nap", run = function(_, ctx) ctx.sleep(3600) return {} end },
          { id = "post", run = function(_, ctx) ctx.wait { event = "mail" } return {} end } } }]])
    local run = kit.run(folder, { "waits.lua", "--work-dir", "w" })
    assert.equal(3, run.code, run.err)
    run = kit.run(folder, { "answer", "w", "this" })
    assert.truthy(run.out:find("\nResuming: ask %(question 1 is open%), nap %(sleeps until [%d:TZ.-]+%), "
      .. "post %(waits for the event mail%)\n"), run.out)
  end)

  it("names the command that goes on with files that changed", function()
    local folder <close> = kit.folder()
    folder.file("ask.lua", ASK)
    folder.file("flaky.lua", FLAKY)
    kit.run(folder, { "ask.lua", "--work-dir", "w" })
    kit.run(folder, { "flaky.lua", "--work-dir", "my run" })
    folder.file("ask.lua", ASK .. "\n")
    folder.file("flaky.lua", FLAKY .. "\n")
    local function refused(words, hint)
      local run = kit.run(folder, words)
      assert.equal(8, run.code, run.err)
      assert.truthy(run.err:find(hint, 1, true), run.err)
    end
    refused({ "resume", "w", "--accept-edits" }, "\nnext: skillrt resume w --accept-changes   (resumes with the changes)\n")
    refused({ "retry", "my run" }, "\nnext: skillrt retry 'my run' --accept-changes   (resumes with the changes)\n")
    refused({ "answer", "w", "left" }, "\nthe answer was not accepted; give it again with --accept-changes\n")
    refused({ "answer", "w", "--every", "left" }, "\nthe answer was not accepted; give it again with --accept-changes\n")
    local run = kit.run(folder, { "retry", "my run", "--accept-changes" })
    assert.equal(1, run.code, run.err)
    assert.truthy(run.out:find("Retrying: second\n", 1, true), run.out)
  end)

  it("refuses an edited state.json with code 8, and takes it over with --accept-edits", function()
    local folder <close> = kit.folder()
    folder.file("ask.lua", ASK)
    kit.run(folder, { "ask.lua", "--work-dir", "w" })
    folder.file("w/state.json", (folder.read("w/state.json"):gsub('"n": 0', '"n": 7')))
    local run = kit.run(folder, { "resume", "w" })
    assert.equal(8, run.code)
    assert.truthy(run.err:find("was changed by hand", 1, true))
    run = kit.run(folder, { "resume", "w", "--accept-edits" })
    assert.truthy(run.out:find("Accepted from the edited state.json: n\n", 1, true), run.err)
  end)

  it("tells a busy run with code 6 and by whom, a damaged one with 7, none with 2", function()
    local folder <close> = kit.folder()
    folder.file("loop.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "loop", state = {}, actions = { { id = "spin", run = function(_, ctx)
        ctx.await { kind = "sleep", seconds = 60 } end } } }]])
    local run <const> = kit.start(folder, { "loop.lua", "--work-dir", "w" })
    assert.truthy(run.says "Executing: spin")
    local second = kit.run(folder, { "resume", "w" })
    assert.equal(6, second.code)
    assert.truthy(second.err:find("held by process " .. run.pid, 1, true), second.err)
    assert.truthy(second.err:find("skillrt status w", 1, true))
    run.signal "TERM"
    assert.equal(143, run.wait().code)
    local journal = folder.read "w/journal/00000001.sj"
    folder.file("w/journal/00000001.sj", (journal:gsub('"t":"call"', '"t":"cXll"')))
    local damaged = kit.run(folder, { "resume", "w" })
    assert.equal(7, damaged.code, damaged.err)
    assert.truthy(damaged.err:find("00000001.sj", 1, true))
    assert.equal(2, kit.run(folder, { "resume", "nowhere" }).code)
  end)
end)

describe("an interrupted request in doubt (F40)", function()
  local SCRIPT = [[
    local skillrt = require "skillrt"
    return skillrt.skill { name = "doubt", state = {},
      agents = { sh = skillrt.agent.command { "sh", "-c", "[ -e go ] || exec sleep 60; echo {}" } },
      actions = { { id = "pay", agent = "sh", prompt = "do it now" } } }]]

  local function interrupted(folder)
    folder.file("d.lua", SCRIPT)
    local run = kit.start(folder, { "d.lua", "--work-dir", "w" })
    assert.truthy(run.says "Executing: pay")
    os.execute "sleep 0.1"
    run.signal "KILL"
    run.wait()
    folder.file("go", "")
  end

  it("is asked about, with code 3, and decided by answer", function()
    local folder <close> = kit.folder()
    interrupted(folder)
    local run = kit.run(folder, { "status", "w" })
    assert.truthy(run.out:find("interrupted: its process is gone", 1, true), run.out)
    run = kit.run(folder, { "resume", "w" })
    assert.equal(3, run.code, run.err)
    assert.truthy(run.err:find("skillrt answer w retry|skip|fail", 1, true))
    run = kit.run(folder, { "answer", "w", "retry" })
    assert.equal(0, run.code, run.out .. run.err)
  end)

  it("is decided at once by --decide", function()
    for what, line in pairs { retry = "Completed: pay", fail = "interrupted, and decided to have failed", skip = "Skipping pay" } do
      local folder <close> = kit.folder()
      interrupted(folder)
      local run = kit.run(folder, { "resume", "w", "--decide", what })
      assert.truthy(run.out:find(line, 1, true), what .. run.code .. run.out .. run.err)
      assert.is_nil(run.out:find("Send it again", 1, true))
    end
  end)
end)

describe("skillrt answer", function()
  it("takes an option's number or id, refuses others, and shows untrusted text escaped", function()
    local folder <close> = kit.folder()
    folder.file("ask.lua", ASK)
    local run = kit.run(folder, { "ask.lua", "--work-dir", "w" })
    assert.equal(3, run.code)
    assert.truthy(run.out:find("  1. left - goes \\x1B[31mleft\n  2. right\n", 1, true), run.out)
    assert.truthy(run.err:find("skillrt answer w left|right", 1, true))
    run = kit.run(folder, { "answer", "w", "up" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("there are: 1 (left), 2 (right)", 1, true))
    run = kit.run(folder, { "answer", "w", "2" })
    assert.truthy(run.out:find("Executing: right", 1, true), run.err)
  end)

  it("answers one question for all calls that an interruption left behind", function()
    local folder <close> = kit.folder()
    folder.file("d.lua", [[
      local skillrt = require "skillrt"
      local agents, actions = { sh = skillrt.agent.command { "sh", "-c", "[ -e go ] || exec sleep 60; echo {}" } }, {}
      for i = 1, 3 do
        actions[i] = { id = "pay" .. i, agent = "sh", prompt = "do it now" }
      end
      return skillrt.skill { name = "doubts", state = {}, agents = agents, actions = actions,
        strategy = function(_, available)
          local ids = {}
          for i = 1, #available do ids[i] = available[i].id end
          return ids
        end }]])
    local run = kit.start(folder, { "d.lua", "--work-dir", "w" })
    assert.truthy(run.says "Executing: pay3")
    os.execute "sleep 0.2"
    run.signal "KILL"
    run.wait()
    folder.file("go", "")
    run = kit.run(folder, { "resume", "w" })
    assert.equal(3, run.code, run.err)
    local going_on = {}
    for i = 1, 3 do
      going_on[i] = ("pay%d (command sh: outcome unknown, needs a decision)"):format(i)
    end
    assert.truthy(run.out:find("Resuming: " .. table.concat(going_on, ", ") .. "\n", 1, true), run.out)
    for i = 1, 3 do
      assert.truthy(run.out:find(("  pay%d: call 1 to sh\n"):format(i), 1, true), run.out)
    end
    assert.truthy(run.err:find("skillrt answer w retry|skip|fail", 1, true), run.err)
    run = kit.run(folder, { "answer", "w", "retry" })
    assert.equal(0, run.code, run.err)
    assert.equal(3, count(run.out, "Completed: pay"))
  end)

  it("takes the number of one of several questions, and one answer for all", function()
    local folder <close> = kit.folder()
    folder.file("d.lua", [[
      local skillrt = require "skillrt"
      local actions = {}
      for i = 1, 3 do
        actions[i] = { id = "pay" .. i, run = function(_, ctx)
          return { ["said" .. i] = ctx.ask { header = "pay" .. i, question = "Pay " .. i .. "?", options = { "yes", "no" } } }
        end }
      end
      return skillrt.skill { name = "doubts", state = {}, actions = actions,
        strategy = function(_, available)
          local ids = {}
          for i = 1, #available do ids[i] = available[i].id end
          return ids
        end }]])
    local run = kit.run(folder, { "d.lua", "--work-dir", "w" })
    assert.equal(3, run.code, run.err)
    assert.truthy(run.err:find("skillrt answer w 1 yes|no", 1, true), run.err)
    run = kit.run(folder, { "status", "w" })
    assert.truthy(run.out:find("questions  1) pay1", 1, true), run.out)
    run = kit.run(folder, { "answer", "w", "yes" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("3 questions are open (1, 2, 3); name the one to answer", 1, true), run.err)
    run = kit.run(folder, { "answer", "w", "7", "yes" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("question 7 is not open; open: 1, 2, 3", 1, true), run.err)
    run = kit.run(folder, { "answer", "w", "2", "now" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find('question 2: there is no option "now"; there are: 1 (yes)', 1, true), run.err)
    run = kit.run(folder, { "answer", "w", "2", "no" })
    assert.equal(3, run.code, run.err)
    assert.truthy(run.out:find("Completed: pay2", 1, true), run.out)
    run = kit.run(folder, { "answer", "w", "--every", "yes" })
    assert.equal(0, run.code, run.err)
    assert.equal(2, count(run.out, "Completed: pay"))
  end)

  it("says that no question is open", function()
    local folder <close> = kit.folder()
    folder.file("phases.lua", PHASES)
    kit.run(folder, { "phases.lua", "--work-dir", "w" })
    local run = kit.run(folder, { "answer", "w", "1" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("no question is open in this run (it is completed)", 1, true))
  end)
end)

describe("a script that builds paths of its own", function()
  it("makes the same calls when its run goes on, from its folder or another", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
      local given = ...
      return require "skillrt".skill { name = "s", state = {}, actions = { { id = "a", run = function(_, ctx)
        ctx.await { kind = "command", argv = { "echo", given, arg[0], (given:match "^(.*/)") } }
        ctx.ask "go on?"
        return { v = 1 }
      end } } }]])
    local other <close> = kit.folder()
    for _, from in ipairs { folder, other } do
      assert.equal(3, kit.run(folder, { "s.lua", "--work-dir", other.path .. "/w", "--quiet" }).code)
      local run = kit.run(from, { "answer", other.path .. "/w", "yes" })
      assert.equal(0, run.code, run.err)
      os.execute(("rm -rf '%s/w'"):format(other.path))
    end
  end)
end)
