-- run/call/kind/run.lua: another skill's run, as a scope of this one. Found by its name.
--
-- run/turn/subs.lua opens the scope before anything else is chosen, and finishes the call. Also called by
-- run/ctx.lua and run/call/kind/child.lua.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local plain = require("skillrt.base.plain")
local reply_of = require("skillrt.run.call.reply")
local state = require("skillrt.skill.state")
local skill_of = require("skillrt.skill")

---@class skillrt.call.Run: skillrt.CallKind
local M = {}

---The request that ctx.run makes.
---@param skill skillrt.Skill|string
---@param input table|nil
---@return table|nil request
---@return string? message
function M.request(skill, input)
  local is_skill = skill_of.is(skill)
  if not is_skill and (type(skill) ~= "string" or skill == "") then
    return nil, "needs a skill or the path of one, not " .. names.show(skill)
  elseif input ~= nil and not json.is_object(input) then
    return nil, "the input must hold names and values, not " .. names.show(input)
  end
  local copy, text, message
  copy, message = plain.copy(input or {}, "input")
  if copy ~= nil then
    text, message = json.encode(copy, { sorted = true, name = "input" })
  end
  if not text then
    return nil, message
  end
  local shown = is_skill and skill.name or skill
  return {
    kind = "run",
    skill = skill,
    input = copy,
    expect = "raw",
    idempotent = true,
    shown = shown,
    declared = { url = "skill " .. shown, body = text },
  }
end

---What a function gets from a run that has ended: its own part of the state.
---@param run skillrt.Run
---@param status string
---@param reason string
---@param message string?
---@return table
function M.result(run, status, reason, message)
  local books = run.books
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
    changes = state.diff(run.skill.state or {}, own),
    suggestions = json.is_array(own.suggestions) and state.copy(own.suggestions) or json.array({}),
    outputs = state.copy(root.outputs),
    steps = books.finished,
    work_dir = run.store:path(),
  }
end

function M.begin(calls, call)
  call:become("asked")
  calls.opening[#calls.opening + 1] = call
end
M.take_up = M.begin

function M.value(call, entry)
  return reply_of.copy(call, entry.reply)
end

function M.give_up(calls, _, open)
  local scope = open and calls.scopes[open.sub]
  if scope then
    scope:cancel()
  end
  return not open -- otherwise its scope ends first; one that is not opened yet is opened before
end

return M
