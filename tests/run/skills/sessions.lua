-- Sessions: a program that is told all again where it is a new one, and one that is not. What the first answers says
-- how many messages it was told, so that one that is lost or said twice shows itself in the state.
local skillrt = require "skillrt"

local function say(ctx, again, id, what, idempotent, retry)
  local reply, message, class = ctx.await {
    kind = "session", session = again, again = again, id = id, idempotent = idempotent, retry = retry,
    expect = "json", timeout = 3, argv = { "lua5.4", "tests/support/session_program.lua", "lines" },
    message = ('{"do":"%s","id":%d}'):format(what, id),
  }
  return reply and reply.value, message, class
end

local function talk(_, ctx)
  local counts = {}
  for i = 1, 4 do
    local answer, message, class = say(ctx, "feed", i, "echo", i ~= 2) -- the second may act: it is asked about
    if not answer then
      return nil, message, class
    end
    counts[i] = answer.count
  end
  local retry = { max = 3 } -- each needs the other: both are said again together
  local pair, message, class = ctx.all {
    function() return say(ctx, "feed", 5, "hold", true, retry) end,
    function() return say(ctx, "feed", 6, "free", true, retry) end,
  }
  if not pair then
    return nil, message, class
  end
  return { counts = counts, held = pair[1].first, freed = pair[2].second }
end

local function ask(_, ctx)
  local first, message, class = say(ctx, "stateless", 1, "echo", true)
  if not first then
    return nil, message, class
  end
  local second, why, how = say(ctx, "stateless", 2, "echo", false)
  return second and { lengths = { first.length, second.length } }, why, how
end

return skillrt.skill {
  name = "crash-sessions",
  mode = "autonomous",
  state = {},
  retry = { base = 0.001, jitter = false },
  actions = {
    { id = "talk", priority = 10, run = talk },
    { id = "ask", priority = 5, when = "counts && counts.length === 4", run = ask },
  },
}
