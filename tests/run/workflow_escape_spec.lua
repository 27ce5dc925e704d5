-- workflow_escape_spec.lua: a workflow script reaches nothing of the program it runs in.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local value_of = W.value_of

describe("a workflow script that wants out", function()
  after_each(R.clean)

  it("reaches nothing of the program it runs in", function()
    local escapes = {}
    for line in R.read("tests/run/skills/escapes.js"):gmatch "[^\n]+" do
      escapes[#escapes + 1] = not line:find "^//" and line or nil
    end
    assert.is_true(#escapes > 20)
    local attempts = {}
    for i, line in ipairs(escapes) do
      attempts[i] = ("async () => { %s }"):format(line)
    end
    local got = value_of(("const out = []\nfor (const attempt of [%s]) { let it; try { it = await attempt() } catch (e) {"
      .. " it = e } const host = it && (typeof it === 'object' || typeof it === 'function') && !(it instanceof Object);"
      .. " out.push(host ? 'host object' : it && (it.pid || it.mainModule || it.versions || it.readFileSync) ? 'escaped'"
      .. " : 'held') }\nreturn out"):format(table.concat(attempts, ",\n")))
    for i, line in ipairs(escapes) do
      assert.equal("held", got[i], line)
    end
  end)
end)
