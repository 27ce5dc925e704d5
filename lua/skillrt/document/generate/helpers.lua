-- document/generate/helpers.lua: small pieces of JavaScript and TypeScript for generated documents (R71-R74, F50).
--
-- Pure text in, text out; knows no config and no files. Called by state_schema, orchestrator.
local lpeg = require "skillrt.base.system".require "lpeg"

local B, C, Carg, Cs, P, R, S = lpeg.B, lpeg.C, lpeg.Carg, lpeg.Cs, lpeg.P, lpeg.R, lpeg.S

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

local DEFAULTS = { number = "0", boolean = "false", string = '""' }

---What a field of a TypeScript type holds at first, as JSON (R72).
---@param kind string
---@return string
function M.get_default_value(kind)
  if kind:sub(-2) == "[]" then
    return "[]"
  end
  return DEFAULTS[kind] or "{}"
end

-- Words of JavaScript that are no keys of the state.
local WORDS = {}
for word in ("state true false null undefined typeof in of instanceof new NaN Infinity"):gmatch "%S+" do
  WORDS[word] = true
end

local NO_NAMES <const> = {}

-- The names that arrow functions of a condition bind.
local function arrow_parameters(condition)
  if not condition:find("=>", 1, true) then
    return NO_NAMES
  end
  local names = {}
  for name, behind in condition:gmatch "%f[%w_$]([%a_$][%w_$]*)()" do
    if condition:find("^%s*=>", condition:match("^%s*%)()", behind) or behind) then
      names[name] = true
    end
  end
  return names
end

local function quoted(quote)
  return quote * ((1 - S("\\" .. quote)) + "\\" * P(1) ^ -1) ^ 0 * P(quote) ^ -1
end

local letter = R("az", "AZ", "\128\255") + S "_$"
local a_name = letter * (letter + R "09") ^ 0
local member = S " \t\n\v\f\r" ^ 0 * a_name -- behind a dot
local number = R "09" * (R("09", "az", "AZ") + ".") ^ 0 * (B "." * member) ^ -1
local key = C(a_name) * Carg(1) / function(word, bound)
  return (WORDS[word] or bound[word]) and word or "state." .. word
end
local a_text = quoted "'" + quoted '"' + quoted "`"
local stated = Cs((a_text + key + "." * member + number + 1) ^ 0)

---Puts `state.` before every name of a condition that is a key of the state.
---@param condition string
---@return string
function M.with_state(condition)
  return stated:match(condition, 1, arrow_parameters(condition))
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
  return TERMINATION[condition] or M.with_state(condition)
end

---The test for an action's preconditions: all of them, `true` for none (R74).
---@param action { preconditions: string[]? }
---@return string
function M.get_precondition_check(action)
  local conditions = action.preconditions or {}
  if #conditions == 0 then
    return "true"
  end
  local out = {}
  for i, condition in ipairs(conditions) do
    local test = M.with_state(condition)
    local loose = test:find("||", 1, true) or test:find("?", 1, true)
    out[i] = #conditions > 1 and loose and "(" .. test .. ")" or test
  end
  return table.concat(out, " && ")
end

---An id as a JavaScript name: what is no letter or digit becomes "_".
---@param id string
---@return string
function M.to_identifier(id)
  local name = id:gsub("[^%w_]", "_")
  return name
end

local ESCAPES = { ["'"] = "\\'", ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r" }

---A JavaScript string literal in single quotes.
---@param text string
---@return string
function M.quote(text)
  return "'" .. text:gsub("['\\\n\r]", ESCAPES) .. "'"
end

return M
