-- tree_spec.lua: the top of the tree is what was agreed on, and each of its parts is in use.
local files = require "skillrt.base.files"

local function names(folder)
  local found = {}
  for _, entry in ipairs(assert(files.list(folder))) do
    found[entry.name] = entry.kind
  end
  return found
end

describe("the tree", function()
  it("has the agreed top level, with the core in C", function()
    local top = names "."
    for name, kind in pairs {
      Makefile = "file", csrc = "directory", lua = "directory", strategies = "directory",
      templates = "directory", tests = "directory", ["README.md"] = "file",
      ["skillrt-scm-1.rockspec"] = "file",
    } do
      assert.equal(kind, top[name], name)
    end
  end)

  it("names in the rockspec what its Lua loads from elsewhere, and gives a reason for each", function()
    local spec, given, wanted = {}, {}, { lua = true, ["lua-cjson"] = true } -- the last for scripts that require it
    assert(load(assert(files.read "skillrt-scm-1.rockspec"), "=rockspec", "t", spec))()
    for _, line in ipairs(spec.dependencies) do
      given[line:match "^[%w-]+"] = true
    end
    local rocks = { yaml = "lyaml" }
    for path in assert(io.popen "grep -rl base.system lua"):lines() do
      for name in files.read(path):gmatch '"skillrt%.base%.system"%)?%.require[, (]*"(%w+)"' do
        wanted[name == "cjson" and "lua-cjson" or rocks[name] or name] = true
      end
    end
    assert.is_true(wanted.lpeg)
    assert.same(wanted, given)
    local reasons = files.read "docs/inside/architecture.md":lower()
    for name in pairs(given) do
      assert.truthy(reasons:find("\n| " .. name, 1, true), name)
    end
  end)

  it("shows at most a dozen names where the Lua modules begin", function()
    local count = 0
    for _ in pairs(names "lua/skillrt") do
      count = count + 1
    end
    assert.is_true(count <= 12, count .. " names in lua/skillrt")
  end)

  it("has templates, conditions, strategies and generators in Lua, and no eval in them (R194)", function()
    assert.equal("file", names("lua/skillrt/base")["template.lua"])
    assert.equal("file", names("lua/skillrt/document/generate")["init.lua"])
    assert.equal("file", names("strategies")["priority.lua"])
    for _, path in ipairs(assert(files.glob("lua/skillrt", "expr/**/*.lua"))) do
      local text = assert(files.read("lua/skillrt/" .. path))
      for line in text:gmatch "[^\n]+" do
        local code = line:gsub("%-%-.*$", "")
        assert.is_nil(code:find "%f[%w_.]load%s*[%(\"']", path .. ": " .. line)
        assert.is_nil(code:find "%f[%w_.]loadstring%s*%(", path .. ": " .. line)
      end
    end
  end)

  it("says in a file's opening comment who calls it, where it says so", function()
    local texts, wrong = {}, {}
    for folder, pattern in pairs { ["lua/skillrt"] = "**/*.lua", ["."] = "docs/*.lua" } do
      for _, path in ipairs(assert(files.glob(folder, pattern))) do
        texts[path] = assert(files.read(files.join(folder, path)))
      end
    end
    for path, text in pairs(texts) do
      local opening = text:gsub("\nlocal .*", ""):gsub("\n%-%- ?", " ")
      local called = opening:match "Called by ([^;(]*)" or ""
      local module = "skillrt." .. path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
      for name in called:gsub("%.%s.*", ""):gmatch "[%w_/]+%.lua" do
        local is_true = false
        for other, body in pairs(texts) do
          is_true = is_true or ("/" .. other):sub(-#name - 1) == "/" .. name and body:find('"' .. module .. '"', 1, true)
        end
        wrong[#wrong + 1] = not is_true and ("%s: not called by %s"):format(path, name) or nil
      end
    end
    assert.same({}, wrong)
  end)
end)
