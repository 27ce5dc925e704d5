-- run/branch/combine.lua: the combinators, which start branches and wait for them: spawn, map, all, await_all,
-- pipeline, gather, first, within, loop (docs/write/steps.md, "Functions").
--
-- Each takes one position of its branch and numbers its own branches. Knows executions, and values from failures;
-- makes no calls and records only rounds. Called by run/ctx.lua.

local drawn = require("skillrt.base.drawn")
local execution_of = require("skillrt.run.branch.execution")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local places = require("skillrt.run.places")
local function_result = require("skillrt.agent.function_result")
local round = require("skillrt.run.call.kind.round")

local M = {}

local WAIT = execution_of.WAIT
local MODES <const> = { finish = true, stop = true, settle = true }

-- The result of a branch's function: its value, or a failure. In a list, no value is null.
local function outcome_of(branch, ok, a, b, c)
  local failure
  if not ok then
    failure = function_result.failure(branch.execution.step.id, a)
    local given = branch.failed
    if failure.raised and given and given.message ~= "" and failure.message:find(given.message, 1, true) then
      failure.class, failure.blame, failure.is_slip = given.class, failure.blame or given.blame, given.is_slip
    else
      failure.is_slip = failure.raised and not failure.blame
    end
  elseif a == nil and type(b) == "string" then
    failure = { message = b, class = type(c) == "string" and c or "permanent" }
  end
  if failure then
    failure.blame, failure.raised = failure.blame or not failure.is_slip and branch.last or nil, nil
    return nil, failure
  end
  return a == nil and json.null or a
end

-- What the waiting branch gets for a failure: nil, message, class; the failed branch is blamed.
local function fail(branch, failure)
  branch.last, branch.failed = failure.blame or branch.last, failure
  return nil, failure.message, failure.class
end

-- Waits until a scope has finished and none of its calls is open.
local function wait_for(scope, branch)
  scope:await(branch)
  coroutine.yield(WAIT)
end

local OPTIONS <const> = { max_parallel = true, on_error = true, key = true }

-- What is wrong with options; nil: nothing.
local function problem_of(options)
  for key in pairs(options) do
    if not OPTIONS[key] then
      return ("unknown option %s%s"):format(names.show(key), names.suggest(tostring(key), OPTIONS))
    end
  end
  local limit = options.max_parallel
  if limit ~= nil and (math.type(limit) ~= "integer" or limit < 1) then
    return "max_parallel must be a whole number of at least 1, not " .. names.show(limit)
  elseif options.on_error ~= nil and not MODES[options.on_error] then
    return 'on_error must be "finish", "stop" or "settle", not ' .. names.show(options.on_error)
  elseif options.key ~= nil and type(options.key) ~= "function" then
    return "key must be a function, not " .. names.show(options.key)
  end
end

local function check_options(options, what)
  options = options or {}
  local problem = type(options) ~= "table" and "options must be a table, not " .. names.show(options)
    or problem_of(options)
  if problem then
    error(("ctx.%s: %s"):format(what, problem), 3)
  end
  return options
end

-- The name of each item's branch below the place.
local function parts_of(list, key, what)
  local parts, seen = {}, {}
  for i = 1, #list do
    local given = i
    if key then
      given = key(list[i], i)
    end
    if type(given) ~= "string" and math.type(given) ~= "integer" then
      error(("ctx.%s: key must give a text or a whole number, not %s"):format(what, names.show(given)), 3)
    end
    parts[i] = places.part(given)
    if seen[parts[i]] then
      error(("ctx.%s: key gave %s for items %d and %d"):format(what, names.show(given), seen[parts[i]], i), 3)
    end
    seen[parts[i]] = i
  end
  return parts
end

-- A branch for each item of a list: waits for all. `ended(index, value, failure)` is called for each result, and
-- returns true if it decides: the others are then cancelled. `deadline`: the number of the branch that takes no slot.
local function perform_each(execution, branch, list, perform, given, ended)
  local scope = execution:scope(branch, execution:place(branch), given.limit)
  local count, begun, over = #list, 0, 0
  local function take(one, ok, a, b, c)
    over = over + 1
    if ended(one.index, outcome_of(one, ok, a, b, c)) and not scope.is_over then
      execution:stop_under(scope)
    end
    scope:settle(over == count)
  end
  local function begin_next()
    if begun >= count or not scope:goes_on() then
      return false
    end
    begun = begun + 1
    local part = given.parts and given.parts[begun] or tostring(begun)
    if scope.begun then
      scope.begun[part] = true
    end
    local one = execution:begin(("%s.%s."):format(scope.place, part), scope, take, perform, list[begun], begun)
    one.index, one.is_deadline = begun, begun == given.deadline
    return true
  end
  if scope.limit then
    scope.feed, scope.begun = begin_next, {}
    execution:feed(scope)
  else
    while begin_next() do end
  end
  wait_for(scope, branch)
end

---@param execution skillrt.Execution
---@param branch skillrt.Branch
---@param list any[]
---@param perform fun(item: any, index: integer): any
---@param options table|nil
---@param what string  the name that the script called
---@return table|nil results
---@return string|table|nil message_or_failures
---@return string? class
function M.map(execution, branch, list, perform, options, what)
  if type(list) ~= "table" then
    error(("ctx.%s: needs a list, not %s"):format(what, names.show(list)), 2)
  elseif #list == 0 and next(list) ~= nil then
    error(("ctx.%s: needs a list, not a table of names such as %s"):format(what, names.show((next(list)))), 2)
  elseif type(perform) ~= "function" then
    error(("ctx.%s: needs a function, not %s"):format(what, names.show(perform)), 2)
  end
  options = check_options(options, what)
  local given = { limit = options.max_parallel, parts = options.key and parts_of(list, options.key, what) }
  local results, failures, first = json.array({}), nil, nil
  if #list == 0 then
    execution:place(branch)
    return results
  end
  perform_each(execution, branch, list, perform, given, function(index, value, failure)
    results[index] = not failure and value
    if failure then
      failures, first = failures or {}, first or failure
      failures[index] = failure
      return options.on_error == "stop"
    end
  end)
  if first and options.on_error == "settle" then
    return results, failures
  elseif first then
    return fail(branch, first)
  end
  return results
end

local function call(fn, index)
  return fn(index)
end

local function functions_of(list, what)
  if type(list) ~= "table" then
    error(("ctx.%s: needs a list of functions, not %s"):format(what, names.show(list)), 3)
  end
  for i = 1, #list do
    if type(list[i]) ~= "function" then
      error(("ctx.%s: item %d must be a function, not %s"):format(what, i, names.show(list[i])), 3)
    end
  end
  return list
end

---Calls each function once.
function M.all(execution, branch, fns, options)
  return M.map(execution, branch, functions_of(fns, "all"), call, options, "all")
end

---Passes each item through all stages, at its own pace.
function M.pipeline(execution, branch, list, ...)
  local stages = table.pack(...)
  local options = type(stages[stages.n]) == "table" and table.remove(stages, stages.n) or nil
  functions_of(stages, "pipeline")
  return M.map(execution, branch, list, function(item, index)
    local value, message, class = item
    for i = 1, #stages do
      value, message, class = stages[i](value, item, index)
      if value == nil and type(message) == "string" then
        return nil, message, class
      end
    end
    return value
  end, options, "pipeline")
end

---The result of the first function that succeeds, and its index.
function M.first(execution, branch, fns)
  if type(fns) ~= "table" or #fns == 0 then
    error("ctx.first: needs a list of functions", 2)
  end
  local value, winner, last
  perform_each(execution, branch, functions_of(fns, "first"), call, {}, function(index, given, failure)
    last = failure or last
    if not failure and not winner then
      value, winner = given, index
      return true
    end
  end)
  if winner then
    return value, winner
  end
  return fail(branch, last)
end

---The result of a function, if it comes within the given seconds.
---@param sleep fun()
function M.within(execution, branch, seconds, fn, sleep)
  local first
  perform_each(execution, branch, { fn, sleep }, call, { deadline = 2 }, function(index, value, failure)
    first = first or { index = index, value = value, failure = failure }
    return true
  end)
  if first.index == 2 then
    return nil, ("%g seconds have passed"):format(seconds), "timeout"
  elseif first.failure then
    return fail(branch, first.failure)
  end
  return first.value
end

---Branches that are started one by one, by name, from `fn` or from each other; waits for all.
---@param execution skillrt.Execution
---@param branch skillrt.Branch
---@param fn fun(begin: fun(key: string|integer, perform: function, ...)): any  starts the first ones
---@param options table|nil  { max_parallel }
---@return true|nil ok
---@return string? message  of the first that failed
---@return string? class
function M.gather(execution, branch, fn, options)
  if type(fn) ~= "function" then
    error("ctx.gather: needs a function, not " .. names.show(fn), 2)
  end
  options = check_options(options, "gather")
  local scope = execution:scope(branch, execution:place(branch), options.max_parallel)
  local begun, open, first = {}, 1, nil -- fn itself may start more
  local function settle(failure)
    open, first = open - 1, first or failure
    scope:settle(open == 0)
  end
  fn(function(key, perform, ...)
    if key == nil or type(perform) ~= "function" then
      error("ctx.gather: a branch needs a key and a function", 2)
    end
    local part = parts_of({ key }, function() return key end, "gather")[1]
    if not scope:goes_on() or drawn.step ~= execution.step then
      error("ctx.gather: has finished: no branch can start in it", 2)
    elseif begun[part] then
      error(("ctx.gather: a branch %s was begun before"):format(names.show(key)), 2)
    end
    begun[part], open = true, open + 1
    execution:begin(("%s.%s."):format(scope.place, part), scope, function(one, ok, a, b, c)
      local _, failure = outcome_of(one, ok, a, b, c)
      settle(failure)
    end, perform, ...)
  end)
  settle(nil)
  wait_for(scope, branch)
  if first then
    return fail(branch, first)
  end
  return true
end

---Starts a branch and returns a handle to wait for it or cancel it.
function M.spawn(execution, branch, fn, ...)
  if type(fn) ~= "function" then
    error("ctx.spawn: needs a function, not " .. names.show(fn), 2)
  end
  local handle, waiting = {}, nil
  local scope = execution:scope(branch, execution:place(branch))
  local result
  local function over(one, ok, a, b, c)
    local value, failure = outcome_of(one, ok, a, b, c)
    result = { value = value, failure = failure }
    scope:settle(true)
  end
  local args = table.pack(...)
  execution:begin(scope.place .. ".1.", scope, over, function()
    return fn(table.unpack(args, 1, args.n))
  end)
  ---Waits for its result.
  function handle.await()
    local me = execution:current()
    if not me then
      error("ctx.spawn: its handle is awaited in a function of its step, not in a coroutine of your own", 2)
    elseif waiting then
      error("ctx.spawn: the handle is awaited already", 2)
    end
    waiting = true
    wait_for(scope, me)
    waiting = nil
    if not result then
      return nil, "canceled", "canceled"
    elseif result.failure then
      return fail(me, result.failure)
    end
    return result.value
  end
  ---Cancels it: calls that were not sent are dropped.
  function handle.cancel()
    if drawn.step ~= execution.step then
      error("ctx.spawn: its handle belongs to another step", 2)
    elseif not scope.is_over then
      execution:stop_under(scope)
      scope:settle()
    end
  end
  return handle
end

---Rounds: each value is recorded, and its calls are forgotten; a replay starts at the newest value.
---@param value any
---@param fn fun(value: any, round: integer): any, boolean?
---@return any value
---@return string? message
---@return string? class
function M.loop(execution, branch, value, fn)
  if type(fn) ~= "function" then
    error("ctx.loop: needs a value and a function, not " .. names.show(fn), 2)
  end
  local place, number = execution:place(branch), 0
  local above = branch.scope
  local newest = round.newest(execution, branch, place)
  if newest then
    number, value = newest.n, newest.value
    if newest.last then
      return value
    end
  end
  local _ <close> = branch:loops()
  while true do
    number = number + 1
    local scope = execution:scope(branch, place)
    branch:begin_round(scope, number)
    local following, last, class = fn(value, number)
    branch.scope = above
    execution:stop_under(scope) -- branches that it started without waiting: their places are forgotten with the round
    if scope.open > 0 then
      wait_for(scope, branch)
    end
    if following == nil and type(last) == "string" then
      return nil, last, class
    end
    value = following
    round.record(execution, place, number, value, last and true or nil)
    if last then
      return value
    end
  end
end

return M
