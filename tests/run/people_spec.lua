-- people_spec.lua: how people take part in a run: interactive, autonomous and supervised; what is asked in every mode.
local R = require "tests.support.runs"
local approval = require "skillrt.run.approval"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

-- One skill: a call that acts, one that does not, and an agent that has concerns.
local function definition_of(interaction, file, more)
  local agent = skillrt.agent.command { "sh", "-c", [[echo '{"status":"DONE_WITH_CONCERNS","concerns":"slow",
    "stateUpdates":{"v":1}}']], parse = "json", idempotent = true }
  local definition = { interaction = interaction, strategy = "sequential", agents = { one = agent },
    notify = { "sh", "-c", ("echo \"$1\" >> %s"):format(file), "sh", "{kind}: {text}" },
    actions = {
      { id = "write", run = function(_, ctx)
        local ok, message, class = ctx.await { kind = "command", argv = { "sh", "-c", "echo acted >> " .. file } }
        return ok and {} or nil, message, class
      end },
      { id = "read", run = function(_, ctx)
        ctx.await { kind = "command", argv = { "true" }, idempotent = true }
      end },
      { id = "judge", agent = "one" },
    } }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  return definition
end

-- The run to its end, each question answered by the first option; what was asked, told and answered, as recorded.
local function transcript(definition)
  local dir = R.folder() .. "/run"
  local result = assert(R.run(definition, { work_dir = dir }))
  for _ = 1, 5 do
    if result.status ~= "paused" then
      break
    end
    local open = result.questions[1]
    result = assert(skillrt.resume(dir, { skill = R.skill(definition), question = open.q,
      answer = open.question.options[1].id }))
  end
  local list = {}
  for _, record in ipairs(R.records(dir)) do
    list[#list + 1] = record.question and "? " .. record.question.question
      or record.t == "result" and record.q and "= " .. tostring(record.value)
      or record.told and "! " .. record.text or nil
  end
  return list, result, dir
end

describe("one skill in three modes", function()
  after_each(R.clean)

  local CONCERNS <const> = "? It is done, with concerns: slow. Accept it?"

  it("asks before what acts, asks nothing, or tells each component; each transcript is recorded (R174, R176)", function()
    local file = R.folder() .. "/said"
    local list, result, dir = transcript(definition_of("interactive", file))
    assert.same({ "? write: command sh", "= approve", CONCERNS, "= take" }, list)
    assert.equal("completed", result.status)
    assert.equal("acted\n", R.read(file))
    local asked = R.records(dir, "call")[1].question
    assert.equal(approval.digest { kind = "command", to = "sh", argv = { "sh", "-c", "echo acted >> " .. file } },
      asked.approval)
    os.remove(file)
    list = transcript(definition_of("autonomous", file))
    assert.same({ CONCERNS, "= take" }, list)
    assert.equal("acted\n", R.read(file))
    os.remove(file)
    list = transcript(definition_of("supervised", file))
    assert.same({ "! progress: write is done, 1 of 3", "! progress: read is done, 2 of 3", CONCERNS, "= take",
      "! progress: judge is done, 3 of 3" }, list)
    assert.equal("acted\nprogress: write is done, 1 of 3\nprogress: read is done, 2 of 3\n"
      .. "progress: judge is done, 3 of 3\n", R.read(file))
  end)

  it("is autonomous where nothing is said, and what a single action says holds for that action (R175)", function()
    local file = R.folder() .. "/said"
    local definition = definition_of(nil, file)
    definition.actions[1].interaction = "interactive"
    definition.actions[2].interaction = "supervised"
    assert.same({ "? write: command sh", "= approve", "! progress: read is done, 2 of 3", CONCERNS, "= take" },
      (transcript(definition)))
    assert.same({ CONCERNS, "= take" }, (transcript(definition_of(nil, file))))
    definition.actions[1].interaction = "sometimes"
    assert.error_matches(function() R.skill(definition) end, 'field "interaction"')
  end)

  it("shows where a request goes, whatever its script calls that, and no password", function()
    local result = assert(R.run { interaction = "interactive", actions = { { id = "a", run = function(_, ctx)
      ctx.await { kind = "http", method = "POST", shown = "a friend", secrets = { "k3y" },
        url = "http://me:secret@127.0.0.1:1/delete?id=5&at=x@y&key=k3y" }
    end } } })
    local question = result.questions[1].question
    assert.equal("a: http a friend", question.question)
    assert.same({ kind = "http", to = "a friend", method = "POST", url = "http://127.0.0.1:1/delete?id=5&at=x@y&key=***" },
      json.decode(question.detail))
  end)

  it("does not do what was denied", function()
    local file = R.folder() .. "/said"
    local definition, dir = definition_of("interactive", file), R.folder() .. "/run"
    assert(R.run(definition, { work_dir = dir }))
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "deny" }))
    assert.is_nil(R.read(file))
    local failed = result.state.errors[1]
    assert.same({ "denied", "write: command sh: denied" }, { failed.class, failed.message })
  end)

  it("tells problems at once, with every attempt (R176)", function()
    local file = R.folder() .. "/said"
    local list = transcript(definition_of("supervised", file, { actions = { { id = "a", run = function(_, ctx)
      if ctx.attempt == 1 then
        return nil, "busy", "transient"
      end
    end } } }))
    assert.same({ "! problem: a: attempt 1 failed (transient): busy", "! progress: a is done, 1 of 1" }, list)
    assert.equal(list[1]:sub(3) .. "\n" .. list[2]:sub(3) .. "\n", R.read(file))
  end)

  it("asks for context that is missing in every mode (R175)", function()
    for _, mode in ipairs { "autonomous", "interactive", "supervised" } do
      local agent = skillrt.agent.command { "sh", "-c", [[case "$1" in *disk-b*) echo '{"status":"completed"}' ;;
        *) echo '{"status":"NEEDS_CONTEXT","question":"Which disk?","options":["disk-b"]}' ;; esac]], "sh", "{prompt}",
        parse = "json", idempotent = true }
      local list, result = transcript { interaction = mode, agents = { one = agent },
        actions = { { id = "a", prompt = "do it", agent = "one" } } }
      assert.same({ "? Which disk?", "= disk-b" }, { list[1], list[2] })
      assert.equal("completed", result.status)
    end
  end)

  it("asks which of several equal actions is next with ask_on_tie, and only then (R175)", function()
    local function tied(ask)
      return { ask_on_tie = ask, actions = {
        { id = "a", name = "First", priority = 1, terminal = true, run = R.sets { v = "a" } },
        { id = "b", priority = 1, terminal = true, run = R.sets { v = "b" } },
        { id = "c", priority = 0, run = R.sets { v = "c" } },
      } }
    end
    local definition, dir = tied(true), R.folder() .. "/run"
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.equal("These are equally good; which one is next?", result.question.question)
    assert.same({ "a", "b" }, { result.question.options[1].id, result.question.options[2].id })
    assert.equal(2, #result.question.options)
    result = assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "b" }))
    assert.same({ "completed", "b" }, { result.status, result.state.v })
    assert.equal("a", assert(R.run(tied(nil))).state.v)
  end)

  it("offers a repair of what there are concerns about where the action can be repaired", function()
    local agent = skillrt.agent.command { "sh", "-c", [[case "$1" in
      *'[REPAIR] 1'*slow*) echo '{"status":"completed","stateUpdates":{"v":2}}' ;;
      *) echo '{"status":"DONE_WITH_CONCERNS","concerns":"slow","stateUpdates":{"v":1}}' ;; esac]], "sh", "{prompt}",
      parse = "json", idempotent = true }
    local definition = { agents = { one = agent }, actions = { { id = "a", agent = "one", repair = 1 } } }
    local dir = R.folder() .. "/run"
    assert(R.run(definition, { work_dir = dir }))
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "repair" }))
    assert.same({ "completed", 2 }, { result.status, result.state.v })
  end)

  it("goes on where `notify` cannot be run, and says so", function()
    local definition = { interaction = "supervised", notify = { "/no/such/program" },
      actions = { { id = "a", run = function() end } } }
    local dir = R.folder() .. "/run"
    assert.equal("completed", assert(R.run(definition, { work_dir = dir })).status)
    assert.matches("^notify: ", R.records(dir, "note")[2].text)
  end)

  it("keeps its approvals and tells nothing twice, killed behind every record", function()
    for _, mode in ipairs { "interactive", "supervised" } do
      local file = R.folder() .. "/said"
      local definition = definition_of(mode, file)
      local wanted, _, dir = transcript(definition)
      for keep = 1, #R.records(dir) - 1, R.EVERY do
        local copy = R.folder() .. "/cut"
        R.cut(dir, copy, keep)
        local result = assert(skillrt.resume(copy, { skill = R.skill(definition), books_bytes = 1, decide = "retry" }))
        while result.status == "paused" do
          result = assert(skillrt.resume(copy, { skill = R.skill(definition), books_bytes = 1, decide = "retry",
            question = result.questions[1].q, answer = result.questions[1].question.options[1].id }))
        end
        local list = {}
        for _, record in ipairs(R.records(copy)) do
          list[#list + 1] = record.question and "? " .. record.question.question
            or record.t == "result" and record.q and "= " .. tostring(record.value)
            or record.told and "! " .. record.text or nil
        end
        assert.same(wanted, list, mode .. " cut behind " .. keep)
      end
    end
  end)
end)

describe("a person at the command line", function()
  after_each(R.clean)

  it("approves, aborts, and is asked before something is undone (R87, R174)", function()
    local folder = R.folder()
    R.write(folder .. "/pay.lua", [[
      return require("skillrt").skill { name = "pay", interaction = "interactive", strategy = "sequential", actions = {
        { id = "book", run = function() return { booked = 1 } end,
          undo = function(_, ctx, done) ctx.log("undone " .. done.updates.booked) end },
        { id = "pay", run = function(_, ctx)
          return { paid = assert(ctx.await { kind = "command", argv = { "echo", "paid" } }).stdout }
        end },
        { id = "more", run = function(_, ctx) ctx.ask "More?" end } } }]])
    local program = (os.getenv "SKILLRT_BUILD" or "build/release") .. "/skillrt"
    local function says(line)
      local pipe <close> = io.popen(("%s %s 2>&1 < /dev/null"):format(program, line:gsub("DIR", folder .. "/run")))
      return pipe:read "a"
    end
    assert.matches("pay: command echo\n.*\"paid\".*1. approve", says(folder .. "/pay.lua --work-dir DIR"))
    assert.matches("More%?", says "answer DIR approve")
    assert.matches("Aborting %(user_abort%).*Skipping more.*undo book", says "abort DIR")
    local text = says "answer DIR approve"
    assert.matches("undo%-book: undone 1", text)
    assert.matches("aborted %(user_abort%)", text)
  end)
end)

describe("a config", function()
  it("says who takes part, of the skill and of an action (R174)", function()
    local config = require "skillrt.document.load.config"
    local text = R.read "tests/golden/configs/code-reviewer-auto.json"
    local raw = assert(require("skillrt.base.json").decode(text))
    raw.x_skillrt.agents = { ["universal-executor"] = { kind = "http", url = "http://127.0.0.1" } }
    local definition = assert(config.definition(raw))
    for _, action in ipairs(definition.actions) do
      assert.equal(action.id == "action-confirm-critical" and "interactive" or nil, action.interaction)
    end
  end)
end)
