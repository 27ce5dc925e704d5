-- target_machine.lua: the state machine of seed 003 as a skill: the shipped table ("machine": "standard"), with what
-- leads out of an error as examples/machine has it, and functions that do the least a happy run needs.
--
-- Used by specs of machine mode.
local standard = require("skillrt.document.generate.machine").standard().machine

local M = {}

-- What leads to an error and out of it: action, from, to, when, max_runs.
local OF_ERRORS = {
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

-- Rows of the shipped table that differ only in the state they leave are one edge.
local function edges()
  local list, same, tests = {}, {}, {}
  for _, one in ipairs(standard.conditions) do
    tests[one.name] = one.test
  end
  for _, row in ipairs(standard.transitions) do
    local key = ("%s %s %s %s"):format(row.action, row.to, row.when, row.limit)
    if same[key] then
      table.insert(same[key].from, row.from)
    elseif row.from ~= "error" then
      same[key] = { action = row.action, from = { row.from }, to = row.to, when = tests[row.when],
        max_runs = row.limit }
      list[#list + 1] = same[key]
    end
  end
  for _, row in ipairs(OF_ERRORS) do
    list[#list + 1] = { action = row[1], from = row[2], to = row[3], when = row[4], max_runs = row[5] }
  end
  return list
end

local function states()
  local list = {}
  for i, one in ipairs(standard.states) do
    list[i] = one.name
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
    machine = { initial = "initialized", states = states(), edges = edges() },
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
