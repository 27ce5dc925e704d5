-- A loop of one action bounded by max_runs, values beyond 64 KiB (blobs; two of one step), the
-- shared context, a failure that is tried again, recorded ids, and a closing action.
local skillrt = require "skillrt"

local function grow(state, ctx)
  ctx.context.set("last", { n = state.n })
  return { n = state.n + 1, big = string.rep(string.char(97 + state.n), state.n % 2 == 1 and 70000 or 7) }
end

local function check(state, ctx)
  if ctx.attempt == 1 then
    error { message = "flaky once", class = "transient" }
  end
  ctx.context.set("big", { text = string.rep("c", 66000) })
  return { checked = #state.big, proof = string.rep("d", 66000), id = #ctx.uuid(), started = ctx.now() > 0 }
end

return skillrt.skill {
  name = "crash-autonomous",
  mode = "autonomous",
  state = { n = 0, checked = 0, big = "" },
  retry = { base = 0.001, jitter = false },
  actions = {
    { id = "grow", priority = 20, when = "n < 4", max_runs = 4, run = grow },
    { id = "check", priority = 10, when = "n === 4", run = check },
    { id = "finish", priority = 1, when = "checked > 0", terminal = true,
      run = function(state) return { text = "n is " .. state.n } end },
  },
}
