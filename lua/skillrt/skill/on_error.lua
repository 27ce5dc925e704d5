-- skill/on_error.lua: what follows when an action or phase has failed for good: the words of `on_error`, whether they
-- fit the skill, and after how many failures they apply (`max_errors`).
--
-- Knows definitions, no runs. A failure is that of a step without attempts left.

local names = require("skillrt.base.names")
local retry = require("skillrt.skill.retry")
local tables = require("skillrt.base.tables")

local M = {}

---@alias skillrt.OnError
---| "fail"      # the run fails
---| "skip" # it counts as skipped
---| "continue"  # the others continue; the run fails at its end
---| string      # the id of an action that runs next, or of a later phase with which the run continues

local WORDS <const> = { fail = true, skip = true, continue = true }

-- Whether a phase may continue next to another one.
local function is_later(one, other)
  return other.index > one.index and (one.trailing or false) == (other.trailing or false)
end

local function check_one(one, by_id, where, field)
  local word = one[field]
  if word == nil or WORDS[word] and field == "on_error" then
    return nil
  end
  local other = by_id[word]
  if not other or other == one then
    local known = field == "on_error" and { fail = true, skip = true, continue = true } or {}
    for id in pairs(by_id) do
      known[id] = id ~= one.id or nil
    end
    local words = field == "on_error" and '"fail", "skip", "continue" or ' or ""
    return ('%s: field "%s" must be %sthe id of another %s, not %s%s'):format(where, field, words, one.kind,
      names.show(word), names.suggest(word, known))
  elseif one.kind == "phase" and not is_later(one, other) then
    return ('%s: field "%s": phase "%s" does not come behind it'):format(where, field, word)
  end
  other.handles = one.kind == "action" and #other.when == 0 or nil
  return nil
end

---Checks the declarations of a skill's actions and phases; an action without conditions that others name runs only
---then (`handles`).
---@param skill table
---@return string? problem
function M.check(skill)
  for _, list in ipairs({ skill.actions, skill.phases }) do
    local by_id = tables.by(list, "id")
    for _, one in ipairs(list) do
      local where = ('%s "%s"'):format(one.kind, one.id)
      local message = check_one(one, by_id, where, "on_error") or check_one(one, by_id, where, "alternative")
        or type(one.undo) == "string" and check_one(one, by_id, where, "undo")
      if message then
        return message
      end
    end
  end
  return nil
end

---What is declared for an action or phase that has failed; nil: nothing, only the run's max_errors counts. Another
---one takes over if the work could not be executed (R147), or if the run can continue without it (R182).
---@param one skillrt.Action
---@param class skillrt.FailureClass?
---@return skillrt.OnError|"abort"|nil
function M.word(one, class)
  local plain = retry.plain(class)
  if plain == "fatal" or (plain and retry.CLASSES[plain] == nil) then
    return "abort"
  elseif one.alternative and (one.optional or plain == "execution") then
    return one.alternative
  end
  return one.on_error or (one.optional and "skip") or (one.max_errors and "fail") or nil
end

---Whether its failures do not count for the run's max_errors.
---@param one skillrt.Action
---@param class skillrt.FailureClass?
---@return boolean
function M.is_free(one, class)
  local word = M.word(one, class)
  return word ~= nil and word ~= "fail" and word ~= "abort"
end

---How often it may fail before that; an optional one without a limit has no bound.
---@param one skillrt.Action
---@param of_run integer  the run's max_errors
---@param class skillrt.FailureClass?
---@return integer
function M.most(one, of_run, class)
  if M.word(one, class) == "abort" or (one.alternative and M.word(one, class) == one.alternative) then
    return 1
  end
  return one.max_errors or (one.on_error and 1) or of_run
end

return M
