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

local function end_of_string(text, from)
  local quote, at = text:sub(from, from), from + 1
  while at <= #text do
    local c = text:sub(at, at)
    if c == "\\" then
      at = at + 1
    elseif c == quote then
      return at
    end
    at = at + 1
  end
  return #text
end

local function arrow_parameters(text)
  local names = {}
  for name in text:gmatch "([%a_$][%w_$]*)%s*%)?%s*=>" do
    names[name] = true
  end
  return names
end

-- What begins at a place of a condition: where its last byte is, and whether it is a name.
local function token(condition, at)
  local c = condition:sub(at, at)
  if c == '"' or c == "'" or c == "`" then
    return end_of_string(condition, at), false
  elseif c:find "[%a_$\128-\255]" then
    return select(2, condition:find("^[%w_$\128-\255]+", at)), true
  elseif c:find "%d" then
    return select(2, condition:find("^[%w.]+", at)), false
  end
  return select(2, condition:find("^[^%w_$\128-\255\"'`]+", at)), false
end

local function put_state(condition)
  local out, at, bound, member = {}, 1, arrow_parameters(condition), false
  while at <= #condition do
    local stop, is_name = token(condition, at)
    local piece = condition:sub(at, stop)
    if is_name and not member and not WORDS[piece] and not bound[piece] then
      out[#out + 1] = "state."
    end
    out[#out + 1] = piece
    member = not is_name and (piece:find "%.%s*$" ~= nil or (member and not piece:find "%S"))
    at = stop + 1
  end
  return table.concat(out)
end

local KNOWN_MOST <const> = 4096
local known, known_count = {}, 0 -- several documents show the same conditions

---Puts `state.` before every name of a condition that is a key of the state.
---@param condition string
---@return string
function M.with_state(condition)
  local result = known[condition]
  if not result then
    if known_count >= KNOWN_MOST then
      known, known_count = {}, 0
    end
    result = put_state(condition)
    known[condition], known_count = result, known_count + 1
  end
  return result
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
