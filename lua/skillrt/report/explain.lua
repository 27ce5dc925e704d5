-- report/explain.lua: why an action was chosen, or was not: evaluates the recorded conditions on the state of each
-- choice.
--
-- Everything comes from the journal; no skill is loaded, and no function of a script is called. Knows books and
-- conditions. Called by cli/command/explain.lua.

local child = require("skillrt.run.call.kind.child")
local core = require("skillrt.core")
local edges_of = require("skillrt.skill.limit.edges")
local expr = require("skillrt.expr")
local names = require("skillrt.base.names")
local runner = require("skillrt.run.runner")
local text_of = require("skillrt.base.terminal_text")

local M = {}

---@class skillrt.Candidate
---@field id string
---@field priority number
---@field could boolean        it could have been chosen
---@field chosen boolean?
---@field clauses { text: string, holds: boolean|nil, values: string }[]  nil: a function of the script, not called
---@field bars string?         why it may not run whatever its conditions say
---@field needs string[]?      what would have made it possible

---@class skillrt.Choice
---@field n integer            iteration
---@field seq integer          of the record
---@field at integer
---@field id string?           what was chosen
---@field kind "action"|"phase"
---@field reason string
---@field candidates skillrt.Candidate[]

local Function = {} -- a condition that is a function of the script
Function.__index = Function

function Function:clauses()
  return { { text = self.text, values = "not called" } }
end

local function read_conditions(conditions)
  local list = {}
  for i, one in ipairs(conditions or {}) do
    list[i] = type(one) == "table" and setmetatable({ text = tostring(one["function"]) }, Function)
      or assert(expr.compile(one))
  end
  return list
end

local INFINITE <const> = { inf = math.huge, ["-inf"] = -math.huge }

-- The recorded choices, with compiled conditions; raises where skillrt cannot have written them.
local function read_choices(choices)
  for i, one in ipairs(choices.actions) do
    one.id, one.index, one.when = one.id .. "", i, read_conditions(one.when)
    one.priority = INFINITE[one.priority] or (one.priority or 0) + 0
    one.max_runs = INFINITE[one.max_runs] or (one.max_runs or 1) + 0
  end
  for _, one in ipairs(choices.phases or {}) do
    one.id, one.when = one.id .. "", read_conditions(one.when)
  end
  for _, route in pairs(choices.routes or {}) do
    for _, one in ipairs(route) do
      one.action, one.when = one.action .. "", read_conditions(one.when)
    end
  end
  return choices
end

local function clauses_of(one, state)
  local list = core.json.array({})
  for _, condition in ipairs(one.when) do
    for _, clause in ipairs(condition:clauses(state)) do
      list[#list + 1] = clause
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
    return runs == 1 and "it already ran (max_runs 1)" or ("it already ran %d times (max_runs)"):format(runs)
  elseif one.handles then
    return "it runs where another one has failed"
  end
  for _, step in pairs(books.steps) do
    if step.id == one.id and step.sub == books.sub then
      local children = child.open({ steps = { step } })
      return "it is under way" .. (children[1] and ", and waits for " .. names.listed(children, 5) or "")
    end
  end
end

---@param one table  of the choices
---@param books skillrt.Books
---@return skillrt.Candidate
local function candidate(one, books)
  local clauses, needs, could = clauses_of(one, books.state.root), {}, true
  for _, clause in ipairs(clauses) do
    could = could and clause.holds == true
    needs[#needs + 1] = not clause.holds and clause.text or nil
  end
  local bars = barred(one, books)
  if bars then
    table.insert(needs, 1, "to be allowed to run: " .. bars)
  end
  return { id = one.id, priority = one.priority or 0, index = one.index, could = could and not bars, clauses = clauses,
    bars = bars, needs = needs[1] and needs or nil }
end

-- What the present state of a machine asks for, in the order of its route.
local function of_machine(choices, books)
  local list, by_id = {}, {}
  for _, one in ipairs(choices.actions) do
    by_id[one.id] = one
  end
  for i, one in ipairs(choices.routes[books.state.root.state] or {}) do
    local own = by_id[one.action]
    local conditions = table.move(own.when, 1, #own.when, #one.when + 1, { table.unpack(one.when) })
    local way
    for _, edge in ipairs(one.edges) do
      way = way or edges_of.is_open(books.state.root, edge, books.added) and edge or nil
    end
    list[i] = candidate({ id = own.id, when = conditions, max_runs = own.max_runs, index = i }, books)
    list[i].priority, list[i].to = nil, (way or one.edges[1] or {}).to
    if not way then
      local text = "to be allowed to run: its edge to %s was taken as often as allowed"
      list[i].could, list[i].needs = false, list[i].needs or {}
      table.insert(list[i].needs, 1, text:format(list[i].to or "?"))
    end
  end
  return list
end

local function ordered(choices, books)
  if choices.routes then
    return of_machine(choices, books)
  end
  local list = core.json.array({})
  for i, one in ipairs(choices.actions) do
    list[i] = candidate(one, books)
  end
  local by_declaration = choices.order == "declaration"
  table.sort(list, function(a, b)
    if by_declaration or a.priority == b.priority then
      return a.index < b.index
    end
    return a.priority > b.priority
  end)
  return list
end

-- Why the chosen one was chosen, where the strategy gave no reason.
local function derived(choices, list, chosen)
  local others, first = {}, nil
  for _, one in ipairs(list) do
    first = first or one.could and one or nil
    others[#others + 1] = one.could and not one.chosen and one or nil
  end
  local name = choices.strategy
  if choices.routes then
    return choices.routed and "the route, a function, named it" or chosen ~= first and "it takes over" or
      "the first of the state's route whose conditions hold"
  elseif not chosen.could then
    return "it was chosen earlier together with others, or takes over from a failed one"
  elseif #others == 0 then
    return "nothing else could run"
  elseif first ~= chosen then
    return ("strategy %s chose it and gave no reason"):format(name)
  elseif choices.order == "declaration" then
    return ("strategy %s: declared before %s"):format(name, others[1].id)
  elseif others[1].priority == chosen.priority then
    return ("strategy %s: priority %g, as %s has, which is declared later"):format(name, chosen.priority, others[1].id)
  end
  return ("strategy %s: priority %g, the next is %s with %g"):format(name, chosen.priority, others[1].id,
    others[1].priority)
end

local function is_declared(choices, id)
  for _, one in ipairs(choices.actions) do
    if one.id == id then
      return true
    end
  end
  return false
end

-- A choice, computed from the books as they were before it.
local function choice_of(choices, books, record, seq)
  local id = record.action or record.phase
  local choice = { n = record.n or 0, seq = seq, at = record.at, id = id, kind = record.phase and "phase" or "action" }
  if record.phase then
    for _, phase in ipairs(choices.phases or {}) do
      if phase.id == id then
        choice.candidates = { { id = id, priority = 0, could = record.t == "start", chosen = record.t == "start",
          clauses = clauses_of(phase, books.state.root) } }
      end
    end
    choice.reason = record.t == "skip" and (record.why or "condition not met") or "its turn among the phases"
    choice.skipped = record.t == "skip" or nil
    choice.candidates = choice.candidates or core.json.array({})
    return choice
  end
  if record.undo then
    choice.reason = ("step %d is taken back, as the run is being aborted"):format(record.undo)
    choice.candidates = core.json.array({})
    return choice
  end
  choice.candidates = ordered(choices, books)
  choice.state = choices.routes and tostring(books.state.root.state) or nil
  local chosen
  for _, one in ipairs(choice.candidates) do
    if one.id == id and not chosen then
      chosen, one.chosen = one, true
    end
  end
  choice.reason = record.why or chosen and derived(choices, choice.candidates, chosen)
    or (is_declared(choices, id) and "it runs only after a failure or when another action names it"
      or "it is no longer part of the skill")
  return choice
end

---The choices of a run and of its sub-runs, from its journal.
---@param dir string
---@param visit fun(choice: skillrt.Choice)
---@param wants fun(record: table): boolean
---@return skillrt.Books|nil books
---@return table<string, skillrt.Choices>|string choices_or_message  by scope; "": the run's own
---@return string? code
function M.each(dir, visit, wants)
  local by_scope, problem = {}, nil
  local books, message, code = runner.read(dir, nil, function(record, books, seq)
    local scope = record.sub or ""
    if record.choices then
      local ok, found = pcall(read_choices, record.choices)
      problem = problem or not ok and ("record %d: skillrt cannot have written its choices"):format(seq) or nil
      by_scope[scope] = ok and found or nil
    end
    local is_choice = record.t == "start" or record.t == "skip" and record.phase and not record.step
    if is_choice and not problem and wants(record) then
      local own = record.sub and books.subs[record.sub] or books
      local choice = choice_of(by_scope[scope], own, record, seq)
      choice.sub, choice.skill = record.sub, record.sub and own.skill
      visit(choice)
    end
  end)
  if problem then
    return nil, problem, "corrupt"
  end
  return books, books and by_scope or message, code
end

-- What could be chosen in a scope.
local function now_in(choices, books)
  return { candidates = ordered(choices, books), at = books.at,
    state = choices.routes and tostring(books.state.root.state) or nil }
end

---What could be chosen now in the run, and in each of its sub-runs under way.
---@param by_scope table<string, skillrt.Choices>
---@param books skillrt.Books
---@return skillrt.Choice[]
function M.now(by_scope, books)
  local list = { #by_scope[""].actions > 0 and now_in(by_scope[""], books) or nil }
  for _, id in ipairs(names.sorted(books.subs or {})) do
    if books.subs[id].status ~= "failed" and #by_scope[id].actions > 0 then
      local choice = now_in(by_scope[id], books.subs[id])
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
        local mark_of = clause.holds and "yes" or clause.holds == nil and "?  " or "no "
        add("detail", "      %s  %s%s", mark_of, clause.text, values)
      end
      if not one.could and one.needs and choice.kind ~= "phase" then
        local needs = "it needs " .. table.concat(one.needs, "; and it needs ")
        add("warning", "      %s", (needs:gsub("needs to be allowed to run: ", "cannot run: ")))
      end
    end
  end
  return out
end

return M
