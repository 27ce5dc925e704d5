-- simulate_spec.lua: what a run may come to, without dispatch.
local kit = require "tests.support.cli_kit"
local json = require "skillrt.base.json"
local machine_of = require "tests.support.target_machine"
local runs = require "tests.support.runs"
local simulate = require "skillrt.document.simulate"
local skillrt = require "skillrt"

local function of(definition)
  return assert(simulate.of(runs.skill(definition)))
end

local function two_agents(change)
  local definition = {
    limits = { max_retries = 1 },
    agents = {
      shell = skillrt.agent.command { "true" },
      model = skillrt.agent.anthropic { model = "claude-haiku-4-5", max_tokens = 1000, max_turns = 10 },
    },
    actions = {
      { id = "a", agent = "shell", effects = { "x" } },
      { id = "b", agent = "model", when = "x", effects = { "y" }, max_runs = 2 },
      { id = "end", terminal = true, when = "y", priority = -1 },
    },
  }
  if change then
    change(definition)
  end
  return of(definition)
end

describe("a simulation", function()
  after_each(runs.clean)

  it("tells the shortest way to the end and the most steps", function()
    local one = two_agents()
    assert.same({ "a", "b", "b", "end" }, one.least) -- b comes first as often as it may
    assert.same({ 4, false }, { one.most, one.rounds }) -- b runs twice
    assert.is_true(one.complete)
  end)

  it("adds up the worst case of calls, tokens and money: attempts, turns, what may be written", function()
    local one = two_agents()
    assert.equal(2 * 2 + 2 * 2 * 10, one.worst.calls) -- a form asked for once more, two attempts; ten turns, twice
    assert.equal(2 * 2 * 10 * 1000, one.worst.tokens)
    assert.is_true(math.abs(one.worst.dollars - 40000 * 5 / 1e6) < 1e-9)
    one = two_agents(function(given) given.limits = { max_retries = 1, calls = 7, usage = { dollars = 0.05 } } end)
    assert.same({ 7, 0.05 }, { one.worst.calls, one.worst.dollars })
    one = two_agents(function(definition) -- what a function calls is known by its own limit
      definition.actions[1].agent, definition.actions[1].run = nil, function() end
      definition.actions[1].limits = { calls = 5 }
    end)
    assert.equal(5 + 2 * 2 * 10, one.worst.calls)
  end)

  it("says whose calls nobody knows, and what goes round until its limit", function()
    local one = of { limits = { max_iterations = 30 }, state = { n = 0 }, actions = {
      { id = "again", repeatable = true, when = "!done", effects = { "n++" }, run = function() end },
      { id = "stop", effects = { "done" }, run = function() end, max_runs = 1 },
    } }
    assert.same({ 30, true }, { one.most, one.rounds })
    assert.same({ "again", "stop" }, one.unknown)
  end)

  it("tells conditions that nobody can meet, and that no path completes", function()
    local one = of { state = { z = false }, actions = {
      { id = "a", effects = { "x=1" }, run = function() end },
      { id = "b", when = "x === 2", effects = { "z" }, run = function() end },
      { id = "end", terminal = true, when = "z", effects = { "z" } },
    } }
    assert.is_nil(one.least)
    assert.matches("x === 2", table.concat(one.unmet, "\n"))
  end)

  it("follows the table of a machine to each of its ends", function()
    local one = of(machine_of.of())
    assert.same({ "collect_context", "analyze_target", "execute_action", "verify_result", "complete" }, one.least)
    assert.same({ "handle_error", "abort" }, one.ends.failed)
    assert.same({}, one.unmet)
  end)

  it("counts phases as often as they may go round, within the run's iterations", function()
    local list = { { id = "a", run = function() end }, { id = "b", run = function() end } }
    assert.equal(8, of({ phases = list, rounds = { { first = "a", last = "b", max_rounds = 4 } } }).most)
    assert.equal(9, of({ phases = list, limits = { max_iterations = 9 }, rounds = { { first = "a", last = "b",
      over = "x" } } }).most)
    local worst = of({ limits = { max_retries = 0 }, phases = { { id = "a", agent = "model" }, { id = "b", agent = "shell" },
      { id = "c", agent = "model" } }, rounds = { { first = "a", last = "b", max_rounds = 4 } },
      agents = { shell = skillrt.agent.command { "true" }, model = skillrt.agent.anthropic { model = "claude-haiku-4-5",
        max_tokens = 1000, max_turns = 10 } } }).worst
    assert.same({ 5 * 10 + 4 * 2, 5 * 10000 }, { worst.calls, worst.tokens })
    assert.is_true(math.abs(worst.dollars - 50000 * 5 / 1e6) < 1e-9)
  end)

  it("counts phases, with those that may be left out", function()
    local one = of { phases = { { id = "a", run = function() end }, { id = "b", when = "x", run = function() end } } }
    assert.same({ { "a" }, 2 }, { one.least, one.most })
  end)

  it("is shown by skillrt simulate, for people and programs, and asks nobody", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "s", agents = { sh = skillrt.agent.command { "touch", "asked" } }, actions = {
        { id = "a", agent = "sh", effects = { "x" } },
        { id = "end", terminal = true, when = "x", priority = -1 } } }]])
    local shown = kit.run(folder, { "simulate", "s.lua" })
    assert.equal(0, shown.code, shown.err)
    assert.has_match("least      2 steps: a, end\nmost       2 steps\ncalls      at most 8\n", shown.out, 1, true)
    local one = json.decode(kit.run(folder, { "simulate", "s.lua", "--json" }).out)
    assert.same({ { "a", "end" }, 2, 8 }, { one.least, one.most, one.worst.calls })
    assert.is_nil(folder.read "asked")
    folder.file("never.lua", [[return require "skillrt".skill { name = "n", state = { x = 1 }, actions = {
      { id = "set", effects = { "x=3" }, run = function() end },
      { id = "next", when = "x === 2", run = function() end } } }]])
    shown = kit.run(folder, { "simulate", "never.lua" })
    assert.equal(1, shown.code)
    assert.has_match("least      no path completes\n", shown.out, 1, true)
    assert.has_match("may end    blocked after 1 step: set\n", shown.out, 1, true)
  end)
end)
