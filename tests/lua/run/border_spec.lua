-- border_spec.lua: what the engine asks a policy in Lua, answered by policies of a few lines.
local core = require "skillrt.core"
local R = require "tests.support.runs"

-- A policy whose `choose` takes its answers from a list of functions or packed values, one after the
-- other, and whose `accept` is `accept`; it keeps a log of what it was asked.
local function policy_of(answers, methods)
  local self = { out = {}, blobs = {}, log = {}, chosen = 0 }
  local function note(...)
    self.log[#self.log + 1] = table.concat({ ... }, " ")
  end
  self.note = note
  function self.record() end
  function self.load() end
  function self.choose()
    self.chosen = self.chosen + 1
    local answer = answers[self.chosen] or answers[#answers]
    return table.unpack(answer, 1, 6)
  end
  function self.request(_, number)
    note("request", number)
    return { kind = "command", argv = { "true" }, env = { PATH = os.getenv "PATH" } }
  end
  function self.accept(_, number, reply)
    note("accept", number, reply and reply.status or "-")
    return "over"
  end
  function self.event(_, source, bytes)
    note("event", source, bytes)
  end
  function self.save()
    return {}
  end
  function self.durable() end
  function self.stop(_, why)
    note("stop", why)
  end
  for name, method in pairs(methods or {}) do
    self[name] = method
  end
  return self
end

local STOP = { "stop", "completed", "task_completed" }

local function open(policy, directory)
  return assert(core.open(policy, { directory = directory, run_id = "r1", durability = "process" }))
end

local function run(policy, directory)
  local opened <close> = open(policy, directory)
  opened:wait()
  return opened:status()
end

describe("a policy in Lua", function()
  after_each(R.clean)

  it("has functions performed, calls requested and accepted, by number", function()
    local policy = policy_of { { "go", { 1, 2 }, { 7 } }, { "go", { 1 } }, { "go" }, STOP }
    assert.same({ "completed", "task_completed" }, { run(policy) })
    assert.same({ "request 7", "accept 1 -", "accept 2 -", "accept 1 -", "accept 7 ok" }, policy.log)
  end)

  it("is handed a reply with all its fields, sent or not", function()
    local replies = {}
    local policy = policy_of({ { "go", nil, { 1, 2 } }, { "go" }, STOP }, {
      request = function(_, number)
        local argv = number == 1 and { "sh", "-c", "echo out; echo err >&2; exit 3" } or { "/no/such" }
        return { kind = "command", argv = argv, env = { PATH = os.getenv "PATH" } }
      end,
      accept = function(_, number, reply)
        replies[number] = reply
        return "over"
      end,
    })
    assert.equal("completed", (run(policy)))
    local one, two = replies[1], replies[2]
    assert.same({ "ok", 3, "out\n", "err\n", true }, { one.status, one.code, one.body, one.extra, one.sent })
    assert.is_true(one.elapsed_ms >= 0 and one.retry_after_ms == -1)
    assert.same({ "refused", false }, { two.status, two.sent })
    assert.match("/no/such", two.message)
  end)

  it("says again, at once or after a time", function()
    for _, after in ipairs { 0, 30 } do
      local attempts = 0
      local policy = policy_of({ { "go", nil, { 1 } }, { "go" }, { "go" }, STOP }, {
        accept = function(self, number, reply)
          self.note("accept", number, reply.status)
          attempts = attempts + 1
          if attempts < 3 then return "again", after end
          return "over"
        end,
      })
      local start = os.time()
      assert.equal("completed", (run(policy)))
      assert.same({ "request 1", "accept 1 ok", "request 1", "accept 1 ok", "request 1", "accept 1 ok" }, policy.log)
      assert.is_true(os.time() - start < 20)
    end
  end)

  it("gives a call up, waits for a time, and for events", function()
    local opened
    local answers = { { "go", nil, { 1 }, nil, 20 }, { "go", nil, nil, { 1 } }, { "go", nil, nil, nil, nil, true }, STOP }
    local policy = policy_of(answers, {
      request = function()
        return { kind = "command", argv = { "sleep", "30" }, env = { PATH = os.getenv "PATH" } }
      end,
      tick = function(self)
        if self.chosen == 3 then assert.is_true(opened:event("inbox", "a\0b")) end
      end,
    })
    opened = open(policy)
    opened:wait()
    assert.same({ "accept 1 canceled", "event inbox a\0b" }, policy.log)
    assert.equal("completed", (opened:status()))
    local done, message, code = opened:event("inbox", "late")
    assert.same({ nil, "inbox: the run is ending", "stopped" }, { done, message, code })
    opened:close()
  end)

  it("sees the bytes of a running call before its reply", function()
    local policy = policy_of({ { "go", nil, { 1 } }, STOP }, {
      request = function()
        return { kind = "command", argv = { "echo", "hello" }, env = { PATH = os.getenv "PATH" } }
      end,
      progress = function(self, number, bytes)
        self.note("progress", number, bytes)
      end,
    })
    assert.equal("completed", (run(policy)))
    assert.same({ "progress 1 hello\n", "accept 1 ok" }, policy.log)
  end)

  it("is not run again behind its end, whatever it answers wrongly", function()
    local wrong = {
      [{ "perform", { 1 } }] = "invalid option 'perform'",
      [{ "go", 1 }] = "table expected, got number",
      [{ "go", { "x" } }] = "number expected, got string",
      [{ "go", { 1 }, nil, nil, "soon" }] = "number expected, got string",
      [{ "go" }] = "nothing is under way",
      [{ "go", nil, { 1 }, { 2 } }] = "number 2: canceled, but it is not under way",
      [{ "stop" }] = "string expected, got nil",
    }
    for answer, message in pairs(wrong) do
      local policy = policy_of({ answer, STOP })
      local status, _, said = run(policy)
      assert.equal("failed", status)
      assert.match(message, said, 1, true)
    end
  end)

  it("whose record names a value that cannot be kept pauses as for a full disk", function()
    local dir = R.folder() .. "/run"
    local policy
    policy = policy_of({ { "go", { 1 } }, STOP }, {
      accept = function(self)
        os.remove(dir .. "/blobs")
        assert(io.open(dir .. "/blobs", "w")):close()
        self.out[1] = '{"t":"result"}'
        self.blobs[1] = { core.sha256 "some bytes", "some bytes" }
        return "over"
      end,
      load = function(self)
        self.out[1] = '{"t":"begin"}'
      end,
      stop = function(self, why)
        self.note("stop", why)
      end,
    })
    local status, reason, message, code = run(policy, dir)
    assert.same({ "paused", "store_failed", "system" }, { status, reason, code })
    assert.match("blobs", message)
    assert.same({ "stop store_failed" }, policy.log)
    os.remove(dir .. "/blobs") -- in the place of a folder it is refused by whoever reads
    assert(os.execute(("mkdir '%s/blobs'"):format(dir)))
    local seen = {}
    assert(core.read(dir, function(payload)
      seen[#seen + 1] = payload
    end))
    assert.same({ '{"t":"begin"}' }, seen)
  end)
end)
