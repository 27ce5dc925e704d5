-- run/questions.lua: asks about calls whose outcome is unknown: first the skill's on_indoubt, then a person; and
-- applies a person's answers.
--
-- One mechanism for all questions: each is in the books until it is answered (books/questions.lua); question.lua says
-- which values answer it, report/question.lua shows it. Called by turn.lua and resume.lua.

local core = require("skillrt.core")
local duration = require("skillrt.base.terminal_text").duration
local questions = require("skillrt.run.books.questions")
local fatal = require("skillrt.base.fatal")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local question_of = require("skillrt.skill.question")
local reply_of = require("skillrt.run.call.reply")
local soft_deadline = require("skillrt.run.call.soft_deadline")

local M = {}

local CHOICES <const> = { retry = true, skip = true, fail = true, ask = true }

-- What a function of the skill gets about a call.
local function described(call)
  local step = call.step
  return {
    id = step.id,
    step = step.number,
    attempt = step.attempt,
    call = call.place,
    to = call.to,
    message = call.doubt,
  }
end

-- The skill's own decisions, one for each call: a function gets the list and returns one word for all, or a list of
-- words.
local function choices(turn, list)
  local choice = turn.run.skill.on_indoubt
  if type(choice) ~= "function" then
    return choice
  end
  local told = {}
  for i, call in ipairs(list) do
    told[i] = described(call)
  end
  for key, value in pairs(told[1]) do -- for a single call, the list itself has its fields
    told[key] = value
  end
  local ok, said = pcall(choice, told)
  if not ok then
    fatal.pass_on(said)
    turn.journal:note("on_indoubt failed: " .. names.show(said), list[1].step.number)
    return "ask"
  end
  return said
end

-- Asks the skill about calls that it was not asked about yet.
local function ask_skill(turn)
  local calls = turn.calls
  local new = calls:take_undecided()
  if #new == 0 then
    return
  end
  local said = choices(turn, new)
  for i, call in ipairs(new) do
    local choice = type(said) == "table" and said[i] or said or "ask"
    if not CHOICES[choice] then
      local text = 'on_indoubt returned %s; it must return "retry", "skip", "fail" or "ask"'
      turn.journal:note(text:format(names.show(choice)), call.step.number)
      choice = "ask"
    end
    if choice ~= "ask" then
      reply_of.decide(calls, call, choice)
      call.execution:go_on()
    end
  end
end

-- A call as people see it: its place, its label, its address.
local function named_call(call)
  local label = call.request.label
  return ("call %s%s to %s"):format(call.place, label and (" (%s)"):format(label) or "", call.to)
end

-- The question about calls whose outcome is unknown: one, or all of an interruption.
local function of_doubts(calls)
  local first, lines, has_key = calls[1], {}, true
  for i, call in ipairs(calls) do
    lines[i] = ("%s: %s"):format(call.step.id, named_call(call))
    has_key = has_key and call.kind == "http"
  end
  local question = ("%s may have been executed: %s. Send it again?"):format(named_call(first), first.doubt)
  if calls[2] then
    question = ("%d calls may have been executed: %s. Send them again?\n%s"):format(#calls, first.doubt,
      names.lines(lines, 20))
  end
  local it, its = calls[2] and "them" or "it", calls[2] and "their results" or "its result"
  return {
    header = first.step.id,
    question = question,
    options = {
      { id = "retry", label = "retry", description = ("send %s again%s"):format(it,
        has_key and " with the same idempotency key" or "") },
      { id = "skip", label = "skip", description = ("continue without %s"):format(its) },
      { id = "fail", label = "fail", description = ("count %s as failed"):format(it) },
    },
  }
end

-- A few characters that no other question of this run has, to detect late answers.
local function nonce()
  return core.uuid():sub(1, 8)
end

---Asks about calls whose outcome is unknown: first the skill, then a person, about each; and once about all that the
---same interruption left open.
---@param turn skillrt.Turn
function M.about_doubts(turn)
  ask_skill(turn)
  local groups, together = {}, {}
  for _, call in ipairs(turn.calls.doubts) do
    local open = call:open()
    local asked = open.asked and questions.of(turn.books, open.asked)
    if not asked or asked.silent then
      local group = call.interrupted and together[call.doubt]
      if not group then
        group = {}
        groups[#groups + 1] = group
        together[call.doubt] = call.interrupted and group or together[call.doubt]
      end
      group[#group + 1] = call
    end
  end
  for _, group in ipairs(groups) do
    local first, also = group[1], nil
    for i = 2, #group do
      also = also or {}
      also[i - 1] = { step = group[i].step.number, c = group[i].place }
    end
    assert(turn:emit({ t = "ask", q = (turn.books.asked or 0) + 1, step = first.step.number, c = first.place,
      also = also, question = of_doubts(group), nonce = nonce() }))
  end
end

---A call under way has been silent for long: notes that, and asks a person if its agent says so.
---@param turn skillrt.Turn
---@param call skillrt.Call
---@param text string  "<ms> <what it does>"
function M.about_silence(turn, call, text)
  local ms, works = text:match("^(%d+) (.*)$")
  local open = call:open()
  if not open or call.state ~= "sent" or open.asked and questions.of(turn.books, open.asked) then
    return
  end
  local told = ("%s has been silent for %s; it %s"):format(named_call(call), duration(math.tointeger(ms)),
    works ~= "" and works or "shows no sign of work")
  turn.calls:emit(call, { t = "note", text = told })
  if call.request.silence == "ask" then
    assert(turn:emit({ t = "ask", q = (turn.books.asked or 0) + 1, step = call.step.number, c = call.place,
      silent = true, nonce = nonce(), question = { header = call.step.id, question = told .. ". End it?", options = {
        { id = "wait", label = "wait", description = "let it continue" },
        { id = "retry", label = "retry", description = "end it, and send it again" },
        { id = "skip", label = "skip", description = "end it, continue without its result" } } } }))
  end
end

-- A person decided about a call whose outcome is unknown, or which has been silent.
local function decided(turn, one, at, value)
  local calls, step = turn.calls, turn.books.steps[at.step]
  local call = step and step.live.execution and step.live.execution.calls[at.c]
  if step then
    soft_deadline.answered(calls, step, one.at)
  end
  if value == "wait" or not call then
    return
  elseif call.state == "unknown" then
    reply_of.decide(calls, call, value)
    call.execution:go_on()
  elseif call.state == "sent" then
    reply_of.steer(calls, call, value)
  end
end

---Asks a mode's question before it chooses; one that is open already stays.
---@param turn skillrt.Turn
---@param question table
---@param sub skillrt.Sub|nil  whose mode asks; nil: the run's own
function M.ask_for_mode(turn, question, sub)
  local books = turn.books
  local choice = (sub and sub.run.books or books).choice
  local open = choice and questions.of(books, choice)
  local function told(one)
    return json.encode(one, { sorted = true })
  end
  if not open or told(open.question) ~= told(question) then
    local q = (books.asked or 0) + 1
    assert(turn:emit({ t = "ask", q = q, sub = sub and sub.id, question = question, nonce = nonce() }))
  end
end

-- "2 and 5", "1, 2, 3 and 40 more"
local function numbers_of(open)
  local list = {}
  for i, one in ipairs(open) do
    list[i] = one.q
  end
  return names.listed(list, 10)
end

---The open question that an answer names, or the only one; or nil and why there is none.
---@param books skillrt.Books
---@param answer table  { question = its number, nonce }
---@return table|nil question
---@return string? message
---@return string? code  "answered": it is not open any more
function M.named(books, answer)
  local q = answer.question
  local one = q ~= nil and questions.of(books, q) or nil
  if not one and not (q ~= nil and answer.nonce) then -- the list of all is made only here: it may be long
    local open = questions.list(books)
    if #open == 0 then
      return nil, "no question is open in this run"
    elseif q ~= nil then
      return nil, ("question %s is not open; open: %s"):format(names.show(q), numbers_of(open))
    elseif #open > 1 then
      return nil, ("%d questions are open (%s); name the one to answer"):format(#open, numbers_of(open))
    end
    one = open[1]
  end
  if not one or answer.nonce and answer.nonce ~= one.nonce then
    return nil, ("question %s is no longer open: it was answered, or its time is up"):format(
      names.show(one and one.q or q)), "answered"
  end
  local why = (one.question.approval or answer.approval) and require("skillrt.run.approval").refusal(one, answer)
  if why then
    return nil, why
  end
  return one
end

---The question that a person's words answer, and the value.
---@param books skillrt.Books
---@param answer table  { question, approval, value = the words }
---@return table|nil answer  { question, value, nonce, approval }
---@return string? message
function M.meant(books, answer)
  local by = { question = answer.question, approval = answer.approval }
  local one, why = M.named(books, by)
  if not one then
    return nil, why
  end
  local problem
  by.value, problem = question_of.value(one.question, answer.value)
  if by.value == nil then
    return nil, ("question %d: %s"):format(one.q, problem)
  end
  one, why = M.named(books, by) -- an approval names the value that it is for
  return one and { question = one.q, value = by.value, nonce = one.nonce, approval = by.approval }, why
end

---The same, for a value that the question accepts.
---@param books skillrt.Books
---@param answer table  { question, nonce, value }
---@return table|nil question
---@return string? message
---@return string? code
function M.find(books, answer)
  local one, message, code = M.named(books, answer)
  if not one then
    return nil, message, code
  elseif answer.value == false and not one.step then
    return one -- the person gave up
  end
  local why = question_of.refusal(one.question, answer.value)
  if why then
    return nil, ("question %d: %s"):format(one.q, why)
  end
  return one
end

---Records a person's answer and applies it.
---@param turn skillrt.Turn
---@param answer table  as above, and arrival: its id, where it has one
---@return boolean|nil taken
---@return string? message
function M.take(turn, answer)
  local one, why = M.find(turn.books, answer)
  if not one then
    return nil, why
  end
  local step, calls = one.step and turn.books.steps[one.step], turn.calls
  local call = step and step.live.execution and step.live.execution.calls[one.c]
  if call and call.kind == "ask" then
    call.ways.answered(calls, call, answer)
    call.execution:go_on()
    return true
  elseif one.t == "call" then
    return nil, ("question %d cannot be answered now: its step is not under way"):format(one.q)
  end
  assert(turn:emit({ t = "answer", q = one.q, value = answer.value, sub = one.sub, step = one.step, c = one.c,
    also = one.also, arrival = answer.arrival }))
  local sub = one.sub and turn.subs and turn.subs.by_id[one.sub]
  if sub then
    sub:touch() -- it may choose now
  end
  if one.step then
    decided(turn, one, one, answer.value)
    for _, at in ipairs(one.also or {}) do
      decided(turn, one, at, answer.value)
    end
  end
  return true
end

return M
