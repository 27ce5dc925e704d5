-- calls.lua: BENCH_CALLS HTTP requests to BENCH_URL at once, each of them kept in the journal.
--
-- BENCH_AS: "map" (one action, ctx.map), "actions" (one each, named together) or "phases" (parallel ones).
local skillrt = require "skillrt"

local calls = math.tointeger(tonumber(os.getenv "BENCH_CALLS" or 100))
local url, as = os.getenv "BENCH_URL", os.getenv "BENCH_AS" or "map"

local function ask(ctx, i)
  return assert(ctx.await { kind = "http", method = "POST", url = url, body = ('{"i":%d}'):format(i), idempotent = true,
    headers = { ["Content-Type"] = "application/json" } })
end

local definition = {
  name = "calls",
  durability = "process",
  limits = { max_parallel = calls, max_iterations = calls + 10 },
}

if as == "map" then
  local numbers = {}
  for i = 1, calls do
    numbers[i] = i
  end
  definition.mode = "autonomous"
  definition.actions = {
    { id = "ask", run = function(_, ctx)
      local replies = ctx.map(numbers, function(i)
        return ask(ctx, i).code
      end)
      return { answered = #replies }
    end },
  }
else
  local list, ids = {}, {}
  for i = 1, calls do
    ids[i] = "ask-" .. i
    list[i] = { id = ids[i], parallel = as == "phases" or nil, run = function(_, ctx)
      local reply = ask(ctx, i)
      if as == "phases" then
        return reply.code
      end
      return { ["answer_" .. i] = reply.code }
    end }
  end
  definition[as] = list
  definition.mode = as == "phases" and "sequential" or "autonomous"
  definition.strategy = as == "actions" and function(_, available)
    return #available > 1 and ids or available[1] and available[1].id
  end or nil
end

return skillrt.skill(definition)
