-- workflow_escape_spec.lua: a workflow script reaches nothing of the program it runs in.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"

describe("a workflow script that wants out", function()
  after_each(R.clean)

  -- Each line must be held; a script that is refused whole, with these words, held all.
  local function try(escapes, refused)
    local attempts = {}
    for i, line in ipairs(escapes) do
      attempts[i] = ("async () => { %s }"):format(line)
    end
    local result = W.run(("const out = []\nfor (const attempt of [%s]) { let it; try { it = await attempt() } catch (e) {"
      .. " it = e } const host = it && (typeof it === 'object' || typeof it === 'function') && !(it instanceof Object);"
      .. " out.push(host ? 'host object' : it && (it.pid || it.mainModule || it.versions || it.readFileSync) ? 'escaped'"
      .. " : 'held') }\nreturn out"):format(table.concat(attempts, ",\n")))
    if refused and result.status ~= "completed" then
      return assert.truthy(result.message:find(refused, 1, true), result.message)
    end
    assert.equal("completed", result.status, result.message)
    for i, line in ipairs(escapes) do
      assert.equal("held", result.state.result[i], line)
    end
  end

  it("reaches nothing of the program it runs in", function()
    local escapes, loads, deep = {}, {}, {}
    for line in R.read("tests/run/skills/escapes.js"):gmatch "[^\n]+" do
      local list = line:find "import%(" and loads or line:find "const f = " and deep or escapes
      list[#list + 1] = not line:find "^//" and line or nil
    end
    assert.is_true(#escapes > 60 and #loads > 5 and #deep > 3)
    try(escapes)
    for _, line in ipairs(deep) do -- node 18 itself may end with the stack
      try({ line }, "Maximum call stack size exceeded")
    end
    for _, line in ipairs(loads) do
      try({ line, (line:gsub("import%(", "import /* ( */ //\n  (")) }, "import(...) is not there in a workflow")
    end
  end)

  it("reaches nothing where the stack ends in the midst of a call, of which node 18 ends, too", function()
    local result = W.run([[const deep = () => { try { agent('x'); deep() } catch (e) { throw e } }
try { deep() } catch (e) { return e.constructor.constructor('return process')() }]], { limits = { ask_above = 0 } })
    assert.not_equal("completed", result.status)
    assert.truthy(result.message:find("Code generation from strings disallowed", 1, true)
      or result.message:find("before it answered: RangeError: Maximum call stack", 1, true), result.message)
  end)
end)
