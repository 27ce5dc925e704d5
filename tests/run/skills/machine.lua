-- A machine that waits for three commands at once, fails and recovers by its handler, goes back by an edge with a
-- limit, writes beyond 64 KiB, and has a machine inside: four commands in each of its two rounds.
local skillrt = require "skillrt"

local inner = skillrt.skill {
  name = "inner",
  retry = { base = 0.001, jitter = false },
  machine = {
    initial = "small",
    states = { "small", "large", "completed", "failed" },
    edges = {
      { action = "grow", from = "small", to = "large" },
      { action = "done", from = "large", to = "completed" },
      { action = "handle_error", from = "*", to = "failed" },
    },
  },
  actions = {
    { id = "grow", run = function(_, ctx)
      local reply, message, class = ctx.await { kind = "command", argv = { "printf", "inner" }, idempotent = true }
      return reply and { text = reply.stdout }, message, class
    end },
    { id = "done" },
    { id = "handle_error" },
  },
}

local function work(state, ctx)
  local replies, message, class = ctx.map({ "a", "b", "c" }, function(name)
    local word = name .. state.round .. state.error_count
    return ctx.await { kind = "command", argv = { "printf", word }, idempotent = true }
  end)
  if not replies then
    return nil, message, class
  elseif state.error_count == 0 then
    return nil, "no luck"
  end
  local texts = {}
  for i, reply in ipairs(replies) do
    texts[i] = reply.stdout
  end
  return { made = table.concat(texts, " "), big = ("x"):rep(66000) }
end

return skillrt.skill {
  name = "crash-machine",
  mode = "machine",
  retry = { base = 0.001, jitter = false },
  state = { round = 1, big = "", made = "" },
  machine = {
    initial = "begun",
    history = 6,
    states = { "begun", "working", "judging", "error", "completed", "failed" },
    edges = {
      { action = "begin", from = "begun", to = "working" },
      { action = "work", from = "working", to = "judging" },
      { action = "finish", from = "judging", to = "completed", when = "round > 1" },
      { action = "again", from = "judging", to = "working", max_runs = 3 },
      { action = "begin", from = "error", to = "working", max_runs = 2 },
      { action = "handle_error", from = "*", to = "error" },
    },
  },
  actions = {
    { id = "begin" },
    { id = "work", run = work },
    { id = "again", run = function(state) return { round = state.round + 1 } end },
    { id = "finish", skill = { inner, as = "inner" } },
    { id = "handle_error", run = function(state) return { was = state.error.message } end },
  },
}
