-- emit_spec.lua: events that a step sends to another run (ctx.emit): the same for runs in a folder and in a database, by the
-- real program.
local kit = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

local COUNT <const> = 30

local SENDER <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "sender", state = { sent = 0 }, actions = {
  { id = "send", when = "!sent", run = function(_, ctx)
      local sent, message, class = 0, nil, nil
      for i = 1, COUNT do
        local ok, why, how = ctx.emit(ctx.input.to or "receiver", "built", { n = i })
        sent, message, class = sent + (ok and 1 or 0), message or why, class or how
      end
      return { sent = sent, message = message, class = class }
    end } } }
]]

-- Takes that many, and one more if it comes within a moment.
local RECEIVER <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "receiver", state = { done = false }, actions = {
  { id = "receive", when = "!done", run = function(_, ctx)
      local list = {}
      for i = 1, COUNT do
        list[i] = ctx.wait("built").n
      end
      table.sort(list)
      list[#list + 1] = ctx.wait { event = "built", timeout = 0.3 } and "and more"
      return { done = true, list = table.concat(list, " ") }
    end } } }
]]

-- `url`: of one run.
local function suite(what, url, prepare)
  describe("events between runs in " .. what, function()
    local folder = kit.folder()
    local env = ("HOME=%s XDG_STATE_HOME=%s NO_COLOR=1"):format(folder.path, folder.path)
    local function skillrt(...) return kit.run(folder, { env = env, ... }) end

    setup(function()
      folder.file("sender.lua", (SENDER:gsub("COUNT", COUNT)))
      folder.file("receiver.lua", (RECEIVER:gsub("COUNT", COUNT)))
      prepare(folder)
    end)
    teardown(function() getmetatable(folder).__close() end)

    it("are taken once each, whenever their sender is killed (F102)", function()
      local receiver, sender, all, kills = url "receiver", url "sender", {}, 0
      for i = 1, COUNT do all[i] = i end
      assert.equal(5, skillrt("run", "receiver.lua", "--work-dir", receiver).code)
      for i = 0, 30 do
        local status = skillrt("status", sender)
        if status.out:find("completed (", 1, true) then break end
        local words = status.code == 0 and { "resume", sender } or { "run", "sender.lua", "--work-dir", sender }
        words.env = env
        local result = kit.killed_after(folder, words, i < 25 and 15 + 4 * i or 5000)
        kills = kills + (result.code == 137 and 1 or 0)
      end
      assert.is_true(kills > 1, kills .. " kills")
      local taken = skillrt("resume", receiver, "--wait")
      assert.equal(0, taken.code, taken.out .. taken.err)
      assert.equal(table.concat(all, " "), skillrt("state", receiver).out:match '"list": "([^"]*)"')
      assert.equal(tostring(COUNT), skillrt("state", sender).out:match '"sent": (%d+)')
    end)

    it("come to no run that has ended or is not there", function()
      for to, word in pairs { receiver = "is completed and accepts no more events", nobody = "no run" } do
        local sender = url("to-" .. to)
        assert.equal(0, skillrt("run", "sender.lua", "--work-dir", sender, "--set", "to=" .. to).code)
        local state = skillrt("state", sender).out
        assert.matches(word, state, 1, true)
        assert.matches('"class": "permanent"', state, 1, true)
      end
      assert.matches("needs the name of a run beside this one", skillrt("run", "sender.lua", "--work-dir", url "bad", "--set",
        "to=../x").err .. skillrt("status", url "bad").out, 1, true)
    end)
  end)
end

suite("a folder", function(name) return "runs/" .. name end, function() end)

local server, why = postgres.start()
if not server then
  print("left out: " .. why)
  describe("events between runs in a database", function() pending("need a server: " .. why) end)
  return
end
suite("a database", server.run, function(folder)
  assert.equal(0, kit.run(folder, { env = "HOME=" .. folder.path, "fleet", "init", server.url }).code)
end)
describe("the server of events between runs", function()
  it("is there until they have ended", function() getmetatable(server).__close() end)
end)
