-- run_approve_spec.lua: ctx.approve: leave of a person for exact arguments. Killed behind every record it is asked
-- for and used once. The clock is a fake one.
local clock = require "tests.support.fake_clock"
local R = require "tests.support.runs"
local approval = require "skillrt.run.approval"
local questions = require "skillrt.run.questions"
local store = require "skillrt.run.store"
local skillrt = require "skillrt"

local function definition_of(perform)
  return { limits = { max_errors = 1, max_retries = 0 }, actions = { { id = "pay", run = perform } } }
end

local function begun(perform)
  local dir = R.folder() .. "/run"
  local result = assert(R.run(definition_of(perform), { work_dir = dir }))
  local function go_on(options, again)
    options = options or {}
    options.skill = R.skill(definition_of(again or perform))
    local next_result, message, code = skillrt.resume(dir, options)
    return next_result, message, code
  end
  return result, go_on, dir
end

local function asks(arguments, timeout)
  return function(_, ctx)
    local ok, message, class = ctx.approve { header = "Pay", what = "pay the bill", arguments = arguments,
      timeout = timeout }
    return { said = { ok == true, message or "", class or "" } }
  end
end

describe("an approval", function()
  after_each(R.clean)

  it("shows the arguments whole and safely, is given for their digest, and is recorded", function()
    local arguments = { to = "Bob\27[2J\u{202E}", amount = 12, lines = { "a", "b" } }
    local result, go_on, dir = begun(asks(arguments))
    local open = result.questions[1]
    assert.same({ "waiting_for_person", "pay the bill" }, { result.reason, result.message })
    assert.equal(approval.digest(arguments), open.question.approval)
    local shown = table.concat(require("skillrt.report.question").all(result.questions), "\n")
    for _, words in ipairs { "Pay: pay the bill", '"amount": 12', '"b"', "sha256 " .. open.question.approval,
      "1. approve", "2. deny", "\\u{202E}" } do
      assert.truthy(shown:find(words, 1, true), shown)
    end
    assert.is_nil(shown:find("[\27\u{202E}]"))
    result = assert(go_on { answer = "approve", question = 1 })
    assert.same({ true, "", "" }, result.state.said)
    local given = R.records(dir, "result")[1]
    assert.same({ "approve", open.question.approval }, { given.value, given.approval })
  end)

  it("is shown whole however many questions are open", function()
    local result = begun(function(_, ctx)
      return { v = ctx.map({ 1, 2, 3, 4, 5, 6, 7 }, function(n)
        return ctx.approve { what = "pay", arguments = { amount = 1000 + n } }
      end) }
    end)
    local shown = table.concat(require("skillrt.report.question").all(result.questions), "\n")
    assert.truthy(shown:find('"amount": 1007', 1, true), shown)
  end)

  it("is denied by the answer that says so", function()
    local _, go_on = begun(asks { amount = 1 })
    assert.same({ false, "pay the bill: denied", "denied" }, assert(go_on { answer = "deny" }).state.said)
  end)

  it("counts only where the answer names it: by number, nonce or digest", function()
    local _, go_on = begun(asks { amount = 1 })
    local refused, message = go_on { answer = "approve" }
    assert.is_nil(refused)
    assert.matches("question 1 is an approval: name it by its number, nonce or digest", message)
    refused, message = go_on { answer = "approve", question = 1, approval = approval.digest { amount = 2 } }
    assert.is_nil(refused)
    assert.matches("question 1: the answer was meant for other arguments", message)
    assert.same({ true, "", "" },
      assert(go_on { answer = "approve", approval = approval.digest { amount = 1 } }).state.said)
  end)

  it("is refused in the inbox, too, where it does not name it", function()
    local _, go_on, dir = begun(asks { amount = 1 })
    assert(store.at(dir):put({ answer = "approve", id = "nameless" }))
    assert(store.at(dir):put({ answer = "approve", approval = approval.digest { amount = 2 }, id = "other" }))
    assert.equal("waiting_for_person", assert(go_on()).reason)
    assert.equal(2, #R.records(dir, "note"))
    assert(store.at(dir):put({ answer = "approve", approval = approval.digest { amount = 1 }, id = "right" }))
    assert.same({ true, "", "" }, assert(go_on()).state.said)
  end)

  it("fails closed when nobody answers in time", function()
    local _, go_on = begun(asks({ amount = 1 }, 3600))
    clock.pass(3601)
    assert.same({ false, "pay the bill: denied: no answer within 3600 seconds", "denied" },
      assert(go_on()).state.said)
  end)

  it("for other arguments is asked anew, an answer is worth nothing for them", function()
    local result, go_on, dir = begun(function(_, ctx)
      local out = {}
      for i, amount in ipairs { 1, 2, 1 } do
        out[i] = ctx.approve { what = "pay", arguments = { amount = amount } } == true
      end
      return { out = out }
    end)
    local first = result.questions[1]
    result = assert(go_on { answer = "approve", question = 1 })
    assert.equal(approval.digest { amount = 2 }, result.question.approval)
    local refused = go_on { answer = "approve", nonce = first.nonce }
    assert.is_nil(refused)
    result = assert(go_on { answer = "deny", question = 2 })
    assert.equal(approval.digest { amount = 1 }, result.question.approval) -- once is once
    assert.same({ true, false, true }, assert(go_on { answer = "approve", question = 3 }).state.out)
    assert.equal(3, #R.records(dir, "call"))
  end)

  it("given before the script changed its arguments is not taken for the new ones", function()
    local _, go_on = begun(function(_, ctx)
      local ok = ctx.approve { what = "pay", arguments = { amount = 1 } }
      return { ok = ok, said = ctx.ask "and then?" }
    end)
    assert(go_on { answer = "approve", question = 1 })
    local function changed(_, ctx)
      local ok = ctx.approve { what = "pay", arguments = { amount = 1000 } }
      return { ok = ok, said = ctx.ask "and then?" }
    end
    local refused, message = go_on({}, changed)
    assert.is_nil(refused and refused.state.ok, message)
    local result = assert(go_on({ accept_changes = true, yes = true }, changed))
    assert.equal(approval.digest { amount = 1000 }, result.question.approval)
  end)

  it("of arguments that nobody can be shown is denied at once, and said", function()
    local result, _, dir = begun(asks { text = ("x"):rep(70000) })
    assert.same({ "completed", "denied" }, { result.status, result.state.said[3] })
    assert.matches("pay the bill: denied: its arguments are %d+ bytes", R.records(dir, "note")[1].text)
  end)

  it("tells the author what is wrong with it", function()
    for words, given in pairs {
      ["what"] = { arguments = {} },
      ["did you mean \"arguments\""] = { what = "pay", argument = {} },
      ["contains itself"] = (function() local t = {} t.t = t return { what = "pay", arguments = t } end)(),
    } do
      local result = begun(function(_, ctx) ctx.approve(given) end)
      assert.truthy(result.message:find(words, 1, true), result.message)
    end
  end)

  it("holds a step that fails with it back from trying again", function()
    local dir = R.folder() .. "/run"
    local definition = { limits = { max_errors = 1 }, actions = { { id = "pay", run = function(_, ctx)
      local ok, message, class = ctx.approve { what = "pay", arguments = {}, timeout = 3600 }
      if not ok then
        return nil, message, class
      end
    end } } }
    assert(R.run(definition, { work_dir = dir }))
    clock.pass(3601)
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition) }))
    assert.equal("failed", result.status)
    assert.equal("denied", R.records(dir, "fail")[1].class)
    assert.equal(1, #R.records(dir, "call"))
  end)

  it("is given by no word that does not say which one is meant, whatever the word", function()
    local question = assert(approval.question { what = "pay", arguments = { sum = 5 } })
    local books = { questions = { { q = 1, question = question } } }
    for _, word in ipairs { "approve", "1" } do
      local meant, why = questions.meant(books, { value = word })
      assert.is_nil(meant)
      assert.matches("is an approval: name it by its number, nonce or digest", why, 1, true)
    end
    assert.equal("approve", questions.meant(books, { question = 1, value = "1" }).value)
    assert.equal("approve", questions.meant(books, { approval = question.approval, value = "approve" }).value)
    assert.equal("deny", questions.meant(books, { value = "2" }).value)
  end)
end)
