-- check_machines.lua: an orchestrator document with a state machine, whole or with one fault.
--
-- Used by check_cases.lua and check_machine_spec.lua.
local M = {}

local TEXT = [[# Orchestrator

## States

| State | Description | Exit Actions |
|---|---|---|
| `idle` | waits | `{idle_exit}` |
| `gathered` | has data | `work` |
| `work` | works | `checked` |
| `checked` | is checked | `completed` |
| `completed` | is done | - |
{state}{failure}
## Action Registry

| Action | From States | To States | Description |
|---|---|---|---|
| `gather` | `idle` | `gathered` | gathers |
| `prepare` | `gathered` | `work` | prepares |
| `run` | `work` | `checked` | runs |
| `verify` | `checked` | `completed`{back} | verifies |
| `finish` | `completed` | `completed` | finishes |
{action}
## Routing Logic

```typescript
function route(currentState: State, context: Context): Action {
  switch (currentState) {
    case 'idle':
      return Action.GATHER;
{gathered}    case 'work':
      return Action.{work_returns};
    case 'checked':
      return Action.VERIFY;
{end}    default:
      {default}
  }
}
```

| Condition | Evaluation | Result |
|---|---|---|
| `needsMore()` | {condition} | Boolean |

```json
{ "state": "idle", "context": { "files": [] }, "metrics": { "steps": 3 } }
```

```typescript
function handleError(error: Error): RecoveryAction {
  {recovery}
}
```

| Metric | Type | Description |
|---|---|---|
| `{metric}` | Counter | counts |
]]

---@param changes table
---@return string
function M.text(changes)
  local parts = {
    idle_exit = changes.idle_exit or "gathered",
    state = changes.state or "",
    failure = changes.without_failure and "" or "| `failed` | went wrong | - |\n",
    back = changes.back and ", `gathered`" or "",
    action = changes.action or "",
    gathered = changes.without_gathered and "" or "    case 'gathered':\n      return Action.PREPARE;\n",
    work_returns = changes.work_returns or "RUN",
    ["end"] = changes.without_end and "" or "    case 'completed':\n      return Action.FINISH;\n",
    default = changes.default or "throw new UnknownStateError(currentState);",
    condition = changes.condition or "context.files.length > 0",
    recovery = changes.recovery and ("return RecoveryAction.%s;"):format(changes.recovery) or "throw error;",
    metric = changes.metric or "steps",
  }
  return (TEXT:gsub("{([%l_]+)}", parts))
end

return M
