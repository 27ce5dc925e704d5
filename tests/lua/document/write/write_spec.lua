-- write_spec.lua: generated files into a folder: an interrupted change is finished by the next, nothing is written
-- elsewhere, and never over what a person wrote.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local writer = require "skillrt.document.write"

local base

local function write(path, text)
  assert(files.make_folders(files.dirname(path)))
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

-- Every file below a folder, also hidden ones; the manifest apart.
local function tree(dir)
  local found = {}
  for _, name in ipairs(files.glob(dir, "**/*") or {}) do
    if name ~= writer.MANIFEST and name ~= ".skillrt-texts.json" then
      found[name] = read(dir .. "/" .. name)
    end
  end
  return found
end

local function list(texts)
  local out = {}
  for path, text in pairs(texts) do
    out[#out + 1] = { path = path, text = text }
  end
  table.sort(out, function(a, b)
    return a.path < b.path
  end)
  return out
end

local function put(dir, files_list, options)
  local plan, message, code = writer.plan(dir, files_list, options)
  if not plan then
    return nil, message, code
  end
  local ok
  ok, message, code = writer.write(plan, options)
  return ok and plan, message, code
end

local function what(plan)
  local out = {}
  for _, item in ipairs(plan.items) do
    out[item.path] = item.what
  end
  return out
end

local OLD = { ["SKILL.md"] = "old\n", ["phases/a.md"] = "a\n", ["phases/actions/x.md"] = "x\n", ["z.md"] = "z\n" }
local NEW = { ["SKILL.md"] = "new\n", ["phases/a.md"] = "a\n", ["phases/b.md"] = "b\n", ["deep/er/c.md"] = "c\n", ["z.md"] = "y\n" }

before_each(function()
  base = os.tmpname()
  os.remove(base)
  assert(files.make_folders(base))
end)

after_each(function()
  os.execute(("rm -rf '%s'"):format(base))
end)

describe("writing a generated folder", function()
  it("makes a new one with folders above it, and leaves nothing beside it", function()
    local plan = assert(put(base .. "/up/skill/", list(OLD)))
    assert.same(OLD, tree(base .. "/up/skill"))
    assert.equal(base .. "/up/skill", plan.dir)
    assert.equal(1, #files.list(base .. "/up"))
  end)

  it("keeps the digests of what was generated, the same bytes each time", function()
    assert(put(base .. "/one", list(OLD), { lang = "zh" }))
    assert(put(base .. "/two", list(OLD), { lang = "zh" }))
    local text = read(base .. "/one/" .. writer.MANIFEST)
    assert.equal(text, read(base .. "/two/" .. writer.MANIFEST))
    local manifest = json.decode(text)
    assert.equal(files.digest "old\n", manifest.files["SKILL.md"])
    assert.equal("zh", manifest.lang)
  end)

  it("tells what is new, changed, the same and no longer generated, and does just that", function()
    local dir = base .. "/skill"
    assert(put(dir, list(OLD)))
    write(dir .. "/mine.txt", "mine")
    local plan = assert(put(dir, list(NEW)))
    assert.same({
      ["SKILL.md"] = "changed",
      ["phases/a.md"] = "same",
      ["phases/b.md"] = "new",
      ["deep/er/c.md"] = "new",
      ["z.md"] = "changed",
      ["phases/actions/x.md"] = "gone",
    }, what(plan))
    local expected = setmetatable({}, nil)
    for path, text in pairs(NEW) do
      expected[path] = text
    end
    expected["mine.txt"] = "mine"
    assert.same(expected, tree(dir))
    assert.is_nil(files.stat(dir .. "/phases/actions"))
  end)

  it("touches nothing where all is the same", function()
    local dir = base .. "/skill"
    assert(put(dir, list(OLD)))
    local before = files.stat(dir .. "/" .. writer.MANIFEST).mtime_ns
    assert(put(dir, list(OLD)))
    assert.equal(before, files.stat(dir .. "/" .. writer.MANIFEST).mtime_ns)
  end)

  it("plans without writing", function()
    assert(writer.plan(base .. "/skill", list(OLD)))
    assert.is_nil(files.stat(base .. "/skill"))
  end)
end)

describe("what a person wrote", function()
  it("is kept where the same is generated as before", function()
    local dir = base .. "/skill"
    assert(put(dir, list(OLD)))
    write(dir .. "/phases/a.md", "by hand\n")
    local plan = assert(put(dir, list(NEW)))
    assert.equal("own", what(plan)["phases/a.md"])
    assert.same({ "by hand\n", "new\n" }, { read(dir .. "/phases/a.md"), read(dir .. "/SKILL.md") })
    assert.equal("own", what(assert(put(dir, list(NEW))))["phases/a.md"])
  end)

  it("is merged with what is generated now, and stays so from then on", function()
    local dir = base .. "/skill"
    local one = { ["a.md"] = "# A\n\nfirst\n\nwork\n\nlast\n" }
    local two = { ["a.md"] = "# B\n\nfirst\n\nwork\n\nlast\n" }
    assert(put(dir, list(one)))
    write(dir .. "/a.md", "# A\n\nfirst\n\nmy work\n\nlast\n")
    assert.equal("merged", what(assert(put(dir, list(two))))["a.md"])
    assert.equal("# B\n\nfirst\n\nmy work\n\nlast\n", read(dir .. "/a.md"))
    assert.equal("own", what(assert(put(dir, list(two))))["a.md"])
    assert.equal("merged", what(assert(put(dir, list(one))))["a.md"])
    assert.equal("# A\n\nfirst\n\nmy work\n\nlast\n", read(dir .. "/a.md"))
  end)

  it("is shown beside what is generated where both changed the same lines", function()
    local dir = base .. "/skill"
    assert(put(dir, list(OLD)))
    write(dir .. "/z.md", "by hand\n")
    local plan = assert(writer.plan(dir, list(NEW)))
    assert.equal("edited", what(plan)["z.md"])
    for _, item in ipairs(plan.items) do
      if item.path == "z.md" then
        assert.truthy(item.conflict:find("<<<<<<< as it is\nby hand\n", 1, true), item.conflict)
      end
    end
  end)

  it("is not overwritten, and then nothing else is written either", function()
    local dir = base .. "/skill"
    assert(put(dir, list(OLD)))
    write(dir .. "/z.md", "by hand\n")
    local ok, message, code = put(dir, list(NEW))
    assert.is_nil(ok)
    assert.equal("edited", code)
    assert.truthy(message:find("z.md", 1, true))
    assert.equal("old\n", read(dir .. "/SKILL.md"))
  end)

  it("is overwritten when told so", function()
    local dir = base .. "/skill"
    assert(put(dir, list(OLD)))
    write(dir .. "/z.md", "by hand\n")
    local plan = assert(put(dir, list(NEW), { force = true }))
    assert.equal("edited", what(plan)["z.md"])
    assert.same(NEW, tree(dir))
  end)

  it("counts as such where the folder was never generated", function()
    local dir = base .. "/skill"
    write(dir .. "/SKILL.md", "by hand\n")
    assert.equal("edited", what(assert(writer.plan(dir, list(OLD))))["SKILL.md"])
  end)

  it("stays where it is no longer generated", function()
    local dir = base .. "/skill"
    assert(put(dir, list(OLD)))
    write(dir .. "/phases/actions/x.md", "by hand\n")
    assert.equal("left", what(assert(put(dir, list(NEW))))["phases/actions/x.md"])
    assert.equal("by hand\n", read(dir .. "/phases/actions/x.md"))
  end)

  it("stays in an outline, that is written only where none is", function()
    local dir, outline = base .. "/skill", { { path = "specs/tone.md", text = "outline\n", once = true } }
    assert.equal("new", what(assert(put(dir, outline)))["specs/tone.md"])
    write(dir .. "/specs/tone.md", "filled in\n")
    assert.equal("kept", what(assert(put(dir, outline, { force = true })))["specs/tone.md"])
    assert.equal("filled in\n", read(dir .. "/specs/tone.md"))
  end)

  it("stays in the config that the folder is generated from", function()
    local dir = base .. "/skill"
    local config = { { path = "skill-config.json", text = "{ normal }\n" } }
    assert(put(dir, config))
    write(dir .. "/skill-config.json", "{edited}")
    assert.equal("kept", what(assert(put(dir, config, { source = "{edited}" })))["skill-config.json"])
    assert.equal("{edited}", read(dir .. "/skill-config.json"))
  end)
end)

describe("the outside", function()
  it("is no path of a generated file", function()
    for _, path in ipairs { "../x", "a/../../x", "/etc/x", "", "a//b", "./a", "a/.", "a\nb", "a\0b", ".skillrt-generated.json" } do
      local ok, message, code = put(base .. "/skill", { { path = path, text = "x" } })
      assert.is_nil(ok, path)
      assert.equal("invalid", code, message)
    end
    assert.is_nil(files.stat(base .. "/skill"))
  end)

  it("is not reached through a link in the folder", function()
    local dir = base .. "/skill"
    assert(files.make_folders(base .. "/elsewhere"))
    assert(files.make_folders(dir))
    assert(os.execute(("ln -s ../elsewhere '%s/phases'"):format(dir)))
    local ok, message, code = put(dir, list(OLD), { force = true })
    assert.is_nil(ok)
    assert.equal("invalid", code)
    assert.truthy(message:find("phases/a.md: leads through a link", 1, true), message)
    assert.same({}, files.list(base .. "/elsewhere"))
    assert.is_nil(files.stat(dir .. "/SKILL.md"))
  end)

  it("is not written through a link that lies in a file's place", function()
    local dir = base .. "/skill"
    assert(files.make_folders(dir))
    write(base .. "/precious", "precious")
    assert(os.execute(("ln -s ../precious '%s/SKILL.md'"):format(dir)))
    local ok, message = put(dir, list(OLD), { force = true })
    assert.is_nil(ok)
    assert.truthy(message:find("SKILL.md: leads through a link", 1, true), message)
    assert.equal("precious", read(base .. "/precious"))
  end)

  it("is where a folder that a person names by a link leads", function()
    assert(files.make_folders(base .. "/real"))
    assert(os.execute(("ln -s real '%s/link'"):format(base)))
    assert(put(base .. "/link", list(OLD)))
    assert.same(OLD, tree(base .. "/real"))
    assert(os.execute(("ln -s nowhere '%s/dangling'"):format(base)))
    local ok, message = put(base .. "/dangling", list(OLD))
    assert.is_nil(ok)
    assert.truthy(message:find("broken link", 1, true), message)
  end)

  it("is told where a file stands in a folder's place, and the other way round", function()
    local dir = base .. "/skill"
    write(dir .. "/phases", "a file")
    local _, message = put(dir, list(OLD), { force = true })
    assert.truthy(message:find("phases/a.md: Not a directory", 1, true), message)
    os.remove(dir .. "/phases")
    assert(files.make_folders(dir .. "/z.md"))
    _, message = put(dir, list(OLD), { force = true })
    assert.truthy(message:find("z.md: not a regular file", 1, true), message)
    local refused, why = put(base .. "/skill/z.md/../../skill/x", { { path = "a", text = "" }, { path = "a", text = "" } })
    assert.is_nil(refused)
    assert.truthy(why:find("generated twice", 1, true), why)
  end)

  it("may not be described by a damaged manifest", function()
    local dir = base .. "/skill"
    for text, sign in pairs {
      ["{"] = "delete it",
      ['{"format":1,"files":{"../x":"00"}}'] = "cannot be one of ours",
      ['{"format":2,"files":{}}'] = "another version",
    } do
      write(dir .. "/" .. writer.MANIFEST, text)
      local ok, message = put(dir, list(OLD))
      assert.is_nil(ok)
      assert.truthy(message:find(sign, 1, true), message)
    end
  end)
end)

-- The n-th call that changes something, and all after it, do not happen: as after kill -9.
local function killed_at(n, work)
  local real, count = {}, 0
  for _, name in ipairs { "put", "remove", "make_folders" } do
    real[name] = files[name]
    files[name] = function(path, ...)
      count = count + 1
      if count >= n then
        if name == "put" and count == n then
          real.put(path, (...):match "[^/]*$" .. ".new-0123abcd", "ha") -- where files.put has its own (below.h)
        end
        error("killed", 0)
      end
      return real[name](path, ...)
    end
  end
  local ok, message = pcall(work)
  for name, call in pairs(real) do
    files[name] = call
  end
  if not ok and not tostring(message):find "killed" then
    error(message, 0)
  end
  return count >= n
end

describe("an interrupted generation", function()
  it("of a new folder leaves nothing, all, or what says that it is not whole, wherever it was killed", function()
    local n, dir = 0, base .. "/skill"
    repeat
      n = n + 1
      local killed = killed_at(n, function()
        assert(put(dir, list(OLD)))
      end)
      local there = tree(dir)
      local begun = there["SKILL.md"] ~= nil
      assert.is_true(not begun or there["z.md"] == "z\n" or writer.is_unfinished(dir), "after call " .. n)
      assert(put(dir, list(OLD)))
      assert.same(OLD, tree(dir))
      assert.is_false(writer.is_unfinished(dir))
      os.execute(("rm -rf '%s'"):format(dir))
    until not killed
    assert.is_true(n > 7)
  end)

  it("of a folder that is there is finished by the next one, whichever it is, wherever it was killed", function()
    local n, seen = 0, {}
    repeat
      n = n + 1
      local killed
      for _, after in ipairs { OLD, NEW } do
        local dir = ("%s/%d-%s"):format(base, n, after == OLD and "old" or "new")
        assert(put(dir, list(OLD)))
        killed = killed_at(n, function()
          assert(put(dir, list(NEW)))
        end)
        local now = tree(dir)
        local mixed = now["SKILL.md"] ~= OLD["SKILL.md"] and now["z.md"] ~= NEW["z.md"]
        assert.is_true(writer.is_unfinished(dir) or not mixed, "after call " .. n)
        seen[writer.is_unfinished(dir)] = true
        assert(put(dir, list(after))) -- nothing counts as changed by a person
        assert.same(after, tree(dir), "after call " .. n)
        assert.is_false(writer.is_unfinished(dir))
      end
    until not killed
    assert.same({ [true] = true, [false] = true }, seen)
  end)

  it("is finished without taking what a person wrote in between", function()
    local n, met = 0, 0
    repeat
      n = n + 1
      local dir = ("%s/%d"):format(base, n)
      assert(put(dir, list(OLD)))
      local killed = killed_at(n, function()
        assert(put(dir, list(NEW)))
      end)
      if writer.is_unfinished(dir) and read(dir .. "/z.md") == "z\n" then
        met = met + 1
        write(dir .. "/z.md", "by hand\n")
        assert.equal("edited", what(assert(writer.plan(dir, list(NEW))))["z.md"])
        assert.is_nil(put(dir, list(NEW)))
        assert.equal("by hand\n", read(dir .. "/z.md"))
        assert.is_true(writer.is_unfinished(dir))
      end
    until not killed
    assert.is_true(met > 0)
  end)

  it("leaves a file that is changed while it is generated", function()
    local dir = base .. "/skill"
    assert(put(dir, list(OLD)))
    local plan = assert(writer.plan(dir, list(NEW)))
    write(dir .. "/z.md", "meanwhile\n")
    local ok, message, code = writer.write(plan)
    assert.is_nil(ok)
    assert.equal("edited", code)
    assert.truthy(message:find("z.md", 1, true), message)
    assert.equal("meanwhile\n", read(dir .. "/z.md"))
  end)
end)
