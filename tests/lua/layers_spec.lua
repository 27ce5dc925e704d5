-- layers_spec.lua: tests/layers.sh finds each kind of upward or sideways use, and says where.

-- Writes the files below a new folder, runs layers.sh there, returns its lines and whether it passed.
local function check(files)
  local root = os.tmpname()
  os.remove(root)
  for path, text in pairs(files) do
    assert(os.execute(("mkdir -p '%s/%s'"):format(root, path:match "^(.*)/")))
    local file <close> = assert(io.open(root .. "/" .. path, "w"))
    file:write(text)
  end
  local pipe = assert(io.popen(("bash tests/layers.sh '%s' 2>&1"):format(root)))
  local output = pipe:read "a"
  local passed = pipe:close() == true
  os.execute(("rm -r '%s'"):format(root))
  return output, passed
end

local function refused(path, text, why)
  local output, passed = check { ["csrc/base/x.h"] = "", [path] = text }
  assert.is_false(passed)
  assert.equal(why .. "\n", output)
end

describe("the floors", function()
  it("let a C floor include what lies below it", function()
    local output, passed = check {
      ["csrc/store/a.c"] = '#include "base/sys.h"\n#include "store/store.h"\n#include <stdio.h>\n',
      ["csrc/engine/engine.c"] = '#include "store/store.h"\n#include "transport/transport.h"\n',
      ["csrc/engine/runtime.c"] = '#include <uv.h>\n#include "engine/engine.h"\n',
      ["csrc/transport/http.c"] = "#include <curl/curl.h>\n#include <uv.h>\n",
      ["csrc/lua/bind_run.c"] = '#include <lua.h>\n#include "engine/runtime.h"\n#include "skillrt.h"\n',
      ["csrc/main.c"] = '#include <lauxlib.h>\n#include "lua/embedded.h"\n',
    }
    assert.equal("", output)
    assert.is_true(passed)
  end)

  it("let the loop alone wait", function()
    refused("csrc/lua/a.c", "int a(void) {\n  return poll(NULL, 0, 10);\n}\n",
      "csrc/lua/a.c:2:  return poll(NULL, 0, 10);  (only csrc/engine/loop.c waits)")
    assert.equal("", (check { ["csrc/engine/loop.c"] = "int a(void) {\n  return poll(NULL, 0, 10);\n}\n" }))
  end)

  it("refuse modules that require each other, lazily too, but not where a comment names one", function()
    local a, b = "lua/skillrt/base/a.lua", "lua/skillrt/base/b.lua"
    local output, passed = check { ["csrc/base/x.h"] = "", [a] = 'local b = require("skillrt.base.b")\n',
      [b] = 'local function later()\n  return require("skillrt.base.a")\nend\n' }
    assert.is_false(passed)
    assert.matches("^modules require each other:\n.*skillrt%.base%.a", output)
    assert.equal("", (check { ["csrc/base/x.h"] = "", [a] = 'local b = require("skillrt.base.b")\n',
      [b] = '-- called as "skillrt.base.a"\n' }))
  end)

  it("refuse a C include that goes up or aside, with file and line", function()
    refused("csrc/base/a.c", '\n#include "store/store.h"\n', "csrc/base/a.c:2: csrc/base must not include store/store.h")
    refused("csrc/store/a.c", '#include "engine/engine.h"', "csrc/store/a.c:1: csrc/store must not include engine/engine.h")
    refused("csrc/engine/a.c", '#include "store/lock.h"', "csrc/engine/a.c:1: csrc/engine must not include store/lock.h")
    refused("csrc/transport/a.c", '#include "store/store.h"',
      "csrc/transport/a.c:1: csrc/transport must not include store/store.h")
  end)

  it("keep Lua, curl and libuv in the rooms that may know them", function()
    refused("csrc/engine/engine.c", "#include <uv.h>",
      "csrc/engine/engine.c:1: uv.h belongs to csrc/transport, csrc/store/watch* and csrc/engine/crew, loop, runtime")
    refused("csrc/engine/engine.c", "# include <lua.h>",
      "csrc/engine/engine.c:1: lua.h belongs to csrc/lua, serve/bind*, sign/bind*, main.c")
    refused("csrc/transport/process.c", "#include <curl/curl.h>",
      "csrc/transport/process.c:1: curl/curl.h belongs to csrc/transport/http*")
  end)

  it("refuse a Lua module that requires upwards, sees the core, or stands nowhere", function()
    refused("lua/skillrt/mode/sequential.lua", 'local p = require "skillrt.run.turn"',
      "lua/skillrt/mode/sequential.lua:1: skillrt.mode.sequential must not require upwards: skillrt.run.turn")
    refused("lua/skillrt/expr/init.lua", "-- head\nlocal c = require('skillrt.core')",
      "lua/skillrt/expr/init.lua:2: skillrt.expr must not see skillrt.core: only base, run, report and the doors do")
    refused("lua/skillrt/nowhere.lua", 'require("skillrt.expr")',
      "lua/skillrt/nowhere.lua:1: skillrt.nowhere stands on no floor: give it one in tests/layers.sh")
    refused("strategies/mine.lua", 'local j = require "skillrt.base.json"',
      "strategies/mine.lua:1: a strategy requires nothing, not skillrt.base.json")
  end)
end)
