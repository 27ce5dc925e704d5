-- files_spec.lua: paths that stay inside, globs, and files as whole texts.
local R = require "tests.support.runs"
local files = require "skillrt.base.files"

describe("a path", function()
  it("is joined to its base, unless it is absolute", function()
    assert.equal("a/b", files.join("a", "b"))
    assert.equal("a/b", files.join("a//", "b"))
    assert.equal("/b", files.join("a", "/b"))
    assert.equal("b", files.join(".", "b"))
    assert.equal("a", files.dirname "a/b")
    assert.equal(".", files.dirname "b")
  end)

  it("is confined where it is relative and climbs nowhere (F13)", function()
    assert.is_true(files.is_confined "a/b..c/.d")
    for path, why in pairs { [""] = "empty", ["/a"] = "absolute", ["a/../b"] = "%.%.", [".."] = "%.%.", ["a\0b"] = "NUL" } do
      local ok, problem = files.is_confined(path)
      assert.is_false(ok)
      assert.matches(why, problem)
    end
  end)
end)

describe("a glob", function()
  after_each(R.clean)

  local function tree()
    local base = R.folder()
    for _, path in ipairs { "a.c", "b.h", "x[1].c", "sub/c.c", "sub/deep/d.c", "sub/deep/e%.txt", ".git/f.c" } do
      assert(files.make_folders(files.dirname(base .. "/" .. path)))
      assert(files.write(base .. "/" .. path, ""))
    end
    assert(os.execute(("ln -s / '%s/loop'"):format(base)))
    return base
  end

  it("gives sorted names below its base; links are not followed, .git is left out", function()
    local base = tree()
    assert.same({ "a.c", "sub/c.c", "sub/deep/d.c", "x[1].c" }, files.glob(base, "**/*.c"))
    assert.same({ "a.c", "x[1].c" }, files.glob(base, "*.c"))
    assert.same({ "sub/deep/d.c" }, files.glob(base, "sub/*/*.c"))
    assert.same({ "b.h" }, files.glob(base, "?.h"))
    assert.same({ "x[1].c" }, files.glob(base, "x[1].c"))
    assert.same({ "sub/deep/e%.txt" }, files.glob(base, "**/e%.txt"))
    assert.same({ "sub/c.c", "sub/deep/d.c" }, files.glob(base, "sub/**.c"))
    assert.same({ "sub/deep/d.c" }, files.glob(base, "**/deep/**/*.c"))
    assert.same({ "a.c", "b.h" }, files.glob(base, "{a,b}.?"))
    assert.same({}, files.glob(base, "*.none"))
    local before = os.clock() -- each "**/" once doubled the time
    assert.same({}, files.glob(base, ("**/"):rep(200) .. "x" .. ("**/*a*"):rep(50)))
    assert.is_true(os.clock() - before < 1)
  end)

  it("says what is wrong with a folder that is not there", function()
    local list, message = files.glob("/no/such/folder", "*")
    assert.is_nil(list)
    assert.matches("^/no/such/folder: ", message)
  end)
end)

describe("a file", function()
  after_each(R.clean)

  it("is read and written whole, any bytes; a missing one is told by name", function()
    local path = R.folder() .. "/x"
    assert(files.write(path, "a\0b\255"))
    assert.equal("a\0b\255", files.read(path))
    local text, message, code = files.read(path .. "-not")
    assert.is_nil(text)
    assert.equal(path .. "-not: No such file or directory", message)
    assert.equal("missing", code)
    assert.is_nil((files.read(path, 2)))
  end)

  it("is created only where nothing lies yet", function()
    local path = R.folder() .. "/new"
    assert(files.create(path, "first\0"))
    local ok, message = files.create(path, "second")
    assert.is_nil(ok)
    assert.equal(path .. ": File exists", message)
    assert.equal("first\0", files.read(path))
  end)
end)
