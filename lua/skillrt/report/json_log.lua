-- report/json_log.lua: a run as lines of a log, an object of JSON each, appended to a file (R150): what collectors
-- of logs read.
--
-- A line is written when what it tells is durable. A watcher as in run/journal.lua. Made by watch.lua.

local core = require("skillrt.core")
local iso = require("skillrt.run.books").iso
local story_of = require("skillrt.run.story")

local M = {}

-- What a record says, as the fields of its line; nil: nothing.
local tell = {}

function tell.run(record)
  if not record.sub then
    return "info", "Run started", { mode = record.mode, version = record.version }
  end
end

function tell.resume()
  return "info", "Run resumed", {}
end

function tell.start(record)
  return "info", "Step started", { step = record.step, action = record.action or record.phase, iteration = record.n,
    reason = record.why, tool_set = record.tool_set }
end

function tell.done(record, step)
  return "info", "Step completed", { step = record.step, action = step and step.id, duration_ms = record.ms or
    step and step.ended and step.ended - step.at or nil, partial = record.partial }
end

function tell.fail(record, step)
  return record.retry and "warn" or "error", record.retry and "Attempt failed" or "Step failed", { step = record.step,
    action = step and step.id, attempt = record.attempt, error = record.message, class = record.class,
    retry_ms = record.retry }
end

function tell.attempt(record, step)
  return "warn", "Call failed", { step = record.step, action = step and step.id, call = record.c,
    attempt = record.a, error = record.message, class = record.class, retry_ms = record.retry }
end

function tell.skip(record, step)
  return "info", "Step skipped", { step = record.step, action = record.phase or step and step.id,
    reason = record.why }
end

function tell.doubt(record, step)
  return "warn", "Call in doubt", { step = record.step, action = step and step.id, call = record.c,
    error = record.message }
end

function tell.note(record, step)
  return "info", record.title or record.text, { step = record.step, action = step and step.id }
end

function tell.switch(record, step)
  return record.refused and "warn" or "info", "Phase", { step = record.step, action = step and step.id,
    from = record.from, to = record.to, by = record.by, refused = record.refused, advised = record.advised }
end

function tell.compact(record, step)
  return "info", "Talk made shorter", { step = record.step, action = step and step.id, agent = record.agent,
    how = record.how, before = record.before, after = record.after, kept = record.kept }
end

function tell.call(record, step)
  if record.q then
    return "warn", "Question", { step = record.step, action = step and step.id, question = record.question.question,
      number = record.q }
  end
end

function tell.stop(record)
  if not record.sub then
    local level = record.status == "completed" and "info" or record.status == "paused" and "warn" or "error"
    return level, "Run stopped", { status = record.status, reason = record.reason, error = record.message }
  end
end

---The lines of a record, as tables.
---@param story skillrt.Story  it has taken the record already
---@param record table
---@param moves_before integer  how many transitions there were before it
---@return table[] lines
function M.lines(story, record, moves_before)
  local out = {}
  local function add(level, message, fields, at)
    fields.timestamp, fields.level, fields.message = iso(at), level, message
    fields.run_id, fields.skill = story.run and story.run.run, story.run and story.run.skill
    out[#out + 1] = fields
  end
  local level, message, fields
  if tell[record.t] then
    level, message, fields = tell[record.t](record, record.step and story.by_number[record.step])
  end
  if level then
    add(level, message, fields, record.at)
  end
  for i = moves_before + 1, #story.moves do
    local move = story.moves[i]
    if move.from then
      local fields_of_move = { from = move.from, to = move.to, action = move.action, step = move.step }
      add("info", "State transition", fields_of_move, move.at)
    end
  end
  return out
end

local function say(text)
  require("skillrt.report.output").say("warning", "skillrt: " .. text)
end

-- One for all runs of a process that write there: what is written at once stays together.
local opened <const> = setmetatable({}, { __mode = "v" })

---@param path string
---@param warn fun(text: string)?  says that the log ends; default: on standard error
---@return table|nil watcher
---@return string? message
function M.new(path, warn)
  if not core.files.stat(path) then
    local made, why = core.files.create(path, "") -- for its owner alone, as a run is
    if not made then
      return nil, why
    end
  end
  local file, message = opened[path], nil
  if not file then
    file, message = io.open(path, "a")
  end
  if not file then
    return nil, message
  end
  opened[path] = file
  local story, queue, broken, self = story_of.new(), {}, false, {}

  function self.observe(record, books)
    if not story.run and record.t ~= "run" then
      story:take_over(books)
    end
    local before = #story.moves
    story:add(record)
    for _, line in ipairs(M.lines(story, record, before)) do
      queue[#queue + 1] = core.json.encode(line)
    end
    story:forget_over()
  end

  function self.flush()
    if queue[1] and not broken then
      local ok, why = file:write(table.concat(queue, "\n"), "\n")
      ok = ok and file:flush()
      if not ok then
        broken = true
        opened[path] = nil
        local told = warn or say
        told(("%s: %s; the log ends here"):format(path, tostring(why)))
      end
    end
    queue = {}
  end

  function self.forget()
    queue = {}
  end

  function self.closed()
    self.flush()
  end

  return self
end

return M
