-- report/status.lua: a run's status from its journal alone: for people and as JSON.
--
-- Takes no lock, so it may look at a run that is under way. Knows the books. Called by
-- cli/command/status.lua.

local agents = require("skillrt.report.agents")
local arrivals = require("skillrt.run.books.arrivals")
local asked = require("skillrt.run.books.questions")
local closing = require("skillrt.report.closing")
local core = require("skillrt.core")
local instant = require("skillrt.base.instant")
local look = require("skillrt.run.look")
local failures = require("skillrt.run.books.failures")
local names = require("skillrt.base.names")
local question = require("skillrt.report.question")
local store_of = require("skillrt.run.store")
local subs = require("skillrt.run.books.subs")
local text_of = require("skillrt.base.terminal_text")
local usage = require("skillrt.report.usage")
local views = require("skillrt.run.views")

local M = {}

local escape = text_of.escape

-- What else is shown of an open call.
local function more_of(call)
  return call.due and ", until " .. instant.iso(call.due)
    or call.doubt and not call.decision and ", outcome unknown" or ""
end

-- What the agents of a run did so far, from its records; reads them only if an agent is under way.
local function told_of(dir, books)
  local told = agents.new()
  for _, step in pairs(books.steps) do
    for _, call in pairs(step.calls) do
      if call.label then
        look.records(dir, function(entry)
          told:take(entry)
          return true
        end)
        return told
      end
    end
  end
  return told
end

-- The agents of a step that are under way, oldest first.
local function agents_under_way(step, told)
  local list = core.json.array({})
  for place, call in pairs(step.calls) do
    local one = told:of(step.number, place) or {}
    list[#list + 1] = call.label and { label = call.label, model = call.model or call.to, at = one.at or call.at,
      tokens = one.tokens, dollars = one.dollars, words = ("call %s%s"):format(place, more_of(call)) } or nil
  end
  table.sort(list, function(a, b)
    return a.at < b.at or a.at == b.at and a.words < b.words
  end)
  return list
end

-- Where the other open calls of a step went; the first few.
local function waits_for(step)
  local targets = {}
  for place, call in pairs(step.calls) do
    local what = call.q and "question " .. call.q or call.event and names.awaited(call.event) or call.to or call.kind
    targets[#targets + 1] = not call.label and ("%s (call %s%s)"):format(what, place, more_of(call)) or nil
  end
  table.sort(targets)
  return #targets > 0 and names.listed(targets, 5) or nil
end

local function open_steps(dir, books)
  local list, paths, depths, told = {}, {}, {}, told_of(dir, books)
  for number, step in pairs(books.steps) do
    paths[number], depths[number] = subs.path(books.steps, number)
    list[#list + 1] = {
      step = step.number,
      sub = step.sub,
      skill = step.sub and books.subs[step.sub].skill or nil,
      depth = step.sub and depths[number] or nil,
      id = step.id,
      kind = step.kind,
      attempt = step.attempt,
      stage = failures.stage_of(step, core.wall_ms()),
      started_at = instant.iso(step.started_at),
      waits_for = waits_for(step),
      agents = agents_under_way(step, told),
      retry_at = step.retry_at and instant.iso(step.retry_at) or nil,
    }
  end
  table.sort(list, function(a, b)
    return paths[a.step] < paths[b.step]
  end)
  return list
end

local function open_questions(books, open)
  local list = {}
  for i, one in ipairs(open) do
    local step = one.step and books.steps[one.step]
    list[i] = question.told(one, step and step.id or nil)
  end
  return list
end

---@param dir string
---@param books skillrt.Ledger
---@param report table  of look.books
---@return table status
function M.of(dir, books, report)
  local root = books.state and books.state.root or {}
  local errors = root.errors or {}
  local last = errors[#errors]
  local store = store_of.at(dir)
  local holder = store:holder()
  local open = asked.list(books)
  local status = {
    skill = books.skill,
    run_id = books.run_id,
    parent = books.child_of and books.child_of.run,
    mode = books.mode,
    work_dir = dir,
    status = look.standing(books.status, holder),
    reason = books.reason,
    message = books.message,
    limit = books.limit,
    held_by = holder,
    started_at = books.started_at and instant.iso(books.started_at),
    updated_at = instant.iso(books.at),
    completed_actions = root.completed_actions,
    phases_completed = root.phases_completed,
    steps = books.finished,
    iterations = root.iteration_count,
    open = core.json.array(open_steps(dir, books)),
    errors = #errors,
    last_error = last,
    state = books.mode == "machine" and root.state or nil,
    metrics = books.mode == "machine" and root.metrics or nil,
    tool_set = books.tool_set,
    phases = books.phases and core.json.array(books.phases) or nil,
    limits = core.json.array(usage.list(books)),
    checkpoint = books.checkpoint and books.checkpoint.name or nil, -- the place of a rollback
    rollbacks = books.rollbacks or 0,
    retries = books.retries or 0, -- attempts after the first, of all steps and calls
    question = open[1] and open[1].question,
    questions = open[1] and core.json.array(open_questions(books, open)) or nil,
    arrived = arrivals.list(books)[1] and core.json.array(arrivals.list(books)) or nil,
    inbox = store:waiting(),
    records = report.last,
    edited = report.view_edited or nil,
    prompts = store:stat(views.PROMPTS) and store:path(views.PROMPTS) or nil,
  }
  status.next = M.next(books, status, dir)
  return status
end

---The suggested next command, or nil.
---@return string|nil
function M.next(books, status, dir)
  if status.held_by then
    return nil
  end
  local command = closing.next({
    status = books.status,
    reason = status.reason,
    questions = status.questions,
    failed_step = books.last_failed and books.last_failed.id,
    limit = books.limit,
  }, dir)
  return command
end

---A run's status in a few words, escaped.
---@param status table
---@return string
function M.stands(status)
  if status.held_by then
    local held = status.held_by
    return held.pid and ("%s, process %d on %s since %s"):format(status.status, held.pid, escape(held.host),
      escape(held.since)) or status.status .. ", held by a process that cannot be named"
  elseif status.status == "interrupted" then
    return "interrupted: its process is gone"
  end
  return ("%s (%s)%s"):format(escape(status.status), escape(tostring(status.reason)), closing.at_limit(status))
end

local UNITS <const> = { [1] = "s", [60] = "min", [3600] = "h", [86400] = "days" }

---How long ago something was, in seconds, minutes, hours or days: at least two of them.
---@param ms integer  UTC
---@return string
function M.ago(ms)
  local passed = math.max(0, core.wall_ms() - ms) // 1000
  local unit = passed < 120 and 1 or passed < 7200 and 60 or passed < 172800 and 3600 or 86400
  return ("%d %s ago"):format(passed // unit, UNITS[unit])
end

local function step_line(step)
  local name = step.sub and ("%s%s: %s"):format(("  "):rep(step.depth), step.skill, step.id) or step.id
  local line = ("%s, %ssince %s"):format(escape(name), step.stage ~= "executing" and step.stage .. ", " or "",
    step.started_at)
  if step.attempt > 1 then
    line = ("%s, attempt %d"):format(line, step.attempt)
  end
  if step.waits_for then
    line = ("%s, waits for %s"):format(line, escape(step.waits_for))
  end
  return line
end

local function add(out, name, value)
  out[#out + 1] = ("%-10s %s"):format(name, value)
end

local function add_error(out, status)
  local last = status.last_error
  if last then
    local id = tostring(last.action or last.phase)
    local lines = text_of.lines(tostring(last.message))
    add(out, "last error", ("%s: %s"):format(escape(id), lines[1] or ""))
    for i = 2, #lines do
      add(out, "", lines[i])
    end
  end
end

---The lines of a status for people, escaped.
---@param status table
---@param books skillrt.Ledger
---@return string[]
function M.lines(status, books)
  local out = {}
  add(out, "skill", ("%s (%s)"):format(escape(tostring(status.skill)), escape(tostring(status.mode))))
  add(out, "run", escape(tostring(status.run_id)) .. (status.parent and ", child of " .. escape(status.parent) or ""))
  add(out, "status", M.stands(status))
  if status.message and status.status ~= "completed" and (status.limit or not status.questions) then
    for i, line in ipairs(text_of.lines(tostring(status.message))) do
      add(out, i == 1 and "because" or "", line)
    end
  end
  if books.started_at then
    add(out, "started", ("%s, %s"):format(status.started_at, M.ago(books.started_at)))
  end
  if status.prompts then
    add(out, "prompts", escape(status.prompts))
  end
  add(out, "last", ("%s, %s"):format(status.updated_at, M.ago(books.at)))
  add(out, "steps", ("%d finished, %d in progress, %d failed, %d %s"):format(status.steps, #status.open, status.errors,
    status.retries, status.retries == 1 and "retry" or "retries"))
  if status.state ~= nil then
    local moved = type(status.metrics) == "table" and status.metrics.state_transitions or 0
    add(out, "state", ("%s, after %s %s"):format(escape(tostring(status.state)), escape(tostring(moved)),
      moved == 1 and "transition" or "transitions"))
  end
  if status.tool_set then
    local times = #status.phases
    add(out, "tool set", ("%s, entered %d %s"):format(escape(status.tool_set), times, times == 1 and "time" or "times"))
  end
  if status.checkpoint then
    local back = status.rollbacks > 0 and (", rolled back %d %s"):format(status.rollbacks,
      status.rollbacks == 1 and "time" or "times") or ""
    add(out, "checkpoint", escape(status.checkpoint) .. back)
  end
  add(out, "limits", table.concat(usage.words(status.limits), ", "))
  for _, step in ipairs(status.open) do
    add(out, "open", step_line(step))
    for _, one in ipairs(step.agents) do
      add(out, "", escape(agents.line(one, core.wall_ms())))
    end
  end
  add_error(out, status)
  if status.questions then
    for i, line in ipairs(question.all(status.questions)) do
      add(out, i == 1 and (#status.questions > 1 and "questions" or "question") or "", line)
    end
  end
  for i, event in ipairs(status.arrived or {}) do
    if i <= 20 then
      local text = "the event %s arrived %s; no step waits for it"
      add(out, i == 1 and "arrived" or "", text:format(escape(event.name), M.ago(event.at)))
    end
  end
  if status.inbox > 0 and not status.held_by then
    local text = "%d %s in the inbox; skillrt resume reads it"
    add(out, "note", text:format(status.inbox, status.inbox == 1 and "file is" or "files are"))
  end
  if status.edited then
    add(out, "note", "state.json was edited by hand; skillrt resume --accept-edits accepts the edits")
  end
  if status.next then
    add(out, "next", status.next)
  end
  return out
end

return M
