-- helpers.lua: small pieces of JavaScript and TypeScript for generated documents (R71-R74, F50).
--
-- Pure text in, text out; knows no config and no files. Called by state_schema, orchestrator.
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

local QUOTES = { ['"'] = '[\\"]', ["'"] = "[\\']", ["`"] = "[\\`]" }
local BACKSLASH <const> = 92

local function end_of_string(condition, from, closing)
  local at = condition:find(closing, from + 1)
  while at and condition:byte(at) == BACKSLASH do
    at = condition:find(closing, at + 2)
  end
  return at or #condition
end

local function arrow_parameters(condition)
  local names = {}
  if condition:find("=>", 1, true) then
    for name in condition:gmatch "([%a_$][%w_$]*)%s*%)?%s*=>" do
      names[name] = true
    end
  end
  return names
end

local function is_behind_dot(condition, at)
  repeat
    at = at - 1
    local c = condition:sub(at, at)
  until not c:find "%s"
  return condition:sub(at, at) == "."
end

-- The next string, number or name: where it begins and ends, and the name.
local function next_token(condition, from)
  local first = condition:find("[%w_$\128-\255\"'`]", from)
  if not first then
    return nil
  end
  local c = condition:sub(first, first)
  if QUOTES[c] then
    return first, end_of_string(condition, first, QUOTES[c])
  elseif c:find "%d" then
    return first, select(2, condition:find("^[%w.]+", first))
  end
  local _, last, name = condition:find("^([%w_$\128-\255]+)", first)
  return first, last, name
end

---Puts `state.` before every name of a condition that is a key of the state.
---@param condition string
---@return string
function M.with_state(condition)
  local parts, from, bound = {}, 1, arrow_parameters(condition)
  local first, last, name = next_token(condition, 1)
  while first do
    if name and not WORDS[name] and not bound[name] and not is_behind_dot(condition, first) then
      parts[#parts + 1] = condition:sub(from, first - 1)
      from = first
    end
    first, last, name = next_token(condition, last + 1)
  end
  parts[#parts + 1] = condition:sub(from)
  return table.concat(parts, "state.")
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
