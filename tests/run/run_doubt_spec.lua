-- run_doubt_spec.lua: requests that left and whose reply is not there: who decides, and what is
-- sent again with which key. Whole runs, cut behind the intent.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

-- A run cut just behind the intent of its agent's exchange; the folder, and how often it ran.
local function in_doubt(definition)
  local folder = R.folder()
  local dir, copy = folder .. "/run", folder .. "/cut"
  assert(R.run(definition(folder), { work_dir = dir }))
  for keep, record in ipairs(R.records(dir)) do
    if record.t == "call" then
      R.cut(dir, copy, keep)
      break
    end
  end
  return copy, folder, function()
    return select(2, (R.read(folder .. "/ran") or ""):gsub("x", ""))
  end
end

-- Ends once two of its kind have begun, or behind ten seconds.
local BOTH <const> = [[cd %s; printf x >> ran; n=0
  until [ "$(wc -c < ran)" -ge 2 ] || [ $n -gt 500 ]; do n=$((n + 1)); sleep 0.02; done]]

local function plain(more)
  return function(folder)
    local agent = { "sh", "-c", ("printf x >> %s/ran"):format(folder) }
    local d = {
      agents = { one = skillrt.agent.command(agent) },
      actions = { { id = "a", priority = 1, agent = "one" }, { id = "b", run = function() end } },
    }
    for key, value in pairs(more or {}) do
      if key == "idempotent" then
        d.actions[1].idempotent = value
      else
        d[key] = value
      end
    end
    return d
  end
end

local function resume(copy, folder, make, options)
  options = options or {}
  options.skill = R.skill(make(folder))
  local result, message, code = skillrt.resume(copy, options)
  return result, message, code
end

describe("a request in doubt", function()
  after_each(R.clean)

  it("leaves again with the same key where that is harmless (F40)", function()
    local make = plain { idempotent = true }
    local copy, folder, ran = in_doubt(make)
    local result = assert(resume(copy, folder, make))
    assert.equal("completed", result.status)
    assert.equal(2, ran())
    local sends = R.records(copy, "call")
    assert.equal(sends[1].key, sends[2].key)
    assert.equal(sends[1].digest, sends[2].digest)
  end)

  it("pauses the run with a question, and waits for retry, skip or fail (F40)", function()
    local make = plain()
    local copy, folder, ran = in_doubt(make)
    local result = assert(resume(copy, folder, make))
    assert.same({ "paused", "needs_decision" }, { result.status, result.reason })
    assert.matches("call 1 to sh may have been executed: the run was interrupted", result.question.question)
    assert.equal(1, ran())
    local refused, message = resume(copy, folder, make, { answer = "perhaps" })
    assert.is_nil(refused)
    assert.matches("there are: 1 %(retry%), 2 %(skip%), 3 %(fail%)", message)
    result = assert(resume(copy, folder, make))
    assert.equal("needs_decision", result.reason)
    result = assert(resume(copy, folder, make, { answer = "retry" }))
    assert.equal("completed", result.status)
    assert.equal(2, ran())
    assert.same({ "a", "b" }, result.state.completed_actions)
  end)

  it("counts as failed by the answer fail", function()
    local make = plain { limits = { max_errors = 1 } }
    local copy, folder, ran = in_doubt(make)
    assert(resume(copy, folder, make))
    local result = assert(resume(copy, folder, make, { answer = "fail" }))
    assert.same({ "failed", "error_limit" }, { result.status, result.reason })
    assert.matches("decided to have failed", result.state.errors[1].message)
    assert.equal(1, ran())
  end)

  it("is decided by the skill's on_indoubt, a word or a function", function()
    for choice, expected in pairs { retry = 2, skip = 1, fail = 1 } do
      local make = plain { on_indoubt = choice }
      local copy, folder, ran = in_doubt(make)
      local result = assert(resume(copy, folder, make))
      assert.equal(choice == "fail" and "failed" or "completed", result.status, choice)
      assert.equal(expected, ran(), choice)
    end
    local asked
    local make = plain { on_indoubt = function(what)
      asked = what
      return "retry"
    end }
    local copy, folder, ran = in_doubt(make)
    assert.equal("completed", assert(resume(copy, folder, make)).status)
    assert.same({ "a", 1, 1, "sh", "1" }, { asked[1].id, asked[1].step, asked[1].attempt, asked[1].to, asked[1].call })
    assert.equal(1, #asked)
    assert.equal(2, ran())
  end)

  it("asks a person where on_indoubt fails or says nonsense", function()
    for _, wrong in ipairs { function() error "lost" end, function() return "dunno" end } do
      local make = plain { on_indoubt = wrong }
      local copy, folder = in_doubt(make)
      assert.equal("needs_decision", assert(resume(copy, folder, make)).reason)
      assert.matches("on_indoubt", R.records(copy, "note")[1].text)
    end
  end)

  it("is asked about together with what the same interruption left; skipped phases are recorded (F21, F40)", function()
    local function make(folder)
      local agent = skillrt.agent.command { "sh", "-c", (BOTH):format(folder) }
      return { phases = {
        { id = "p", parallel = true, output = "p.txt", agent = agent },
        { id = "q", parallel = true, output = "q.txt", agent = agent },
      } }
    end
    local folder = R.folder()
    local dir, copy = folder .. "/run", folder .. "/cut"
    assert(R.run(make(folder), { work_dir = dir }))
    local sends = 0
    for keep, record in ipairs(R.records(dir)) do
      sends = sends + (record.t == "call" and 1 or 0)
      if sends == 2 then
        R.cut(dir, copy, keep)
        break
      end
    end
    local result = assert(resume(copy, folder, make))
    assert.equal(1, #result.questions)
    assert.matches("2 calls may have been executed.*p: call 1 .*q: call 1 ", result.question.question)
    local refused, message = resume(copy, folder, make, { answers = {
      { question = 1, value = "retry", nonce = result.questions[1].nonce .. "x" },
    } })
    assert.is_nil(refused)
    assert.matches("question 1 is no longer open", message)
    result = assert(resume(copy, folder, make, { answer = "skip" }))
    assert.equal("p q", R.ids(result.state.phases_skipped))
    assert.equal("xx", R.read(folder .. "/ran"))
    refused, message = resume(copy, folder, make, { answer = "skip", question = 1 })
    assert.is_nil(refused)
    assert.is_string(message)
  end)

  it("arises from a request that was under way when the run was stopped (R87, F40)", function()
    local folder = R.folder()
    local function definition()
      return { actions = { { id = "a", agent = skillrt.agent.command { "sleep", "5" } } } }
    end
    local status, reason = R.stopped(definition(), folder .. "/run", function(record)
      return record.t == "call"
    end)
    assert.same({ "paused", "user_exit" }, { status, reason })
    assert.equal("paused", R.json(folder .. "/run/state.json").status)
    local result = assert(skillrt.resume(folder .. "/run", { skill = R.skill(definition()) }))
    assert.equal("needs_decision", result.reason)
  end)
end)
