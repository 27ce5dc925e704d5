-- cli/command/explain.lua: `skillrt explain DIR [ACTION] [--at N]`: why each step of a run was chosen, and why others
-- were not. Takes no lock, changes nothing, loads no skill.

local core = require("skillrt.core")

local M = {
  name = "explain",
  summary = "Shows why each action was chosen: the candidates, their conditions with values, and what did not hold",
  description = "\"*\" was chosen, \"+\" could have been chosen, \"-\" could not, with the reason below it. "
    .. "Conditions are read from the journal; no function of the script is called. For a run that has not "
    .. "finished, the last part shows what could be chosen now.",
  arguments = {
    require("skillrt.cli.selection").RUN,
    { name = "ACTION", optional = true, help = "shows only the choices where this action or phase was a candidate" },
  },
  options = {
    { name = "at", value = "N", help = "shows only iteration N" },
    { name = "json", help = "prints one JSON object per choice" },
  },
}

-- The ids of all actions and phases, of the run and its sub-runs.
local function declared(choices)
  local ids = {}
  for _, of_scope in pairs(choices) do
    for _, list in ipairs({ of_scope.actions, of_scope.phases }) do
      for _, one in ipairs(list) do
        ids[one.id] = true
      end
    end
  end
  return ids
end

local function is_over(books)
  return books.status == "completed" or books.status == "failed" or books.status == "aborted"
end

---@param args table
---@return integer|nil code
function M.run(args)
  local output = require("skillrt.report.output")
  local explain = require("skillrt.report.explain")
  local at = args.at and math.tointeger(tonumber(args.at))
  if args.at and (not at or at < 0) then
    return nil, ("--at: %s is not the number of an iteration"):format(args.at), "invalid"
  end
  local shown = 0
  local function show(choice)
    local is_asked = not args.action or choice.id == args.action
    for _, one in ipairs(choice.candidates) do
      is_asked = is_asked or one.id == args.action
    end
    if not is_asked then
      return
    end
    shown = shown + 1
    if args.json then
      output.write_json(choice)
      return
    end
    local lines = {}
    for _, line in ipairs(explain.lines(choice, args.action)) do
      lines[#lines + 1] = output.paint(1, line.kind, line.text)
    end
    core.terminal.write(1, table.concat(lines, "\n") .. "\n")
  end
  local books, choices, code = explain.each(args.dir, show, function(record)
    return not at or record.n == at
  end)
  if not books then
    return nil, choices, code
  end
  local ids = declared(choices)
  if args.action and not ids[args.action] then
    local text = "%s: has no action or phase %s%s"
    local near = require("skillrt.base.names").suggest(args.action, ids)
    return nil, text:format(books.skill, args.action, near), "invalid"
  end
  if not at and not is_over(books) then
    for _, choice in ipairs(explain.now(choices, books)) do
      show(choice)
    end
  end
  if shown == 0 then
    return nil, ("%s: nothing was chosen%s"):format(args.dir, at and (" in iteration %d"):format(at) or ""), "invalid"
  end
  return 0
end

return M
