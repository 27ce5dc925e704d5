-- conditions_spec.lua: what a provider says instead of an answer has the same outcome whoever asks: a plain skill, an
-- action of Lua, ctx.agent and a workflow script; a model over HTTP and a coding agent.
local time = require "tests.support.passing_time"
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local runner = require "skillrt.run.runner"
local skillrt = require "skillrt"
local stand_in = require "tests.support.stand_in"

local HOUR <const> = 3600000
local getenv = os.getenv
local server

-- A result of Claude Code.
local function result_line(text, is_error, more)
  local event = { type = "result", subtype = "success", is_error = is_error, result = text, session_id = "s" }
  for key, value in pairs(more or {}) do event[key] = value end
  return json.encode(event) .. "\n"
end

local function status(code, text, headers)
  local body = json.encode { type = "error", error = { type = "an_error", message = text } }
  return R.raw(("HTTP/1.1 %d X\r\n%sConnection: close\r\nContent-Length: %d\r\n\r\n%s"):format(code, headers or "",
    #body, body))
end

local USAGE <const> = "You've hit your usage limit. Upgrade or try again in 5 hours."
local BACKOFF <const> = { 500, 1000, 2000 }
local function always(wait, count)
  local list = {}
  for i = 1, count do list[i] = wait end
  return list
end

-- What is said over HTTP, what by a program; the class; the waits before each further attempt.
local CONDITIONS <const> = {
  ["429 with retry-after"] = { function() return status(429, "slow down", "Retry-After: 2\r\n") end,
    { "API Error: 429 slow down, try again in 2 seconds", true, { api_error_status = 429 } }, "rate_limit", always(2000, 3) },
  ["429 without"] = { function() return status(429, "slow down") end,
    { "API Error: Request rejected (429)", true, { api_error_status = 429 } }, "rate_limit", BACKOFF },
  ["503"] = { function() return status(503, "no") end, { "API Error: 503 no", true }, "rate_limit", BACKOFF },
  ["529"] = { function() return status(529, "overloaded") end, { 'API Error: 529 {"type":"overloaded_error"}', true },
    "rate_limit", BACKOFF },
  ["529 as a success"] = { function() return status(529, "overloaded") end, { "API Error: 529 Overloaded", false },
    "rate_limit", BACKOFF },
  ["500"] = { function() return status(500, "oops") end, { "API Error: 500 oops", true, { api_error_status = 500 } },
    "transient", BACKOFF },
  ["400"] = { function() return status(400, "no such model") end,
    { "API Error: 400 no such model", true, { api_error_status = 400 } }, "permanent", {} },
  ["connection refused"] = { "refused", { "API Error: Unable to connect to API (ECONNREFUSED)", true }, "transient",
    BACKOFF },
  ["a usage limit with its end"] = { function() return status(429, USAGE) end, { USAGE, true }, "rate_limit",
    always(5 * HOUR, 20) },
  ["a usage limit as a success"] = { function() return status(429, USAGE) end, { USAGE, false }, "rate_limit",
    always(5 * HOUR, 20) },
  ["a usage limit without its end"] = { function() return status(429, "You've hit your usage limit.") end,
    { "You've hit your usage limit.", true }, "rate_limit", always(HOUR // 4, 20) },
}

local function plain(agent)
  local folder = R.folder()
  R.write(folder .. "/SKILL.md", "---\nname: plain\ndescription: a page\n---\nSay hello.\n")
  return assert(skillrt.load(folder, { agent = agent }))
end

local function action(agent)
  return R.skill { agents = { a = agent }, retry = {}, limits = { max_errors = 1 },
    actions = { { id = "a", agent = "a", prompt = "do it" } } }
end

local function in_function(agent)
  return R.skill { agents = { a = agent }, retry = {}, limits = { max_errors = 1 }, actions = { { id = "a",
    run = function(_, ctx)
      local said, message, class = ctx.agent "do it"
      if not said then return nil, message, class end
      return { said = said }
    end } } }
end

local function script(agent)
  local folder = R.folder()
  R.write(folder .. "/w.js", "export const meta = { name: 'w', description: 'd' }\nreturn await agent('do it')")
  return assert(skillrt.load(folder .. "/w.js", { agent = agent }))
end

local function workflow(agent)
  local made = skillrt.workflow { name = "w", agents = { a = agent }, run = function(ctx)
    local said, message, class = ctx.agent "do it"
    return said and { said = said }, message, class
  end }
  made.limits.max_errors = 1
  return made
end

local SHAPES <const> = { ["a Lua workflow"] = workflow, ["a plain skill"] = plain, ["an action"] = action, ["ctx.agent"] = in_function,
  ["a workflow script"] = script }

-- One condition of each class is tried in all shapes, the others in one: from the class on they go the same way.
local CLASSES <const> = { ["429 without"] = true, ["500"] = true, ["400"] = true, ["a usage limit with its end"] = true }

local GOOD <const> = json.encode { status = "completed", stateUpdates = { said = "hello" }, summary = "done" }

-- A model over HTTP that says this so often, then answers.
local function model(said, times)
  if said == "refused" then
    local address = "http://127.0.0.1:9" -- nobody listens
    return skillrt.agent.anthropic { url = address, key_env = "CANARY_KEY" }
  end
  local lines = always(said(), times)
  lines[#lines + 1] = R.raw(P.bytes(P.anthropic(GOOD)))
  server = R.server(table.concat(lines, "\n") .. "\n")
  return skillrt.agent.anthropic { url = server.url .. "/plan", key_env = "CANARY_KEY" }
end

local function program(said, times)
  local calls = always({ out = result_line(table.unpack(said)), code = said[2] and 1 or 0 }, times)
  calls[#calls + 1] = result_line(GOOD, false)
  return skillrt.agent.claude { program = stand_in.new(R, "claude", calls).path }
end

local function attempt(make, agent)
  require("skillrt.agent.gate").forget()
  local skill = make(agent)
  skill.retry.jitter = false
  local dir = R.folder() .. "/run"
  local result = assert(runner.run(skill, { work_dir = dir, world = time.new() }))
  local waits, class = {}, nil
  for i, record in ipairs(R.records(dir, "attempt")) do
    waits[i], class = record.retry, record.class
  end
  class = class or R.records(dir, "fail")[1] and R.records(dir, "fail")[1].class
  local sent = 0
  for _, record in ipairs(R.records(dir, "call")) do
    sent = sent + ((record.kind == "http" or record.to:find "claude") and 1 or 0)
  end
  if server then server.stop() end
  server = nil
  return result, waits, class, sent
end

describe("what a provider says instead of an answer", function()
  before_each(function()
    os.getenv = function(name) return name == "CANARY_KEY" and "sk-1" or getenv(name) end -- luacheck: ignore
  end)
  after_each(function()
    os.getenv = getenv -- luacheck: ignore
    R.clean()
  end)

  for name, condition in pairs(CONDITIONS) do
    for shape, make in pairs(CLASSES[name] and SHAPES or { ["an action"] = action }) do
      for kind, said in pairs { ["a model"] = condition[1], ["a coding agent"] = condition[2] } do
        local agent = kind == "a model" and model or program
        it(("%s: %s asked by %s is asked again when it is time, if it may be"):format(name, kind, shape), function()
          if said ~= "refused" and condition[4][1] then
            local result, waits, class, sent = attempt(make, agent(said, 1))
            assert.equal("completed", result.status, result.message)
            assert.same({ { condition[4][1] }, condition[3], 2 }, { waits, class, sent })
          end
          if name:find "as a success" then return end -- it is the same again
          local result, waits, class, sent = attempt(make, agent(said, #condition[4] + 1))
          assert.equal("failed", result.status, result.message)
          class = class or make == script and condition[3] or nil -- its agent gave null, and no step failed
          assert.same({ condition[4], condition[3], #condition[4] + 1 }, { waits, class, sent })
        end)
      end
    end
  end
end)

-- How many calls a run had sent before a time.
local function sent_before(dir, at)
  local count = 0
  for _, record in ipairs(R.records(dir, "call")) do
    count = count + (record.kind == "http" and record.at < at and 1 or 0)
  end
  return count
end

describe("40 agents in parallel of which the seventh is refused for a usage limit", function()
  before_each(function()
    require("skillrt.agent.gate").forget()
    os.getenv = function(name) return name == "CANARY_KEY" and "sk-1" or getenv(name) end -- luacheck: ignore
  end)
  after_each(function()
    os.getenv = getenv -- luacheck: ignore
    if server then server.stop() end
    server = nil
    R.clean()
  end)

  -- A script of 40 agents, the server that refuses those after the sixth for a while.
  local function forty(refusals)
    local good, lines = R.raw(P.bytes(P.anthropic "fine")), {}
    for i = 1, 6 do lines[i] = good end
    for _ = 1, refusals do lines[#lines + 1] = status(429, USAGE) end
    lines[#lines + 1] = good
    server = R.server(table.concat(lines, "\n") .. "\n")
    local folder = R.folder()
    R.write(folder .. "/w.js", "export const meta = { name: 'w', description: 'd' }\n"
      .. "return (await parallel(Array.from({ length: 40 }, (_, i) => () => agent('say ' + i)))).length")
    return function()
      local skill = assert(skillrt.load(folder .. "/w.js", { agent = skillrt.agent.anthropic {
        url = server.url .. "/plan", key_env = "CANARY_KEY" } }))
      skill.limits.ask_above = 0
      return skill
    end
  end

  it("are no more than were under way; one goes first when the limit is over, then all come to their end", function()
    local dir, load = R.folder() .. "/run", forty(4)
    local skill = load()
    skill.limits.max_agents_parallel = 4
    local result = assert(runner.run(skill, { work_dir = dir, world = time.new() }))
    assert.same({ "completed", 40, 0 }, { result.status, result.state.result, #result.state.agents.failed }, result.message)
    local refused = R.records(dir, "attempt")
    assert.is_true(#refused >= 1 and #refused <= 4)
    assert.is_true(sent_before(dir, refused[1].at + 5 * HOUR) <= 10)
    assert.equal(40 + #refused, #server.log())
    local first, answered
    for _, record in ipairs(R.records(dir)) do
      if record.t == "call" and record.kind == "http" and record.at >= refused[1].at + 5 * HOUR then
        assert.is_true(not first or answered, "a second call was sent before the first one came back")
        if first then break end
        first = record
      elseif first and (record.t == "result" or record.t == "attempt") and record.c == first.c then
        answered = true
      end
    end
    assert.is_true(answered)
  end)

  it("pause without a process until then; whoever resumes it before asks nobody", function()
    local dir, load = R.folder() .. "/run", forty(1000)
    local function skill()
      local one = load()
      one.limits.max_agents_parallel = 4
      return one
    end
    local result = assert(skill():run { work_dir = dir })
    assert.same({ "paused", "waiting_for_time" }, { result.status, result.reason }, result.message)
    assert.matches("hit your usage limit", result.message)
    local asked = #server.log()
    assert.is_true(asked <= 10, asked)
    for _ = 1, 2 do
      require("skillrt.agent.gate").forget() -- another process
      result = assert(skillrt.resume(dir, { skill = skill() }))
      assert.same({ "paused", "waiting_for_time", asked }, { result.status, result.reason, #server.log() }, result.message)
    end
  end)
end)

describe("a server that names a time in Retry-After", function()
  after_each(function()
    require("skillrt.agent.gate").forget()
    server.stop()
    server = nil
    R.clean()
  end)

  it("is sent nothing more until then by any agent of its address", function()
    local good = R.raw(P.bytes { body = GOOD, extra = "Content-Type: application/json\n" })
    server = R.server(table.concat({ good, status(429, "slow down", "Retry-After: 100\r\n"), good }, "\n") .. "\n")
    local dir = R.folder() .. "/run"
    local result = assert(runner.run(R.skill { limits = { max_errors = 1 }, agents = {
      a = skillrt.agent.http { url = server.url .. "/plan" }, b = skillrt.agent.http { url = server.url .. "/plan?b" } },
      actions = { { id = "a", run = function(_, ctx)
        local list = {}
        for i = 1, 10 do list[i] = i end
        return { n = #ctx.map(list, function(i)
          return assert(ctx.agent("say " .. i, { agent = i % 2 == 0 and "a" or "b" }))
        end, { max_parallel = 2 }) }
      end } } }, { work_dir = dir, world = time.new() }))
    assert.same({ "completed", 10 }, { result.status, result.state.n }, result.message)
    local refused = R.records(dir, "attempt")[1]
    assert.equal(100000, refused.retry)
    assert.is_true(sent_before(dir, refused.at + 100000) <= 3)
    assert.equal(11, #server.log())
  end)
end)

describe("a usage limit", function()
  after_each(function()
    require("skillrt.agent.gate").forget()
    R.clean()
  end)

  it("of one agent is not waited for where a chain has another, nor is it asked again by the next step", function()
    local first = stand_in.new(R, "claude", always({ out = result_line(USAGE, true), code = 1 }, 3))
    local second = stand_in.new(R, "claude", always(result_line(GOOD, false), 3))
    local result = assert(runner.run(R.skill { mode = "sequential", limits = { max_errors = 1 },
      agents = { a = skillrt.agent.chain { skillrt.agent.claude { program = first.path },
        skillrt.agent.claude { program = second.path } } },
      phases = { { id = "a", agent = "a", prompt = "do it", output_free = true }, { id = "b", agent = "a", prompt = "do that",
        output_free = true } } }, { work_dir = R.folder() .. "/run", world = time.new() }))
    assert.same({ "completed", 1, 2 }, { result.status, first.calls(), second.calls() }, result.message)
  end)

  it("is waited for, or the next agent of a chain is asked, as its on and on_limit say", function()
    for on_limit, on in pairs { wait = false, next = { "permanent" }, [1] = { "permanent" } } do
      local waits = on_limit ~= "next"
      local first = stand_in.new(R, "claude", { { out = result_line(USAGE, true), code = 1 }, result_line(GOOD, false) })
      local second = stand_in.new(R, "claude", { result_line(GOOD, false) })
      local result = assert(runner.run(R.skill { mode = "sequential", limits = { max_errors = 1 },
        agents = { a = skillrt.agent.chain { on = on or nil, on_limit = on_limit ~= 1 and on_limit or nil,
          skillrt.agent.claude { program = first.path }, skillrt.agent.claude { program = second.path } } },
        phases = { { id = "a", agent = "a", prompt = "do it", output_free = true } } },
        { work_dir = R.folder() .. "/run", world = time.new() }))
      assert.same({ "completed", waits and 2 or 1, waits and 0 or 1 }, { result.status, first.calls(), second.calls() },
        on_limit .. tostring(result.message))
      require("skillrt.agent.gate").forget()
    end
  end)

  it("behind a tool is an unknown outcome: what it did is not done again by itself", function()
    local tool = json.encode { type = "assistant", message = { content = { { type = "tool_use", name = "Bash" } } } }
    local one = stand_in.new(R, "claude", { { out = tool .. "\n" .. result_line(USAGE, true), code = 1 } })
    local result = assert(plain(skillrt.agent.claude { program = one.path }):run { work_dir = R.folder() .. "/run" })
    assert.same({ "paused", "needs_decision", 1 }, { result.status, result.reason, one.calls() }, result.message)
  end)
end)
