-- expr/init.lua: conditions: `files.length === 0 && !reviewed` becomes a function of the state. A total language with
-- JavaScript's meaning: it always ends, never changes anything, calls nothing but five methods, and where JavaScript
-- would throw, the condition is false and says why. Knows nothing of skills, runs or the core. Called by action,
-- policy, modes, the checker and by scripts.
local analyse = require "skillrt.expr.analyse"
local compile = require "skillrt.expr.compile"
local value = require "skillrt.expr.value"

---@class skillrt.expr
local M = {}

-- the longest text, in bytes; the depth is bounded by tree.MAX_DEPTH (64)
M.MAX_BYTES = 4096
-- what one evaluation may take: one step is about one token done for one element of an array
M.MAX_STEPS = 1000000

---@class skillrt.expr.Condition
---@field text string
---@field reads string[] the state's keys it depends on, sorted
---@field reads_all boolean it reads keys that are only known at run time
---@field has_arrows boolean
---@field test fun(state: table, frame: table?): boolean raises where it cannot be evaluated
---@field ast skillrt.expr.Node see grammar.lua
---@operator call(table): boolean, string?
local Condition = {}
Condition.__index = Condition
Condition.__name = "skillrt.expr.Condition"
Condition.__tostring = function(self) return self.text end

---@class skillrt.expr.Getter: skillrt.expr.Condition
local Getter = setmetatable({}, { __index = Condition })
Getter.__index = Getter
Getter.__name = "skillrt.expr.Getter"
Getter.__tostring = Condition.__tostring

local meter, Thrown = value.meter, value.Thrown
local pcall, type, getmetatable = pcall, type, getmetatable

local function check_state(state, level)
  if type(state) ~= "table" then error("a condition needs a state, a table; got " .. type(state), level + 1) end
end

---Runs a closure within the step budget. What JavaScript would throw becomes a reason; other errors (a limit from
---outside, a state that raises when read) are passed on.
---@return boolean ok
---@return any result or the reason
local function run(self, closure, state)
  meter.left = self.max_steps
  local ok, result = pcall(closure, state, self.has_arrows and {} or nil)
  if ok then return true, result end
  if getmetatable(result) == Thrown then return false, result.reason end
  error(result, 0)
end

---Whether the condition is true; one that cannot be evaluated is false, and the reason says why.
---@param state table
---@return boolean
---@return string? reason
function Condition:__call(state)
  if type(state) ~= "table" then check_state(state, 2) end
  if self.is_quiet then return self.test(state) end
  local ok, result = run(self, self.test, state)
  if ok then return result end
  return false, result
end

-- A double that is a whole number comes back as an integer, so that 3 prints as 3.
local function tidy(result)
  if math.type(result) ~= "float" or (result == 0 and 1 / result < 0) then return result end
  return result > -2 ^ 53 and result < 2 ^ 53 and math.tointeger(result) or result
end

---The value of the expression, not only its truth: nil is undefined.
---@param state table
---@return any
---@return string? reason why there is none
function Condition:evaluate(state)
  check_state(state, 2)
  self.run = self.run or compile.build(self.ast, self.text)
  local ok, result = run(self, self.run, state)
  if ok then return tidy(result) end
  return nil, result
end

Getter.__call = Condition.evaluate

-- For explain.lua: the truth and the value of a part.
local function trial_of(self, state)
  check_state(state, 3)
  local function try(build, node)
    local ok, result = run(self, build(node, self.text), state)
    if ok then return result end
    return nil, result
  end
  return {
    text = self.text,
    truth = function(node)
      local holds, reason = try(compile.build_test, node)
      return holds or false, reason
    end,
    value = function(node) return try(compile.build, node) end,
  }
end

---Why it is true or false: "files.length > 0 is false: files.length is 0".
---@param state table
---@param as_wish boolean?  if it is false: "files.length is 0, wanted files.length > 0"
---@return string
function Condition:explain(state, as_wish)
  local explain = require "skillrt.expr.explain" -- only a blocked run needs it
  return explain.explain(self.ast, trial_of(self, state), as_wish)
end

---Its parts that must all be true, each with its truth and the values that decide it.
---@param state table
---@return { text: string, holds: boolean, values: string }[]
function Condition:clauses(state)
  return require("skillrt.expr.explain").clauses(self.ast, trial_of(self, state))
end

local function check_text(text)
  if #text > M.MAX_BYTES then
    return ("1:1: a condition may have %d bytes, this has %d"):format(M.MAX_BYTES, #text)
  end
  local _, bad = utf8.len(text)
  if bad then return ("1:1: byte %d of the condition is not UTF-8"):format(bad) end
  if not text:find "%S" then return "1:1: the condition is empty" end
  return nil
end

---@class skillrt.expr.Options
---@field max_steps integer? instead of MAX_STEPS

local function parse(text, options, class)
  if type(text) ~= "string" then error("a condition is a string; got " .. type(text), 3) end
  local wrong = check_text(text)
  if wrong then return nil, wrong, "invalid" end
  local ast, what = require("skillrt.expr.grammar").parse(text) -- LPeg is loaded with the first condition
  if not ast then
    return nil, require("skillrt.expr.complaint").render(text, what --[[@as skillrt.expr.Complaint]]), "invalid"
  end
  local needs = analyse.needs(ast)
  return setmetatable({
    text = text,
    reads = needs.reads,
    reads_all = needs.reads_all,
    ast = ast,
    has_arrows = needs.has_arrows,
    is_quiet = not needs.may_throw,
    max_steps = options and options.max_steps or M.MAX_STEPS,
    test = compile.build_test(ast, text),
  }, class)
end

---Gives `test`s that are called directly a common step budget.
function M.refill()
  meter.left = M.MAX_STEPS
end

---Makes a condition of a text: call it with a state.
---@param text string
---@param options? skillrt.expr.Options
---@return skillrt.expr.Condition?
---@return string? message "line:column: what is wrong", the line, and a caret under the place
---@return "invalid"? code
function M.compile(text, options)
  return parse(text, options, Condition)
end

---Like compile, but calling the result gives the expression's value.
---@param text string
---@param options? skillrt.expr.Options
---@return skillrt.expr.Getter?
---@return string? message
---@return "invalid"? code
function M.value(text, options)
  return parse(text, options, Getter)
end

---Whether a condition has the same truth for every state: true, false (never true), nil (not provable).
---@param condition skillrt.expr.Condition
---@return boolean?
function M.constant(condition)
  meter.left = condition.max_steps
  return analyse.constant(condition.ast, function(node)
    local ok, holds = run(condition, compile.build_test(node, condition.text), {})
    return ok and holds
  end)
end

return M
