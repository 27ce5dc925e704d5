-- document/check/reach.lua: errors that no list shows: actions that never run, states without a way on, ends that no
-- sequence reaches, loops without progress, actions that are never chosen.
--
-- Explores the space that preconditions and declared effects span. A key that effects name changes by them alone;
-- any other key may be set by any action. Called by document/check/init.lua.
local findings = require "skillrt.document.findings"
local search = require "skillrt.document.check.reach.search"
local space_of = require "skillrt.document.check.reach.space"

local M = {}

local MAX_TOLD = 20
local MAX_STEPS = 12

---A sequence as people read it.
local function sequence(ids)
  if #ids == 0 then
    return "at the start"
  end
  local shown = {}
  for i = 1, math.min(#ids, MAX_STEPS) do
    shown[i] = ids[i]
  end
  if #ids > MAX_STEPS then
    shown[#shown + 1] = ("... %d more ... %s"):format(#ids - MAX_STEPS - 1, ids[#ids])
  end
  return "after " .. table.concat(shown, ", ")
end

local function quoted(terms)
  local out, seen = {}, {}
  for _, term in ipairs(terms) do
    if not seen[term.text] then
      seen[term.text] = true
      out[#out + 1] = "`" .. term.text .. "`"
    end
  end
  return table.concat(out, " and ")
end

local function conditions_of(step)
  return #step.terms > 0 and quoted(step.terms) or "nothing"
end

local MAX_ASKED <const> = 2000 -- how many states are examined for what is missing

-- The first state with the fewest missing terms, these, and all terms that are missing somewhere.
local function nearest(result, step)
  local best, terms, count, times, unmade = nil, {}, math.min(result.looked, MAX_ASKED), {}, {}
  for at = 1, count do
    local missing = result:unmet(step, at)
    for _, term in ipairs(missing) do
      times[term] = (times[term] or 0) + 1
    end
    if not best or #missing < #terms then
      best, terms = at, missing
    end
  end
  for _, term in ipairs(terms) do
    unmade[#unmade + 1] = times[term] == count and term or nil
  end
  return best, terms, unmade
end

local function never(self, _, step)
  local action = step.action
  local at, missing, unmade = nearest(self.result, step)
  local steps = self.result:path(at)
  local reason
  if #unmade > 0 then
    local all_else = #step.terms > #unmade and #missing == #unmade
      and ("; %s all its other conditions hold"):format(sequence(steps)) or ""
    reason = ("no action makes %s true%s"):format(quoted(unmade), all_else)
  elseif #missing > 0 then
    reason = ("%s it comes nearest, but %s does not hold"):format(sequence(steps), quoted(missing))
  else
    reason, steps = ("no sequence of actions leads to it (it waits for %s)"):format(conditions_of(step)), nil
  end
  self.never[action.id] = true
  self.found:add("reach.never", action.place(), ('action "%s" can never run: %s'):format(action.id, reason),
    { steps = steps })
end

local function shadowed(self, i, step)
  local passed = self.result.passed[i]
  local other = self.space.steps[passed.by].action
  local steps = self.result:path(passed.state)
  self.never[step.action.id] = true
  self.found:add("reach.shadowed", step.action.place(),
    ('action "%s" is never chosen: %s it may run, but "%s"%s is taken'):format(
      step.action.id, sequence(steps), other.id,
      self.space.model.chooses == "priority"
        and (" (priority %g against %g)"):format(other.priority, step.action.priority) or ""),
    { steps = steps })
end

local function check_actions(self)
  for i, step in ipairs(self.space.steps) do
    if self.result.complete and not self.result.chosen[i] and #self.found < MAX_TOLD then
      local tell = self.result.passed[i] and shadowed or never
      tell(self, i, step)
    end
  end
end

-- What each waiting action waits for, in a state.
local function waiting(self, at)
  local lines = {}
  for _, step in ipairs(self.space.steps) do
    if not self.result:did(at, step.action.id) and step.action.terminal ~= "failed" then
      local terms = self.result:unmet(step, at)
      if #terms > 0 and #lines < 4 then
        lines[#lines + 1] = ("%s waits for %s"):format(step.action.id, quoted(terms))
      end
    end
  end
  return table.concat(lines, "; ")
end

-- Actions that wait for one already reported would block too: one finding is enough.
local function waits_only_for_told(self, at)
  for _, step in ipairs(self.space.steps) do
    local action = step.action
    if not self.result:did(at, action.id) and not action.terminal and not action.optional then
      if not self.never[action.id] then
        return false
      end
    end
  end
  return next(self.never) ~= nil
end

local function check_blocked(self)
  local at = self.result.blocked_at
  if not at or (not self.result.ends.completed and self.result.complete) then
    return -- the missing goal says it
  elseif waits_only_for_told(self, at) and self.result.blocked_count == 1 then
    return
  end
  local steps = self.result:path(at)
  local more = self.result.blocked_count > 1 and (" (%d such states)"):format(self.result.blocked_count) or ""
  local vague = self.result.vague[at]
  local what = "the run %s blocked %s%s: %s"
  self.found:add("reach.blocked", self.space.model.place(),
    what:format(vague and "may be" or "is", sequence(steps), more, waiting(self, at)),
    { steps = steps, level = vague and "note" or nil })
end

-- Why the last action is not reached.
local function why_not(self, i, step)
  local at, missing, unmade = nearest(self.result, step)
  if #unmade > 0 then
    return ("no action makes %s true"):format(quoted(unmade)), at
  elseif #missing > 0 then
    return ("%s never holds then"):format(quoted(missing)), at
  elseif self.result.passed[i] then
    local by = self.space.steps[self.result.passed[i].by].action.id
    return ('"%s" is always taken before it'):format(by), self.result.passed[i].state
  end
  return "its conditions never hold together", at
end

local function check_goal(self)
  if self.result.ends.completed or not self.result.complete then
    return
  end
  for i, step in ipairs(self.space.steps) do
    if step.action.terminal == "completed" then
      local reason, at = why_not(self, i, step)
      local steps = at and self.result:path(at) or {}
      local what = 'no sequence of actions completes the run: "%s" is not reached, %s; the nearest it comes is %s'
      self.found:add("reach.goal", step.action.place(), what:format(step.action.id, reason, sequence(steps)),
        { steps = steps })
      return
    end
  end
  local at = self.result.blocked_at
  local steps = at and self.result:path(at) or {}
  local what = at and ("%s, %s"):format(sequence(steps), waiting(self, at)) or "it never ends"
  self.found:add("reach.goal", self.space.model.place(), "no sequence of actions completes the run: " .. what,
    { steps = steps })
end

-- A repeatable action whose effects change nothing that a condition reads.
local function repeats(self, i, step)
  if step.action.max_runs ~= math.huge or step.action.terminal or not self.result.chosen[i] then
    return
  end
  for _, change in ipairs(step.changes) do
    if not change.variable.did then
      return
    end
  end
  local free = false
  for _, term in ipairs(step.terms) do
    for _, name in ipairs(term.vars) do
      free = free or self.space.variables[name].after ~= nil
    end
    free = free or term.opaque
  end
  local steps = self.result:path(self.result.chosen[i])
  local what = 'action "%s" may repeat without end: %s it runs, and no effect of it changes what a condition reads'
  self.found:add("reach.loop", step.action.place(), what:format(step.action.id, sequence(steps)),
    { steps = steps, level = free and "note" or nil })
end

local function check_loops(self)
  for i, step in ipairs(self.space.steps) do
    repeats(self, i, step)
  end
  local at = self.result:stuck()
  if at then
    local steps = self.result:path(at)
    self.found:add("reach.loop", self.space.model.place(),
      ("the run repeats without end: %s it repeats %s"):format(sequence(steps),
        table.concat(self.result:round(at), ", ")), { steps = steps })
  end
end

local function check_bound(self)
  if self.result.over then
    local what = "the run ends before its first step: `%s` holds in the initial state"
    self.found:add("reach.over", self.space.model.place(self.result.over), what:format(self.result.over))
  end
  if not self.result.complete then
    local result = self.result
    local bound = ("%d states, %d tests"):format(result.max_states, result.max_tests)
    if result.full then
      bound = ("%s, %d bytes of states in memory"):format(bound, result.max_bytes)
    end
    local what = "the search stopped after %d states (bound: %s); %d more that it found were not examined"
    self.found:add("reach.bound", self.space.model.place(), what:format(result.looked, bound,
      result.count - result.looked))
  end
end

local function check_limit(self)
  local at = self.result.ends.completed
  local steps = at and self.result:path(at) or {}
  local most = self.space.model.limits.max_iterations
  if #steps > most then
    local what = "the shortest way to the end takes %d steps, and the run stops after %d"
    self.found:add("reach.limit", self.space.model.place(), what:format(#steps, most), { steps = steps })
  end
end

-- Whether everything that changes the state is declared: then a key that no effect names never changes.
local function is_declared(model)
  for _, action in ipairs(model.actions) do
    if not action.terminal and (#action.effects == 0 or action.run) then
      return false
    end
  end
  return #model.actions > 0 and not model.judged
end

-- The action that reads a key which no effect names.
local function reader_of(model, variable)
  for _, action in ipairs(model.actions) do
    for _, condition in ipairs(action.when) do
      for _, key in ipairs(type(condition) == "table" and condition.reads or {}) do
        if key == variable.path[1] then
          return action
        end
      end
    end
  end
end

local function check_unset(self, options)
  local model = self.space.model
  if not self.result.ends.completed or not self.result.complete or not is_declared(model) then
    return
  end
  local closed = space_of.of(setmetatable({ closed = true }, { __index = model }))
  local result = search.run(closed, options)
  if next(result.ends) or not result.complete then
    return -- it ends, as a success or not
  end
  for _, name in ipairs(closed.names) do
    local variable = closed.variables[name]
    local reader = variable.after and variable.path[1] and model.state[variable.path[1]] ~= nil
      and reader_of(model, variable)
    if reader then
      local what = 'the run completes only if somebody sets "%s", which action "%s" waits for, and no effect names it'
      self.found:add("reach.unset", reader.place(), what:format(variable.path[1], reader.id))
      return
    end
  end
end

-- Phases with a condition that nothing before them can make true.
local function check_phases(self)
  for i, phase in ipairs(self.space.phases) do
    local trailing = phase.action.trailing
    if trailing and select(3, nearest(self.result, phase))[1] or not trailing and not self.result.phase_runs[i] then
      self.found:add("reach.never", phase.action.place(),
        ('phase "%s" can never run: no action makes %s true'):format(phase.action.id, quoted(phase.terms)))
    end
  end
end

-- If somebody must judge conditions, the results of the search are only as reliable as these judgements.
local function give(self, found)
  for _, one in ipairs(self.found) do
    one.level = self.space.model.judged and "note" or one.level
    found:take(one)
  end
end

---@param model skillrt.check.Model
---@param found skillrt.Findings
---@param options { max_states: integer?, max_tests: integer? }?
---@return table statistics { states, complete }
function M.check(model, found, options)
  local space = space_of.of(model)
  local self = { space = space, found = findings.new(), never = {} }
  self.result = search.run(space, options)
  check_phases(self)
  if #space.steps == 0 then
    give(self, found)
    return { states = 0, complete = true }
  end
  check_actions(self)
  check_goal(self)
  check_blocked(self)
  check_loops(self)
  check_limit(self)
  check_unset(self, options)
  check_bound(self)
  give(self, found)
  return { states = self.result.looked, complete = self.result.complete }
end

return M
