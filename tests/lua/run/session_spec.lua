-- session_spec.lua: sessions as a policy in Lua sees them: messages, answers, what is said unasked, and
-- a run that has stopped when its programs are gone.
local core = require "skillrt.core"
local message = require "skillrt.run.message"

-- Sends these tasks one after the other, keeps replies and events.
local function policy_of(tasks)
  local self = { out = {}, blobs = {}, replies = {}, events = {}, sent = 0 }
  function self.record() end
  function self.load() end
  function self.choose()
    if #self.replies < self.sent then return "go", nil, nil, nil, nil, true end
    if self.sent == #tasks then return "stop", "completed", "task_completed" end
    self.sent = self.sent + 1
    return "go", nil, { self.sent }
  end
  function self.request(_, number)
    local task = { kind = "session", session = "peer", env = { PATH = os.getenv "PATH" },
      argv = { "lua5.4", "tests/support/session_program.lua", "lines", self.told } }
    for key, value in pairs(tasks[number]) do task[key] = value end
    task.reply_id = task.reply_id or message.key(task.id)
    return task
  end
  function self.accept(_, _, reply)
    self.replies[#self.replies + 1] = reply
    return "over"
  end
  function self.event(_, source, bytes) self.events[#self.events + 1] = source .. " " .. bytes end
  function self.read(_, _, text, opens) return message.read(nil, text, opens) end
  function self.save() return {} end
  function self.durable() end
  function self.stop() end
  return self
end

local function run(policy)
  policy.told = os.tmpname()
  local opened <close> = assert(core.open(policy, { run_id = "r1" }))
  opened:wait()
  local file <close> = assert(io.open(policy.told))
  local told = file:read "a"
  os.remove(policy.told)
  return told, opened:status()
end

describe("a session", function()
  it("answers by ids that are numbers or texts, says things unasked, and ends with its run", function()
    local policy = policy_of {
      { id = 1, message = '{"id":1,"do":"echo"}' },
      { id = 'a"b', message = [[{"id":"a\"b","do":"echo"}]] },
      { id = 3, message = '{"id":3,"do":"note"}' },
      { message = '{"id":4,"do":"echo"}' },
    }
    local told, status = run(policy)
    assert.equal("completed", status)
    local bodies = {}
    for i, reply in ipairs(policy.replies) do
      assert.same({ "ok", true }, { reply.status, reply.sent })
      bodies[i] = reply.body
    end
    assert.same({ '{"id":1,"count":1,"length":20}', [[{"id":"a\"b","count":2,"length":25}]],
      '{"id":3,"noted":true}', '{"id":4,"count":4,"length":20}' }, bodies)
    assert.same({ 'session:peer {"note":1}', 'session:peer {"id":3,"method":"ask"}' }, policy.events)
    assert.equal("ended after 4", told) -- in order, before the run was told to have stopped
  end)

  it("and any program is told with its start, to one that wants to hear it, so that it can be ended", function()
    for _, starts in ipairs { true, false } do
      local ended = {}
      local policy = policy_of {
        { kind = "command", argv = { "sleep", "30" } },
        { id = 1, message = '{"id":1,"do":"echo"}' },
      }
      policy.starts = starts
      function policy.event(_, source, bytes)
        local number, pid, start = source:match "^started:(%d+)$", bytes:match "^(%d+) (%S+)$"
        policy.events[#policy.events + 1] = number
        if number == "1" then ended = core.end_leftovers { { pid = tonumber(pid), start = start } } end
      end
      if not starts then policy.request = (function(request)
        return function(self, number)
          local task = request(self, number)
          task.timeout = number == 1 and 0.2 or nil
          return task
        end
      end)(policy.request) end
      local _, status = run(policy)
      assert.equal("completed", status)
      assert.same(starts and { "1", "2" } or {}, policy.events)
      assert.same(starts and { true } or {}, ended)
      assert.equal(starts and "killed" or "timeout", policy.replies[1].status)
    end
  end)

  it("has frames, its time, and a maximum", function()
    local policy = policy_of {
      { id = 1, message = '{"id":1,"do":"silent"}', timeout = 0.2 },
      { id = 2, message = '{"id":2,"do":"echo"}' },
      { id = 3, message = '{"id":3,"do":"echo"}', session = "framed", framed = true, max_reply = 200,
        argv = { "lua5.4", "tests/support/session_program.lua", "framed" } },
      { id = 4, message = '{"id":4,"do":"big"}', session = "framed" },
    }
    local _, status = run(policy)
    assert.equal("completed", status)
    local found = {}
    for i, reply in ipairs(policy.replies) do found[i] = reply.status end
    assert.same({ "timeout", "ok", "ok", "too_large" }, found)
    assert.equal("framed: a message of more than 200 bytes", policy.replies[4].message)
  end)

  it("refuses a task without a name, a program, or with an id of another type", function()
    for wrong, expected in pairs {
      [{ session = "" }] = "session task: a name of 1 to 200 bytes is needed",
      [{ argv = {} }] = "session peer: argv is empty; name a program",
    } do
      local policy = policy_of { wrong }
      policy.told = "/dev/null"
      local opened <close> = assert(core.open(policy, { run_id = "r1" }))
      opened:wait()
      assert.same({ "refused", expected }, { policy.replies[1].status, policy.replies[1].message })
    end
    local policy = policy_of { { reply_id = {} } }
    local opened <close> = assert(core.open(policy, { run_id = "r1" }))
    opened:wait()
    local status, _, text = opened:status()
    assert.equal("failed", status)
    assert.truthy(text and text:find("string expected", 1, true), text)
  end)
end)
