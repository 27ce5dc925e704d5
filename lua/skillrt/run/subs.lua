-- run/subs.lua: skills that are run by a step of another (ctx.run): scopes of one run, each with a mode, steps
-- and ends of its own over the same journal, engine and calls (docs/steps.md, "Sub-runs").
--
-- Opens a scope when its call leaves, asks the scopes in which something ended what is next, and ends their
-- calls. Knows calls, steps and modes; what skills are made of knows the opener. Used by policy.lua.

local json = require("skillrt.base.json")
local questions = require("skillrt.run.questions")
local scope_of = require("skillrt.run.subs.scope")
local state = require("skillrt.skill.state")

local M = {}

---@class skillrt.Subs
---@field by_id table<string, skillrt.Sub>  those under way: calls.scopes
---@field touched skillrt.Sub[]    in which something ended
local Subs = {}
Subs.__index = Subs

---@param policy skillrt.Policy
---@return skillrt.Subs
function M.new(policy)
  return setmetatable({ policy = policy, by_id = policy.calls.scopes, touched = {} }, Subs)
end

---The request that ctx.run makes.
---@type fun(skill: skillrt.Skill|string, input: table|nil): table|nil, string?
M.request = scope_of.request

-- ---- opening ----

-- A call whose scope has begun, or begins now.
local function open(self, call)
  local policy = self.policy
  local recorded = call:open()
  local id = recorded and recorded.sub or scope_of.id_of(call)
  local books = recorded and policy.books.subs[id]
  local skill, pins, prompts = scope_of.prepared_for(policy, call, books)
  if not skill and recorded then
    error({ message = ("%s: of its sub-run %s: %s"):format(policy.run.work_dir, id, pins), code = "changed" }, 0)
  elseif not skill then
    policy.calls:settle(call, { unsent = true, failed = { class = "permanent", message = pins } })
    call.step.home:go_on(call.step)
    return
  end
  if recorded then
    scope_of.check_pins(policy, id, books, pins, skill)
  else
    scope_of.begin(policy, call, id, skill, pins)
  end
  local sub = scope_of.made(self, call, id, skill, prompts)
  self.by_id[id] = sub
  if recorded then
    sub.steps.loading = policy.steps.loading
    sub.steps:take_up()
    sub.steps.loading = nil
  end
  if call.branch.dead then
    sub:cancel()
  end
  self:touch(sub)
end

---Something ended in a scope: it is asked what is next.
---@param sub skillrt.Sub
function Subs:touch(sub)
  if not sub.is_touched then
    sub.is_touched = true
    self.touched[#self.touched + 1] = sub
  end
end

---Opens the scopes of calls that have begun; those that were under way are taken up as they were.
function Subs:open()
  local calls = self.policy.calls
  while calls.opening[1] do
    local opening = calls.opening
    calls.opening = {}
    for _, call in ipairs(opening) do
      if call:is_awaited() then
        open(self, call)
      end
    end
  end
end

-- ---- ending ----

-- What a function is given of a sub-run: what is its own of the state.
local function result_of(sub, status, reason, message)
  local books = sub.run.books
  local root, own = books.state.root, {}
  for key, value in pairs(root) do
    if not state.is_reserved(key) then
      own[key] = state.copy(value)
    end
  end
  return {
    status = status,
    reason = reason,
    message = message,
    state = own,
    changes = state.diff(sub.run.skill.state or {}, own),
    suggestions = json.is_array(own.suggestions) and state.copy(own.suggestions) or json.array({}),
    outputs = state.copy(root.outputs),
    steps = books.finished,
    work_dir = sub.run.work_dir,
  }
end

-- The scope is over: so is its call.
local function finish(self, sub, entry)
  local policy, call = self.policy, sub.call
  self.by_id[sub.id] = nil
  policy.calls:settle(call, entry)
  if not call.execution.ended then
    call.step.home:go_on(call.step)
  end
end

-- ---- choosing ----

local function ask(self, sub)
  if sub.canceled then
    if sub.left == 0 and self.by_id[sub.id] == sub then
      finish(self, sub, { failed = { class = "canceled", message = "not waited for any more" } })
    end
    return
  end
  local kind, what, why, message = sub.scheduler:choose()
  sub.paused = nil
  if kind == "ask" then
    questions.ask_for_mode(self.policy, what, sub)
  elseif kind == "stop" and what == "paused" then
    sub.paused = { why, message }
  elseif kind == "stop" then
    local unkept = self.policy.books.session and sub.run.skill.contexts
      and require("skillrt.run.contexts").keep(self.policy, sub.run)
    if unkept then
      local text = self.policy.steps.printable("the session is not kept: " .. unkept)
      assert(self.policy:emit({ t = "note", text = text }))
    end
    assert(self.policy:emit({ t = "stop", sub = sub.id, status = what, reason = why, message = message }))
    local entry = { reply = result_of(sub, what, why, message) }
    if what ~= "completed" then
      local text = ("%s: %s (%s)%s"):format(sub.run.skill.name, what, why, message and ": " .. message or "")
      entry.failed = { class = "permanent", message = text }
    end
    finish(self, sub, entry)
  end
end

---Asks each scope in which something ended what is next. True: something came of it elsewhere.
---@return boolean
function Subs:choose()
  local any = self.policy.calls.opening[1] ~= nil or self.touched[1] ~= nil
  self:open()
  while self.touched[1] do
    local touched = self.touched
    self.touched = {}
    for _, sub in ipairs(touched) do
      sub.is_touched = nil
      if self.by_id[sub.id] == sub then
        ask(self, sub)
      end
    end
    self:open()
  end
  return any
end

---Why the run cannot go on when nothing else is under way: a scope that cannot; nil: none.
---@return string|nil reason
---@return string? message
function Subs:stuck()
  local ids = {}
  for id, sub in pairs(self.by_id) do
    ids[#ids + 1] = sub.paused and id or nil
  end
  table.sort(ids)
  local first = ids[1] and self.by_id[ids[1]]
  if first then
    self.policy.run.limits:ended_by(first.run.limits) -- its own, by which it can be raised
    return first.paused[1], ("%s (sub-run %s): %s"):format(first.run.skill.name, first.id, first.paused[2] or "paused")
  end
end

return M
