-- run_compact_spec.lua: a talk that its agent's policy makes shorter, in runs that are killed behind any record: what is
-- sent then is what would have been sent, and no shortening is recorded twice.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"
local wires = require "tests.support.wires"

local WIRE <const>, ROUNDS <const> = wires.of.anthropic, 6
local server, folder, files

local function raw(reply)
  files = files + 1
  local path = ("%s/raw%d"):format(folder, files)
  R.write(path, P.bytes(reply))
  return "/raw?file=" .. path
end

-- What the n-th request sent, without what differs from run to run.
local function sent(n)
  local body = select(2, server.request(n))
  return json.encode(body.messages, { sorted = true }):gsub("%d+%-%d%d%-%d%dT[%d:.]+Z", "TIME"):gsub("%d+%-%d+%-%x+", "RUN")
    :gsub("/[%w_/]*/cut", "DIR"):gsub("/[%w_/]*/run", "DIR")
end

describe("a talk that is made shorter, killed behind any record and resumed", function()
  before_each(function() server, folder, files = R.server "/echo\n", R.folder(), 0 end)
  after_each(function()
    require("skillrt.agent.gate").forget()
    server.stop()
    R.clean()
  end)

  for _, how in ipairs { "drop_results", "keep", "summarise" } do
    it("is as short as it would have been: " .. how, function()
      local used = {}
      local tool = { description = "x", input = { type = "object" }, run = function(input)
        used[#used + 1] = input.n
        return input.n .. (" result"):rep(300)
      end }
      local skill = { tools = { long = tool }, actions = { { id = "a", agent = "model", prompt = "do it well" } },
        agents = { model = WIRE.agent(server.url .. "/plan", { compact = { over = 6000, keep = 2, how = how } }) },
        limits = { max_errors = 1, max_retries = 0 } }
      local plan = {}
      for n = 1, ROUNDS do plan[n] = raw(WIRE.asks { { id = "c" .. n, name = "long", input = { n = n } } }) end
      if how == "summarise" then
        table.insert(plan, 4, raw(WIRE.says "First this."))
        table.insert(plan, 7, raw(WIRE.says "Then that."))
      end
      plan[#plan + 1] = raw(WIRE.says(wires.GOOD))
      server.plan(table.concat(plan, "\n") .. "\n")
      local dir, cut = R.folder() .. "/run", R.folder() .. "/cut"
      local result = assert(R.run(skill, { work_dir = dir }))
      assert.same({ "completed", #plan, 2 }, { result.status, #server.log(), #R.records(dir, "compact") }, result.message)
      local wanted = {}
      for n = 1, #plan do wanted[n] = sent(n) end
      for keep = 2, #R.records(dir) - 1, 3 do
        R.cut(dir, cut, keep)
        local answered, before = 0, #server.log()
        for _, record in ipairs(R.records(cut)) do answered = answered + (record.t == "result" and record.reply and 1 or 0) end
        server.plan(("/status/500\n"):rep(before) .. table.concat(plan, "\n", answered + 1) .. "\n/status/400\n")
        local again = assert(skillrt.resume(cut, { skill = R.skill(skill) }))
        assert.same({ "completed", 2 }, { again.status, #R.records(cut, "compact") }, keep)
        for n = answered + 1, #plan do assert.equal(wanted[n], sent(before + n - answered), keep) end
        os.execute(("rm -rf '%s'"):format(cut))
      end
    end)
  end
end)
