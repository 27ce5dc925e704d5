-- machine_spec.lua: state machines in documents: what is told where registry and diagram disagree, or the registry
-- leads nowhere.
local check = require "skillrt.document.check"
local files = require "skillrt.base.files"
local kit = require "tests.support.cli_kit"
local machines = require "tests.support.check_machines"

local function found(changes)
  local folder <close> = kit.folder()
  local path = folder.path .. "/case"
  assert(files.make_folders(path .. "/phases"))
  assert(files.write(path .. "/SKILL.md", "---\nname: case\ndescription: Does a thing\n---\n# Case\n"))
  assert(files.write(path .. "/phases/orchestrator.md", machines.text(changes)))
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

describe("a state machine in a document", function()
  it("that is of one mind gives no finding", function()
    assert.equal("", found {})
  end)

  it("is told of states that nothing leads to (R127)", function()
    has(found { action = "| `wake` | `waiting` | `work` | 2 | wakes |\n" },
      'unreachable: state "waiting" is never reached')
  end)

  it("has an end for what fails", function()
    has(found { without_failure = true }, "no-failure: no terminal state has the status failed")
  end)

  it("limits edges that lead back (F61)", function()
    has(found { action = "| `rest` | `work` | `gathered` | | again |\n" },
      "gathered comes back to itself by prepare without any limit")
  end)

  it("says where the code of a route would have decided: of rows that need nothing the first is taken", function()
    has(found { action = "| `stop` | `idle` | `failed` | | ends |\n" },
      'shadowed: in state "idle" gather is first and has no condition: stop is never taken')
  end)
end)
