-- session_spec.lua: sessions as a policy in Lua sees them: a program is a number, so is each message to it; what it
-- says, and its end; and a run that has stopped when its programs are gone.
local core = require "skillrt.core"

local PROGRAM <const> = { "lua5.4", "tests/support/session_program.lua" }

-- Starts these tasks, one `behind` another when that is over; ends when as many messages have come as are `expected`,
-- or all is over.
local function policy_of(tasks, expected)
  local self = { out = {}, blobs = {}, replies = {}, said = {}, events = {}, sent = 0, over = 0 }
  function self.record() end
  function self.load() end
  function self.choose()
    local task = tasks[self.sent + 1]
    if task and (not task.behind or self.replies[task.behind]) then
      self.sent = self.sent + 1
      return "go", nil, { self.sent }, nil, tasks[self.sent + 1] and 0 or nil, true
    elseif not task and (#self.said >= expected or self.over == #tasks) then
      return "stop", "completed", "task_completed"
    end
    return "go", nil, nil, nil, nil, true
  end
  function self.request(_, number)
    local task = { kind = "session", session = "peer", env = { PATH = os.getenv "PATH" },
      argv = { PROGRAM[1], PROGRAM[2], "lines", self.told } }
    for key, value in pairs(tasks[number]) do task[key] = value end
    return task
  end
  function self.accept(_, number, reply)
    self.replies[number], self.over = reply, self.over + 1
    return "over"
  end
  function self.event(_, source, bytes)
    if source:find "^message:" then
      self.said[#self.said + 1] = source .. " " .. bytes
    else
      self.events[#self.events + 1] = source .. " " .. bytes
    end
  end
  function self.awaits(_, number, text)
    self.asked = { number, text }
    return self.keeps and self.keeps(text)
  end
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

local function say(text, to, behind)
  return { kind = "message", to = to or 1, message = text, behind = behind }
end

describe("a session", function()
  it("is told messages by its number, says what it says, and ends with its run", function()
    local policy = policy_of({ {}, say '{"id":1,"do":"echo"}', say '{"id":3,"do":"note"}' }, 4)
    local told, status = run(policy)
    assert.equal("completed", status)
    assert.same({ 'message:1 {"id":1,"count":1,"length":20}', 'message:1 {"note":1}', 'message:1 {"id":3,"method":"ask"}',
      'message:1 {"id":3,"noted":true}' }, policy.said)
    for number = 2, 3 do
      assert.same({ "ok", true }, { policy.replies[number].status, policy.replies[number].sent })
    end
    assert.equal("ended after 2", told) -- in order, before the run was told to have stopped
    assert.same({ 1, '{"id":3,"noted":true}' }, policy.asked)
  end)

  it("that has ended is told nothing more, and its end says how", function()
    local policy = policy_of({ {}, say '{"id":1,"do":"leave"}', say('{"id":2,"do":"echo"}', 1, 1), say("", 0), say("x", 77) }, 9)
    run(policy)
    assert.same({ "ok", 4, "left\n" }, { policy.replies[1].status, policy.replies[1].code, policy.replies[1].extra })
    assert.same({ "gone", false, "it has ended" }, { policy.replies[3].status, policy.replies[3].sent,
      policy.replies[3].message })
    assert.same({ "ok", true }, { policy.replies[4].status, policy.replies[4].sent }) -- to nobody
    assert.equal("gone", policy.replies[5].status)
  end)

  it("has frames, and a maximum", function()
    local policy = policy_of({ { session = "framed", framed = true, max_reply = 200, argv = { PROGRAM[1], PROGRAM[2],
      "framed" } }, say '{"id":3,"do":"echo"}', say '{"id":4,"do":"big"}' }, 9)
    run(policy)
    assert.same({ 'message:1 {"id":3,"count":1,"length":20}' }, policy.said)
    assert.same({ "too_large", "a message of more than 200 bytes" }, { policy.replies[1].status,
      policy.replies[1].message })
  end)

  it("that says more than is kept is heard in part, with a word about it; what is awaited is kept", function()
    local flood = "for i = 1, 100000 do print(('x'):rep(99)) end print 'needed' io.flush() io.read()"
    local policy = policy_of({ { argv = { "lua5.4", "-e", flood } } }, math.huge)
    local is_stopped = false
    function policy.keeps(text)
      return text == "needed"
    end
    function policy.choose()
      if policy.sent == 0 then
        policy.sent = 1
        return "go", nil, { 1 }
      elseif policy.said[#policy.said] == "message:1 needed" and not is_stopped then
        is_stopped = true
        return "stop", "completed", "task_completed"
      end
      local till = os.clock() + 0.2 -- meanwhile it says more
      while #policy.said == 0 and os.clock() < till do end
      return "go", nil, nil, nil, nil, true
    end
    run(policy)
    assert.is_true(is_stopped)
    assert.same(#policy.said < 100001 and { "missed 1" } or {}, { policy.events[1] })
  end)

  it("and any program is told with its start, to one that wants to hear it, so that it can be ended", function()
    for _, starts in ipairs { true, false } do
      local ended = {}
      local policy = policy_of({ {}, { kind = "command", argv = { "sleep", "30" }, timeout = not starts and 0.2 or nil },
        say '{"id":1,"do":"bye"}' }, 1)
      policy.starts = starts
      local hear = policy.event
      function policy.event(_, source, bytes)
        local number, pid, start = source:match "^started:(%d+)$", bytes:match "^(%d+) (%S+)$"
        if number == "2" then ended = core.end_leftovers { { pid = tonumber(pid), start = start } } end
        hear(policy, source, bytes)
      end
      local _, status = run(policy)
      assert.equal("completed", status)
      for i, event in ipairs(policy.events) do policy.events[i] = event:match "%S+" end
      table.sort(policy.events)
      assert.same(starts and { "started:1", "started:2" } or {}, policy.events)
      assert.same(starts and { true } or {}, ended)
      assert.equal(starts and "killed" or "timeout", policy.replies[2].status)
    end
  end)

  it("refuses a task without a name or a program", function()
    for wrong, expected in pairs {
      [{ session = "" }] = "session task: a name of 1 to 200 bytes is needed",
      [{ argv = {} }] = "session peer: argv is empty; name a program",
    } do
      local policy = policy_of({ wrong }, 1)
      policy.told = "/dev/null"
      local opened <close> = assert(core.open(policy, { run_id = "r1" }))
      opened:wait()
      assert.same({ "refused", expected }, { policy.replies[1].status, policy.replies[1].message })
    end
  end)
end)
