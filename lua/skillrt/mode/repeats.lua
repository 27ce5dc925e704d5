-- mode/repeats.lua: decides what may be repeated, and which action may be chosen again: every attempt, loop, person,
-- resume, retry and changed script asks here.
--
-- | what happened to a call                            | may it be repeated?   |
-- |----------------------------------------------------|-----------------------|
-- | it was not sent, or not executed (refused, 429)    | yes |
-- | its result is recorded, and no failure blames it   | no: whatever asks for it gets the result |
-- | its step's failure blames it, or may be due to it  | if it did not act or is `idempotent`; or if it is allowed |
--
-- Allowed by the author (`repeatable`, for what a failure blames) or by a person (`retry`). The loop chooses a failed
-- action again if its failed step made no call that may have acted, or if it is `repeatable`; its step is then
-- resumed with all its results. Reads the books, changes nothing in them.

local M = {}

---The results of a step that failed, or was under way at the place of a rollback; the step is resumed with them.
M.HELD = { "known", "order", "values", "notes", "rounds", "tools", "generations", "talks", "blamed", "acted_in",
  "told" }

---Kinds of calls that leave the run: they may act, and limits count them.
M.ACTS = { http = true, command = true, session = true, host = true, ["local"] = true }

---Whether a call may have acted, so that sending it again may do it twice.
---@param call table  of the books: a finished one, or the `call` record of an open one
---@return boolean|nil
function M.acted(call)
  if call.c then
    return M.ACTS[call.kind] and not call.idem and not call.pure
  end
  return call.acted
end

-- Whether a place is the given one or is below it.
local function is_at(place, other)
  return place == other or place:sub(1, #other + 1) == other .. "."
end

-- The first place at or below the given one where something may have acted, also in what was given up and begins
-- again with it.
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

---Why the call that a failure blames may not be repeated; nil: it may.
---@param step skillrt.Step
---@param blame string|nil  its place
---@return string|nil why
function M.obstacle(step, blame)
  local place = blame and acted_at(step, blame)
  return place and NOT_REPEATED:format(place) or nil
end

---Whether a further attempt of a step may repeat the call that its failure blames; a call with its own retry policy
---has already been retried as often as that allows.
---@param step skillrt.Step
---@param blame string|nil
---@return boolean
---@return string|nil why
function M.may_attempt(step, blame)
  local known, why = blame and step.known[blame], M.obstacle(step, blame)
  return not (known and known.own or why), why
end

---A person decided not to repeat a call whose outcome is unknown: that holds for the action in this run, until
---another decision.
---@param books skillrt.Books
---@param step skillrt.Step
---@param record table  the `result` of the call
function M.decide(books, step, record)
  books.decided = books.decided or {}
  books.decided[step.id] = { value = record.decided, place = record.c }
end

---Keeps the results of a step for its action, whose next step continues with them.
---@param books skillrt.Books
---@param step skillrt.Step
---@param record table  its `fail` or `skip`
function M.hold(books, step, record)
  books.held = books.held or {}
  books.held[step.id] = nil
  if next(step.known) == nil and not step.acted_in or step.undoes then
    return -- there are none; or a step of its action is undone next
  end
  local held = { number = step.number, attempt = step.attempt, why = record.message or record.why,
    blame = record.blame, moved = record.move and record.move.to and true }
  for _, field in ipairs(M.HELD) do
    local value = step[field]
    held[field] = (type(value) ~= "table" or next(value) ~= nil) and value or nil
  end
  books.held[step.id] = held
end

---Keeps the results of a step that was under way at the place of a rollback. It had not failed, so the loop may
---choose its action, whatever it has called.
---@param books skillrt.Books  as they were there
---@param step skillrt.Step
function M.suspend(books, step)
  M.hold(books, step, {})
  local held = books.held[step.id]
  if held then
    held.open, held.attempt = true, step.attempt - 1
  end
end

---A step completed: earlier failures of its action no longer count, nor do those that a machine's table led on from,
---unless a person retries them.
---@param books skillrt.Books
---@param id string
---@param record table  its `done`
function M.release(books, id, record)
  books.held[id] = nil
  for _, held in pairs(record.move and books.held or {}) do
    held.moved = true
  end
end

-- The kept results of a failed action; if the machine's table led on from the failure, only for a retry.
local function held_of(books, one)
  local held = books.held and books.held[one.id]
  return held and not (held.moved and books.retrying ~= one.id) and held or nil
end

---What a person decided about a call of an action or phase whose outcome is unknown; nil: nothing, or a later
---decision allows it again.
---@param books skillrt.Books
---@param id string
---@return string|nil why
function M.decision(books, id)
  local decided = books.decided and books.retrying ~= id and books.decided[id]
  return decided and ("%s: somebody decided %q about its call %s, which holds for this run"):format(id, decided.value,
    decided.place) or nil
end

---The place of a call because of which the loop may not choose a failed action again; nil: it may.
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

---The step that a failed action is resumed as, and what it asks for again; nil: it starts a new one.
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
  local results = held.known or {} -- there are none if all its calls are in finished rounds
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

---The calls of a resumed step that had no result for their caller when it failed (`blamed`): a person's retry allows
---repeating them, except those that somebody has decided about.
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

---Whether the script may ask for something else at a place where a call is recorded.
---@param step skillrt.Step
---@param known table
---@return boolean
function M.may_differ(step, known)
  local definition = step.live.definition
  return step.state == "loose" or not M.acted(known) or definition and definition.repeatable
end

---Describes in a line what is forgotten when a changed script asks for something else.
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
