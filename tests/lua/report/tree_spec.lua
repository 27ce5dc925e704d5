-- tree_spec.lua: the tree of what is written: all of a folder that has room, else what changes first.
require "tests.support.json_shim"
local tree = require "skillrt.report.tree"

local function plan(count)
  local items = {}
  for i = 1, count do
    items[i] = { path = ("docs/%02d.md"):format(i), what = i == count and "new" or "same", text = "x" }
  end
  return { dir = "/out", items = items }
end

local function lines(count)
  return tree.lines(plan(count), function(_, text) return text end)
end

describe("the tree of what is written", function()
  it("shows a folder of 40 in its order", function()
    local list = lines(40)
    assert.equal("/out/", list[1])
    assert.equal("`-- docs/", list[2])
    assert.equal(42, #list)
    assert.matches("^    |%-%- 01%.md +1 B  ", list[3])
    assert.matches("^    `%-%- 40%.md +1 B  ", list[42])
  end)

  it("shows of a larger one what changes first, and says how many there are besides", function()
    local list = lines(43)
    assert.matches("^    |%-%- 43%.md ", list[3])
    assert.matches("^    |%-%- 01%.md ", list[4])
    assert.equal("    `-- ... and 3 more", list[43])
  end)
end)
