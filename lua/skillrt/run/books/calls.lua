-- run/books/calls.lua: what the books know of the calls of a step, and what of it is forgotten: by a further attempt, a
-- round of a loop, a tool whose use is over.
--
-- Called by the types of records that tell of calls, and by step.lua.

local places = require("skillrt.run.places")
local repeats = require("skillrt.mode.repeats")
local steps = require("skillrt.run.books.step")

local M = {}

local own = steps.own
M.own = own

---Times, random numbers and ids that came with a record: a list of those drawn before the first call, or by place.
---@param step skillrt.Step
---@param rec table
function M.keep_values(step, rec)
  if rec[1] ~= nil then
    rec = { ["0"] = rec }
  end
  local values = own(step, "values")
  for place, drawn in pairs(rec) do
    local list = values[place] or {}
    values[place] = table.move(drawn, 1, #drawn, #list + 1, list)
  end
end

---The run goes on behind a cut of its journal: the first call of each open branch may have been made already.
---@param books skillrt.Books
---@param record table  { cuts = files of what was cut off until now, doubtful }
function M.cut(books, record)
  books.cuts = record.cuts or books.cuts
  if record.doubtful then
    for _, step in pairs(books.steps) do
      step.cut = { ["."] = true } -- and by prefix where branches have first called since
    end
    books.doubtful = true -- what is chosen next may have been among it
  end
end

---What a person or on_indoubt said about it.
---@param step skillrt.Step
---@param place string
---@param value string
function M.answer(step, place, value)
  local call = step.calls[place]
  call.doubt, call.decision = nil, value
end

---A tool's use is over: what it awaited since the result `after` is not asked for again.
---@param step skillrt.Step
---@param place string
---@param after string|nil
---@return boolean|nil acted
function M.forget_below(step, place, after)
  local order, acted = step.order, nil
  local last = #order
  local at = last - 1 -- the last is its own
  while at > 0 and order[at] ~= after do
    local one = order[at]
    if places.is_below(one, place) then
      local known = step.known[one] -- none: where a round was over
      acted = acted or known and known.acted
      step.known[one], order[at] = nil, false
    end
    at = at - 1
  end
  local to = at
  for from = at + 1, last do
    local one = order[from]
    order[from] = nil
    if one then
      to = to + 1
      order[to] = one
    end
  end
  return acted
end

-- Takes out what `is_gone` says of all that is kept by place.
local function without(step, is_gone)
  local order, kept = step.order, {}
  for i = 1, #order do
    local place = order[i]
    if not is_gone(place) then
      kept[#kept + 1] = place
    end
  end
  for _, field in ipairs({ "known", "calls", "values", "notes", "rounds", "tools", "blamed" }) do
    for place in pairs(step[field]) do
      if is_gone(place) then
        step[field][place] = nil
      end
    end
  end
  step.order = kept
end

-- What is waited for again, whatever is kept: what was given up, as nothing is decided yet, and what is made
-- of the rest.
local function is_open_again(step, place)
  local known = step.known[place] or step.calls[place]
  return known and (known.canceled or known.pure)
end

---A further attempt keeps all results but those of the calls that are blamed.
---@param step skillrt.Step
---@param from string[]  their places
---@param loose boolean|nil  a changed script is to be asked anew for all that it awaits, in any order
function M.drop(step, from, loose)
  step.loose = step.loose or loose
  for _, place in ipairs(from) do
    for at, known in pairs(step.known) do
      if known.answered and (at == place or places.is_below(at, place)) then
        local generations = own(step, "generations")
        generations[at] = (generations[at] or 0) + 1
      end
    end
    without(step, function(at)
      local open = step.calls[at] -- a wait that comes later is asked for when its turn comes
      return at == place or places.is_below(at, place) or is_open_again(step, at)
        or open and not repeats.ACTS[open.kind] and open.kind ~= "run" and places.is_behind(at, place)
    end)
  end
  if step.loose then
    without(step, function(at)
      return is_open_again(step, at)
    end)
  end
end

---Forgets all of an attempt: it had no call.
---@param step skillrt.Step
function M.forget(step)
  step.talks = nil
  without(step, function()
    return true
  end)
end

---A round of a loop is over: what it awaited is not asked for again.
---@param step skillrt.Step
---@param record table
---@param seq integer|nil
function M.round(step, record, seq)
  local place, rounds, order, known = record.c, own(step, "rounds"), own(step, "order"), own(step, "known")
  local kept, count = {}, 0
  for i = #order, 1, -1 do -- what came since the round before, of this loop and beside it
    local at = order[i]
    order[i] = nil
    if at == place and not known[at] then
      break
    elseif places.is_below(at, place) then
      step.acted_in = step.acted_in or known[at] and known[at].acted and place or nil
      known[at] = nil
    else
      count = count + 1
      kept[count] = at
    end
  end
  for i = count, 1, -1 do
    order[#order + 1] = kept[i]
  end
  order[#order + 1] = place -- others see what follows from here on
  for _, field in ipairs({ "values", "notes", "rounds" }) do
    for at in pairs(step[field]) do
      if places.is_below(at, place) then
        step[field][at] = nil
      end
    end
  end
  rounds[place] = { n = record.n, seq = seq, result = not seq and record or nil }
end

return M
