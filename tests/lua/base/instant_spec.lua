-- instant_spec.lua: times as they are given: milliseconds, or a text.
require "tests.support.json_shim"
local instant = require "skillrt.base.instant"

describe("a time", function()
  it("is milliseconds, whole ones of what has a fraction", function()
    for _, given in ipairs { 1790000000000, 1790000000000.0, 1790000000000.9 } do
      local ms = instant.read(given)
      assert.equal(1790000000000, ms)
      assert.equal("integer", math.type(ms))
    end
    for _, given in ipairs { -1, 1 << 47, 2.0 ^ 47, -0.5, 0 / 0, math.huge } do
      assert.is_nil((instant.read(given)))
    end
    assert.equal(0, instant.read(0))
  end)
end)
