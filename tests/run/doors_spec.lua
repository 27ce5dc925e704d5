-- doors_spec.lua: one skill through each door: the program, the module as LuaRocks installs it, and a
-- strategy of one's own in both; and what skillrt stands on, as it runs.
local core = require "skillrt.core"
local kit = require "tests.support.cli_kit"

local here = core.files.current()
local BUILD = os.getenv "SKILLRT_BUILD" or ("build/" .. (os.getenv "SKILLRT_MODE" or "release"))

local SKILL = [[
local skillrt = require "skillrt"
local function add(id) return function(state) return { order = state.order .. id } end end
return skillrt.skill { name = "three", state = { order = "" }, actions = {
  { id = "a", run = add "a" }, { id = "b", run = add "b" }, { id = "c", run = add "c" } } }
]]
local LAST = 'return { name = "last", select = function(_, available) return available[#available].id end }'

local function shell(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local output = pipe:read "a"
  return output, pipe:close() == true
end

local function order_in(folder, work)
  return assert(folder.read(work .. "/state.json"), work .. " holds no state"):match '"order": "(%a*)"'
end

describe("a skill", function()
  it("runs by `skillrt script.lua`, by the module that LuaRocks installs, and in both by a strategy in Lua (R196)", function()
    local folder <close> = kit.folder()
    folder.file("three.lua", SKILL)
    folder.file("last.lua", LAST)
    local run = kit.run(folder, { "three.lua", "--work-dir", "program" })
    assert.equal(0, run.code, run.err)
    run = kit.run(folder, { "three.lua", "--strategy", "last.lua", "--work-dir", "program-last" })
    assert.equal(0, run.code, run.err)
    assert.same({ "abc", "cba" }, { order_in(folder, "program"), order_in(folder, "program-last") })

    local said, ok = shell(("env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install-rock MODE=%s LUADIR=%s/share LIBDIR=%s/lib"):format(
      os.getenv "SKILLRT_MODE" or "release", folder.path, folder.path))
    assert.is_true(ok, said)
    folder.file("main.lua", [[
      local skill = dofile "three.lua"
      assert(skill:run { work_dir = "module" }.status == "completed")
      assert(skill:run { work_dir = "module-last", strategy = dofile "last.lua" }.status == "completed")
      assert(package.searchpath("skillrt", package.path):find("^" .. arg[1]))]])
    said, ok = shell(("cd %s && LUA_PATH='%s/share/?.lua;%s/share/?/init.lua;;' LUA_CPATH='%s/lib/?.so;;' lua5.4 main.lua %s"):format(
      folder.path, folder.path, folder.path, folder.path, folder.path))
    assert.is_true(ok, said)
    assert.same({ "abc", "cba" }, { order_in(folder, "module"), order_in(folder, "module-last") })
  end)

  it("is run by Lua 5.4, may use lua-cjson, asks over libcurl, and is tested by busted in the tree's folders (R195)", function()
    local folder <close> = kit.folder()
    folder.file("uses.lua", [[
      local skillrt, cjson = require "skillrt", require "cjson"
      return skillrt.skill { name = "uses", actions = { { id = "a", run = function()
        return { version = _VERSION, text = cjson.encode { x = cjson.null }, null = cjson.decode "[null]"[1] == skillrt.json.null }
      end } } }]])
    local run = kit.run(folder, { "uses.lua", "--work-dir", "w" })
    assert.equal(0, run.code, run.err)
    local state = folder.read "w/state.json"
    assert.truthy(state:find('"version": "Lua 5.4"', 1, true), state)
    assert.truthy(state:find([["text": "{\"x\":null}"]], 1, true), state)
    assert.truthy(state:find('"null": true', 1, true), state)
    local needed = shell(("readelf -d %s/lib/skillrt/http.so %s/skillrt"):format(BUILD, BUILD))
    assert.truthy(needed:find("libcurl.so.4", 1, true) and needed:find("liblua5.4.so.0", 1, true), needed)
    assert.equal("Lua 5.4", _VERSION)
    assert.is_table(package.loaded["busted"])
    for name, kind in pairs {
      Makefile = "file", csrc = "folder", lua = "folder", strategies = "folder", templates = "folder", tests = "folder",
      ["skillrt-scm-1.rockspec"] = "file", ["README.md"] = "file",
    } do
      local _, holds = shell(("test -%s %s/%s"):format(kind == "file" and "s" or "d", here, name))
      assert.is_true(holds, name)
    end
    for _, pattern in ipairs { "csrc/*/*.c", "lua/skillrt/*.lua", "strategies/*.lua", "templates/en/*", "tests/lua/*_spec.lua" } do
      assert.truthy(shell(("ls %s/%s | wc -l"):format(here, pattern)):match "^[1-9]", pattern)
    end
  end)
end)
