-- changed_spec.lua: which of a run's files have changed since it was begun.
local resume = require "skillrt.run.resume"

describe("the files that a run is pinned to", function()
  it("are named in order where they differ, are gone, or are new", function()
    assert.same({}, resume.changed_files({ a = "1", b = "2" }, { a = "1", b = "2" }))
    assert.same({ "a", "b (missing)", "c (new)", "d (new)" },
      resume.changed_files({ a = "1", b = "2", e = "5" }, { a = "0", c = "3", d = "4", e = "5" }))
  end)
end)
