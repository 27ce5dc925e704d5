-- run/books/questions.lua: questions that wait for a person: each has a number that is unique in the run, and a
-- nonce.
--
-- A question belongs to a call, or to the mode that chooses; it is open until it is answered or its owner has
-- finished. Called by the record types that ask and answer, snapshot.lua, and whoever shows questions.

local json = require("skillrt.base.json")

local M = {}

local NONE <const> = {}

-- Whether the owner of a question still waits for it.
local function is_open(books, question)
  if not question.step then
    return not question.sub or (books.subs ~= nil and books.subs[question.sub] ~= nil)
  end
  for _, at in ipairs({ question, table.unpack(question.also or NONE) }) do
    local step = books.steps[at.step]
    local call = step and step.calls[at.c]
    if call and (call == question or call.asked == question.q) then
      return true
    end
  end
  return false
end

-- The calls that an `ask` or `answer` about unknown outcomes concerns: one, and others left open with it.
local function note(books, record, field, value)
  for _, at in ipairs({ record, table.unpack(record.also or NONE) }) do
    local step = books.steps[at.step]
    if step and step.calls[at.c] then
      step:note(at.c, field, value)
    end
  end
end

---A question opens.
---@param books skillrt.Books  the run's
---@param record table  `ask`, or the `call` of a question
function M.open(books, record)
  books.asked = math.max(books.asked or 0, record.q)
  books.questions = books.questions or {}
  books.questions[record.q] = record
end

---A person is asked about calls whose outcome is unknown; or by a mode, which asks one question at a time.
---@param scope skillrt.Books  of the mode
---@param record table  { q, question, nonce, step, c, also }
---@param books skillrt.Books  the run's
function M.ask(scope, record, books)
  if record.step then
    note(books, record, "asked", record.q)
  else
    scope.answer = nil
    if scope.choice then
      M.close(books, scope.choice)
    end
    scope.choice = record.q
  end
  M.open(books, record)
end

---... and answered.
---@param scope skillrt.Books
---@param record table  { q, value, step, c, also }
---@param books skillrt.Books  the run's
function M.answer(scope, record, books)
  local one = (books.questions or NONE)[record.q]
  M.close(books, record.q)
  if record.c then
    note(books, record, "decision", record.value ~= "wait" and record.value or nil)
  else
    scope.answer, scope.choice = record.value, nil
    scope.answers = scope.answers or {}
    scope.answers[one and json.encode(one.question, { sorted = true }) or ""] = record.value
  end
end

---A question is closed: answered, or its owner has finished.
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

---The open questions, for a snapshot; those of `ask` calls are stored with their calls.
---@param books skillrt.Books
---@return table[]|nil
function M.written(books)
  local list = {}
  for _, question in ipairs(M.list(books)) do
    list[#list + 1] = question.t ~= "call" and question or nil
  end
  return list[1] and list or nil
end

---Restores them from a snapshot.
---@param books skillrt.Books  with its steps restored already
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
