-- forged_records_spec.lua: journals whose checksums are right and whose records skillrt cannot have written.
local forge = require "tests.support.forge"
local kit = require "tests.support.cli_kit"

local SKILL = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "tested", durability = "process",
  actions = { { id = "a", run = function(_, ctx)
    return ctx.await { kind = "command", argv = { "true" } } and {}
  end } } }
]]

local FORGED <const> = {
  ["its type \"bogus\" is unknown"] = [[{"t":"bogus","at":1}]],
  ["it has no type"] = [=[[1]]=],
  ["it does not fit the records before it"] = [[{"t":"result","at":1,"step":99,"c":"1","value":1}]],
  ["the field step of a record `done` must be of the type integer"] = [[{"t":"done","at":1,"step":"one","ms":1}]],
  ["a record `stop` must have the field status"] = [[{"t":"stop","at":1,"reason":"failed"}]],
  ["a record `note` has no field colour"] = [[{"t":"note","at":1,"text":"x","colour":"red"}]],
}

local COMMANDS <const> = { { "status" }, { "state" }, { "history" }, { "report" }, { "explain" }, { "metrics" },
  { "log", "--verify" }, { "recover" }, { "resume" }, { "graph" }, { "plan" } }

describe("a record with a right checksum that skillrt did not write", function()
  it("is named by every command that reads, with exit code 7 and without a traceback", function()
    for problem, payload in pairs(FORGED) do
      local folder <close> = kit.folder()
      folder.file("s.lua", SKILL)
      assert.equal(0, kit.run(folder, { "s.lua", "--work-dir", "w", "--quiet" }).code)
      forge(folder.path .. "/w/journal/00000001.sj", payload)
      for _, words in ipairs(COMMANDS) do
        local args = table.move(words, 2, #words, 3, { words[1], "w" })
        local ran = kit.run(folder, args) -- `log` without --verify shows records, however they fit each other
        local name = table.concat(words, " ") .. ": " .. problem
        assert.equal(7, ran.code, name .. "\n" .. ran.err .. ran.out)
        assert.truthy(ran.err:find(problem, 1, true), name .. "\n" .. ran.err)
        assert.is_nil(ran.err:find("traceback", 1, true), name .. "\n" .. ran.err)
      end
    end
  end)

  it("is named by `explain` where it says what may be chosen", function()
    for _, choices in ipairs { "{}", '{"actions":[1]}', '{"actions":[{"id":"a","when":["a b"]}]}',
      '{"actions":[{"id":{}}]}', '{"actions":[{"id":"a","priority":"x"}]}', '{"actions":[],"phases":[{}]}' } do
      local folder <close> = kit.folder()
      folder.file("s.lua", SKILL)
      assert.equal(0, kit.run(folder, { "s.lua", "--work-dir", "w", "--quiet" }).code)
      forge(folder.path .. "/w/journal/00000001.sj", ('{"t":"accept","at":1,"pins":{},"choices":%s}'):format(choices))
      local ran = kit.run(folder, { "explain", "w" })
      assert.equal(7, ran.code, choices .. ran.err .. ran.out)
      assert.matches("skillrt cannot have written its choices", ran.err, 1, true)
      assert.is_nil(ran.err:find("traceback", 1, true), choices)
    end
  end)
end)
