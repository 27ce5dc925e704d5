-- agent_returned_spec.lua: what a function's values mean; nothing is dropped in silence.
require "tests.support.json_shim"
local function_result = require "skillrt.agent.function_result"

local function action(...)
  return function_result.outcome("action", "fix: run", ...)
end
local function phase(...)
  return function_result.outcome("phase", "scan: run", ...)
end

describe("what a function returned", function()
  it("is an action's updates, or nothing", function()
    assert.same({ status = "completed", updates = { n = 1 } }, (action({ n = 1 })))
    assert.same({ status = "completed" }, (action()))
    assert.same({ status = "completed", updates = {} }, (action({}, nil, nil)))
  end)

  it("is a phase's output and its updates; false is an output", function()
    assert.same({ status = "completed", output = "x", updates = { n = 1 } }, (phase("x", { n = 1 })))
    assert.same({ status = "completed", output = false }, (phase(false)))
    assert.same({ status = "completed", updates = { n = 1 } }, (phase(nil, { n = 1 })))
    assert.same({ status = "completed" }, (phase()))
  end)

  it("is a failure with nil and a message, whose class is permanent unless it says another", function()
    assert.same({ nil, "busy", "permanent" }, { action(nil, "busy") })
    assert.same({ nil, "busy", "rate_limit" }, { phase(nil, "busy", "rate_limit") })
    assert.same({ nil, "busy", "timeout" }, { action(nil, "busy", "timeout", { status = "timeout" }) })
  end)

  it("is a failure with nil and a table that has a class; of a phase with nothing else in it", function()
    local busy = { class = "transient", message = "busy" }
    assert.same({ nil, "busy", "transient" }, { action(nil, busy) })
    assert.same({ nil, "busy", "transient" }, { phase(nil, busy) })
    assert.same({ nil, "failed", "transient" }, { action(nil, { class = "transient", message = 7, seats = 2 }) })
    local travel = { class = "economy", seats = 2 }
    assert.same({ status = "completed", updates = travel }, (phase(nil, travel)))
  end)

  it("of a class that nobody knows aborts the run, and says so; one that ctx gave fails for good (R148)", function()
    for class, wanted in pairs { weird = "fatal", [7] = "fatal" } do
      local _, message, got = action(nil, "busy", class)
      assert.equal(wanted, got)
      assert.has_match("busy (and its class is ", message, 1, true)
      assert.has_match("which is not known", message, 1, true)
    end
    for _, class in ipairs { "canceled", "skipped" } do
      assert.same({ nil, "busy", "permanent" }, { action(nil, "busy", class) })
    end
  end)

  for name, case in pairs {
    ["nil and a table"] = { { nil, { n = 1 }, n = 2 }, "fix: run returned nothing and then a table" },
    ["nil and a number"] = { { nil, 42, n = 2 }, "fix: run returned nothing and then 42" },
    ["a second table"] = { { { n = 1 }, { m = 2 }, n = 2 }, "fix: run returned a table and then a table" },
    ["updates and a message"] = { { {}, "done", n = 2 }, 'fix: run returned a table and then "done"' },
    ["a number"] = { { 42, n = 1 }, "fix: run returned 42;" },
    ["a text"] = { { "done", n = 1 }, 'fix: run returned "done";' },
    ["false and a message"] = { { false, "no luck", n = 2 }, 'fix: run returned false and "no luck";' },
    ["a late value"] = { { {}, nil, 3, n = 3 }, "fix: run returned a table and then nothing" },
    ["a failure and more than its reply"] = { { nil, "a", "permanent", {}, 5, n = 5 }, "returned more than nil, message, class" },
    ["a failure with too much"] = { { nil, "a", "permanent", 5, n = 4 }, "fix: run returned more than nil, message, class" },
  } do
    it("is refused, not dropped, where it is " .. name, function()
      local outcome, message, class = action(table.unpack(case[1], 1, case[1].n))
      assert.is_nil(outcome)
      assert.equal("permanent", class)
      assert.has_match(case[2], message, 1, true)
      assert.has_match("an action returns one table of updates, or nothing; a failure is nil, message, class", message, 1, true)
    end)
  end

  it("is refused of a phase where its updates are no table, or more follows", function()
    local _, message = phase("text", 5)
    assert.has_match('scan: run returned "text" and then 5; a phase returns its output, then a table of updates', message, 1, true)
    _, message = phase("text", { n = 1 }, true)
    assert.has_match("scan: run returned a third value, true;", message, 1, true)
  end)
end)

describe("what a function raised", function()
  it("is its text, and for good", function()
    assert.same({ nil, "x.lua:1: oh", "permanent" }, { function_result.raised("fix", "x.lua:1: oh") })
  end)

  it("may name its class and the call that is to blame", function()
    local call = {}
    local busy = { message = "busy", class = "transient", call = call }
    assert.same({ nil, "busy", "transient", call, true }, { function_result.raised("fix", busy) })
    assert.same({ nil, "busy", "timeout", nil, true }, { function_result.raised("fix", { message = "busy", code = "timeout" }) })
    assert.same({ nil, "gone", "permanent", nil, true }, { function_result.raised("fix", { message = "gone", code = "missing" }) })
    local both = { message = "busy", class = "transient", code = "timeout" }
    assert.same({ nil, "busy", "transient", nil, true }, { function_result.raised("fix", both) })
    local _, message, class = function_result.raised("fix", { message = "busy", class = "wierd" })
    assert.equal("fatal", class)
    assert.has_match('its class is "wierd", which is not known', message, 1, true)
  end)

  it("is shown, whatever it is and does", function()
    local hostile = setmetatable({}, { __index = function() error("no") end, __tostring = function() error("no") end })
    assert.has_match("^fix raised an error object: ", (select(2, function_result.raised("fix", 42))))
    local looping = setmetatable({}, { __tostring = function() return 7 end })
    assert.has_match("^fix raised an error object: ", (select(2, function_result.raised("fix", looping))))
    assert.has_match("^fix raised an error object: ", (select(2, function_result.raised("fix", nil))))
    local ok = pcall(function_result.raised, "fix", hostile)
    assert.is_true(ok)
  end)

  it("goes on where it comes from outside", function()
    assert.has_error(function() function_result.raised("fix", { code = "stopped", message = "stop" }) end)
    assert.has_error(function() function_result.raised("fix", "not enough memory") end)
  end)
end)
