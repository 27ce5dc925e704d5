-- cli/command/simulate.lua: `skillrt simulate SKILL`: the possible outcomes of a run, without asking any agent.

local M = {
  name = "simulate",
  looks = true,
  summary = "Shows the possible outcomes of a run of a skill, without running it",
  description = "Prints the shortest path to each end, the most steps, the worst case of calls, output tokens and "
    .. "their cost, and conditions that no action can make true, from the declared effects or a machine's table. Calls "
    .. "that functions make are not known; the result says so. Of a workflow script: the agents that it asks where "
    .. "each answers at once, and its limit; TASK is its arguments. Exit code 1: no path completes.",
  arguments = { { name = "SKILL", is_skill = "first", help = "a skill's folder, script or configuration" } },
  rest = "TASK ...",
  options = {
    require("skillrt.cli.trust").OPTION,
    { name = "json", help = "prints one JSON object" },
  },
}

local function way(ids)
  local count = #ids
  local shown = table.concat(ids, ", ", 1, math.min(count, 12)) .. (count > 12 and ", ..." or "")
  return ("%d %s%s"):format(count, count == 1 and "step" or "steps", count > 0 and ": " .. shown or "")
end

-- A sum that is known if all its parts are.
local function amount(one, what, format)
  local most, limit = one.worst[what], one.worst.limited[what]
  if limit and most >= limit then
    return ("at most " .. format .. ", the limit"):format(limit)
  elseif most == 0 and #one.unknown > 0 then
    return "not known"
  end
  return ("at most " .. format .. "%s"):format(most, #one.unknown > 0 and ", plus what is unknown" or "")
end

local function lines_of(one)
  local lines, names = {}, require("skillrt.base.names")
  local function add(name, text)
    lines[#lines + 1] = ("%-10s %s"):format(name, text)
  end
  add("least", one.least and way(one.least) or "no path completes")
  add("most", one.rounds and ("%d steps: it may repeat until its limit"):format(one.most)
    or ("%d %s"):format(one.most, one.most == 1 and "step" or "steps"))
  add("calls", amount(one, "calls", "%d"))
  add("tokens", amount(one, "tokens", "%d") .. (one.worst.tokens > 0 and ", written" or ""))
  add("dollars", amount(one, "dollars", "%.2f"))
  if one.unknown[1] then
    add("not known", "what these call: " .. names.lines({ table.concat(one.unknown, ", ") }, 1))
  end
  for _, status in ipairs(names.sorted(one.ends)) do
    if status ~= "completed" then
      add("may end", ("%s after %s"):format(status, way(one.ends[status])))
    end
  end
  for _, text in ipairs(one.unmet) do
    add("never", text)
  end
  add("states", ("%d looked at%s"):format(one.states, one.complete and "" or ", and there are more"))
  return lines
end

---@param args table
---@return integer|nil code
function M.run(args)
  local output, codes = require("skillrt.report.output"), require("skillrt.cli.exit_codes")
  local one, message, code = require("skillrt.document.simulate").of(args.skill, args.rest)
  if not one then
    return nil, message, code
  end
  if args.json then
    local json = require("skillrt.base.json")
    one.unknown, one.unmet, one.worst.unknown = json.array(one.unknown), json.array(one.unmet), nil
    one.worst.steps, one.worst.rounds = nil, nil
    for _, ids in pairs(one.ends) do
      json.array(ids)
    end
    output.write_json(one)
  else
    output.write_lines(lines_of(one))
  end
  return one.least and codes.completed or codes.failed
end

return M
