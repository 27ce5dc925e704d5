-- cli/command/replay.lua: `skillrt replay DIR`: runs a run again from its journal, without a network, and tells
-- whether the skill, as it is now, does the same.

local M = {
  name = "replay",
  summary = "Replays a run from its journal, without a network, and shows where the skill now behaves differently",
  description = "Every call gets its recorded result; so do random numbers and times. The first call or step that "
    .. "differs is shown, with the nearest recorded one. Nothing in DIR is changed. Exit code 0: the same, "
    .. "as far as the run was recorded; 1: another path or another result.",
  own_codes = true,
  arguments = { require("skillrt.cli.selection").RUN },
  options = {
    { name = "skill", value = "SKILL", help = "a changed script, folder or configuration; default: the run's skill, as "
      .. "it is now" },
    require("skillrt.cli.trust").OPTION,
    { name = "json", help = "prints one JSON object" },
  },
}

local MOST <const> = 20

-- How a divergence is reported.
local function divergence_lines(one)
  local lines = { ("diverged at step %d (%s)%s"):format(one.step, one.id, one.call and ", call " .. one.call or "") }
  lines[#lines + 1] = "  recorded: " .. one.recorded
  lines[#lines + 1] = "  now:      " .. one.now
  lines[#lines + 1] = "  because:  " .. one.why
  if one.nearest then
    lines[#lines + 1] = "  nearest:  " .. one.nearest
  end
  return lines
end

local function count(number, what)
  return ("%d %s%s"):format(number, what, number == 1 and "" or "s")
end

local function lines_of(found)
  local lines = {}
  for _, note in ipairs(found.notes) do
    lines[#lines + 1] = "note: " .. note
  end
  local recording = found.recording
  if recording.cut then
    lines[#lines + 1] = ("note: no replay goes beyond record %d: %s"):format(recording.cut.seq, recording.cut.what)
  elseif found.live then
    lines[#lines + 1] = "note: the run is under way: what is recorded so far is replayed"
  elseif not recording.stop then
    lines[#lines + 1] = "note: the run was stopped from outside: what was recorded until then is replayed"
  end
  if found.divergence then
    table.move(divergence_lines(found.divergence), 1, 5, #lines + 1, lines)
  end
  for i, line in ipairs(found.differences) do
    if i <= MOST then
      lines[#lines + 1] = "differs: " .. line
    end
  end
  if #found.differences > MOST then
    lines[#lines + 1] = ("differs: and %d more"):format(#found.differences - MOST)
  end
  local what = ("%s, %s answered from the recording"):format(count(found.steps, "step"), count(found.answered, "call"))
  if found.divergence then
    lines[#lines + 1] = "diverged: after " .. what
  elseif found.ended then
    lines[#lines + 1] = ("%s: %s; the recording ends in step %d (%s)"):format(found.same and "same" or "differs", what,
      found.ended.step, found.ended.id)
  else
    lines[#lines + 1] = ("%s: %s; %s (%s)"):format(found.same and "same" or "differs", what, found.status, found.reason)
  end
  return lines
end

---@param args table
---@return integer|nil code
function M.run(args)
  require("skillrt.base.fake_clock") -- before any module that reads the time
  local output = require("skillrt.report.output")
  local found, message, code = require("skillrt.test.replay").of(args.dir, args.skill)
  if not found then
    return nil, message, code
  end
  if args.json then
    local json = require("skillrt.base.json")
    output.write_json { same = found.same, divergence = found.divergence, ended = found.ended,
      differences = json.array(found.differences), notes = json.array(found.notes), steps = found.steps,
      calls = found.answered, status = found.status, reason = found.reason }
  else
    output.write_lines(lines_of(found))
  end
  local codes = require("skillrt.cli.exit_codes")
  return found.same and codes.completed or codes.failed
end

return M
