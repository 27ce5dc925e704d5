-- document/generate/helpers.lua: small JavaScript and TypeScript snippets for generated documents (R71-R74, F50).
--
-- Pure text in, text out; knows no config and no files. Called by state_schema, orchestrator.
local json = require "skillrt.base.json"
local types = require "skillrt.skill.types"

local M = {}

---"collect-context" becomes "CollectContext" (R71).
---@param text string
---@return string
function M.to_pascal_case(text)
  local out = {}
  for part in text:gmatch "[^-]+" do
    out[#out + 1] = part:sub(1, 1):upper() .. part:sub(2)
  end
  return table.concat(out)
end

local DEFAULTS = { number = "0", integer = "0", boolean = "false", string = '""' }

---The initial value of a TypeScript field, as JSON (R72): of the type that its words declare for the run; of several
---literals, the first.
---@param kind string
---@return string
function M.get_default_value(kind)
  local declared = types.of_words(kind)
  local _, literal = kind:match "^%s*(['\"])(.-)%1"
  if declared == "string" and literal then
    return json.encode(literal)
  elseif declared:sub(-2) == "[]" then
    return "[]"
  end
  return DEFAULTS[declared] or "{}"
end

local ESCAPES = { ["'"] = "\\'", ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r" }

---A JavaScript string literal in single quotes.
---@param text string
---@return string
function M.quote(text)
  return "'" .. text:gsub("['\\\n\r]", ESCAPES) .. "'"
end

local LITERALS <const> = { "^%-?%d+%.?%d*$", "^'[^'\\\n]*'$", '^"[^"\\\n]*"$', "^true$", "^false$", "^null$" }

---The test of a condition: a key of the state, alone or compared with a literal; everything else is left to
---evaluateCondition, because JavaScript would throw on a missing path.
---@param condition string
---@return string
function M.test(condition)
  local before, key, rest = condition:match "^(!?)([%a_][%w_]*)(.*)$"
  local literal, plain = (rest or ""):match "^%s*[=!<>]+%s*(.*)$", rest == ""
  for _, pattern in ipairs(literal and LITERALS or {}) do
    plain = plain or literal:find(pattern) ~= nil
  end
  if plain and key ~= "true" and key ~= "false" and key ~= "null" then
    return before .. "state." .. key .. rest
  end
  return ("evaluateCondition(%s, state)"):format(M.quote(condition))
end

local TERMINATION = {
  user_exit = 'state.status === "user_exit"',
  error_limit = "state.error_count >= 3",
  task_completed = 'state.status === "completed"',
  max_iterations = "iteration >= MAX_ITERATIONS",
}

---The test for a termination condition: one of four names, or a condition on the state (R73).
---@param condition string
---@param max_errors integer? default 3
---@return string
function M.get_termination_check(condition, max_errors)
  if condition == "error_limit" and max_errors then
    return "state.error_count >= " .. max_errors
  end
  return TERMINATION[condition] or M.test(condition)
end

---The test for an action's preconditions: all of them, `true` for none (R74).
---@param action { preconditions: string[]? }
---@return string
function M.get_precondition_check(action)
  local out = {}
  for i, condition in ipairs(action.preconditions or {}) do
    out[i] = M.test(condition)
  end
  return #out > 0 and table.concat(out, " && ") or "true"
end

---An id as a JavaScript name: characters other than letters and digits become "_".
---@param id string
---@return string
function M.to_identifier(id)
  local name = id:gsub("[^%w_]", "_")
  return name
end

return M
