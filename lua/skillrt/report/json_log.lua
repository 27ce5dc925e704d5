-- report/json_log.lua: appends a run to a log file, one JSON object a line (R150), for log collectors.
--
-- A line is written when its record is durable. A watcher as in run/journal.lua. Made by watch.lua.

local core = require("skillrt.core")
local iso = require("skillrt.base.instant").iso
local record_of = require("skillrt.run.record")
local story_of = require("skillrt.run.story")

local M = {}

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
  local kind, step = record_of.types[record.t], record.step and story.by_number[record.step]
  local level, message, fields
  if kind and kind.log then
    level, message, fields = kind.log(record, step)
  end
  if level then
    fields.step, fields.action = record.step, fields.action or step and step.id or nil
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

-- One for all runs of a process that write to a file: lines written together stay together.
local opened <const> = setmetatable({}, { __mode = "v" })

---@param path string
---@param warn fun(text: string)?  says that the log has stopped; default: on standard error
---@return table|nil watcher
---@return string? message
function M.new(path, warn)
  if not core.files.stat(path) then
    local made, why = core.files.create(path, "") -- only its owner may read it, as for a run
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
      if ok then
        ok, why = file:flush()
      end
      if not ok then
        broken = true
        opened[path] = nil
        local told = warn or say
        told(("%s: %s; the log ends here"):format(path, why))
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
