-- cli/command/answer.lua: `skillrt answer DIR [N] VALUE`: answers an open question of a run, and goes on.

local ending = require("skillrt.cli.ending")
local names = require("skillrt.base.names")
local open_questions = require("skillrt.run.books.questions")
local question_of = require("skillrt.skill.question")
local questions = require("skillrt.run.questions")

local MAX_FILE <const> = 1 << 20

-- A text that is not among the words: of a file, or written now. False: neither was asked for.
local function apart(args, question)
  local text, problem
  if args.edit then
    return require("skillrt.cli.editor").write(question.edit or "", args.dir)
  elseif not args.file then
    return false
  elseif args.file == "-" then
    text = io.read("a")
  else
    text, problem = require("skillrt.base.files").read(args.file, MAX_FILE)
  end
  return text and (text:gsub("[\r\n]+$", "")), problem
end

-- The words with the answer behind the number, wherever it comes from.
local function words_of(args, books)
  local words = args.value or {}
  if not (args.file or args.edit) then
    return words, #words == 0 and "say the answer, or --file, or --edit" or nil
  elseif #words > 1 then
    return nil, "with --file or --edit only the number of the question is given"
  end
  local number = words[1] and math.tointeger(tonumber(words[1])) or nil
  local one, why = questions.named(books, { question = number })
  if not one then
    return nil, why
  end
  local text, problem = apart(args, one.question)
  return text and { tostring(one.q), text } or nil, problem
end

-- Which question is meant, by its number where there are several, and the answer.
local function read(args, books)
  local open = open_questions.list(books)
  if #open == 0 then
    return nil, ("no question is open in this run (it is %s)"):format(books.status)
  end
  local words, missing = words_of(args, books)
  if missing or not words then
    return nil, missing
  elseif #words > 2 then
    return nil, "too many words; an answer of several words is one argument: 'like this'"
  elseif args.every then
    return #words == 1 and { every = words[1] } or nil, "--every takes one answer, and no number"
  end
  local number = #words == 2 and math.tointeger(tonumber(words[1])) or nil
  if #words == 2 and not number then
    return nil, ("%s is not the number of a question"):format(names.show(words[1]))
  end
  return questions.meant(books, { question = number or not open[2] and open[1].q or nil, value = words[#words] })
end

-- One answer for every open question that takes it.
local function for_every(books, value)
  local list, refusal = {}, question_of.refusal
  for _, one in ipairs(open_questions.list(books)) do
    list[#list + 1] = not refusal(one.question, value) and { question = one.q, value = value, nonce = one.nonce } or nil
  end
  if not list[1] then
    return nil, ("no open question can be answered by %s"):format(names.show(value))
  end
  return list
end

-- "question 2 is answered", "questions 1, 2 and 3 more are answered"
local function told(numbers)
  if not numbers[2] then
    return ("question %s is answered"):format(numbers[1])
  end
  return ("questions %s are answered"):format(names.listed(numbers, 10))
end

-- All were met by the run. The exit code; nil: each was taken.
local function refusal(dir, refused)
  if refused[1] then
    local text = "%s: question %s took no answer: it already has one, or is no longer open; see skillrt log %s"
    return ending.refused(text:format(dir, table.concat(refused, ", "), dir), "answered")
  end
end

-- A process goes on with the run: the answers are put into its inbox. The exit code when it has met all; nil: the
-- process has gone before, and what it did not take is taken by going on.
local function hand_over(dir, store, answers)
  local entries, taken, refused, waiting = {}, {}, {}, {}
  for i, answer in ipairs(answers) do
    entries[i] = { answer = answer.value, question = answer.question, nonce = answer.nonce }
  end
  local handed, problem = require("skillrt.cli.handing").over(store, entries)
  if not handed then
    return problem and ending.refused(problem, "system") or require("skillrt.cli.exit_codes").interrupted
  end
  for i, one in ipairs(handed) do
    local number = answers[i].question
    if one.fate == "waits" then
      waiting[one.name] = number
    else
      table.insert(one.fate == "taken" and taken or refused, number)
    end
  end
  if next(waiting) then
    return refusal(dir, refused), waiting
  elseif taken[1] then
    require("skillrt.report.output").say("info", ("%s: %s"):format(dir, told(taken)))
  end
  return refusal(dir, refused) or 0
end

-- Goes on with the run, which finds the answers in its inbox: its exit code, or that it did not take them.
local function go_on_with(dir, store, waiting, options, args)
  local refused, code = {}, ending.go_on(dir, options, args)
  for name, number in pairs(waiting) do
    refused[#refused + 1] = store:fate(name) == "refused" and number or nil
  end
  return refusal(dir, refused) or code
end

return {
  name = "answer",
  drives = true,
  summary = "Answers an open question of a run, and resumes it",
  arguments = {
    { name = "DIR", help = "the directory of the run" },
    {
      name = "VALUE",
      many = true,
      optional = true,
      usage = "[N] VALUE",
      help = "an option's id or number; a text where there are no options. N: which question, where several are open "
        .. "(skillrt status lists them)",
    },
  },
  options = ending.options({
    { name = "file", value = "FILE", help = "reads the answer from a file; -: standard input" },
    { name = "edit", help = "opens your editor (VISUAL, EDITOR) with the answer that the question suggests" },
    { name = "every", help = "gives this answer to every open question that offers it" },
  }),
  ---@param args table
  ---@return integer code
  run = function(args)
    local books, message, code = require("skillrt.run.look").books(args.dir)
    if not books then
      return ending.refused(message, code, nil, args.dir)
    end
    local answer, why = read(args, books)
    if not answer then
      return ending.refused(("%s: %s"):format(args.dir, why), "invalid")
    end
    local waiting, store = {}, require("skillrt.run.store").at(args.dir)
    local is_submitted = (require("skillrt.run.look").first(args.dir) or {}).submitted ~= nil
    if store:holder() or is_submitted then
      local list, none = { answer }, nil
      if answer.every then
        list, none = for_every(books, answer.every)
      end
      if not list then
        return ending.refused(("%s: %s"):format(args.dir, none), "invalid")
      end
      local done
      done, waiting = hand_over(args.dir, store, list)
      if not done and is_submitted then
        require("skillrt.report.output").say("info", args.dir .. ": the answer waits for a worker")
      end
      if done or is_submitted then
        return done or 0
      end
      answer = {} -- it lies in the inbox
    end
    return go_on_with(args.dir, store, waiting, {
      answers = answer.question and { answer } or nil,
      answer_all = answer.every,
    }, args)
  end,
}
