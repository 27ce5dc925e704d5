-- cli/command/diff.lua: `skillrt diff A B`: how two runs differ, or one run at two places. Takes no lock, changes
-- nothing.

-- A run up to a place: its steps in words, and its state.
local function read(word)
  local moment = require("skillrt.run.travel.moment")
  local dir, place = moment.split(word)
  local seq, message, code = moment.find(dir, place)
  if not seq then
    return nil, message, code
  end
  local steps = {}
  local ok
  ok, message, code = moment.points(dir, function(point)
    local over = point.what == "done" or point.what == "failed" or point.what == "checkpoint"
    if point.seq <= seq and over and point.id then
      steps[#steps + 1] = ("%s %s"):format(point.id, point.what == "failed" and "failed" or "completed")
    elseif point.seq <= seq and (point.what == "rolled back" or point.what == "forked") then
      steps[#steps + 1] = ("%s %s"):format(point.what, point.text)
    end
  end)
  if not ok then
    return nil, message, code
  end
  local books
  books, message, code = require("skillrt.run.look").books(dir, seq)
  local state = books and books.state and books.state.root
  return state and { steps = steps, state = state } or nil, message, code
end

return {
  name = "diff",
  summary = "Shows how two runs differ in steps and state, or one run at two places",
  description = "Exit code 0: nothing differs, 1: something does.",
  own_codes = true,
  arguments = {
    { name = "A", help = "DIR, DIR@SEQ or DIR@NAME" },
    { name = "B", help = "the other place" },
  },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local sides = {}
    for i, word in ipairs({ args.a, args.b }) do
      local side, message, code = read(word)
      if not side then
        return nil, message, code, word
      end
      sides[i] = side
    end
    local differs, output = require("skillrt.report.differs"), require("skillrt.report.output")
    local steps = differs.steps(sides[1].steps, sides[2].steps)
    local lines = differs.states(sides[1].state, sides[2].state)
    table.insert(lines, 1, steps)
    if lines[1] then
      output.write(table.concat(lines, "\n") .. "\n")
    end
    return lines[1] and 1 or 0
  end,
}
