-- run/people.lua: people in a step: approvals before calls with side effects (interactive), reports of progress and
-- problems (supervised), and a decision about a result with concerns (docs/write/protocol.md, "People").
--
-- Everything here is a call or a log line of the step. Knows requests and approvals, no journal. Used by ctx.lua,
-- steps.lua and lifecycle.lua.

local draws = require("skillrt.run.branch.draws")
local record = require("skillrt.base.record")
local repeats = require("skillrt.mode.repeats")
local url_of = require("skillrt.agent.url")

local M = {}

-- ---- interactive ----

local TEXTS <const> = { "method", "body", "stdin", "message", "cwd", "name" }

local function cleaned(text, secrets)
  for _, secret in ipairs(secrets or {}) do
    local at = #secret > 0 and text:find(secret, 1, true)
    while at do
      text = text:sub(1, at - 1) .. "***" .. text:sub(at + #secret)
      at = text:find(secret, at + 3, true)
    end
  end
  return text
end

-- What a person is shown of a request: everything that it does, and no secret. Where it goes is not what its script
-- calls that.
local function arguments_of(request)
  local declared = request.declared or {}
  local shown, url = { kind = request.kind, to = request.shown }, declared.url or request.url
  if url and url ~= request.shown then
    shown.url = cleaned(url_of.without_user(url), request.secrets)
  end
  for _, name in ipairs(TEXTS) do
    local text = declared[name] or request[name]
    shown[name] = type(text) == "string" and text ~= "" and cleaned(text, request.secrets) or nil
  end
  local argv = declared.argv or request.argv
  for i, word in ipairs(argv or {}) do
    shown.argv = shown.argv or {}
    shown.argv[i] = cleaned(word, request.secrets)
  end
  return shown
end

---Whether a person is asked before a call: if it has side effects and cannot be repeated.
---@param request table  checked
---@return boolean
function M.needs_leave(request)
  return request.idempotent ~= true and repeats.ACTS[request.kind] == true and not request.pure
end

---Asks for approval of a call (R174).
---@param ctx table
---@param step skillrt.Step
---@param request table  checked
---@return true|nil approved
---@return string? message
---@return "denied"? class
function M.leave(ctx, step, request)
  local what = ("%s: %s %s"):format(step.id, request.kind, request.shown)
  return require("skillrt.run.approval").ask(ctx, { what = what, arguments = arguments_of(request) })
end

-- ---- supervised ----

local function tell(self, kind, text)
  draws.say(self.steps.journal, self.step, { text = record.printable(("%s: %s"):format(kind, text)), told = kind })
  local notify = self.run.skill.notify
  if not notify then
    return
  end
  local argv = {}
  for i, word in ipairs(notify) do
    argv[i] = word:gsub("{(%a+)}", { text = text, kind = kind, skill = self.run.skill.name, id = self.step.id })
  end
  local request = { kind = "command", argv = argv, idempotent = true, timeout = 30, shown = "notify" }
  local reply, message = self.ctx.await(request)
  if not reply then
    self.ctx.log("notify: " .. message)
  end
end

---Reports how a step of a supervised action ended: progress, or a problem (R176).
---@param self skillrt.Round
---@param outcome skillrt.Outcome|nil
---@param failure table|nil
function M.tell(self, outcome, failure)
  local step = self.step
  if failure then
    tell(self, "problem", ("%s: attempt %d failed (%s): %s"):format(step.id, step.attempt, failure.class,
      failure.message))
    return
  end
  local skill, root = self.run.skill, step.root
  local list = step.kind == "phase" and skill.phases or skill.actions
  local done = #(step.kind == "phase" and root.phases_completed or root.completed_actions) + 1
  local summary = outcome.summary and (" (%s)"):format(outcome.summary) or ""
  tell(self, "progress", ("%s is done%s, %d of %d"):format(step.id, summary, done, math.max(done, #list)))
end

-- ---- concerns ----

---A person decides about a result that the agent has concerns about, in every mode (R175).
---@param ctx table
---@param step skillrt.Step
---@param definition skillrt.Action
---@param outcome skillrt.Outcome
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
function M.concerned(ctx, step, definition, outcome)
  local repairs = definition.repair and definition.repair > 0
    and { id = "repair", description = "the step is repeated, and its agent gets these concerns" } or nil
  local answer, message, class = ctx.ask({
    header = step.id,
    question = ("It is done, with concerns: %s. Accept it?"):format(outcome.concerns),
    options = { { id = "take", description = "accept the result" },
      { id = "fail", description = "count it as failed" }, repairs },
  })
  if answer == "take" then
    return outcome
  elseif answer == nil then
    return nil, message, class
  end
  return nil, outcome.concerns, answer == "repair" and "validation" or "permanent"
end

return M
