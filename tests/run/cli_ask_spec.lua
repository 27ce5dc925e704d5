-- cli_ask_spec.lua: questions, events and times from the command line, while a process goes on with the run
-- and while none does.
local kit = require "tests.support.cli_kit"

local ASKS = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "asks", state = {}, actions = { { id = "a", run = function(_, ctx)
  local color = ctx.ask { header = "Colour", question = "Which?", options = { "red", "blue" } }
  local version = ctx.wait "deploy"
  return { color = color, version = version }
end } } }]]

local function state(folder)
  return require("skillrt.base.json").decode(folder.read "w/state.json")
end

describe("a run that waits", function()
  it("pauses without a process, and says for what and what to type", function()
    local folder <close> = kit.folder()
    folder.file("asks.lua", ASKS)
    local run = kit.run(folder, { "asks.lua", "--work-dir", "w" })
    assert.equal(3, run.code)
    assert.truthy(run.out:find("[Iteration 1] Question 1: Colour: Which?", 1, true), run.out)
    assert.truthy(run.err:find("next: skillrt answer w red|blue", 1, true), run.err)
    run = kit.run(folder, { "answer", "w", "2" })
    assert.equal(5, run.code)
    assert.truthy(run.out:find("waits for the event deploy", 1, true), run.out)
    assert.truthy(run.err:find("next: skillrt resume w   (resumes once it has come; skillrt send sends it)", 1, true), run.err)
    run = kit.run(folder, { "status", "w" })
    assert.truthy(run.out:find("waits for event deploy (call 2)", 1, true), run.out)
    local before = folder.read "w/journal/00000001.sj"
    run = kit.run(folder, { "resume", "w" }) -- as from cron: nothing has come, and nothing is written
    assert.same({ 5, "w: still waiting: waits for the event deploy\n" }, { run.code, run.out })
    assert.equal(before, folder.read "w/journal/00000001.sj")
    run = kit.run(folder, { "send", "w", "deploy", '"1.2"' })
    assert.same({ 0, "next: skillrt resume w   (takes it)\n" }, { run.code, run.err })
    run = kit.run(folder, { "status", "w" })
    assert.truthy(run.out:find("1 file is in the inbox; skillrt resume reads it", 1, true), run.out)
    run = kit.run(folder, { "resume", "w" })
    assert.equal(0, run.code, run.err)
    assert.same({ "blue", "1.2" }, { state(folder).color, state(folder).version })
  end)

  it("needs no resume for an event that a process has taken which has ended since", function()
    local folder <close> = kit.folder()
    folder.file("waits.lua", (ASKS:gsub("ctx.ask [^\n]*", "'red'")))
    local run = kit.start(folder, { "waits.lua", "--work-dir", "w", "--wait" })
    assert.truthy(run.says "Executing: a")
    local store_of, output = require "skillrt.run.store", require "skillrt.report.output"
    local at, say, said = store_of.at, output.say, nil
    local _ <close> = setmetatable({}, { __close = function() store_of.at, output.say = at, say end })
    function store_of.at(dir) -- who sent it looks late for a process
      local store = at(dir)
      local holder = store.holder
      function store.holder(...)
        assert.equal(0, run.wait().code)
        return holder(...)
      end
      return store
    end
    function output.say(_, text) said = text end
    assert.equal(0, require("skillrt.cli.command.send").run { dir = { folder.path .. "/w", "deploy", "7" } })
    assert.is_nil(said)
    assert.equal(7, state(folder).version)
  end)

  it("with --wait stays, and takes answers and events as they come; answer returns when it was taken", function()
    local folder <close> = kit.folder()
    folder.file("asks.lua", ASKS)
    local run = kit.start(folder, { "asks.lua", "--work-dir", "w", "--wait" })
    assert.truthy(run.says "Question 1")
    local wrong = kit.run(folder, { "answer", "w", "green" })
    assert.equal(2, wrong.code)
    assert.truthy(wrong.err:find('there is no option "green"; there are: 1 (red), 2 (blue)', 1, true), wrong.err)
    local answer = kit.run(folder, { "answer", "w", "red" })
    assert.same({ 0, "w: question 1 is answered\n" }, { answer.code, answer.err })
    assert.truthy(run.says "Answer: red")
    answer = kit.run(folder, { "answer", "w", "red" })
    assert.equal(2, answer.code)
    assert.truthy(answer.err:find("no question is open", 1, true), answer.err)
    local sent = kit.run(folder, { "send", "w", "deploy", "7", "--id", "one" })
    assert.same({ 0, "" }, { sent.code, sent.err })
    assert.truthy(run.says "completed (task_completed)")
    assert.equal(0, run.wait().code)
    assert.same({ "red", 7 }, { state(folder).color, state(folder).version })
    sent = kit.run(folder, { "send", "w", "deploy", "7" })
    assert.equal(2, sent.code)
    assert.truthy(sent.err:find("the run is completed and accepts no more events", 1, true), sent.err)
  end)

  it("with --wait takes one answer for all questions that offer it, and answer --every returns when it has", function()
    local folder <close> = kit.folder()
    folder.file("asks.lua", [[
      local skillrt = require "skillrt"
      local actions = {}
      for i = 1, 4 do
        actions[i] = { id = "a" .. i, run = function(_, ctx)
          return { ["said" .. i] = ctx.ask { question = "Which?", options = { i == 4 and "green" or "red", "blue" } } }
        end }
      end
      return skillrt.skill { name = "asks", state = {}, actions = actions, strategy = function(_, available)
        local ids = {}
        for i = 1, #available do ids[i] = available[i].id end
        return ids
      end }]])
    local run = kit.start(folder, { "asks.lua", "--work-dir", "w", "--wait" })
    assert.truthy(run.says "Question 4")
    local none = kit.run(folder, { "answer", "w", "--every", "black" })
    assert.equal(2, none.code)
    assert.truthy(none.err:find('w: no open question accepts "black"', 1, true), none.err)
    local all = kit.run(folder, { "answer", "w", "--every", "red" })
    assert.same({ 0, "w: questions 1, 2, 3 are answered\n" }, { all.code, all.err })
    assert.equal(0, require("skillrt.run.store").at(folder.path .. "/w"):waiting())
    all = kit.run(folder, { "answer", "w", "--every", "green" })
    assert.same({ 0, "w: question 4 is answered\n" }, { all.code, all.err })
    assert.equal(0, run.wait().code)
    local last = state(folder)
    assert.same({ "red", "red", "red", "green" }, { last.said1, last.said2, last.said3, last.said4 })
  end)

  it("takes up what came while nobody looked, by resume --wait, also after a kill", function()
    local folder <close> = kit.folder()
    folder.file("asks.lua", ASKS)
    local run = kit.start(folder, { "asks.lua", "--work-dir", "w", "--wait" })
    assert.truthy(run.says "Question 1")
    run.signal "KILL"
    run.wait()
    kit.run(folder, { "send", "w", "deploy" })
    run = kit.start(folder, { "resume", "w", "--wait" })
    assert.truthy(run.says "Resuming")
    local answer = kit.run(folder, { "answer", "w", "1" })
    assert.equal(0, answer.code, answer.err)
    assert.equal(0, run.wait().code)
    assert.same({ "red", true }, { state(folder).color, state(folder).version })
  end)

  it("takes the answer of whoever resumes it, not one that lies in its inbox", function()
    local folder <close> = kit.folder()
    folder.file("asks.lua", ASKS)
    assert.equal(3, kit.run(folder, { "asks.lua", "--work-dir", "w" }).code)
    os.execute(("mkdir -p '%s/w/inbox'"):format(folder.path))
    folder.file("w/inbox/late.json", '{"answer": "blue", "question": 1}')
    local run = kit.run(folder, { "answer", "w", "1", "red" })
    assert.truthy(run.out:find("Answer: red", 1, true), run.out .. run.err)
    assert.truthy(folder.read "w/inbox/refused/late.json")
  end)

  it("tells who was too late that another answer was taken, with an exit code of its own", function()
    for round = 1, 6 do
      local folder <close> = kit.folder()
      folder.file("asks.lua", ASKS)
      local waits = round % 2 == 0 and kit.start(folder, { "asks.lua", "--work-dir", "w", "--wait" })
      if waits then
        assert.truthy(waits.says "Question 1")
      else
        assert.equal(3, kit.run(folder, { "asks.lua", "--work-dir", "w" }).code)
      end
      local both = { kit.start(folder, { "answer", "w", "1", "red" }), kit.start(folder, { "answer", "w", "1", "blue" }) }
      local late = 0
      for i, one in ipairs(both) do
        both[i] = one.wait()
      end
      for _, one in ipairs(both) do -- 2: it found no open question any more; 6: the other held the run
        if one.code == 9 then
          late = late + 1
          assert.truthy(one.err:find("it already has one", 1, true), one.err)
        else
          local was_taken = one.code == 0 or not waits and one.code == 5 -- 0: by the other, which held the run
          assert.truthy(was_taken or one.code == 2 or one.code == 6, one.code .. one.err)
          late = late + ((one.code == 2 or one.code == 6) and 1 or 0)
        end
      end
      assert.equal(1, late, both[1].err .. both[2].err)
      if waits then
        waits.signal "INT"
        waits.wait()
      end
    end
  end)

  it("is told of an event nobody waits for, and refuses what is no event", function()
    local folder <close> = kit.folder()
    folder.file("asks.lua", ASKS)
    kit.run(folder, { "asks.lua", "--work-dir", "w" })
    for words, args in pairs {
      ['"a b" is not a valid event name'] = { "a b" }, ["{x: JSON"] = { "deploy", "{x" }, ["too many words"] = { "a", "1", "2" },
    } do
      local sent = kit.run(folder, { "send", "w", table.unpack(args) })
      assert.equal(2, sent.code)
      assert.truthy(sent.err:gsub('"{x"', "{x"):find(words, 1, true), sent.err)
    end
    kit.run(folder, { "send", "w", "other" })
    kit.run(folder, { "resume", "w" })
    local run = kit.run(folder, { "status", "w" })
    assert.truthy(run.out:find("arrived    the event other arrived", 1, true), run.out)
  end)

  it("takes a text from a file or from an editor, which begins with what the question gives", function()
    local folder <close> = kit.folder()
    folder.file("asks.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "asks", actions = { { id = "a", run = function(_, ctx)
  return { first = ctx.ask { question = "News?", edit = "Nothing\nyet." }, second = ctx.ask { question = "More?", text = true } }
end } } }]])
    local run = kit.run(folder, { "asks.lua", "--work-dir", "w" })
    assert.truthy(run.out:find("suggested: Nothing", 1, true) or run.err:find("suggested: Nothing", 1, true), run.out .. run.err)
    run = kit.run(folder, { "answer", "w", "--edit", env = "VISUAL= EDITOR=" })
    assert.truthy(run.err:find("neither VISUAL nor EDITOR names an editor", 1, true), run.err)
    folder.file("editor", "#!/bin/sh\ncat \"$1\" > seen\nprintf 'Two\\nlines\\n' > \"$1\"\n")
    run = kit.run(folder, { "answer", "w", "--edit", env = "VISUAL= EDITOR='sh ./editor'" })
    assert.equal(3, run.code, run.err)
    assert.equal("Nothing\nyet.\n", folder.read "seen")
    folder.file("words", "from a file\n")
    run = kit.run(folder, { "answer", "w", "2", "--file", "words" })
    assert.equal(0, run.code, run.err)
    assert.same({ "Two\nlines", "from a file" }, { state(folder).first, state(folder).second })
  end)

  it("sleeps only the rest when it was killed by signal 9 in its sleep", function()
    for attempt = 1, 3 do
      local folder <close> = kit.folder()
      folder.file("nap.lua", [[
        local skillrt = require "skillrt"
        return skillrt.skill { name = "nap", state = {}, actions = { { id = "a", run = function(_, ctx)
          local began = ctx.now()
          ctx.sleep(0.6)
          return { began = began, ended = ctx.now() }
        end } } }]])
      local run = kit.start(folder, { "nap.lua", "--work-dir", "w" })
      assert.truthy(run.says "Executing: a")
      os.execute "sleep 0.4"
      run.signal "KILL"
      local killed = run.wait().code == 137 -- else the machine was so busy that it had slept well
      run = kit.start(folder, { "resume", "w", "--wait" })
      local done = run.wait()
      if killed then
        assert.equal(0, done.code, done.err)
        assert.truthy(done.out:find("Resuming: a (sleeps until ", 1, true), done.out)
        local slept = state(folder).ended - state(folder).began
        assert.truthy(slept >= 600, slept)
        assert.truthy(done.ms < 600, done.ms) -- a whole sleep takes longer
        return
      end
      assert.truthy(attempt < 3, "it was never killed in its sleep")
    end
  end)

  it("names the time it goes on by itself", function()
    local folder <close> = kit.folder()
    folder.file("later.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "later", state = {}, actions = { { id = "a", run = function(_, ctx)
        ctx.sleep_until "2100-01-01T00:00:00Z"
      end } } }]])
    local run = kit.run(folder, { "later.lua", "--work-dir", "w" })
    assert.equal(5, run.code)
    assert.truthy(run.out:find("resumes automatically at 2100-01-01T00:00:00.000Z", 1, true), run.out)
    run = kit.run(folder, { "status", "w" })
    assert.truthy(run.out:find("waits for sleep (call 1, until 2100-01-01T00:00:00.000Z)", 1, true), run.out)
  end)
end)
