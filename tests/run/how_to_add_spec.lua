-- how_to_add_spec.lua: docs/inside/extend.md, tried as its reader would: files are put into a copy of the
-- tree, the program is built, and it has what they say. (A record needs no build: tests/lua/run/record_spec.lua.)
local kit = require "tests.support.cli_kit"
local pages = require "tests.support.pages"

local MODE = os.getenv "SKILLRT_MODE" or "release"

local COMMAND = [[
return {
  name = "hello",
  summary = "Greets",
  arguments = { { name = "NAME", help = "who is greeted" } },
  options = {},
  run = function(args)
    require("skillrt.report.output").write("hello " .. args.name .. "\n")
    return 0
  end,
}
]]

local LIMIT = [[
local M = { name = "max_starts", type = "positive", unit = "steps", status = "paused", reason = "start_limit", code = 19,
  text = "how often one action may begin" }
function M.before_step(bound, one)
  local count = bound.books.runs[one.id] or 0
  return count >= bound.most and ("%s began %d times"):format(one.id, count) or nil
end
return M
]]

local CODE = [[
name.short warning
  people cannot tell it from others
  give it a longer name
]]

local CHECK = [[
local inputs_of_phases = M.check
function M.check(model, found)
  inputs_of_phases(model, found)
  for id, action in pairs(model.actions) do
    if #tostring(action.id or id) == 1 then
      found:add("name.short", action.place(), ("the action %s has one letter"):format(action.id or id))
    end
  end
end

return M
]]

local SKILL = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "added", state = { n = 0 }, limits = { max_starts = LIMIT },
  actions = {
    { id = "q", when = "!answer", agent = { kind = "oracle", program = "./delphi" }, prompt = "Is it?" },
    { id = "count", when = "n < 5", max_runs = 9, run = function(state) return { n = state.n + 1 } end },
  },
}
]]

-- The example of docs/inside/extend.md.
local function oracle()
  for _, block in ipairs(pages.blocks(pages.read "docs/inside/extend.md")) do
    if block.info == "lua file oracle.lua" then
      return block.text
    end
  end
end

-- A file's last `return M` gives way to what is added.
local function appended(text, more) return (text:gsub("return M%s*$", function() return more end)) end

describe("how to add", function()
  local folder

  setup(function()
    folder = kit.folder()
    local tree = folder.path
    assert(os.execute(("cp -a Makefile make csrc lua strategies templates docs *.rockspec skillrt.pc.in %s/ && " ..
      "mkdir %s/build && cp -a build/%s %s/build/"):format(tree, tree, MODE, tree)))
    folder.file("lua/skillrt/cli/command/hello.lua", COMMAND)
    folder.file("lua/skillrt/skill/limit/max_starts.lua", LIMIT)
    folder.file("lua/skillrt/agent/kind/oracle.lua", oracle())
    local codes, inputs = "lua/skillrt/document/check/codes.lua", "lua/skillrt/document/check/inputs.lua"
    folder.file(codes, (folder.read(codes):gsub("\n%]%]\n", "\n" .. CODE .. "]]\n", 1)))
    folder.file(inputs, appended(folder.read(inputs), CHECK))
    folder.file("delphi", "#!/bin/sh\ncat >/dev/null\nprintf yes\n")
    folder.file("ends.lua", (SKILL:gsub("LIMIT", "2")))
    folder.file("runs.lua", (SKILL:gsub("LIMIT", "9")))
    assert(os.execute(("chmod +x %s/delphi && cd %s && make -s build/%s/skillrt >build.log 2>&1"):format(tree, tree, MODE)),
      folder.read "build.log")
  end)
  teardown(function() os.execute("rm -rf " .. kit.quoted(folder.path)) end)

  local function skillrt(...)
    local _ <close> = setmetatable({ kit.program }, { __close = function(self) kit.program = self[1] end })
    kit.program = ("%s/build/%s/skillrt"):format(folder.path, MODE)
    return kit.run(folder, { ... })
  end

  it("a command: one file", function()
    assert.same({ 0, "hello you\n" }, { skillrt("hello", "you").code, folder.read ".out" })
    assert.matches("hello +Greets", skillrt("--help").out)
    assert.matches("Usage: skillrt hello NAME", skillrt("hello", "--help").out, 1, true)
  end)

  it("an agent: one file", function()
    local run = skillrt("runs.lua", "--work-dir", "whole")
    assert.equal(0, run.code, run.out .. run.err)
    assert.matches('"answer":"yes"', skillrt("state", "whole").out:gsub("%s", ""), 1, true)
  end)

  it("a limit: one file; it pauses the run, has its exit code, is listed and can be raised", function()
    local run = skillrt("ends.lua", "--work-dir", "limited")
    assert.equal(19, run.code, run.out .. run.err)
    assert.matches("count began 2 times", run.out .. run.err, 1, true)
    assert.matches("19  paused at the limit max_starts", skillrt("run", "--help").out, 1, true)
    assert.equal(0, skillrt("resume", "limited", "--add", "max_starts=7").code, folder.read ".err")
    local refused = (SKILL:gsub("LIMIT", '"x"'))
    folder.file("wrong.lua", refused)
    assert.matches("max_starts", skillrt("wrong.lua", "--work-dir", "wrong").err, 1, true)
  end)

  it("a code of check: a row and what finds it", function()
    local check = skillrt("check", "runs.lua")
    assert.equal(1, check.code, check.out .. check.err)
    assert.matches("the action q has one letter", check.out, 1, true)
  end)
end)
