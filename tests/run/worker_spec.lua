-- worker_spec.lua: runs that are submitted, and workers that perform them, by their order, their keys and their times:
-- the same for a folder and for a database, by the real program.
local kit = require "tests.support.cli_kit"
local W = require "tests.support.worker_kit"

W.suites(function(w)
  local folder, place, url, server, skillrt, good, aborted, start, witness, becomes, env =
    w.folder, w.place, w.url, w.server, w.skillrt, w.good, w.aborted, w.start, w.witness, w.becomes, w.env

  it("says how each run is once its process has ended", function()
    folder.file("bad.lua", 'return require "skillrt".skill { name = "bad", limits = { max_retries = 0, max_errors = 1 }, '
      .. 'actions = { { id = "a", run = function() return nil, "no luck\\nat all", "permanent" end } } }\n')
    good("submit", place, "bad.lua", "--key", "bad")
    good("submit", place, "ask.lua", "--key", "asking")
    local told = good("worker", place, "--once")
    for key, line in pairs { bad = "failed (error_limit): last error: a: no luck",
      asking = "paused (waiting_for_person): Which colour?" } do
      assert.truthy(told:find(("%s: %s\n"):format(url(key), line), 1, true), told)
    end
    aborted(url "asking")
  end)

  it("performs a workflow script, in its sandbox", function()
    folder.file("flow.js", "export const meta = { name: 'flow', description: 'd' }\nreturn { said: args.name }\n")
    good("submit", place, "flow.js", "--key", "flow", "--trust", "--agent", "true", "--set", "name=me")
    good("worker", place, "--once")
    assert.truthy(good("status", url "flow"):find "completed %(task_completed%)")
    assert.truthy(good("state", url "flow"):find '"said": "me"')
  end)

  it("keeps a run under its key once, and performs it where the skill's file is gone (F71)", function()
    folder.file("hello.lua", kit.read "examples/hello/skill.lua")
    local first = good("submit", place, "hello.lua", "--key", "once")
    assert.equal(url "once" .. "\n", first)
    assert.equal(first, good("submit", place, "hello.lua", "--key", "once"))
    assert.matches("submitted", good("status", url "once"), 1, true)
    os.remove(folder.path .. "/hello.lua")
    local told = good("worker", place, "--once")
    assert.equal(1, select(2, told:gsub("begun", "")))
    assert.matches("completed", good("status", url "once"), 1, true)
    assert.equal("", good("worker", place, "--once"))
    assert.matches("completed", good("submit", place, "alone.lua", "--key", "once") and good("status", url "once"), 1, true)
  end)

  it("begins a run for each line of a file, with a line as its input, and each once under a key (F71)", function()
    folder.file("say.lua", 'return require "skillrt".skill { name = "say", state = { done = false }, actions = { { id = "say", '
      .. 'when = "!done", run = function(_, ctx) return { done = true, said = ctx.input.name .. ctx.input.mark } end } } }\n')
    folder.file("names.jsonl", '{"name":"Ada"}\n{"name":"Grace"}\n["Alan"]\n')
    local submit = { "submit", place, "say.lua", "--each", "names.jsonl", "--key", "each", "--set", "mark=!" }
    local result = skillrt(table.unpack(submit))
    assert.equal(2, result.code)
    assert.matches("names.jsonl: line 3: must be a JSON object", result.err, 1, true)
    folder.file("names.jsonl", '{"name":"Ada"}\n{"name":"Grace"}\n{"name":"Alan"}\n')
    assert.equal(("%s\n%s\n%s\n"):format(url "each-1", url "each-2", url "each-3"), good(table.unpack(submit)))
    local told = good("worker", place, "--once")
    assert.equal(3, select(2, told:gsub("begun", "")))
    for i, name in ipairs { "Ada!", "Grace!", "Alan!" } do
      assert.matches(name, good("state", url("each-" .. i)), 1, true)
    end
    local piped = kit.run(folder, { env = env, input = '{"name":"Edsger"}', "submit", place, "say.lua", "--each", "-", "--key", "piped" })
    assert.equal(url "piped-1" .. "\n", piped.out)
    aborted(url "piped-1")
  end)

  it("performs a folder on a machine that approved nothing, as it was approved where it was submitted", function()
    assert(os.execute(("mkdir -p '%s/greeter/lib'"):format(folder.path)))
    folder.file("greeter/lib/words.lua", "return 'from a helper'")
    folder.file("greeter/skill.lua", [[
local skillrt = require "skillrt"
local here = debug.getinfo(1, "S").source:match "^@(.*)/"
local words = dofile(here .. "/lib/words.lua")
return skillrt.skill { name = "greeter", state = { done = false }, actions = {
{ id = "greet", when = "!done", run = function(_, ctx)
    return { done = true, said = words, shown = ctx.await { kind = "command", argv = { here .. "/lib/show" } } }
  end } } }
]])
    folder.file("greeter/lib/show", "#!/bin/sh\necho by a program\n")
    assert(os.execute(("chmod 755 '%s/greeter/lib/show'"):format(folder.path)))
    local refused = skillrt("submit", place, "greeter", "--key", "folder")
    assert.equal(8, refused.code, refused.out .. refused.err)
    assert.matches("has not been approved", refused.err:gsub("%s+", " "), 1, true)
    good("submit", place, "greeter/", "--key", "folder", "--trust")
    os.execute(("rm -r '%s/greeter'"):format(folder.path))
    local other = env:gsub("/home", "/home2")
    assert(os.execute(("mkdir '%s/home2'"):format(folder.path)))
    local person = kit.run(folder, { env = other, "resume", url "folder" })
    assert.equal(8, person.code, person.out .. person.err)
    local told = kit.run(folder, { env = other, "worker", place, "--once" })
    assert.equal(0, told.code, told.out .. told.err)
    local state = good("state", url "folder")
    assert.matches("from a helper", state, 1, true)
    assert.matches("by a program", state, 1, true)
  end)

  it("says of a folder with phases what runs, once for all lines; a file is missed where the step was to write it", function()
    assert(os.execute(("mkdir -p '%s/paper/phases'"):format(folder.path)))
    folder.file("paper/SKILL.md", "---\nname: paper\ndescription: Writes. Use for a paper.\n---\n\n# Paper\n\n"
      .. "Back to phase 1 if it is bad.\n")
    folder.file("paper/phases/01-draft.md", "# Draft\n\nWrite.\n\n## Output\n\n- `draft.md`\n")
    folder.file("deaf", "#!/bin/sh\ncat >/dev/null; echo '{\"status\":\"completed\"}'\n")
    assert(os.execute(("chmod 755 '%s/deaf'"):format(folder.path)))
    folder.file("lines", "{}\n{}\n")
    local result = skillrt("submit", place, "paper/", "--agent", "./deaf", "--key", "paper", "--each", "lines")
    assert.equal(url "paper-1" .. "\n" .. url "paper-2" .. "\n", result.out, result.err)
    assert.equal(1, select(2, result.err:gsub("load.flow", "")), result.err)
    assert.matches('1 line names phases and was not read.*"Back to phase 1', result.err)
    skillrt("worker", place, "--once", "--quiet")
    local status = good("status", url "paper-1"):gsub("%s+", " ")
    assert.matches("draft.md was neither returned nor written to /", status, 1, true)
  end)

  it("begins runs by their priority, and none of a queue that is paused", function()
    witness()
    good("submit", place, "alone.lua", "--set", "name=far", "--queue", ("q"):rep(64))
    assert.matches("1 to 64 of", skillrt("submit", place, "alone.lua", "--queue", ("q"):rep(65)).err, 1, true)
    good("submit", place, "alone.lua", "--set", "name=low", "--prio=-1", "--queue", "ranked")
    good("submit", place, "alone.lua", "--set", "name=usual", "--queue", "ranked")
    good("submit", place, "alone.lua", "--set", "name=high", "--prio", "5", "--queue", "ranked")
    good("fleet", "pause", place, "--queue", "ranked")
    assert.equal("", good("worker", place, "--queue", "ranked", "--once"))
    good("fleet", "resume", place, "--queue", "ranked")
    assert.equal("", good("worker", place, "--once"))
    good("worker", place, "--queue", "ranked", "--once", "--concurrency", "1")
    assert.equal("high\nusual\nlow\n", witness())
  end)

  it("performs of runs with a key only so many at the same time (F72)", function()
    witness()
    for i = 1, 4 do
      good("submit", place, "alone.lua", "--set", "name=" .. i, "--limit-key", "door=1")
    end
    good("worker", place, "--once", "--concurrency", "4")
    local text = witness()
    assert.equal(4, select(2, text:gsub("%d", "")), text)
    assert.is_nil(text:find "overlap")
    good("submit", place, "alone.lua", "--set", "name=5", "--limit-key", "wide=2")
    good("submit", place, "alone.lua", "--set", "name=6", "--limit-key", "wide=2")
    good("worker", place, "--once", "--concurrency", "4")
    assert.is_truthy(witness():find "overlap")
  end)

  it("claims of runs with a key only so many within a time, over several workers (F77)", function()
    witness()
    for i = 1, 4 do
      good("submit", place, "alone.lua", "--set", "name=r" .. i, "--limit-key", "gate=9,3/h", "--queue", "rated")
    end
    good("worker", place, "--once", "--queue", "rated", "--concurrency", "2")
    good("worker", place, "--once", "--queue", "rated", "--concurrency", "2")
    assert.equal(3, select(2, witness():gsub("r%d", "")))
    good("submit", place, "alone.lua", "--set", "name=quick", "--limit-key", "quick=1/s")
    good("submit", place, "alone.lua", "--set", "name=quick", "--key", "second", "--limit-key", "quick=1/s")
    local worker <close> = start("worker", place)
    becomes("second", "completed")
    worker.signal "TERM"
    worker.wait()
    assert.equal(2, select(2, witness():gsub("quick", "")))
  end)

  it("begins a run at its time, and none before (F76)", function()
    witness()
    good("submit", place, "alone.lua", "--key", "later", "--set", "name=later", "--at", "2999-01-01T00:00Z")
    good("submit", place, "alone.lua", "--key", "since", "--set", "name=since", "--at", "2026-01-01T00:00Z")
    good("worker", place, "--once")
    assert.equal("since\n", witness())
    assert.matches("begins at 2999-01-01", good("status", url "later"), 1, true)
    aborted(url "later")
  end)

  it("fires a schedule once, whichever worker looks, and reports what was missed (F76)", function()
    witness()
    local function scheduled(name, missed)
      good("submit", place, "alone.lua", "--key", name, "--set", "name=" .. name, "--at", "2001-01-01T00:30Z",
        "--cron", "0 1 1 1 *", "--missed", missed, "--queue", "timed")
    end
    scheduled("every", "all")
    scheduled("newest", "last")
    scheduled("none", "skip")
    assert.matches("next 2001-01-01T01:00:00.000Z, begun 0, missed 0", good("schedule", "list", place), 1, true)
    local most = server and 3 or 1
    local workers = {}
    for i = 1, most do
      workers[i] = start("worker", place, "--once", "--queue", "timed", "--concurrency", "4")
    end
    for i = 1, most do
      assert.equal(0, workers[i].wait().code)
    end
    good("worker", place, "--once", "--queue", "timed")
    local years = tonumber(os.date "!%Y") - 2000
    if os.date "!%m%d%H" < "010101" then years = years - 1 end
    local text = witness():gsub("overlap\n", "")
    assert.equal(years, select(2, text:gsub("every", "")), text)
    assert.equal(1, select(2, text:gsub("newest", "")), text)
    assert.is_nil(text:find "none")
    local list = good("schedule", "list", place)
    assert.matches(("begun %d, missed 0"):format(years), list, 1, true)
    assert.matches(("begun 1, missed %d"):format(years - 1), list, 1, true)
    assert.matches(("begun 0, missed %d"):format(years), list, 1, true)
    assert.matches(("Missed %d firings, from 2001-01-01T01:00"):format(years), good("log", url "none"), 1, true)
    assert.matches("completed", good("status", url "20010101-010000-every"), 1, true)

    good("schedule", "pause", url "every")
    assert.matches("0 1 1 1 *  paused", good("schedule", "list", place), 1, true)
    good("schedule", "now", url "every")
    assert.matches("0 1 1 1 *  paused", good("schedule", "list", place), 1, true)
    good("schedule", "resume", url "every")
    good("worker", place, "--once", "--queue", "timed")
    assert.equal("every\n", witness())
    assert.matches(("begun %d, missed 0"):format(years + 1), good("schedule", "list", place), 1, true)
    assert.matches("has no steps of its own", skillrt("retry", url "every").err, 1, true)
    aborted(url "every")
    assert.is_nil(good("schedule", "list", place):find("every", 1, true))
    assert.matches("was aborted", skillrt("schedule", "now", url "every").err, 1, true)
    assert.matches("is no schedule", skillrt("schedule", "now", url "20010101-010000-every").err, 1, true)
    aborted(url "newest")
    aborted(url "none")
  end)

  it("begins what a worker has recorded that died before it began it (F76)", function()
    good("submit", place, "alone.lua", "--key", "torn", "--set", "name=torn", "--cron", "@yearly", "--queue", "torn")
    local travel = require "skillrt.run.travel"
    assert(travel.write(url "torn", { { t = "fire", begins = { 86400000, 86460000 }, due = 4102444800000 },
      travel.stop("scheduled", "begins runs", 1) }))
    witness()
    good("worker", place, "--once", "--queue", "torn", "--concurrency", "1")
    assert.equal("torn\ntorn\n", witness())
    assert.matches("next 2100-01-01T00:00:00.000Z, begun 2, missed 0", good("schedule", "list", place), 1, true)
    aborted(url "torn")
  end)

  it("says what is wrong with what it is given", function()
    assert.matches("write KEY=4", skillrt("submit", place, "ask.lua", "--limit-key", "a").err, 1, true)
    for option, word in pairs({ queue = "a b", key = "../outside", ["limit-key"] = "=3" }) do
      assert.matches(option, skillrt("submit", place, "ask.lua", "--" .. option, word).err, 1, true)
    end
    assert.equal(2, skillrt("submit", place, "ask.lua", "--key", "").code)
    for _, words in ipairs({ { "--limit-key", "a=0/m" }, { "--limit-key", "a=3/d" }, { "--cron", "0 0 31 2 *" },
      { "--cron", "61 * * * *" }, { "--cron", "* * * *" }, { "--at", "tomorrow" }, { "--missed", "all" },
      { "--cron", "@daily", "--key", ("n"):rep(49) }, { "--limit-key", "a=99999/s" }, { "--each", "none.jsonl" }, { "--each", "." },
      { "--each", "ask.lua", "--input", "ask.lua" }, { "--each", "ask.lua", "--cron", "@daily" } }) do
      local result = skillrt("submit", place, "ask.lua", "--key", "wrong", table.unpack(words))
      assert.is_true(result.code > 0 and #result.err > 0, table.concat(words, " "))
    end
    assert.matches("from 1 to 1000", skillrt("worker", place, "--concurrency", "0").err, 1, true)
  end)
end)

describe("a worker", function()
  it("says that the folder which it is given is not there", function()
    local folder <close> = kit.folder()
    assert.truthy(kit.run(folder, { "worker", "nowhere", "--once" }).err:find("skillrt: nowhere: is not there\n", 1, true))
    assert.equal("", kit.run(folder, { "worker", "nowhere", "--once" }).err) -- it has made it
  end)
end)
