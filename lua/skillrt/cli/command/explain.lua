-- cli/command/explain.lua: `skillrt explain DIR [ACTION] [--at N]`: why each step of a run was chosen, and why others
-- were not. Takes no lock, changes nothing, runs nothing but what loading the skill runs.

local core = require("skillrt.core")

local M = {
  name = "explain",
  looks = true,
  summary = "Shows why each action was chosen: the candidates, their conditions with values, what was missing",
  description = "Conditions are asked again of the state that each choice was made in. \"*\" was chosen, \"+\" could "
    .. "have been, \"-\" could not; what it needs stands below. Of a run that is not over, the last part is how "
    .. "things stand now. Steps of skills that a step ran are shown with the sub-run they are in.",
  arguments = {
    { name = "DIR", help = "the directory of the run" },
    { name = "ACTION", optional = true, help = "only this action or phase, wherever it was a candidate" },
  },
  options = {
    { name = "at", value = "N", help = "only iteration N" },
    { name = "json", help = "an object for each choice, as JSON" },
    require("skillrt.cli.trust").OPTION,
  },
}

-- All skills that are made from now on: those of sub-runs are among them.
local function collect_skills()
  local skill_of = require("skillrt.skill")
  local check <const>, made = skill_of.check, {}
  skill_of.made = made
  function skill_of.check(definition)
    local skill, message = check(definition)
    if skill then
      made[skill.name] = skill
    end
    return skill, message
  end
end

-- The skill of a run, ready as for a run; which of its files changed since.
local function skill_of(dir)
  local runner = require("skillrt.run.runner")
  local first, message, code = runner.first(dir)
  if not first then
    return nil, message, code
  end
  collect_skills()
  local skill
  skill, message, code = require("skillrt.document.reopen").skill_for(dir, { look = function(found) return found end })
  if not skill then
    return nil, message, code
  end
  local prepared, pins = require("skillrt.run.runner.prepare").skill(skill, { strategy = first.strategy,
    durability = first.durability, context = first.context })
  if not prepared then
    return nil, pins, "invalid"
  end
  return prepared, pins
end

local function changed(pins, books)
  local list = {}
  for _, name in ipairs(require("skillrt.base.names").sorted(books.pins)) do
    list[#list + 1] = pins[name] and pins[name] ~= books.pins[name] and name or nil
  end
  return list
end

local function known(skill)
  local ids = {}
  for _, list in ipairs({ skill.actions or {}, skill.phases or {} }) do
    for _, one in ipairs(list) do
      ids[one.id] = true
    end
  end
  return ids
end

local function is_over(books)
  return books.status == "completed" or books.status == "failed" or books.status == "aborted"
end

---@param args table
---@return integer code
function M.run(args)
  local ending, output = require("skillrt.cli.ending"), require("skillrt.report.output")
  local explain = require("skillrt.report.explain")
  local at = args.at and math.tointeger(tonumber(args.at))
  if args.at and (not at or at < 0) then
    return ending.refused(("--at: %s is not the number of an iteration"):format(args.at), "invalid")
  end
  local skill, pins, code = skill_of(args.dir)
  if not skill then
    return ending.refused(pins, code, nil, args.dir)
  end
  local shown, ids = 0, known(skill)
  local is_own = not args.action or ids[args.action]
  local is_known = is_own
  local function show(choice)
    local candidate = choice.id == args.action
    for _, one in ipairs(choice.candidates) do
      ids[one.id] = true
      candidate = candidate or one.id == args.action
    end
    is_known = is_known or candidate
    if args.action and not candidate and (choice.kind == "phase" or choice.sub or not is_own) then
      return
    end
    shown = shown + 1
    if args.json then
      core.terminal.write(1, assert(core.json.encode(choice)) .. "\n")
      return
    end
    local lines = {}
    for _, line in ipairs(explain.lines(choice, args.action)) do
      lines[#lines + 1] = output.paint(1, line.kind, line.text)
    end
    core.terminal.write(1, table.concat(lines, "\n") .. "\n")
  end
  local books, message, cause = explain.each(args.dir, skill, show, function(record)
    return not at or record.n == at
  end)
  if not books then
    return ending.refused(message, cause, nil, args.dir)
  elseif not is_known then
    local text = "%s: has no action or phase %s%s"
    return ending.refused(text:format(skill.name, args.action, require("skillrt.base.names").suggest(args.action, ids)),
      "invalid")
  end
  if not at and not is_over(books) and skill.actions and #skill.actions > 0 then
    show(explain.now(skill, books))
    for _, choice in ipairs(explain.now_in_subs(skill, books)) do
      show(choice)
    end
  elseif shown == 0 then
    return ending.refused(("%s: nothing was chosen%s"):format(args.dir, at and (" in iteration %d"):format(at) or ""),
      "invalid")
  end
  local list = changed(pins, books)
  if list[1] then
    output.say("warning", ("note: changed since the run, and shown as it is now: %s"):format(
      require("skillrt.base.shown").escape(table.concat(list, ", "))))
  end
  return 0
end

return M
