-- check_machines.lua: an orchestrator document with a state machine, whole or with one fault.
--
-- Used by check_cases.lua and check_machine_spec.lua.
local M = {}

local TEXT = [[# Orchestrator

## Action Registry

| Action | From States | To States | Limit | Description |
|---|---|---|---|---|
| `gather` | `idle` | `gathered` | | gathers |
| `prepare` | `gathered` | `work` | | prepares |
| `run` | `work` | `checked` | 3 | runs |
| `give_up` | `work` | `{failed}` | | gives up |
| `verify` | `checked` | `completed`{back} | | verifies |
| `finish` | `completed` | `completed` | | finishes |
{action}]]

---@param changes table
---@return string
function M.text(changes)
  local parts = {
    failed = changes.without_failure and "checked" or "failed",
    back = changes.back and ", `gathered`" or "",
    action = changes.action or "",
  }
  return (TEXT:gsub("{([%l_]+)}", parts))
end

return M
