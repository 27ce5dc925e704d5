-- fatal_spec.lua: whichever function of a skill runs out of memory: the run pauses, and can be resumed with more; nothing of
-- it is taken for a result, a failure or a condition that does not hold.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

describe("a skill's function that runs out of memory", function()
  after_each(R.clean)

  local function out() error("not enough memory", 0) end
  local function run() return { done = true } end

  local agent = skillrt.agent.command
  local skills = {
    action = { actions = { { id = "a", run = out } } },
    condition = { actions = { { id = "a", when = out, run = run } } },
    goal = { actions = { { id = "a", run = run } }, terminate = { { when = out } } },
    strategy = { actions = { { id = "a", run = run } }, strategy = out },
    check = { actions = { { id = "a", run = run, validate = out } } },
    parse = { actions = { { id = "a", agent = agent { "echo", "x", parse = out } } } },
    chain = { actions = { { id = "a", agent = skillrt.agent.chain { skillrt.agent.lua(out) } } } },
    body = { actions = { { id = "a", agent = skillrt.agent.http { url = "http://127.0.0.1:1/", body = out } } } },
    judge = { actions = { { id = "a", run = function(_, ctx)
      return { v = (ctx.await { kind = "command", argv = { "true" }, idempotent = true, judge = out }) } end } } },
    ["local call"] = { actions = { { id = "a", run = function(_, ctx)
      return { v = (ctx.await { kind = "local", name = "n", run = out, idempotent = true }) } end } } },
    branch = { actions = { { id = "a", run = function(_, ctx) return { all = ctx.all { out, out } } end } } },
    once = { actions = { { id = "a", run = function(_, ctx) return { v = ctx.once("n", out) } end } } },
    tool = { actions = { { id = "a", run = function(_, ctx) return { v = (ctx.tool("t", {})) } end } }, tools = {
      t = { description = "d", input = { type = "object" }, run = out } } },
    route = { actions = { { id = "a", run = run }, { id = "b", run = run } }, machine = { initial = "s", states = { "s", "e" },
      route = out, edges = { { from = "s", to = "e", action = "a" }, { from = "s", to = "e", action = "b" } } } },
    ["lua agent"] = { actions = { { id = "a", agent = skillrt.agent.lua(out) } } },
    machine = { actions = { { id = "a", run = run } }, machine = { initial = "s", states = { "s", "e" },
      edges = { { from = "s", to = "e", when = out, action = "a" } } } },
  }

  for name, definition in pairs(skills) do
    it("pauses the run: " .. name, function()
      definition.limits = { max_errors = 1, max_retries = 0 }
      local result, message = R.run(definition)
      assert.truthy(result, message)
      assert.same({ "paused", "out_of_memory" }, { result.status, result.reason }, result.message)
    end)
  end
end)
