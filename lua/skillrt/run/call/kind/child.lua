-- run/call/kind/child.lua: a wait for another run, the child, which a step submitted (ctx.run with a queue) and any
-- worker performs. Found by its name.
--
-- The child's name follows from the call, so that it is submitted once. When it ends, it sends its outcome to this
-- run as an event, before its last record; a step that waits anew reads the outcome where it is. Also called by
-- run/ctx.lua, step/steps.lua, turn.lua, travel.lua; document/child.lua sets `submit`.

local core = require("skillrt.core")
local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local names = require("skillrt.base.names")
local run_kind = require("skillrt.run.call.kind.run")
local store_of = require("skillrt.run.store")
local tables = require("skillrt.base.tables")
local wait = require("skillrt.run.call.kind.wait")

---@class skillrt.call.Child: skillrt.CallKind
---@field submit nil|fun(calls: skillrt.Calls, call: skillrt.Call, place: string, given: table): true|nil, string?,
---  string?
local M = setmetatable({}, { __index = wait })

-- How deep runs may nest that are children of others; the longest part of a parent's name in its child's; the longest
-- outcome, which has to fit into an arrival.
local DEPTH <const>, MOST_NAME <const>, MOST_OUTCOME <const> = 8, 51, 1000000

local EVENT <const> = names.OF_RUN

-- ---- the parent ----

local function place_of(run, name)
  return store_of.sibling(run.store.place, name)
end

---Whether the calls of a run have children of their own: workers perform it. Others have sub-runs.
---@param calls skillrt.Calls
---@param options table|nil  what ctx.run was given
---@return boolean|nil whether
---@return string? message
function M.is_meant(calls, options)
  local queue = type(options) == "table" and options.queue
  if options == nil then
    return false
  elseif type(queue) ~= "string" or next(options, next(options)) ~= nil then
    return nil, "the third argument is { queue = NAME }"
  elseif not names.is_label(queue) then
    return nil, ("the queue must be 1 to 64 of A-Z a-z 0-9 . _ -, not %s"):format(names.show(queue))
  end
  return calls.run.books.submitted == true
end

---The call that submits a child; its value is the child's name.
---@param calls skillrt.Calls
---@param request table  of run/call/kind/run.lua
---@param queue string
---@return table request
function M.submission(calls, request, queue)
  local own = { kind = "local", name = "submit", expect = "raw", idempotent = true, shown = "submit " .. request.shown,
    declared = { url = "child " .. request.shown .. " " .. queue, body = request.declared.body } }
  function own.run()
    local call = own.call
    local depth = (calls.run.books.child_of or { depth = 0 }).depth + 1
    local name = ("%s.%s"):format(store_of.name(calls.run.store.place):sub(1, MOST_NAME),
      core.sha256(calls:beginning_of_key(call.step, call.place)):sub(1, 12))
    if type(request.skill) ~= "string" then
      return nil, request.shown .. ": only the path of a skill can be submitted: this one is in no file", "permanent"
    elseif depth > DEPTH then
      return nil, ("%s: children of runs are nested %d deep already"):format(request.shown, DEPTH), "permanent"
    end
    local place = place_of(calls.run, name)
    local ok, message, code = M.submit(calls, call, place, { skill = request.skill, input = request.input,
      queue = queue, depth = depth, at = core.wall_ms() })
    return ok and name, message, code == "system" and "transient" or "permanent"
  end
  return own
end

---The call that waits for a child.
---@param name string
---@return table
function M.request(name)
  return { kind = "child", event = EVENT .. name, child = name, expect = "raw",
    shown = "run " .. name }
end

-- What a parent gets of the record of how its child ended.
local function told(outcome)
  local status, message = outcome.status, outcome.message
  return { status = status, result = outcome.result, class = status == "aborted" and "canceled" or "permanent",
    message = status ~= "completed" and ("%s (%s)%s"):format(status, outcome.reason, message and ": " .. message or "")
      or nil }
end

-- How a run ended that has told that; nil: it has not.
local function outcome_of(place)
  local outcome
  look.some(place, function(entry)
    outcome = entry.t == "outcome" and entry or outcome
  end, { '"outcome"' })
  return outcome and told(outcome)
end

function M.begin(calls, call)
  local request, run = call.request, calls.run
  wait.begin(calls, call)
  local outcome = not run.world and outcome_of(place_of(run, request.child))
  if outcome then -- it ended before this call: at once, or before a rollback
    assert(calls.journal:emit({ t = "event", name = request.event, value = outcome, arrival = request.event }))
  end
end
M.take_up = wait.begin

---Whether an event is the outcome of a child.
---@param event string
---@return boolean
function M.is_outcome(event)
  return event:sub(1, #EVENT) == EVENT
end

---Whether an event is the outcome of a child that no call waits for: it was given up, or waits not yet, and then looks.
---@param books skillrt.Books
---@param event string
---@return boolean
function M.is_unwanted(books, event)
  if not M.is_outcome(event) then
    return false
  end
  for _, step in pairs(books.steps) do
    for _, open in pairs(step.calls) do
      if open.event == event then
        return false
      end
    end
  end
  return true
end

-- The children that open calls of a step wait for.
local function children_of(step, list)
  for _, open in pairs(step.calls) do
    list[#list + 1] = open.kind == "child" and open.event:sub(#EVENT + 1) or nil
  end
end

---The children that a run waits for.
---@param books skillrt.Books
---@return string[] names
function M.open(books)
  local list = {}
  for _, step in pairs(books.steps) do
    children_of(step, list)
  end
  table.sort(list)
  return list
end

---Tells a child that its parent does not wait for it any more: it is aborted.
---@param store skillrt.Store  of its parent
---@param name string
---@return string|nil ok
---@return string? message
function M.cancel(store, name)
  return store_of.at(store_of.sibling(store.place, name)):put({ id = "cancel", cancel = store_of.name(store.place) })
end

---Cancels the children that a run waited for before it was rolled back, and does not wait for at that place.
---@param store skillrt.Store
---@param before string[]
---@param there string[]
---@return string? problem
function M.leave(store, before, there)
  local stays, problem = tables.set(there), nil
  for _, name in ipairs(before) do
    if not stays[name] then
      local _, why = M.cancel(store, name) -- the others are canceled all the same
      problem = problem or why
    end
  end
  return problem
end

-- The same once everything recorded so far is durable.
local function cancel_later(calls, name)
  local run = calls.run
  if not run.world then
    calls.queue:perform({ errand = true, over = function()
      local ok, why = M.cancel(run.store, name)
      if not ok then
        calls.journal:note(("%s continues, as it could not be aborted: %s"):format(name, why))
      end
    end })
  end
end

function M.give_up(calls, call, open)
  cancel_later(calls, call.request.child)
  return wait.give_up(calls, call, open)
end

---A step is given up that is not performed any more: cancels its children.
---@param calls skillrt.Calls
---@param step skillrt.Step
function M.give_up_step(calls, step)
  local list = {}
  children_of(step, list)
  for _, name in ipairs(list) do
    cancel_later(calls, name)
  end
end

---What ctx.run gives of a child that has ended.
---@param outcome table
---@return table|nil result
---@return string? message
---@return string? class
---@return table? result
function M.given(outcome)
  local result = outcome.result
  if outcome.status == "completed" then
    return result
  end
  return nil, outcome.message, outcome.class, result
end

-- ---- the child ----

---The record of how a child ends, which another run waits for.
---@param run skillrt.Run
---@param status string
---@param reason string
---@param message string?
---@return table
function M.outcome(run, status, reason, message)
  local entry = { t = "outcome", status = status, reason = reason, message = message,
    result = run_kind.result(run, status, reason, message) }
  if #assert(json.encode(entry.result)) > MOST_OUTCOME then
    entry.result = nil
    entry.status, entry.message = "failed", ("its result is larger than %d bytes"):format(MOST_OUTCOME)
  end
  return entry
end

---Sends the outcome of a child to its parent, unless that was removed; sent twice, it arrives once.
---@param run skillrt.Run
---@return any ok
---@return string? message
function M.tell(run)
  local event, parent = EVENT .. store_of.name(run.store.place), place_of(run, run.books.child_of.run)
  local first, message, code = look.first(parent)
  if not first then
    return code == "missing" or nil, message
  end
  return store_of.at(parent):put({ id = event, event = event, value = told(run.books.outcome) })
end

return M
