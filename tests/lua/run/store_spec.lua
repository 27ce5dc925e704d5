-- store_spec.lua: what the core gives a policy of its run's store, asked by a policy of a few lines.
local core = require "skillrt.core"
local R = require "tests.support.runs"

-- Makes `records` durable, then stops; `asked` is called on the way, with the policy.
local function policy_of(records, asked)
  local self = { out = {}, blobs = {} }
  function self.record() end
  function self.load(_, fresh)
    for _, text in ipairs(fresh and records or {}) do
      self.out[#self.out + 1] = text
    end
  end
  function self.choose()
    asked(self)
    return "stop", "completed", "task_completed"
  end
  function self.save()
    return {}
  end
  function self.durable() end
  function self.stop() end
  return self
end

local function run(policy, mode, directory)
  local opened = assert(core.open(policy, { directory = directory, mode = mode, run_id = "r1" }))
  opened:wait()
  local status, reason, message = opened:status()
  opened:close()
  return status, reason, message
end

describe("read_record", function()
  after_each(R.clean)

  it("gives the payload of a record by its number, of this process or one before", function()
    local dir = R.folder() .. "/run"
    for _, mode in ipairs { "create", "resume" } do
      local found, kept = {}, nil
      local function ask(policy)
        kept = policy.read_record
        for seq = 1, 3 do
          found[seq] = kept(seq)
        end
      end
      assert.equal("completed", run(policy_of({ '{"a":1}', '{"b":2}', '{"c":3}' }, ask), mode, dir))
      assert.same({ '{"a":1}', '{"b":2}', '{"c":3}' }, found)
      assert.error_matches(function() kept(1) end, "the run is closed")
    end
  end)

  it("says what is not there, in a run that keeps nothing, too", function()
    local dir = R.folder() .. "/run"
    local answer
    local function ask(policy)
      answer = { policy.read_record(99) }
      assert.error_matches(function() policy.read_record(-1) end, "a record's number")
    end
    assert.equal("completed", run(policy_of({ "{}" }, ask), "create", dir))
    assert.is_nil(answer[1])
    assert.match("record 99 is not there, 1 is the last", answer[2])
    assert.equal("missing", answer[3])
    assert.equal("completed", run(policy_of({ "{}" }, ask), "create", nil))
    assert.equal("missing", answer[3])
  end)
end)
