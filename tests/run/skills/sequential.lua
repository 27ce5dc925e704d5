-- Four phases in order, one left out by its condition: outputs as files and as inputs, a
-- context value, a retry, a file written by the step itself.
local skillrt = require "skillrt"

local function plan(_, ctx)
  ctx.context.set("plan", { steps = 3, by = ctx.id })
  ctx.log "planned"
  return { "collect", "write" }, { planned = true }
end

local function collect(state, ctx)
  if ctx.attempt < 2 then
    return nil, "not yet there", "transient"
  end
  return "# collected\n" .. #state.outputs.plan .. "\n", { count = state.count + 1 }
end

local function write(state, ctx)
  local ok, message = ctx.write("notes/written.txt", "count " .. state.count .. "\n")
  if not ok then
    return nil, message, "transient"
  end
  return { ok = true }, { count = state.count + 1 }
end

return skillrt.skill {
  name = "crash-sequential",
  mode = "sequential",
  state = { count = 0, planned = false },
  retry = { base = 0.001, jitter = false },
  phases = {
    { id = "plan", run = plan, output = "plan.json" },
    { id = "collect", run = collect, output = "out/collected.md" },
    { id = "never", run = plan, when = "count > 5", output = "never.json" },
    { id = "write", run = write, when = "planned && count === 1", output = "out/deep/written.json" },
  },
}
