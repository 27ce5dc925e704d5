-- tools.lua: a tool loop of 1,000 rounds: what a round costs at its end, as against its start, but for putting together
-- what is sent: Lua's own work for a model's exchange and a tool's use, the digest of what is declared with it.
--
-- Lua's instructions are counted, which says the same on any machine, and times are taken. In this process, with a ctx
-- that answers at once; that the journal grows with what is new alone is a test. The same work takes longer behind a
-- copy of 300 KB, which leaves nothing in the processor's caches: hence the bound of the time.
local ROUNDS <const>, PART <const>, TIMES <const> = 1000, 100, 5

return function(measure)
  package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
  package.cpath = measure.build .. "/lib/?.so;" .. package.cpath
  local agents = require "skillrt.agent"
  local Call = require "skillrt.run.call.call"
  local tool = require "skillrt.tool"
  local reply = { status = "ok", code = 200, extra = "content-type: application/json\n", body = [[{"model":"m",
    "choices":[
    {
    "finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"c","type":"function",
    "function":{"name":"note","arguments":"{\"text\":\"some words of a note\"}"}}]}}]}]] }
  local run = { work_dir = "/runs/one", skill = { dir = "/skills/one" }, books = { run_id = "r1" } }
  local function talk(clock)
    local at, marks, joined, n = clock(), {}, 0, 0
    local ctx = { log = function() end, used = function() end, use = function(_, fn) return fn("1") end }
    function ctx.await(request)
      Call.digest_of(request, run)
      n = n + 1
      local begun = clock()
      local _ = table.concat(request.declared.body.texts, ",") -- what is sent is put together once; this is as much
      joined = joined + clock() - begun
      if n % PART == 0 then
        marks[#marks + 1], joined = clock() - at - 2 * joined, 0
        collectgarbage() -- it is asked for by the bytes that are sent
        collectgarbage "stop"
        at = clock()
      end
      return reply
    end
    local count = 0
    local note = assert(tool.new({ name = "note", perform = function()
      count = count + 1
      return ("%d %s"):format(count, ("x"):rep(300))
    end, input = { type = "object" } }, "bench"))
    local model = assert(agents.check({ kind = "openai", url = "http://127.0.0.1:1", model = "m", max_turns = ROUNDS,
      max_tool_calls = 2 * ROUNDS, reads = false, asks = false }, "bench"))
    model:perform(ctx, { prompt = "do it", bare = true, own_tools = { note = note }, work_dir = "/runs/one",
      dir = "/skills/one", kind = "action", action = { id = "a" }, step = 1, skill = "s", context_strategy = "memory" })
    collectgarbage "restart"
    return marks
  end
  local first, last = {}, {}
  for i = 1, TIMES do
    local marks = talk(os.clock)
    first[i], last[i] = marks[2], marks[ROUNDS // PART]
  end
  local early, late = measure.least(first), measure.least(last)
  local detail = ("%s a round at its start, %s at its end"):format(measure.time(early / PART * 1e9),
    measure.time(late / PART * 1e9))
  local instructions = 0
  debug.sethook(function() instructions = instructions + 10 end, "", 10)
  local counted = talk(function() return instructions end)
  debug.sethook()
  local begin, finish = counted[2] / PART, counted[ROUNDS // PART] / PART
  return { measure.finding("a round of a tool loop, the last of 1,000 as against the first", late / early, "<=", 2.5,
    detail, "x"),
    measure.finding("the same, by Lua's instructions", finish / begin, "<=", 1.05,
      ("%.0f a round at its start, %.0f at its end"):format(begin, finish), "x") }
end
