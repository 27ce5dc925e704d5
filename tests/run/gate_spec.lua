-- gate_spec.lua: what a stranger left in the current folder, a skill's folder or a run's directory does not run before
-- a person has said that it may, whichever command is typed.
local kit = require "tests.support.cli_kit"

local PLANTED = 'io.open(os.getenv "RAN", "w"):close() error "planted"\n'

local PAGE = [[
---
name: page
description: A page
tags: [a, b]
---
# Page

Do it.
]]

local CONFIG = [[{"skill_name": "calls", "display_name": "C", "description": "d", "execution_mode": "autonomous",
  "autonomous_config": {"actions": [{"id": "action-a", "name": "A", "preconditions": ["state.n > 1"]}]}}]]

-- What Lua would find under these names in the folder that one stands in.
local function plant(folder, dir)
  for _, name in ipairs { "lpeg", "yaml", "lyaml", "cjson", "re", "skillrt" } do
    os.execute(("mkdir -p '%s/%s%s'"):format(folder.path, dir, name))
    folder.file(dir .. name .. ".lua", PLANTED)
    folder.file(dir .. name .. "/init.lua", PLANTED)
    folder.file(dir .. name .. ".so", "no library")
  end
end

describe("a module planted where somebody stands", function()
  it("is run by no command that looks, nor by a run, nor where LUA_PATH names the current folder", function()
    local folder <close> = kit.folder()
    os.execute("mkdir -p " .. folder.path .. "/page " .. folder.path .. "/conf")
    folder.file("page/SKILL.md", PAGE)
    folder.file("conf/skill-config.json", CONFIG)
    folder.file("own.lua", "local helper = require 'helper'\nrequire 'skillrt.expr'.compile('state.n > 1')\n"
      .. "return require 'skillrt'.skill { name = 'own', actions = { { id = 'a', when = 'n < 1', "
      .. "run = function() return { n = helper } end } }, state = { n = 0 } }\n")
    folder.file("helper.lua", "return 7\n")
    for _, dir in ipairs { "", "page/", "conf/" } do
      plant(folder, dir)
    end
    local env = ("RAN=%s/ran XDG_STATE_HOME=%s/state"):format(folder.path, folder.path)
    local paths = " LUA_PATH='./?.lua;?.lua;./?/init.lua;;' LUA_CPATH='./?.so;?.so;;'"
    for _, more in ipairs { "", paths } do
      for _, command in ipairs { "check", "graph", "prompt", "simulate", "tokens", "context", "plan", "mcp --list" } do
        for _, path in ipairs { "page", "conf", "page/SKILL.md", "conf/skill-config.json" } do
          local word, option = command:match "^(%S+) ?(.*)$"
          local run = kit.run(folder, { word, path, option ~= "" and option or nil, env = env .. more })
          assert.is_nil(run.err:find("planted", 1, true), command .. run.err)
          assert.is_nil(folder.read "ran", command .. " " .. path)
        end
      end
      local dir = more == "" and "a" or "b"
      local run = kit.run(folder, { "run", "own.lua", "--work-dir", dir, env = env .. more })
      assert.equal(0, run.code, run.err)
      assert.equal(0, kit.run(folder, { "explain", dir, env = env .. more }).code)
      for _, word in ipairs { "status", "log", "report" } do
        assert.equal(0, kit.run(folder, { word, dir, env = env .. more }).code, word)
      end
      assert.is_nil(folder.read "ran")
    end
  end)
end)
