-- run/approval.lua: a person's approval of exact arguments, and how an answer is judged.
--
-- An approval is a question (ctx.ask) that shows the whole arguments and carries their digest; the answer must name
-- it. Arguments that cannot be shown, a question that is not answered in time, and every answer but "approve" are
-- denials. Knows questions, no journal; callers decide which calls need an approval. Used by ctx.lua and
-- questions.lua.

local core = require("skillrt.core")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local plain = require("skillrt.base.plain")
local schema = require("skillrt.skill.schema")

local M = {}

---The longest arguments that a person is shown, in bytes of JSON; nobody can read longer ones, so they are denied.
M.LONGEST = 64 * 1024

---The answers.
M.APPROVE, M.DENY = "approve", "deny"

local FIELDS <const> = {
  header = { type = "text" },
  what = { type = "text", required = true },
  arguments = {},
  timeout = { type = "seconds" },
}

---The digest of arguments: SHA-256 of their JSON with sorted keys.
---@param arguments any  JSON values
---@return string|nil digest  64 hex digits
---@return string? message
function M.digest(arguments)
  local text, why = json.encode(arguments, { sorted = true, name = "arguments" })
  if not text then
    return nil, why
  end
  return core.sha256(text)
end

---The question of an approval.
---@param given table  { header, what, arguments, timeout }
---@return table|nil question  as ctx.ask takes it; nil: invalid, or it cannot be shown
---@return string? message
---@return "denied"? class     it cannot be shown to a person
function M.question(given)
  local checked, message = schema.record(given, FIELDS, "its approval")
  if not checked then
    return nil, message
  end
  local arguments, problem, digest = {}, nil, nil
  if given.arguments ~= nil then -- a copy that the script cannot change while the person decides
    arguments, problem = plain.copy(given.arguments, "arguments")
  end
  if not problem then
    digest, problem = M.digest(arguments)
  end
  if not digest then
    return nil, problem
  end
  local shown = json.encode(arguments, { indent = 2, sorted = true })
  if #shown > M.LONGEST then
    local text = "%s: denied: its arguments are %d bytes; at most %d can be shown to a person"
    return nil, text:format(checked.what, #shown, M.LONGEST), "denied"
  end
  return {
    kind = "ask",
    header = checked.header,
    question = checked.what,
    detail = shown,
    approval = digest,
    timeout = checked.timeout,
    options = {
      { id = M.APPROVE, label = "approve", description = "exactly this, once" },
      { id = M.DENY, label = "deny", description = "do not do it" },
    },
  }
end

---Why an answer does not count for an approval; nil: it does. It names the question by its number, its nonce or the
---digest; a "no" always counts.
---@param one table     the open question { q, question }
---@param answer table  { question = its number, nonce, approval = digest, value }
---@return string|nil
function M.refusal(one, answer)
  local digest = one.question.approval
  if answer.approval ~= nil and answer.approval ~= digest then
    return ("question %d: the answer was meant for other arguments (%s); these are %s"):format(one.q,
      names.show(answer.approval), digest)
  elseif digest and answer.value == M.APPROVE and not (answer.question or answer.nonce or answer.approval) then
    return ("question %d is an approval: name it by its number, nonce or digest"):format(one.q)
  end
  return nil
end

---Asks for an approval, and waits for it.
---@param ctx table
---@param given table  as above
---@return true|nil approved
---@return string? message
---@return "denied"|skillrt.FailureClass? class
function M.ask(ctx, given)
  local question, message, class = M.question(given)
  if not question then
    if class then
      ctx.log(message)
      return nil, message, class
    end
    error("ctx.approve: " .. message, 3)
  end
  local answer, why, cause = ctx.await(question)
  if answer == M.APPROVE then
    return true
  elseif answer ~= nil then
    return nil, given.what .. ": denied", "denied"
  elseif cause == "timeout" then
    return nil, ("%s: denied: no answer within %g seconds"):format(given.what, given.timeout), "denied"
  end
  return nil, why, cause
end

return M
