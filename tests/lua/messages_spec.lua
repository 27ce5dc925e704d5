-- messages_spec.lua: what a run says of its steps: notes, messages of failures, deadlines of what
-- a function waits for. Runs whole skills in memory.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local fake = require "tests.support.fake_ctx"
local skillrt = require "skillrt"

-- Runs one action in memory; gives the result and the records that were made.
local function run(action, more)
  local records = {}
  local definition = { name = "said", context = "memory", actions = { action }, retry = { base = 0 } }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  local result = assert(skillrt.skill(definition):run {
    watcher = {
      observe = function(record)
        records[#records + 1] = record
      end,
      flush = function() end,
    },
  })
  return result, records
end

local function texts(records)
  local list = {}
  for _, record in ipairs(records) do
    if record.t == "note" or record.t == "fail" then
      list[#list + 1] = record.t .. " " .. (record.text or record.message)
    end
  end
  return list
end

describe("a message", function()
  it("may hold any bytes a program wrote to standard error", function()
    local result = run({
      id = "x",
      agent = skillrt.agent.command { "sh", "-c", "printf 'no: \\377\\n' >&2; exit 3" },
    }, { limits = { max_errors = 1 } })
    assert.equal("error_limit", result.reason)
    assert.has_match("no: \u{FFFD}", result.state.errors[1].message, 1, true)
  end)

  it("may hold any bytes a function returned or wrote to its log", function()
    local result, records = run({
      id = "x",
      run = function(_, ctx)
        ctx.log("log \xff")
        return nil, "said \xfe"
      end,
    }, { limits = { max_errors = 1, max_retries = 0 } })
    assert.equal("error_limit", result.reason)
    assert.same({ "note log \u{FFFD}", "fail said \u{FFFD}" }, texts(records))
  end)

  it("names the server that --set gave, and no secret of the environment", function()
    local one = agent.http { url = "{input.agent}/task?key={env.KEY}" }
    local getenv = os.getenv
    os.getenv = function(name) return name == "KEY" and "s3cret" or getenv(name) end -- luacheck: ignore
    local _, message = fake.perform(one, { { code = 500, body = "busy\n" } }, { input = { agent = "http://me:pw@127.0.0.1:8080" } })
    os.getenv = getenv -- luacheck: ignore
    assert.equal("agent http: HTTP 500 from http://127.0.0.1:8080/task: busy", message)
  end)
end)

describe("a function's log", function()
  it("is kept of attempts that failed, too", function()
    local result, records = run {
      id = "x",
      run = function(_, ctx)
        ctx.log("attempt " .. ctx.attempt)
        if ctx.attempt == 1 then
          return nil, "not yet", "transient"
        end
      end,
    }
    assert.equal("completed", result.status)
    assert.same({ "note attempt 1", "fail not yet", "note attempt 2" }, texts(records))
  end)
end)

describe("ctx.await of a program that is not there", function()
  it("fails for good: another attempt would not find it either", function()
    local result, records = run({
      id = "x",
      run = function(_, ctx)
        return select(2, nil, ctx.await { kind = "command", argv = { "no-such-program-here" } })
      end,
    }, { limits = { max_errors = 1 } })
    assert.equal("error_limit", result.reason)
    assert.equal("permanent", records[5].class)
    assert.is_nil(records[5].retry)
  end)
end)

describe("ctx.await of an agent", function()
  it("takes a deadline of its own, that may grow with the attempts", function()
    local result, records = run({
      id = "x",
      run = function(_, ctx)
        local outcome, message, class = ctx.await { agent = "slow", timeout = ctx.attempt == 1 and 0.05 or 20 }
        if not outcome then
          return nil, message, class
        end
        return { attempts = ctx.attempt }
      end,
    }, { agents = { slow = skillrt.agent.command { "sleep", "0.3", idempotent = true } } })
    assert.equal("completed", result.status)
    assert.equal(2, result.state.attempts)
    assert.equal("fail", records[5].t)
    assert.equal("timeout", records[5].class)
  end)
end)
