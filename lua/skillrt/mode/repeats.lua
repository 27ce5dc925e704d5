-- mode/repeats.lua: what may be sent again, and which action may be chosen again: every attempt, loop, person, resume,
-- retry and changed script asks here.
--
-- | what became of a call                              | may it be sent again? |
-- |----------------------------------------------------|-----------------------|
-- | it never left, or was not executed (refused, 429)  | yes |
-- | its result is recorded, and no failure blames it   | no: whatever asks for it gets the result |
-- | its step's failure blames it, or may be due to it  | if it did not act or is `idempotent`; or if it is allowed |
--
-- Allowed by the author (`repeatable`, of what a failure blames) or a person (`retry`). An action that failed is
-- chosen again by the loop if its failed step called nothing that may have acted, or it is `repeatable`; its step is
-- then resumed with all its results. Reads the books, changes nothing in them.

local M = {}

---What a step that failed, or was under way where its run is taken back to, has got, and is resumed with.
M.HELD = { "known", "order", "values", "notes", "rounds", "tools", "generations", "talks", "blamed", "acted_in",
  "told" }

---Kinds of calls that leave the run: they may act, and limits count them.
M.ACTS = { http = true, command = true, session = true, host = true, ["local"] = true }

---Whether a call may have acted, so that sending it again may do it twice.
---@param call table  of the books: one that is over, or the `call` record of one that is not
---@return boolean|nil
function M.acted(call)
  if call.c then
    return M.ACTS[call.kind] and not call.idem and not call.pure
  end
  return call.acted
end

-- Whether a place is another, or lies below it.
local function is_at(place, other)
  return place == other or place:sub(1, #other + 1) == other .. "."
end

-- The first place at or below one where something may have acted; or in what was given up, which begins anew with it.
local function acted_at(step, blame)
  local first = (not blame or step.acted_in and is_at(step.acted_in, blame)) and step.acted_in or nil
  for place, known in pairs(step.known or {}) do
    local is_meant = not blame or known.canceled or is_at(place, blame)
    if is_meant and M.acted(known) and (not first or place < first) then
      first = place
    end
  end
  return first
end

local NOT_REPEATED <const> = "not repeated: call %s may have acted"

---Why the call that a failure blames may not be sent again; nil: it may.
---@param step skillrt.Step
---@param blame string|nil  its place
---@return string|nil why
function M.obstacle(step, blame)
  local place = blame and acted_at(step, blame)
  return place and NOT_REPEATED:format(place) or nil
end

---Whether a further attempt of a step may send again the call that its failure blames; a call with a policy of its own
---was sent again as often as that says.
---@param step skillrt.Step
---@param blame string|nil
---@return boolean
---@return string|nil why
function M.may_attempt(step, blame)
  local known, why = blame and step.known[blame], M.obstacle(step, blame)
  return not (known and known.own or why), why
end

---A person decided that a call whose outcome is unknown is not sent again: that holds for the action in this run, until
---another decision.
---@param books skillrt.Books
---@param step skillrt.Step
---@param record table  the `result` of the call
function M.decide(books, step, record)
  books.decided = books.decided or {}
  books.decided[step.id] = { value = record.decided, place = record.c }
end

---Keeps what a step has got for its action, whose next step continues with it.
---@param books skillrt.Books
---@param step skillrt.Step
---@param record table  its `fail` or `skip`
function M.hold(books, step, record)
  books.held = books.held or {}
  books.held[step.id] = nil
  if next(step.known) == nil and not step.acted_in or step.undoes then
    return -- nothing; or another step of its action is undone next
  end
  local held = { number = step.number, attempt = step.attempt, why = record.message or record.why,
    blame = record.blame, moved = record.move and record.move.to and true }
  for _, field in ipairs(M.HELD) do
    local value = step[field]
    held[field] = (type(value) ~= "table" or next(value) ~= nil) and value or nil
  end
  books.held[step.id] = held
end

---Keeps what a step has got that was under way where a run is taken back to. It had not failed: the loop may choose its
---action, whatever it has called.
---@param books skillrt.Books  as they were there
---@param step skillrt.Step
function M.suspend(books, step)
  M.hold(books, step, {})
  local held = books.held[step.id]
  if held then
    held.open, held.attempt = true, step.attempt - 1
  end
end

---A step completed: its action is not held to an earlier failure, nor is any where a machine's table led on from it,
---unless a person retries it.
---@param books skillrt.Books
---@param id string
---@param record table  its `done`
function M.release(books, id, record)
  books.held[id] = nil
  for _, held in pairs(record.move and books.held or {}) do
    held.moved = true
  end
end

-- What an action that failed has got; of one whose machine's table led on from its failure only where it is retried.
local function held_of(books, one)
  local held = books.held and books.held[one.id]
  return held and not (held.moved and books.retrying ~= one.id) and held or nil
end

---What a person decided about a call of an action or phase whose outcome is unknown; nil: nothing, or another decision
---lets it be performed again.
---@param books skillrt.Books
---@param id string
---@return string|nil why
function M.decision(books, id)
  local decided = books.decided and books.retrying ~= id and books.decided[id]
  return decided and ("%s: %q was decided about its call %s, and holds for this run"):format(id, decided.value,
    decided.place) or nil
end

---The place of a call for which the loop may not choose a failed action again; nil: it may.
---@param one skillrt.Action
---@param step table  the failed step
---@return string|nil place
function M.barred_by(one, step)
  return not one.repeatable and acted_at(step) or nil
end

---Why the loop may not choose an action again; nil: it may.
---@param books skillrt.Books
---@param one skillrt.Action
---@return string|nil why
function M.barred(books, one)
  local id = one.id
  if books.retrying == id then
    return nil
  end
  local held = held_of(books, one)
  local place = held and not held.open and M.barred_by(one, held)
  local decision = M.decision(books, id)
  if decision or not place then
    return decision
  end
  local why = NOT_REPEATED:format(place)
  return ("%s: %s"):format(id, held.why:find(why, 1, true) and held.why or ("%s (%s)"):format(held.why, why))
end

-- Whether there are results below a place: a changed script has a combinator where a call was.
local function has_below(results, place)
  for other in pairs(results) do
    if other ~= place and is_at(other, place) then
      return true
    end
  end
  return false
end

---The step that an action which failed is resumed as, and what it asks for anew; nil: it begins a new one.
---@param books skillrt.Books
---@param one skillrt.Action
---@return integer|nil number
---@return string[]|nil from
function M.resumed(books, one)
  local held, from = held_of(books, one), {}
  if not held then
    return nil
  end
  local is_retried = books.retrying == one.id and books.permission ~= "harmless"
  local results = held.known or {} -- none where all that it called lies in rounds that are over
  local blamed = results[held.blame]
  local may = not (blamed and blamed.decided) and (one.repeatable or not M.obstacle(held, held.blame))
  if held.blame and (is_retried or may) then
    from[1] = held.blame
  end
  for place, known in pairs(results) do
    if is_retried and known.decided and place ~= held.blame and not has_below(results, place) then
      from[#from + 1] = place
    end
  end
  table.sort(from)
  return held.number, from
end

---The calls of a step that is resumed after it had failed or ended, which had no result for their caller (`blamed`): a
---person who has it performed again lets them be sent again, but not those about which somebody decided.
---@param step skillrt.Step
---@return string[] places
function M.without_result(step)
  local list = {}
  for place in pairs(step.blamed) do
    local known = step.known[place]
    list[#list + 1] = known and not known.decided and place or nil
  end
  table.sort(list)
  return list
end

---Whether something else may be asked for at a place where a call is recorded.
---@param step skillrt.Step
---@param known table
---@return boolean
function M.may_differ(step, known)
  local definition = step.live.definition
  return step.state == "loose" or not M.acted(known) or definition and definition.repeatable
end

---What is forgotten where a changed script asks for something else, as a line.
---@param step skillrt.Step
---@param from string
---@return string[]
function M.forgotten(step, from)
  local list = {}
  for _, field in ipairs({ "known", "calls" }) do
    for place, call in pairs(step[field]) do
      if is_at(place, from) then
        local what = call.to or call.kind or "a kept value"
        list[#list + 1] = ("%s (%s%s)"):format(place, what, M.acted(call) and ", may have acted" or "")
      end
    end
  end
  table.sort(list)
  return list
end

return M
