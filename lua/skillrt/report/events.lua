-- report/events.lua: a run as JSON, one object a line: the journal's records, each with its
-- run_id, and at the end the result.
--
-- For programs; what scripts print goes to standard error. A watcher as in turn.lua. Made by report/watch.lua;
-- cli/command/log.lua uses `event`.

local json = require("skillrt.base.json")
local output = require("skillrt.report.output")
local record_of = require("skillrt.base.record")

local M = {}

---A record's payload with the run's id.
---@param payload string  a JSON object
---@param run_id string
---@return string
function M.event(payload, run_id)
  return ("%s,\"run_id\":%s}"):format(payload:sub(1, -2), json.encode(run_id))
end

---The result as an object without the state (state.json has it; a run in memory has no other).
---@param result skillrt.Result
---@return table
function M.result(result)
  local questions = {}
  for i, one in ipairs(result.questions or {}) do
    questions[i] = require("skillrt.report.question").told(one)
  end
  return {
    t = "result",
    run_id = result.run_id,
    status = result.status,
    reason = result.reason,
    message = result.message,
    steps = result.steps,
    result = result.answer,
    used = result.used,
    failed = json.array(result.failed or {}),
    agents = result.state.agents,
    work_dir = result.work_dir,
    question = result.question,
    questions = result.questions and json.array(questions) or nil,
    state = result.in_memory and result.state or nil,
  }
end

---@return table watcher
function M.new()
  local queue, self = {}, {}
  local restore = output.capture(function(text)
    io.stderr:write(text)
  end)

  function self.observe(record, books)
    local payload = record_of.encode(record)
    if payload then
      queue[#queue + 1] = M.event(payload, books.run_id or "")
    end
  end

  function self.flush()
    if #queue > 0 then
      local text = table.concat(queue, "\n") .. "\n"
      queue = {}
      output.write(text)
    end
  end

  function self.forget()
    queue = {}
  end

  function self.closed()
    self.flush()
    restore()
  end

  return self
end

return M
