-- threat_model_spec.lua: each line of docs/run/security.md that says what is kept names a test that is there.
local R = require "tests.support.runs"

describe("docs/run/security.md", function()
  it("says on its first screen that scripts are not sandboxed", function()
    local head = R.read "docs/run/security.md":sub(1, 400)
    assert.truthy(head:find("Lua scripts are not sandboxed", 1, true))
  end)

  it("names a test that there is for each line of what is kept", function()
    local count = 0
    local kept = R.read "docs/run/security.md":match "## What is kept from whom(.-)\n## "
    for line in kept:gmatch "\n|([^\n]+)" do
      local path, name = line:match '%(%.%./%.%./(tests/[%w_/]+%.lua)%) "([^"]+)"'
      if path then
        count = count + 1
        assert.truthy(R.read(path):find('it("' .. name, 1, true), path .. ": " .. name)
      else
        assert.truthy(line:find("^ what is kept |") or line:find "^%-%-%-", line)
      end
    end
    assert.is_true(count > 15)
  end)
end)
