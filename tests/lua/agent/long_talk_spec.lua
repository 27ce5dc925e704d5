-- long_talk_spec.lua: a round of a tool loop costs the same at the end of a long talk as at its start, but for what is
-- sent: counted in Lua's instructions, so that no machine matters. bench/rows/tools.lua takes the times.
require "tests.support.json_shim"
local agents = require "skillrt.agent"
local Call = require "skillrt.run.call.call"
local fake = require "tests.support.fake_ctx"
local tool = require "skillrt.tool"
local wires = require "tests.support.wires"

local ROUNDS <const>, PART <const> = 300, 50

-- Instructions of each hundred rounds of a talk that never ends by itself.
local function counted(wire, definition)
  local instructions, marks, n, uses = 0, {}, 0, 0
  local run = { store = require("skillrt.run.store").at("/runs/r1"), skill = { dir = "/skills/rc" }, books = { run_id = "r1" } }
  local reply = wire.asks { { id = "c", name = "note", input = { text = "some words" } } }
  reply.status, reply.code = "ok", 200
  local ctx = fake.new {}
  ctx[require("skillrt.base.privileges").KEY] = { use = function(_, fn) return fn "1" end }
  ctx.used = function() end
  function ctx.await(request)
    Call.digest_of(request, run)
    n = n + 1
    if n % PART == 0 then
      marks[#marks + 1], instructions = instructions, 0
    end
    return reply
  end
  definition.url, definition.max_turns, definition.max_tool_calls = "http://x", ROUNDS, 2 * ROUNDS
  local note = assert(tool.check("note", { description = "x", input = { type = "object" }, run = function()
    uses = uses + 1
    return ("%d %s"):format(uses, ("x"):rep(300))
  end }, "t"))
  local agent = assert(agents.check(definition, "t"))
  debug.sethook(function() instructions = instructions + 100 end, "", 100)
  agent:perform(ctx, fake.task(ctx, { own_tools = { note = note } }))
  debug.sethook()
  assert.equal(ROUNDS, uses)
  return marks
end

describe("a long tool loop", function()
  for name, definition in pairs { anthropic = { kind = "anthropic" }, chat = { kind = "openai" },
    responses = { kind = "openai", api = "responses" } } do
    it("works as much for a round at its end as at its start, over " .. name, function()
      local marks = counted(wires.of[name], definition)
      local early, late = marks[2], marks[ROUNDS // PART]
      assert.is_true(late < early * 1.02, ("%d, then %d instructions of %d rounds"):format(early, late, PART))
    end)
  end
end)
