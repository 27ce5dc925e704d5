-- call_queue_spec.lua: calls that wait for room within a limit.
local Call = require "skillrt.run.call.call"
local calls_of = require "skillrt.run.call.calls"
local execution_of = require "skillrt.run.branch.execution"

-- Calls over limits that let leave so many, each bounded by what `bounds` says of it.
local function make(room, bounds)
  local self = { asked = 0, room = room, left = {} }
  local limits = {
    bounds_of = function(call) return bounds(call) end,
    admit = function(_, call)
      self.asked = self.asked + 1
      local free = self.room[bounds(call)]
      self.room[bounds(call)] = free > 0 and free - 1 or free
      return free > 0
    end,
  }
  local calls = calls_of.new({ limits = limits, books = {} }, {}, {})
  local execution = execution_of.new({ live = { thread = coroutine.running() }, order = {}, calls = {}, known = {} }, calls, {})
  execution:replay()
  function self.leave(i)
    local call = Call.new { place = tostring(i), kind = "http", ways = require "skillrt.run.call.kind.http",
      step = { calls = {}, known = {} }, execution = execution, request = {}, branch = { prefix = "" }, at = i }
    execution:enter(call)
  end
  function self.gone()
    local list = {}
    for i, number in ipairs(calls.queue.starting) do
      list[i] = calls.queue.under_way[number].at
    end
    return list
  end
  self.calls, self.execution = calls, execution
  return self
end

describe("calls for which a limit has no room", function()
  it("leave in their order when there is some, whatever holds others, and not when nobody waits for them", function()
    local odd, even = {}, {}
    local it = make({ [odd] = 1, [even] = 0 }, function(call) return call.at % 2 == 1 and odd or even end)
    for i = 1, 8 do
      it.leave(i)
    end
    assert.same({ 1 }, it.gone())
    it.execution:leave(it.execution.calls["5"])
    it.room[odd] = 2
    it.calls.queue:admit_held()
    assert.same({ 1, 3, 7 }, it.gone())
    it.room[even] = 1
    it.calls.queue:admit_held()
    it.leave(10) -- there is room, but others waited first
    it.room[even] = 9
    it.calls.queue:admit_held()
    assert.same({ 1, 3, 7, 2, 4, 6, 8, 10 }, it.gone())
  end)

  it("are not all asked about for each that leaves", function()
    local all = {}
    local it = make({ [all] = 0 }, function() return all end)
    for i = 1, 2000 do
      it.leave(i)
    end
    for _ = 1, 2000 do
      it.room[all] = 1
      it.calls.queue:admit_held()
    end
    assert.equal(2000, #it.gone())
    assert.is_true(it.asked < 3 * 2000, it.asked)
  end)
end)
