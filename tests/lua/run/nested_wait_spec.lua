-- nested_wait_spec.lua: runs of one loop whose functions wait for runs of their own: as many as there
-- are, none fails because others wait, too.
local core = require "skillrt.core"

-- Performs one function, which is `body`, then ends; `ms`: it waits so long before.
local function policy_of(body, ms)
  local self = { out = {}, blobs = {}, chosen = 0 }
  function self.record() end
  function self.load() end
  function self.choose()
    self.chosen = self.chosen + 1
    if self.chosen == 1 and ms then return "go", nil, nil, nil, ms end
    if self.chosen == (ms and 2 or 1) then return "go", { 1 } end
    return "stop", "completed", "task_completed"
  end
  function self.accept()
    body()
    return "over"
  end
  function self.save() return {} end
  function self.durable() end
  function self.stop() end
  return self
end

local function nothing() end

it("300 runs wait inside each other's turns, and all complete", function()
  local runs, open, deepest = {}, 0, 0
  for i = 1, 300 do
    runs[i] = assert(core.open(policy_of(function()
      open = open + 1
      deepest = math.max(deepest, open)
      local inner <close> = assert(core.open(policy_of(nothing, 5), { run_id = "inner" }))
      inner:wait()
      assert(inner:status() == "completed")
      open = open - 1
    end), { run_id = "r" .. i }))
  end
  for i = 1, 300 do
    runs[i]:wait()
    assert.same({ "completed", "task_completed" }, { runs[i]:status() })
  end
  for i = 1, 300 do
    runs[i]:close()
  end
  assert.truthy(deepest > 1 and deepest < 100, tostring(deepest)) -- they go on beside each other, to a depth
end)
