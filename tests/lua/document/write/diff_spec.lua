-- writer_diff_spec.lua: what differs between a file as it is and as it would be generated.
local diff_of = require "skillrt.document.write.diff"

describe("a difference", function()
  it("is shown as a unified diff with three lines around it", function()
    local old, new = {}, {}
    for i = 1, 20 do
      old[i] = "line " .. i
      new[i] = i == 10 and "LINE 10" or "line " .. i
    end
    local diff = diff_of.unified(table.concat(old, "\n") .. "\n", table.concat(new, "\n") .. "\nmore", "f.md")
    assert.same({
      "--- f.md (as it is)",
      "+++ f.md (as generated)",
      "@@ -7,7 +7,7 @@",
      " line 7",
      " line 8",
      " line 9",
      "-line 10",
      "+LINE 10",
      " line 11",
      " line 12",
      " line 13",
      "@@ -18,3 +18,4 @@",
      " line 18",
      " line 19",
      " line 20",
      "+more",
      "\\ No newline at end of file",
    }, diff.lines)
    assert.same({ 2, 1 }, { diff.added, diff.removed })
  end)

  it("is the shortest one, and bounded where all differs", function()
    assert.equal(0, #diff_of.unified("a\nb\n", "a\nb\n", "f").lines)
    local diff = diff_of.unified("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", "f")
    assert.equal(5, diff.added + diff.removed)
    local old, new = {}, {}
    for i = 1, 5000 do
      old[i], new[i] = "a" .. i, "b" .. i
    end
    local started = os.clock()
    diff = diff_of.unified(table.concat(old, "\n"), table.concat(new, "\n"), "f")
    assert.same({ 5000, 5000 }, { diff.added, diff.removed })
    assert.is_true(os.clock() - started < 1)
    assert.equal("@@ -0,0 +1 @@", diff_of.unified("", "x\n", "f").lines[3])
    assert.equal("@@ -1 +0,0 @@", diff_of.unified("x\n", "", "f").lines[3])
  end)
end)
