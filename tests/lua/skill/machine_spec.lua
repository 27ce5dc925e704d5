-- machine_spec.lua: a state machine as one transition table: its normal form, what is derived of it, and where it
-- contradicts itself.
require "tests.support.json_shim"
local machine_check = require "skillrt.skill.machine_check"
local machine_of = require "skillrt.skill.machine"

-- A door that opens, closes and is locked or broken at last.
local function door(change)
  local given = {
    initial = "closed",
    states = { "closed", "open", { name = "locked", terminal = true }, "failed" },
    edges = {
      { action = "open", from = "closed", to = "open", when = "people === 0", max_runs = 2 },
      { action = "lock", from = "closed", to = "locked" },
      { action = "close", from = { "open" }, to = "closed" },
      { action = "break_down", from = "*", to = "failed", when = "broken" },
    },
  }
  if change then
    change(given)
  end
  return given
end

local function problems(change)
  local out = {}
  for i, one in ipairs(machine_check.of(assert(machine_of.new(door(change))))) do
    out[i] = one.code .. ": " .. one.message
  end
  return table.concat(out, "\n")
end

local function refused(change)
  local machine, message = machine_of.new(door(change), "door")
  assert.is_nil(machine)
  return message
end

describe("a transition table", function()
  it("has a normal form: states with their ends, edges with lists of states and conditions that compile", function()
    local machine = assert(machine_of.new(door()))
    assert.same("completed", machine.by_name.locked.terminal)
    assert.same("failed", machine.by_name.failed.terminal)
    assert.is_nil(machine.by_name.open.terminal)
    assert.same({ "closed" }, machine.edges[1].from)
    assert.same({ "closed", "open" }, machine.edges[4].from) -- "*": all that do not end the run
    assert.same({ "people" }, machine.edges[1].tests[1].reads)
    assert.same(2, machine.edges[1].max_runs)
  end)

  it("is refused by field and place, with the word that was meant", function()
    assert.equal('door: edges[1]: unknown field "limit" (write "max_runs")', refused(function(given)
      given.edges[1].limit = 2
    end))
    assert.matches('door: edges%[2%]: unknown field "form" %(did you mean "from"%?%)', refused(function(given)
      given.edges[2].form = "closed"
    end))
    assert.matches("door: edges%[1%]: when", refused(function(given)
      given.edges[1].when = "people =="
    end))
    assert.matches('states%[3%]: field "terminal" must be true, "completed"', refused(function(given)
      given.states[3].terminal = "done"
    end))
    assert.matches("states%[5%]: .?closed.? is declared twice", refused(function(given)
      given.states[5] = "closed"
    end))
  end)

  it("of one mind has no problem", function()
    assert.equal("", problems())
  end)

  it("names states that nobody declared, and the nearest (F59)", function()
    assert.equal('unknown-state: close leads to "clsed", which is no state (did you mean "closed"?)', problems(function(given)
      given.edges[3].to = "clsed"
    end))
    assert.matches('unknown%-state: begins in "cellar"', problems(function(given)
      given.initial = "cellar"
    end))
  end)

  it("does not go on behind an end (F60)", function()
    assert.matches("leaves%-end: unlock leaves locked, which ends the run", problems(function(given)
      given.edges[5] = { action = "unlock", from = "locked", to = "closed" }
    end))
  end)

  it("is held against a route: what it forbids, what is not registered, what has no case (F59, F64)", function()
    local text = problems(function(given)
      given.routes = { closed = { { action = "open", when = "people === 0" }, "close" }, open = { "slam" } }
    end)
    assert.matches('forbidden: in state "closed" the route picks "close", but the registry allows it only from open', text)
    assert.matches('unregistered: in state "open" the route returns "slam", which is not registered', text)
    assert.matches('never%-routed: no state routes to "lock"', text)
    assert.matches('unreachable: state "locked" is never reached', text)
    assert.matches('no%-route: state "open" has no case', problems(function(given)
      given.routes = { closed = { "open", "lock", "break_down" } }
    end))
  end)

  it("limits every circle (F61)", function()
    assert.equal("loop: closed comes back to itself by open without any limit", problems(function(given)
      given.edges[1].max_runs = nil
    end))
    assert.matches("loop: open comes back to itself by air without any limit", problems(function(given)
      table.insert(given.edges, 3, { action = "air", from = "open", to = "open", when = "warm" })
    end))
  end)

  it("says what is never reached, left by nothing, or left only sometimes; and has an end for failure (F60)", function()
    assert.matches('unreachable: state "cellar" is never reached', problems(function(given)
      given.states[5] = "cellar"
    end))
    assert.matches("dead%-end: open has no edge", problems(function(given)
      table.remove(given.edges, 4)
      table.remove(given.edges, 3)
    end))
    assert.matches("stuck: open has only edges with conditions", problems(function(given)
      given.edges[3].when = "wind > 3"
    end))
    assert.equal("no-failure: no terminal state has the status failed or aborted", problems(function(given)
      given.states[4], given.edges[4] = nil, nil
    end))
  end)

  it("of which one action leads to two states says to which", function()
    local function two(first)
      return function(given)
        given.edges[1].when, given.edges[1].max_runs = nil, 1
        given.edges[2] = { action = "open", from = "closed", to = "locked" }
        given.edges[1].when = first
      end
    end
    assert.equal('ambiguous: from "closed" open leads to open or locked, and no condition says to which', problems(two()))
    assert.equal("", problems(two "people === 0"))
  end)

  it("names a row that is never taken, as one above it needs nothing", function()
    assert.equal('shadowed: in state "open" close is first and has no condition: slam is never taken', problems(function(given)
      table.insert(given.edges, 4, { action = "slam", from = "open", to = "failed" })
    end))
    assert.equal("", problems(function(given)
      given.edges[3].max_runs = 3 -- when it was taken so often, the next one is
      table.insert(given.edges, 4, { action = "slam", from = "open", to = "failed" })
    end))
  end)

  it("is reached by classes of errors too (F62)", function()
    assert.equal("", problems(function(given)
      given.states[5] = { name = "repair" }
      given.edges[5] = { action = "mend", from = "repair", to = "closed", max_runs = 1 }
      given.errors = { { class = "Jammed", to = "repair", max_runs = 3 } }
    end))
    assert.matches('unknown%-state: Jammed leads to "repare"', problems(function(given)
      given.errors = { { class = "Jammed", to = "repare" } }
    end))
  end)

  it("gives registry, route and conditions of actions, each from the same rows (F59)", function()
    local machine = assert(machine_of.new(door()))
    local rows, by_action = machine_of.registry(machine)
    assert.same({ "open", "lock", "close", "break_down" }, { rows[1].action, rows[2].action, rows[3].action,
      rows[4].action })
    assert.is_true(by_action.break_down.any)
    local route = machine_of.route(machine, "closed")
    assert.same({ "open", "lock", "break_down" }, { route[1].action, route[2].action, route[3].action })
    local function test(id)
      return machine_of.precondition(machine, by_action[id], "state")
    end
    assert.equal("state.state === 'closed' && (people === 0)", test "open")
    assert.equal("state.state === 'closed' && !(people === 0)", test "lock")
    assert.matches("false && %(broken%)", test "break_down") -- behind one that is always taken
  end)
end)
