-- run_whose_ctx_spec.lua: scripts that use a ctx, a handle or a branch where it does not belong: after its step is
-- over, in another step, in a coroutine of their own. Whatever they do, the journal can be read and gone on with.
local R = require "tests.support.runs"
local skillrt = require "skillrt"
local json = skillrt.json

local function program(...)
  return { kind = "command", argv = { ... }, idempotent = true }
end

-- What each of these gave, when it was tried: true, or what was raised.
local function tried(list)
  local out = json.array {}
  for i, fn in ipairs(list) do
    local ok, raised = pcall(fn)
    out[i] = ok or tostring(type(raised) == "table" and raised.message or raised)
  end
  return out
end

describe("a ctx", function()
  after_each(R.clean)

  -- All that a ctx has which leaves a trace in the journal.
  local function uses(ctx)
    return {
      function() ctx.log "late" end,
      function() ctx.phase "late" end,
      function() ctx.used { tokens = 1 } end,
      function() ctx.checkpoint "late" end,
      function() ctx.now() end,
      function() ctx.random() end,
      function() ctx.uuid() end,
      function() ctx.read "x" end,
      function() ctx.glob "*" end,
      function() ctx.context.set("late", 1) end,
      function() ctx.once("late", function() return 1 end) end,
      function() ctx.loop(1, function() return 1, true end) end,
      function() ctx.spawn(print) end,
      function() ctx.map({ 1 }, print) end,
      function() ctx.within(1, print) end,
      function() ctx.sleep(0) end,
      function() ctx.await(program "true") end,
      function() ctx.agent "late" end,
      function() ctx.run("late", {}) end,
    }
  end

  local function all_refused(dir, result, first)
    assert.equal("completed", result.status, json.encode(result.state.errors))
    for i, raised in ipairs(result.state.raised) do
      assert.matches("its step has finished, or is not running", tostring(raised), nil, tostring(i))
    end
    assert.equal(#uses {}, #result.state.raised)
    for _, record in ipairs((R.records(dir))) do
      assert.is_false(record.step == first and record.t ~= "start" and record.t ~= "done" and record.kind ~= "sleep"
        and record.t ~= "result" or record.digest == "once late", record.t)
    end
  end

  it("is refused when its step is over, and the run can be read for ever", function()
    for _, waits in ipairs { false, true } do
      local left
      local dir = R.folder() .. "/run"
      local result = R.run({ actions = {
        { id = "a", priority = 2, run = function(_, ctx)
          left = waits and ctx.sleep(0) and ctx or ctx
          return { x = 1 }
        end },
        { id = "b", when = "x", run = function() return { raised = tried(uses(left)) } end },
      } }, { work_dir = dir })
      all_refused(dir, result, 1)
    end
  end)

  it("is refused in a condition, which no step is", function()
    local kept, raised
    local result = R.run { actions = {
      { id = "a", run = function(_, ctx) kept = ctx end },
      { id = "b", when = function()
          raised = kept and tried(uses(kept))
          return kept ~= nil
        end, run = function() end } } }
    assert.equal("completed", result.status, result.message)
    assert.equal(#uses {}, #raised)
    for i, one in ipairs(raised) do
      assert.matches("its step has finished, or is not running", tostring(one), nil, tostring(i))
    end
  end)

  it("is refused in another step, which would not be given back what it draws", function()
    local left
    local dir = R.folder() .. "/run"
    local result = R.run({
      strategy = { name = "both", select = function(_, available) return available[2] and { "a", "b" } or "b" end },
      actions = {
        { id = "a", priority = 2, run = function(_, ctx)
          left = ctx
          ctx.sleep(0.3)
          return { x = 1 }
        end },
        { id = "b", run = function(_, ctx)
          ctx.sleep(0.01)
          return { raised = tried(uses(left)) }
        end },
      },
    }, { work_dir = dir })
    all_refused(dir, result, 1)
  end)

  it("gives handles and branches that belong to their step alone", function()
    local handle, begin
    local result = R.run {
      actions = {
        { id = "a", priority = 2, run = function(_, ctx)
          handle = ctx.spawn(function() ctx.sleep(0.01) return "own" end)
          ctx.gather(function(one) begin = one end)
          local raised = tried {
            coroutine.wrap(function() handle.await() end),
            function() begin("late", print) end,
          }
          return { own = handle.await(), first = raised }
        end },
        { id = "b", when = "own", run = function()
          return { second = tried { handle.await, handle.cancel, function() begin("late", print) end } }
        end },
      },
    }
    assert.equal("completed", result.status, json.encode(result.state.errors))
    assert.equal("own", result.state.own)
    assert.matches("not in a coroutine of your own", result.state.first[1])
    assert.matches("ctx.gather: has finished", result.state.first[2])
    assert.matches("awaited in a function of its step", result.state.second[1])
    assert.matches("belongs to another step", result.state.second[2])
    assert.matches("ctx.gather: has finished", result.state.second[3])
  end)
end)

describe("branches that are ended together", function()
  after_each(R.clean)

  it("close what they hold in one order, in every process", function()
    local orders = {}
    for i = 1, 6 do
      local order, fns = {}, {}
      local result = R.run { actions = { { id = "a", run = function(_, ctx)
        for n = 1, 12 do
          fns[n] = function()
            local _ <close> = setmetatable({}, { __close = function() order[#order + 1] = n end })
            ctx.sleep(n == 1 and 0 or 100)
            return n
          end
        end
        ctx.first(fns)
        return { order = table.concat(order, " ") }
      end } } }
      orders[i] = result.state.order
    end
    for i = 2, 6 do
      assert.equal(orders[1], orders[i])
    end
  end)
end)
