-- tool/approval.lua: whether a tool may be used with these arguments: always, never, if a person approves, or by a
-- condition. A person is shown the arguments, and the approval is for these alone.
--
-- Asked inside the tool's use, so that the decision is recorded with it. Knows ctx, no journal.

local expr = require("skillrt.expr")
local names = require("skillrt.base.names")

local M = {}

M.WORDS = { always = true, ask = true, never = true }

local conditions = {} -- compiled, by text

---What is wrong with a tool's `approval`; nil: nothing.
---@param value any
---@param where string
---@return string? message
function M.check(value, where)
  if value == nil or type(value) == "function" or M.WORDS[value] then
    return nil
  elseif type(value) ~= "string" then
    return ("%s: approval must be always, ask, never or a condition, not %s"):format(where, names.show(value))
  elseif value:find("^[%a_]+$") then
    return ("%s: approval must be always, ask, never or a condition, not %s%s"):format(where, names.show(value),
      names.suggest(value, M.WORDS))
  end
  local condition, why = expr.compile(value)
  if not condition then
    return ("%s: approval: %s"):format(where, why)
  end
  conditions[value] = condition
end

-- The result of a condition: true allows, everything else asks.
local function of_condition(text, arguments, task)
  local root = setmetatable({ input = arguments }, { __index = task.state })
  local held = conditions[text]:evaluate(root)
  return held == true and "always" or "ask"
end

-- The result of a function: a word, or true or false.
local function of_function(fn, arguments, task)
  local said = fn(arguments, task.state)
  if said == true then
    return "always"
  elseif not said then
    return "never"
  elseif M.WORDS[said] then
    return said
  end
  error(("approval gave %s; it gives always, ask, never, true or false"):format(names.show(said)), 0)
end

---@param tool skillrt.Tool
---@param arguments table
---@param task table
---@param interaction string?  how people take part: they are asked about tools that act, if the tool says nothing
---@return "always"|"ask"|"never"
function M.of(tool, arguments, task, interaction)
  local asks = interaction == "interactive" and tool.acts and not tool.idempotent
  local given = tool.approval or asks and "ask" or "always"
  if type(given) == "function" then
    return of_function(given, arguments, task)
  elseif M.WORDS[given] then
    return given
  end
  return of_condition(given, arguments, task)
end

---Allows the use of a tool, or returns why it is refused.
---@param ctx table
---@param tool skillrt.Tool
---@param arguments table
---@param task table
---@return boolean|nil ok
---@return string? message
function M.given(ctx, tool, arguments, task)
  local word = M.of(tool, arguments, task, ctx.interaction)
  if word == "always" then
    return true
  elseif word == "never" then
    return nil, ("%s may not be used with these arguments"):format(tool.name)
  elseif not ctx.approve or task.bare then
    return nil, ("%s needs a person's approval, and no person can be asked"):format(tool.name)
  end
  local approved, message = ctx.approve({
    header = task.performer and task.performer:label(),
    what = ("May the tool %s be used?"):format(tool.name),
    arguments = arguments,
    timeout = tool.approval_timeout,
  })
  return approved, not approved and ("a person did not approve it: %s"):format(message) or nil
end

return M
