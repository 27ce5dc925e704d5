-- run/books/asked.lua: what the books know of questions that wait for a person: each has a number that no
-- other question of the run has, and a nonce.
--
-- Part of books.lua: the records `ask` and `answer`, and `call` and `result` of a question or an event. A
-- question belongs to a call, or to the mode that chooses; it is open until it is answered or what it
-- belongs to is over.

local arrived = require("skillrt.run.books.arrived")
local calls = require("skillrt.run.books.calls")
local json = require("skillrt.base.json")

local M = {}

local NONE <const> = {}

-- Whether what a question belongs to still waits for it.
local function is_open(books, question)
  if not question.step then
    return not question.sub or (books.subs ~= nil and books.subs[question.sub] ~= nil)
  end
  local function waits(at)
    local step = books.steps[at.step]
    local call = step and step.calls[at.c]
    return call ~= nil and (call == question or call.asked == question.q)
  end
  local is_waited_for = waits(question)
  for _, at in ipairs(question.also or NONE) do
    is_waited_for = is_waited_for or waits(at)
  end
  return is_waited_for
end

-- What an `ask` or `answer` about calls in doubt is about: one call, and others that were left behind with it.
local function each_call(books, record, take)
  take(books.steps[record.step], record.c)
  for _, at in ipairs(record.also or NONE) do
    take(books.steps[at.step], at.c)
  end
end

-- The books of the mode that asks: of the run, or of a sub-run.
local function scope_of(books, record)
  return record.sub and books.subs and books.subs[record.sub] or books
end

---A question opens.
---@param books skillrt.Books
---@param record table  { q, question, nonce, step, c, due }
function M.ask(books, record)
  local q = record.q or (books.asked or 0) + 1
  record.q, books.asked = q, math.max(books.asked or 0, q)
  books.questions = books.questions or {}
  if record.step then
    each_call(books, record, function(step, c)
      local call = step and step.calls[c]
      if call then
        call.asked = q
      end
    end)
  else
    local scope = scope_of(books, record)
    scope.answer = nil
    if scope.choice then -- a mode asks one thing at a time
      books.questions[scope.choice] = nil
    end
    scope.choice = q
  end
  books.questions[q] = record
end

---A question about a call in doubt, or of the mode, is answered.
---@param books skillrt.Books
---@param record table  { q, value, step, c }
function M.answer(books, record)
  local one = (books.questions or NONE)[record.q]
  M.close(books, record.q)
  if record.c then
    each_call(books, record, function(step, c)
      if step and step.calls[c] then
        calls.answer(step, c, record.value)
      end
    end)
  else
    local scope = scope_of(books, record)
    scope.answer, scope.choice = record.value, nil
    scope.answers = scope.answers or {}
    scope.answers[one and json.encode(one.question, { sorted = true }) or ""] = record.value
  end
end

---A question is over: answered, or what it belonged to is.
---@param books skillrt.Books
---@param q integer
function M.close(books, q)
  if books.questions then
    books.questions[q] = nil
  end
  if books.choice == q then
    books.choice = nil
  end
end

---A call opens a question or closes it; or it waits for an event, or has taken it.
---@param books skillrt.Books
---@param record table  `call` or `result`
function M.of_call(books, record)
  if record.q and record.t == "call" then
    books.asked = math.max(books.asked or 0, record.q)
    books.questions = books.questions or {}
    books.questions[record.q] = record
  elseif record.q then
    M.close(books, record.q)
  elseif record.w and record.t == "call" then
    books.waits = math.max(books.waits or 0, record.w)
  elseif record.took then
    arrived.took(books, record.event)
  end
end

---The question with a number, if it is open.
---@param books skillrt.Books
---@param q integer
---@return table|nil question  { q, question, nonce, step, c, due, at }
function M.of(books, q)
  local question = (books.questions or NONE)[q]
  return question and is_open(books, question) and question or nil
end

---All open questions, oldest first.
---@param books skillrt.Books
---@return table[]
function M.list(books)
  local list = {}
  for _, question in pairs(books.questions or NONE) do
    if is_open(books, question) then
      list[#list + 1] = question
    end
  end
  table.sort(list, function(a, b)
    return a.q < b.q
  end)
  return list
end

---The open questions, for a record of all the books: those of `ask` calls stand with their calls.
---@param books skillrt.Books
---@return table[]|nil
function M.written(books)
  local list = {}
  for _, question in ipairs(M.list(books)) do
    list[#list + 1] = question.t ~= "call" and question or nil
  end
  return list[1] and list or nil
end

---Takes them back from such a record.
---@param books skillrt.Books  its steps are there
---@param list table[]|nil
function M.restore(books, list)
  local questions = {}
  for _, question in ipairs(list or NONE) do
    questions[question.q] = question
  end
  for _, step in pairs(books.steps) do
    for _, call in pairs(step.calls) do
      if call.kind == "ask" then
        questions[call.q] = call
      end
    end
  end
  books.questions = next(questions) and questions or nil
end

return M
