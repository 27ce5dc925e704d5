-- cli/command/answer.lua: `skillrt answer DIR [N] VALUE`: answers an open question of a run, and goes on.

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
  local one, why = require("skillrt.run.questions").named(books, { question = number })
  if not one then
    return nil, why
  end
  local text, problem = apart(args, one.question)
  return text and { tostring(one.q), text } or nil, problem
end

-- Which question is meant, by its number where there are several, and the answer.
local function read(args, books)
  local open = require("skillrt.run.books.asked").list(books)
  if #open == 0 then
    return nil, ("no question is open in this run (it is %s)"):format(books.status)
  end
  local words, missing = words_of(args, books)
  if missing or not words then
    return nil, missing
  elseif #words > 2 then
    return nil, "too many words; an answer of several words is one argument: 'like this'"
  elseif args.all then
    return #words == 1 and { all = words[1] } or nil, "--all takes one answer, and no number"
  end
  local number = #words == 2 and math.tointeger(tonumber(words[1])) or nil
  if #words == 2 and not number then
    return nil, ("%s is no number of a question"):format(require("skillrt.base.names").show(words[1]))
  end
  local answer = { question = number, value = words[#words] }
  local questions = require("skillrt.run.questions")
  local one, why = questions.named(books, answer)
  if not one then
    return nil, why
  end
  local value, problem = require("skillrt.skill.question").value(one.question, answer.value)
  if value == nil then
    return nil, #open > 1 and ("question %d: %s"):format(one.q, problem) or problem
  end
  return { question = one.q, value = value, nonce = one.nonce }
end

-- A process goes on with the run: the answer is put into its inbox. The exit code; nil: the process has gone
-- without taking it, and it is taken by going on.
local function hand_over(dir, answer)
  local core, ending = require("skillrt.core"), require("skillrt.cli.ending")
  local files, inbox = require("skillrt.base.files"), require("skillrt.run.inbox")
  local work_dir = files.join(files.current(), dir)
  local name, problem = inbox.put(work_dir, {
    answer = answer.value,
    question = answer.question,
    nonce = answer.nonce,
  })
  if not name then
    return ending.refused(problem, "system")
  end
  while true do
    local held, fate = core.holder(dir), inbox.fate(work_dir, name)
    if fate == "taken" then
      require("skillrt.report.output").say("info", ("%s: question %d is answered"):format(dir, answer.question))
      return 0
    elseif fate == "refused" then
      local text = "%s: the run did not take the answer; skillrt log %s says why"
      return ending.refused(text:format(dir, dir), "invalid")
    elseif not held then
      return nil
    elseif not core.terminal.pause(20) then
      return require("skillrt.cli.exit_codes").interrupted
    end
  end
end

return {
  name = "answer",
  summary = "Answers an open question of a run, and goes on with it",
  arguments = {
    { name = "DIR", help = "the directory of the run" },
    {
      name = "VALUE",
      many = true,
      optional = true,
      usage = "[N] VALUE",
      help = "the id of an option or its number; a text where there are no options. N: which question, where several "
        .. "are open (skillrt status lists them)",
    },
  },
  options = {
    { name = "wait", help = "stay with a run that only waits, for a person, an event or a time" },
    { name = "file", value = "FILE", help = "the answer is the text of this file; -: standard input" },
    { name = "edit", help = "write it in your editor (VISUAL, EDITOR), beginning with what the question gives" },
    { name = "all", help = "the answer is for every open question that offers it" },
    require("skillrt.cli.agent").OPTION,
    require("skillrt.cli.agent").ENV_OPTION,
    { name = "accept-changes", help = "go on although the script, a prompt or a strategy changed since" },
    { name = "yes", help = "with --accept-changes: recorded calls may be forgotten and made anew" },
    { name = "quiet", help = "only the last line, and errors" },
    { name = "json", help = "an event a line, as JSON" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local ending = require("skillrt.cli.ending")
    local books, message, code = require("skillrt.run.look").books(args.dir)
    if not books then
      return ending.refused(message, code, nil, args.dir)
    end
    local answer, why = read(args, books)
    if not answer then
      return ending.refused(("%s: %s"):format(args.dir, why), "invalid")
    end
    if require("skillrt.core").holder(args.dir) and not answer.all then
      local done = hand_over(args.dir, answer)
      if done then
        return done
      end
      answer = {} -- it lies in the inbox
    end
    return ending.go_on(args.dir, {
      answers = answer.question and { answer } or nil,
      answer_all = answer.all,
      accept_changes = args.accept_changes,
      yes = args.yes,
      wait = args.wait,
    }, args)
  end,
}
