-- generated_spec.lua: a generated folder runs as it stands: its skill.lua, with a program as agent.
local files = require "skillrt.base.files"
local generate = require "skillrt.document.generate"
local json = require "skillrt.base.json"

local BUILD = os.getenv "SKILLRT_BUILD" or ("build/" .. (os.getenv "SKILLRT_MODE" or "release"))

local AGENT = ('#!/bin/sh\nexec lua5.4 "%s/tests/support/golden_agent.lua"\n'):format(files.current())

local RUN = [[
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
package.cpath = "%s/lib/?.so;" .. package.cpath
local skillrt = require "skillrt"
local skill = assert(skillrt.load "%s/skill.lua")
local result, message = skill:run { work_dir = "%s" }
print(skillrt.json.encode(result and { status = result.status, reason = result.reason } or { message = message }))
]]

local function write(path, text)
  os.execute(("mkdir -p '%s'"):format(path:match "^(.*)/"))
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

local function run(name, lang)
  local base = os.tmpname()
  os.remove(base)
  local folder = ("%s/%s"):format(base, name)
  local config = assert(json.decode(read(("tests/golden/configs/%s.json"):format(name))))
  for _, file in ipairs(assert(generate.generate(config, { lang = lang, templates = "templates" }))) do
    write(folder .. "/" .. file.path, file.text)
  end
  require "tests.support.filled"(folder)
  write(base .. "/run.lua", RUN:format(BUILD, folder, base .. "/work"))
  write(base .. "/agent", AGENT)
  local command = "chmod +x %s/agent; SKILLRT_AGENT=%s/agent lua5.4 %s/run.lua 2>&1 | tail -1"
  local pipe = assert(io.popen(command:format(base, base, base)))
  local said = pipe:read "a"
  pipe:close()
  local state = read(base .. "/work/state.json") or read(base .. "/work/execution-state.json")
  os.execute(("rm -rf '%s'"):format(base))
  return said, state and json.decode(state)
end

describe("a generated folder", function()
  for _, lang in ipairs { "en", "zh" } do
    for _, name in ipairs { "release-notes", "link-fixer", "data-import" } do
      it(("of %s in %s runs to its end once its specs are written (R2, F7)"):format(name, lang), function()
        local said = run(name, lang)
        local result = json.decode(said)
        assert.is_table(result, said)
        assert.equal("completed", result.status, said)
      end)
    end
  end
end)
