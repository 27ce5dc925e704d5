-- A run that is aborted, and a sub-run of it that was aborted before: what either did is undone by commands of its own,
-- the last first, two at once for each. Its steps are longer than they should be where time jumps.
local skillrt = require "skillrt"

local function must(value, message, class)
  if value == nil then
    error { message = message, class = class }
  end
  return value
end

local function say(ctx, words)
  return table.concat(must(ctx.map(words, function(word)
    return must(ctx.await { kind = "command", argv = { "printf", word }, idempotent = true }).stdout
  end)), " ")
end

local function booked(id)
  return {
    id = id,
    run = function(_, ctx) return { [id] = say(ctx, { id }) } end,
    undo = function(state, ctx, done)
      assert(done.id == id and state[id])
      return { ["no_" .. id] = say(ctx, { "no-" .. id .. "-1", "no-" .. id .. "-2" }), last = id }
    end,
  }
end

local function fatal() return nil, { class = "fatal", message = "refused" } end

local inner = skillrt.skill { name = "inner", strategy = "sequential",
  actions = { booked "car", booked "hotel", { id = "visa", run = fatal } } }

return skillrt.skill {
  name = "crash-undone", strategy = "sequential", retry = { base = 0.001, jitter = false }, timeouts = { step = 30 },
  actions = {
    { id = "trip", run = function(_, ctx)
      local result, message, _, ended = ctx.run(inner, {})
      return { failed = result == nil, said = message, last_inner = ended and ended.state.last or "" }
    end },
    booked "flight",
    booked "train",
    { id = "end", run = fatal },
  },
}
