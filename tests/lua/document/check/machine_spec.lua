-- machine_spec.lua: state machines in documents: routing code, and what is told where route, registry, table and
-- diagram disagree.
local check = require "skillrt.document.check"
local files = require "skillrt.base.files"
local kit = require "tests.support.cli_kit"
local machines = require "tests.support.check_machines"
local route = require "skillrt.document.load.machine.route"

local function routes(code)
  local out, read = {}, route.read(code, function(at)
    return 10 + select(2, code:sub(1, at - 1):gsub("\n", ""))
  end)
  for _, name in ipairs(read.order) do
    local to = {}
    for i, one in ipairs(read.cases[name].to) do
      to[i] = one.action
    end
    out[name] = table.concat(to, " ")
  end
  return out, read
end

local function found(changes)
  local folder <close> = kit.folder()
  local path = folder.path .. "/case"
  assert(files.make_folders(path .. "/phases"))
  assert(files.write(path .. "/SKILL.md", "---\nname: case\ndescription: Does a thing\n---\n# Case\n"))
  assert(files.write(path .. "/phases/orchestrator.md", type(changes) == "string" and changes or machines.text(changes)))
  local out = {}
  for _, one in ipairs(check.check(path).findings) do
    if one.code:find "^machine%." then
      out[#out + 1] = one.code:sub(9) .. ": " .. one.what
    end
  end
  return table.concat(out, "\n")
end

local function has(text, ...)
  for _, part in ipairs { ... } do
    assert.truthy(text:find(part, 1, true), ("no %q in\n%s"):format(part, text))
  end
end

describe("routing code", function()
  it("is read from switch and case", function()
    local cases, read = routes [[
function route(currentState: State, context: Context): Action {
  switch (currentState) {
    case 'one':
    case 'two':
      return Action.LOAD_ALL;
    case "three":
      if (context.isReady()) {
        return Action.GO;
      }
      return Action.WAIT; // not yet
    case 'bad':
      throw new Stop(context);
    default:
      throw new UnknownStateError(currentState);
  }
}
]]
    assert.same({ one = "load_all", two = "load_all", three = "go wait", bad = "" }, cases)
    assert.is_true(read.cases.bad.throws)
    assert.is_true(read.default.throws)
    assert.equal(19, read.cases.three.to[2].line)
  end)

  it("is read from a chain of ifs with a default (R155)", function()
    local cases, read = routes [[
function route(state, context) {
  if (state === 'one') return 'load';
  if (state === 'two') {
    if (context.hasRisk()) return 'deep';
    return 'report';
  }
  return 'complete';
}
]]
    assert.same({ one = "load", two = "deep report" }, cases)
    assert.equal("complete", read.default.to[1].action)
  end)

  it("is read over lines, and behind a switch it is for the states without a case", function()
    local _, read = routes [[
function route(state) {
  switch (state) {
    case 'one':
      return state.ok && state.list.length > 0
        ? 'go'
        : 'wait';
  }
  return 'complete';
}]]
    assert.same({ { action = "go", when = "state.ok && state.list.length > 0", line = 13 }, { action = "wait", line = 13 } },
      read.cases.one.to)
    assert.same({ { action = "complete", line = 17 } }, read.default.to)
  end)

  it("that routes by no state is no route", function()
    assert.is_nil(route.read("function add(a, b) { return 'x'; }", function() end))
  end)
end)

describe("a state machine in a document", function()
  it("that is of one mind gives no finding", function()
    assert.equal("", found {})
  end)

  it("routes what the registry forbids, and states that nothing leads to are told (R127)", function()
    local told = found { work_returns = "GATHER", state = "| `waiting` | waits | `work` |\n" }
    has(told, 'in state "work" the route picks "gather", but the registry allows it only from idle')
    has(told, 'unreachable: state "waiting"', 'unreachable: state "checked"', 'never-routed: no state routes to "run"')
  end)

  it("has a case for each state and an end for what fails", function()
    has(found { without_end = true }, 'no-route: state "completed" has no case in the route: it throws')
    has(found { without_failure = true }, "no-failure: no state says that a run failed")
  end)

  it("limits edges that lead back (F61)", function()
    has(found { back = true }, 'gathered comes back to itself by prepare without end')
  end)

  it("consumes its recoveries and defines what it compares", function()
    local told = found { recovery = "TRY_ALTERNATIVE", condition = "context.complexity > threshold" }
    has(told, "recovery: the recovery TRY_ALTERNATIVE", "reads complexity, threshold")
  end)

  it("counts under one set of names", function()
    has(found { metric = "completion_rate" }, 'the state file holds no "completion_rate"')
  end)

  it("in its short form falls through and completes with an action nobody registered (R154, R155)", function()
    local told = found [[
# Orchestrator

```mermaid
stateDiagram-v2
  open --> quick
  open --> deep
  quick --> write
  write --> done
  deep --> write
```

## Action Registry

| Action | Description |
|---|---|
| `scan` | scans |
| `dig` | digs |
| `report` | reports |

```typescript
function route(state, context) {
  if (state === 'open') return context.risky() ? 'dig' : 'scan';
  if (state === 'deep') return 'report';
  return 'complete';
}
```
]]
    has(told, 'falls-through: state "quick" has no case', 'the route returns "complete", which is not registered')
  end)
end)
