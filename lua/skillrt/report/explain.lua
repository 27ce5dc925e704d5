-- report/explain.lua: why an action was chosen, or was not: conditions asked again of the state that each choice
-- was made in, which the journal gives back.
--
-- Nothing of it is recorded but the reason of a strategy. Knows skills, books and conditions. Called by
-- cli/command/explain.lua.

local edges_of = require("skillrt.skill.limit.edges")
local files = require("skillrt.base.files")
local machine_of = require("skillrt.skill.machine")
local names = require("skillrt.base.names")
local runner = require("skillrt.run.runner")
local skill_of = require("skillrt.skill")
local text_of = require("skillrt.base.shown")
local when = require("skillrt.skill.when")

local M = {}

---@class skillrt.Candidate
---@field id string
---@field priority number
---@field could boolean        it could have been chosen
---@field chosen boolean?
---@field clauses { text: string, holds: boolean, values: string }[]
---@field bars string?         why it may not run whatever its conditions say
---@field needs string[]?      what would have let it run

---@class skillrt.Choice
---@field n integer            iteration
---@field seq integer          of the record
---@field at integer
---@field id string?           what was chosen
---@field kind "action"|"phase"
---@field reason string
---@field candidates skillrt.Candidate[]

local function clauses_of(one, state)
  local list = {}
  for _, condition in ipairs(one.when) do
    if type(condition) == "table" and condition.clauses then
      for _, clause in ipairs(condition:clauses(state)) do
        list[#list + 1] = clause
      end
    else
      local holds, reason = when.test(condition, state)
      list[#list + 1] = { text = when.text(condition), holds = holds, values = reason or "" }
    end
  end
  return list
end

-- Why an action may not be chosen now, whatever its conditions say.
local function barred(one, books)
  local runs = books.runs[one.id] or 0
  if books.given_up[one.id] ~= nil then
    return "it failed too often and was given up"
  elseif runs >= one.max_runs then
    return runs == 1 and "it ran, and may run once (max_runs)" or ("it ran %d times (max_runs)"):format(runs)
  elseif one.handles then
    return "it runs where another one has failed"
  end
  for _, step in pairs(books.steps) do
    if step.id == one.id and step.sub == books.sub then
      return "it is under way"
    end
  end
end

---@param one skillrt.Action
---@param books skillrt.Books
---@return skillrt.Candidate
local function candidate(one, books)
  local clauses, needs, could = clauses_of(one, books.state.root), {}, true
  for _, clause in ipairs(clauses) do
    could = could and clause.holds
    needs[#needs + 1] = not clause.holds and clause.text or nil
  end
  local bars = barred(one, books)
  if bars then
    table.insert(needs, 1, "to be allowed to run: " .. bars)
  end
  return { id = one.id, priority = one.priority or 0, index = one.index, could = could and not bars, clauses = clauses,
    bars = bars, needs = needs[1] and needs or nil }
end

-- What is asked in the present state of a machine, in the order of its route.
local function of_machine(skill, books)
  local machine, root, list, by_id = skill.machine, books.state.root, {}, {}
  for _, one in ipairs(skill.actions) do
    by_id[one.id] = one
  end
  for i, one in ipairs(machine.by_name[root.state] and machine_of.route(machine, root.state) or {}) do
    local own = by_id[one.action]
    local tests = table.move(own.when, 1, #own.when, #(one.tests or {}) + 1, { table.unpack(one.tests or {}) })
    local way
    for _, edge in ipairs(one.edges) do
      way = way or edges_of.is_open(root, edge, books.added) and edge or nil
    end
    list[i] = candidate({ id = own.id, when = tests, max_runs = own.max_runs, index = i }, books)
    list[i].priority, list[i].to = nil, (way or one.edges[1] or {}).to
    if not way then
      local text = "to be allowed to run: its edge to %s was taken as often as it may be"
      list[i].could, list[i].needs = false, list[i].needs or {}
      table.insert(list[i].needs, 1, text:format(list[i].to or "?"))
    end
  end
  return list
end

local function ordered(skill, books)
  if skill.machine then
    return of_machine(skill, books)
  end
  local list = {}
  for i, one in ipairs(skill.actions) do
    list[i] = candidate(one, books)
  end
  local by_declaration = skill.strategy.order == "declaration"
  table.sort(list, function(a, b)
    if by_declaration or a.priority == b.priority then
      return a.index < b.index
    end
    return a.priority > b.priority
  end)
  return list
end

-- Why the one that was chosen was, where the strategy gave no reason.
local function derived(skill, list, chosen)
  local others, first = {}, nil
  for _, one in ipairs(list) do
    first = first or one.could and one or nil
    others[#others + 1] = one.could and not one.chosen and one or nil
  end
  local name = skill.strategy.name
  if skill.machine then
    return skill.machine.route and "the route, a function, named it" or chosen ~= first and "it takes over" or
      "the first of the state's route whose conditions hold"
  elseif not chosen.could then
    return "it was named before, together with others, or takes over where another one failed"
  elseif #others == 0 then
    return "nothing else could run"
  elseif first ~= chosen then
    return ("strategy %s chose it and gave no reason"):format(name)
  elseif skill.strategy.order == "declaration" then
    return ("strategy %s: declared before %s"):format(name, others[1].id)
  elseif others[1].priority == chosen.priority then
    return ("strategy %s: priority %g, as %s has, which is declared later"):format(name, chosen.priority, others[1].id)
  end
  return ("strategy %s: priority %g, the next is %s with %g"):format(name, chosen.priority, others[1].id,
    others[1].priority)
end

local function is_declared(skill, id)
  for _, one in ipairs(skill.actions) do
    if one.id == id then
      return true
    end
  end
  return false
end

-- A choice, worked out from the books as they were in front of it.
local function choice_of(skill, books, record, seq)
  local id = record.action or record.phase
  local choice = { n = record.n or 0, seq = seq, at = record.at, id = id, kind = record.phase and "phase" or "action" }
  if record.phase then
    for _, phase in ipairs(skill.phases or {}) do
      if phase.id == id then
        choice.candidates = { { id = id, priority = 0, could = record.t == "start", chosen = record.t == "start",
          clauses = clauses_of(phase, books.state.root) } }
      end
    end
    choice.reason = record.t == "skip" and (record.why or "condition not met") or "its turn among the phases"
    choice.skipped = record.t == "skip" or nil
    choice.candidates = choice.candidates or {}
    return choice
  end
  choice.candidates = ordered(skill, books)
  choice.state = skill.machine and tostring(books.state.root.state) or nil
  local chosen
  for _, one in ipairs(choice.candidates) do
    if one.id == id and not chosen then
      chosen, one.chosen = one, true
    end
  end
  choice.reason = record.why or chosen and derived(skill, choice.candidates, chosen)
    or (is_declared(skill, id) and "something else failed or asked for it; it is no candidate by itself"
      or "it is no part of the skill any more")
  return choice
end

-- The path, or the name, by which the step around a sub-run asked for its skill.
local function asked_for(books, id)
  local step = books.steps[books.subs[id].parent]
  for _, call in pairs(step and step.calls or {}) do
    if call.sub == id then
      return call.to
    end
  end
end

-- The skill of a sub-run, ready as the run's own; false where it is nowhere to be found.
local function skill_of_sub(skill, books, id)
  local name, found = books.subs[id].skill, nil
  local path = asked_for(books, id)
  if path and path ~= name and skill_of.open then
    found = skill_of.open(files.join(skill.dir, path), {})
  end
  found = skill_of.is(found) and found or skill_of.made and skill_of.made[name]
  return found and require("skillrt.run.runner.prepare").skill(found, { durability = skill.durability,
    context = skill.context }) or false
end

-- A choice in a sub-run.
local function choice_of_sub(skills, skill, books, record, seq)
  local id = record.sub
  local name = books.subs[id].skill
  if skills[name] == nil then
    skills[name] = skill_of_sub(skill, books, id)
  end
  local choice = skills[name] and choice_of(skills[name], books.subs[id], record, seq) or { n = record.n or 0,
    seq = seq, at = record.at, id = record.action or record.phase, kind = record.phase and "phase" or "action",
    candidates = {}, reason = record.why or "its skill is not to be found from here: only the step itself is known" }
  choice.sub, choice.skill = id, name
  return choice
end

---The choices of a run, and what stands now. Those of a sub-run are worked out from its own skill, where that lies in
---a file, or was made with the run's (`skillrt.skill.made`).
---@param dir string
---@param skill table     ready for a run: its strategy is found
---@param visit fun(choice: skillrt.Choice)
---@param wants fun(record: table): boolean
---@return skillrt.Books|nil books
---@return string|table message_or_report
---@return string? code
function M.each(dir, skill, visit, wants)
  local skills = {}
  return runner.read(dir, nil, function(record, books, seq)
    local is_choice = record.t == "start" or record.t == "skip" and record.phase and not record.step
    if is_choice and wants(record) then
      visit(record.sub and choice_of_sub(skills, skill, books, record, seq) or choice_of(skill, books, record, seq))
    end
  end)
end

---What could be chosen as the run stands.
---@param skill table
---@param books skillrt.Books
---@return skillrt.Choice
function M.now(skill, books)
  return { candidates = ordered(skill, books), at = books.at,
    state = skill.machine and tostring(books.state.root.state) or nil }
end

---The same of each sub-run under way whose skill is found.
---@param skill table
---@param books skillrt.Books
---@return skillrt.Choice[]
function M.now_in_subs(skill, books)
  local list = {}
  for _, id in ipairs(names.sorted(books.subs or {})) do
    local found = skill_of_sub(skill, books, id)
    if found and #(found.actions or {}) > 0 then
      local choice = M.now(found, books.subs[id])
      choice.sub, choice.skill = id, books.subs[id].skill
      list[#list + 1] = choice
    end
  end
  return list
end

local function head_of(choice)
  local able = 0
  for _, one in ipairs(choice.candidates) do
    able = able + (one.could and 1 or 0)
  end
  local state = choice.state and " in state " .. choice.state or ""
  if choice.sub then
    state = ("%s in sub-run %s (%s)"):format(state, choice.sub, choice.skill)
  end
  if not choice.id then
    return ("[Now] %d of %d actions could run%s"):format(able, #choice.candidates, state)
  elseif choice.kind == "phase" then
    return ("[Phase] %s %s%s"):format(choice.id, choice.skipped and "was skipped" or "began", state)
  end
  local others = able > 1 and (", of %d that could run"):format(able) or ""
  return ("[Iteration %d] %s was chosen%s%s (record %d)"):format(choice.n, choice.id, state, others, choice.seq)
end

---A choice for people.
---@param choice skillrt.Choice
---@param only string|nil  the one action that is asked about
---@return { text: string, kind: string }[] lines  escaped
function M.lines(choice, only)
  local out = {}
  local function add(kind, format, ...)
    out[#out + 1] = { kind = kind, text = text_of.escape(format:format(...)) }
  end
  add("strong", "%s", head_of(choice))
  if choice.reason then
    add("info", "  because   %s", choice.reason)
  end
  for _, one in ipairs(choice.candidates) do
    if not only or one.id == only then
      local mark = one.chosen and "*" or one.could and "+" or "-"
      add(one.could and "good" or "info", "  %s %s%s", mark, one.id,
        one.to and "  to " .. one.to or choice.kind == "phase" and "" or ("  priority %g"):format(one.priority))
      for _, clause in ipairs(one.clauses) do
        local values = clause.values ~= "" and ("   (%s)"):format(clause.values) or ""
        add("detail", "      %s  %s%s", clause.holds and "yes" or "no ", clause.text, values)
      end
      if not one.could and one.needs and choice.kind ~= "phase" then
        add("warning", "      it needs %s", table.concat(one.needs, "; and "))
      end
    end
  end
  return out
end

return M
