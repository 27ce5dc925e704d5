-- threat_model_spec.lua: each line of docs/run/security.md that says what is kept names a test that is there.
local R = require "tests.support.runs"

describe("docs/run/security.md", function()
  it("says on its first screen which Lua has all that its person may do", function()
    local head = R.read "docs/run/security.md":sub(1, 400)
    assert.truthy(head:find("A Lua script that you name runs with all that you may do", 1, true))
  end)

  -- The lines of the tables between two headings; their last cell is the test.
  local function lines(heading)
    local list = {}
    for line in R.read "docs/run/security.md":match(heading .. "(.-)\n## "):gmatch "\n|([^\n]+)" do
      list[#list + 1] = not line:find "^%-%-%-" and line or nil
    end
    return list
  end

  it("names attempts that there are for each line of what a sandbox keeps", function()
    local escapes, count = R.read "tests/support/escapes.c", 0
    local is_attempt = true
    for _, line in ipairs(lines "## What a sandbox keeps") do
      local last = line:match "|([^|]+)|$"
      local path = last:match "%(%.%./%.%./(tests/[%w_/]+%.%a+)%)"
      local text = path and R.read(path) or escapes
      for name in last:gmatch '"([^"]+)"' do
        count = count + 1
        name = name:gsub(" %.%.%.$", "")
        assert.truthy(text:find('"' .. name, 1, true), ("%s: %s"):format(path or "escapes.c", name))
      end
      is_attempt = is_attempt and not line:find "^ needs |" -- the table of kernels
      assert.truthy(not is_attempt or last:find '"' or line:find "| test |$", line)
    end
    assert.is_true(count > 30, count)
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
