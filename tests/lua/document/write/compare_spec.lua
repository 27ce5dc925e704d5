-- compare_spec.lua: what differs between a file as it is and as it would be generated, and both in one.
local compare = require "skillrt.document.write.compare"

describe("a difference", function()
  it("is shown as a unified diff with three lines around it", function()
    local old, new = {}, {}
    for i = 1, 20 do
      old[i] = "line " .. i
      new[i] = i == 10 and "LINE 10" or "line " .. i
    end
    local lines = compare.unified(table.concat(old, "\n") .. "\n", table.concat(new, "\n") .. "\nmore", "f.md")
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
    }, lines)
  end)

  it("is nothing where nothing differs, and bounded where all does", function()
    assert.same({}, compare.unified("a\nb\n", "a\nb\n", "f"))
    assert.same({ "@@ -0,0 +1 @@", "+x" }, { table.unpack(compare.unified("", "x\n", "f"), 3) })
    assert.same({ "@@ -1 +0,0 @@", "-x" }, { table.unpack(compare.unified("x\n", "", "f"), 3) })
    local old, new = {}, {}
    for i = 1, 5000 do
      old[i], new[i] = "a" .. i, "b" .. i
    end
    assert.equal(10003, #compare.unified(table.concat(old, "\n") .. "\n", table.concat(new, "\n") .. "\n", "f"))
  end)
end)

describe("what differs between two texts", function()
  it("is not known where the program says nothing of it, as one whose output is lost", function()
    local program = compare.program
    finally(function() compare.program = program end)
    for _, said in ipairs { "", "cut short", "--- a\n+++ b\n" } do
      compare.program = function() return said, 1 end
      assert.is_nil(compare.unified("a\n", "b\n", "f"))
    end
  end)
end)

describe("two versions of a text", function()
  local base = "one\ntwo\nthree\nfour\nfive\n"

  it("become one where they changed different lines", function()
    local merged, conflict = compare.merge("ONE\ntwo\nthree\nfour\nfive\n", base, "one\ntwo\nthree\nfour\nfive\nsix\n")
    assert.same({ "ONE\ntwo\nthree\nfour\nfive\nsix\n", false }, { merged, conflict })
  end)

  it("stand between marks where they changed the same", function()
    local merged, conflict = compare.merge("1\ntwo\nthree\nfour\nfive\n", base, "uno\ntwo\nthree\nfour\nfive\n")
    assert.is_true(conflict)
    assert.truthy(merged:find("<<<<<<< as it is\n1\n", 1, true), merged)
    assert.truthy(merged:find("=======\nuno\n>>>>>>> as generated now\n", 1, true), merged)
  end)

  it("leave nothing in the folder for temporary files", function()
    local function count()
      local pipe <close> = assert(io.popen "ls -d ${TMPDIR:-/tmp}/skillrt-* 2>/dev/null | wc -l")
      return pipe:read "n"
    end
    local before = count()
    compare.merge("a\n", "b\n", "c\n")
    compare.unified("a\n", "b\n", "f")
    assert.equal(before, count())
  end)
end)
