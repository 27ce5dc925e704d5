-- cli/command/answer.lua: `skillrt answer [DIR ...] [N] VALUE`: answers an open question of runs, and resumes them.

local ending = require("skillrt.cli.ending")
local names = require("skillrt.base.names")
local open_questions = require("skillrt.run.books.questions")
local question_of = require("skillrt.skill.question")
local questions = require("skillrt.run.questions")
local selection = require("skillrt.cli.selection")

local MAX_FILE <const> = 1 << 20

-- Reads the words of the line that name no run: the answer, and before it possibly the number of a question. Returns
-- what is wrong with them.
local function take_words(args)
  local words, store, problem = args.dir or {}, require("skillrt.run.store"), nil
  if args.file == "-" then
    args.text = io.read("a")
  elseif args.file then
    args.text, problem = require("skillrt.base.files").read(args.file, MAX_FILE, true)
  elseif not args.edit then
    args.text = table.remove(words)
    problem = (not args.text or not words[1] and store.at(args.text):exists())
      and "give the answer, or use --file or --edit" or nil
  end
  args.text = args.text and args.file and args.text:gsub("[\r\n]+$", "") or args.text
  local last = words[#words]
  if last and last:find("^%d+$") and (words[2] or not store.at(last):exists()) then
    args.number = math.tointeger(table.remove(words))
  end
  for i = 2, selection.filter(args) and 0 or #words do
    problem = problem or not store.at(words[i]):exists()
      and ("%s is not a run; quote an answer of several words: 'like this'"):format(names.show(words[i])) or nil
  end
  args.dir = words[1] and words or nil
  return problem or args.every and (args.number or not args.text) and "--every takes one answer, and no number" or nil
end

-- Which question of a run is meant, and the answer to it.
local function read(args, dir, books)
  local open = open_questions.list(books)
  if #open == 0 then
    return nil, ("no question is open in this run (it is %s)"):format(books.status)
  elseif args.every then
    return { every = args.text }
  end
  local value, number = args.text, args.number or not open[2] and open[1].q or nil
  if not value then
    local one, why = questions.named(books, { question = number })
    if not one then
      return nil, why
    end
    value, why = require("skillrt.cli.editor").write(one.question.edit or "", dir)
    if not value then
      return nil, why
    end
    number = one.q
  end
  return questions.meant(books, { question = number, value = value })
end

-- Gives one answer to every open question that accepts it.
local function for_every(books, value)
  local list, refusal = {}, question_of.refusal
  for _, one in ipairs(open_questions.list(books)) do
    list[#list + 1] = not refusal(one.question, value) and { question = one.q, value = value, nonce = one.nonce } or nil
  end
  if not list[1] then
    return nil, ("no open question accepts %s"):format(names.show(value))
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

-- Reports what the run said about the answers. The exit code; nil: each was accepted.
local function refusal(dir, refused)
  if refused[1] then
    local text = "%s: question %s took no answer: it already has one, or is no longer open; see skillrt log %s"
    return ending.refused(text:format(dir, table.concat(refused, ", "), dir), "answered")
  end
end

-- A process advances the run: puts the answers into its inbox. The exit code once it has read all of them; nil: the
-- process ended first, and a resume takes what it did not read.
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

-- Resumes the run, which finds the answers in its inbox: returns its exit code, or that it did not take them.
local function go_on_with(dir, store, waiting, options, args)
  local refused, code = {}, ending.go_on(dir, options, args)
  for name, number in pairs(waiting) do
    refused[#refused + 1] = store:fate(name) == "refused" and number or nil
  end
  return refusal(dir, refused) or code
end

-- Answers a question of one run.
local function answer_of(dir, args)
  local look = require("skillrt.run.look")
  local books, message, code = look.books(dir)
  if not books then
    return nil, message, code, dir
  end
  local answer, why = read(args, dir, books)
  if not answer then
    return nil, ("%s: %s"):format(dir, why), "invalid"
  end
  local waiting, store = {}, require("skillrt.run.store").at(dir)
  local is_submitted = (look.first(dir) or {}).submitted ~= nil
  if store:holder() or is_submitted then
    local list, none = { answer }, nil
    if answer.every then
      list, none = for_every(books, answer.every)
    end
    if not list then
      return nil, ("%s: %s"):format(dir, none), "invalid"
    end
    local done
    done, waiting = hand_over(dir, store, list)
    if not done and is_submitted then
      require("skillrt.report.output").say("info", dir .. ": the answer waits for a worker")
    end
    if done or is_submitted then
      return done or 0
    end
    answer = {} -- it is in the inbox
  end
  return go_on_with(dir, store, waiting, {
    answers = answer.question and { answer } or nil,
    answer_all = answer.every,
  }, args)
end

return {
  name = "answer",
  drives = true,
  summary = "Answers an open question of runs, and resumes them",
  arguments = {
    {
      name = "DIR",
      many = true,
      optional = true,
      usage = "[DIR ...] [N] VALUE",
      help = "VALUE: an option's id or number; a text where there are no options. N: which question, where several are "
        .. "open (skillrt status lists them). DIR: runs; default: the project's last run. With a filter: folders of "
        .. "runs, of which those are chosen that have an open question",
    },
  },
  options = ending.options(selection.options({
    { name = "file", value = "FILE", help = "reads the answer from a file; -: standard input" },
    { name = "edit", help = "opens your editor (VISUAL, EDITOR) with the answer that the question suggests" },
    { name = "every", help = "gives this answer to every open question that offers it" },
  })),
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local problem = take_words(args)
    if problem then
      return nil, problem, "invalid"
    end
    return selection.each(args, "answer", function(dir)
      return answer_of(dir, args)
    end, function(stands)
      return stands.questions > 0
    end)
  end,
}
