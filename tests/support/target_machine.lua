-- target_machine.lua: the state machine of seed 003 as a skill: its transition table with the contradictions of its
-- sources resolved (docs/machine.md), and functions that do the least a happy run needs.
--
-- Used by specs of machine mode.
local M = {}

M.STATES = { "initialized", "collecting_context", "analyzing", "planning", "executing", "verifying", "error",
  "completed", "failed", "aborted" }

---The edges as the table has them: action, from, to, when, max_runs.
M.EDGES = {
  { "collect_context", "initialized", "collecting_context" },
  { "analyze_target", "collecting_context", "analyzing", "context.files.length > 0" },
  { "collect_context", "collecting_context", "collecting_context", nil, 3 },
  { "create_plan", "analyzing", "planning", "context.complexity > complexity_threshold" },
  { "execute_action", { "analyzing", "planning" }, "executing" },
  { "verify_result", "executing", "verifying" },
  { "complete", "verifying", "completed", "validation.passed" },
  { "analyze_target", "verifying", "analyzing", nil, 3 },
  { "analyze_target", "error", "analyzing", "recoverable_errors.includes(error.type)", 3 },
  { "abort", "error", "failed" },
  { "handle_error", "*", "error" },
}

local function nothing() end

-- What a happy run's actions do.
local RUNS = {
  collect_context = function(_, ctx)
    ctx.context.set("target", ctx.input.target)
    ctx.context.set("files", { "a.c" })
    ctx.context.set("complexity", 9)
    ctx.context.set("findings", {})
  end,
  analyze_target = nothing,
  create_plan = nothing,
  execute_action = nothing,
  verify_result = function() return { validation = { passed = true } } end,
}

local function edges()
  local list = {}
  for i, row in ipairs(M.EDGES) do
    list[i] = { action = row[1], from = row[2], to = row[3], when = row[4], max_runs = row[5] }
  end
  return list
end

---@param runs table<string, function>?  in place of those of a happy run
---@param change fun(definition: table)?  what else is different
---@return table definition
function M.of(runs, change)
  local definition = {
    name = "target",
    mode = "machine",
    state = { complexity_threshold = 5, recoverable_errors = { "permanent" } },
    machine = { initial = "initialized", states = { table.unpack(M.STATES) }, edges = edges() },
    actions = {},
  }
  for _, id in ipairs { "collect_context", "analyze_target", "create_plan", "execute_action", "verify_result",
    "complete", "handle_error", "abort" } do
    definition.actions[#definition.actions + 1] = { id = id, run = runs and runs[id] or RUNS[id] }
  end
  if change then
    change(definition)
  end
  return definition
end

---A script with a machine that opens and closes a door once.
M.DOOR = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "door", mode = "machine", state = { guests = 1 }, machine = { initial = "closed",
  states = { "closed", "open", "completed" }, edges = {
    { action = "open", from = "closed", to = "open", when = "guests > 0", max_runs = 5 },
    { action = "lock", from = "closed", to = "completed" }, { action = "close", from = "open", to = "closed" } } },
  actions = { { id = "open", run = function(s) return { guests = s.guests - 1 } end },
    { id = "close", run = function() end }, { id = "lock" } } }
]]

return M
