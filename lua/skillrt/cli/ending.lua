-- cli/ending.lua: what happens when a run has stopped: asks its question on the terminal, prints its last line and
-- the suggested next command, and gives the exit code; or says why it could not be opened.
--
-- Called by the commands that run.

local core = require("skillrt.core")
local exit_codes = require("skillrt.cli.exit_codes")
local output = require("skillrt.report.output")
local tables = require("skillrt.base.tables")
local text_of = require("skillrt.base.terminal_text")
local trim = require("skillrt.base.text").trim

local M = {}

---Prints an error: each line escaped, the first after the program's name.
---@param message string
---@param hint string?
function M.complain(message, hint)
  local head = "skillrt: "
  for _, line in ipairs(text_of.lines(message)) do
    output.say("error", head .. line)
    head = "  "
  end
  if hint then
    output.say("info", hint)
  end
end

local NOT_KEPT = 'it cannot be answered later: the run existed in memory only (context = "memory"); '
  .. 'with context = "file" it can be answered now or later'

-- Prints why a run could not be opened, and what to do about it if the message does not say so.
local HINTS = {
  busy = function(dir)
    return dir and ("see what it does: skillrt status %s"):format(dir)
  end,
  exists = function(dir)
    return dir and ("resume that run: skillrt resume %s"):format(dir)
  end,
  missing = function(_, message)
    if message:find(": contains no run: one was started here", 1, true) then
      return "no step of it started: start the run again, in this directory or another"
    end
    local dir, place = message:match("^([^@]+)@([^/@]+): contains no run$")
    if place then
      return text_of.escape(("DIR@PLACE is for show, diff and fork; else name the run: %s (rollback: --to %s)"):format(
        text_of.shell(dir), text_of.shell(place)))
    end
    return message:find(": contains no run$") and 'name the directory of a run: skillrt list DIR shows the runs '
      .. 'in a folder (with context = "memory" a run has none)'
  end,
  system = function(_, message)
    return message:find("/state%.json: Not a directory$") and "a run is a directory; name that"
  end,
  corrupt = function(dir)
    return dir and ("what can be read of it: skillrt log %s"):format(dir)
  end,
}

-- A run that was moved, or whose move was not finished.
local function hint_of_move(message)
  local gone = message:match(": contains no run: it was moved to (.*)$")
  local place = gone and require("skillrt.run.store").from_here(gone)
  if place then
    return "see it there: skillrt status " .. text_of.escape(text_of.shell(place))
  end
  local from, to = message:match("^([^\n]-): .*its move to (.-) is not finished$")
  if not from then
    return nil
  elseif not to:find("^postgres") then
    to = to:match("^(.*) on %S+$") or to
  end
  from, to = text_of.escape(text_of.shell(from)), text_of.escape(text_of.shell(to))
  return ("finish it: skillrt move %s %s; or undo it, unless it has arrived: skillrt move %s %s"):format(from, to, from,
    from)
end

---@param message any
---@param code string|nil
---@param dir string|nil  as people name it
---@param traceback string|nil
---@return integer exit_code
function M.refused(message, code, dir, traceback)
  local hint = hint_of_move(tostring(message))
    or HINTS[code] and HINTS[code](dir and text_of.escape(text_of.shell(dir)), tostring(message))
  M.complain(tostring(message or "the run could not be opened; no reason was given"), hint)
  if code == "script" and traceback then
    for _, line in ipairs(require("skillrt.report.trace").lines(traceback)) do
      output.say("detail", "  " .. line)
    end
  end
  return exit_codes.of_error(code)
end

---Why not all records were shown.
---@param message string
---@param code string
---@return integer exit_code
function M.damaged(message, code)
  M.complain(message, "the rest cannot be read; skillrt does not resume a damaged run")
  return exit_codes.of_error(code)
end

---Whether a person at the terminal can be asked.
---@param args table  quiet, json, wait
---@return boolean
function M.can_ask(args)
  local terminal = core.terminal
  return not (args.quiet or args.wait or args.json or args.print) and terminal.is_terminal(0)
    and terminal.is_terminal(1)
end

-- The person's answer; nil: none, then whether they have gone, or the question's time has passed.
local function ask(one, number, dir, due)
  local question = one.question
  for _, line in ipairs(require("skillrt.report.question").lines(question, number)) do
    output.write(line .. "\n")
  end
  for _ = 1, 3 do
    local text, why = output.read_line(due and math.max(0, due - core.wall_ms()),
      question.edit and "answer (Enter: later; e: editor)> " or "answer (Enter: later)> ")
    if not text then
      output.write(why and "\nno answer in time\n" or "\n")
      return nil, why or "gone"
    end
    text = trim(text)
    if text == "" then
      return nil
    elseif text == "e" and question.edit then
      local problem
      text, problem = require("skillrt.cli.editor").write(question.edit, dir)
      if not text then
        output.write(text_of.escape(problem) .. "\n")
        return nil
      end
    end
    local value, message = require("skillrt.skill.question").value(question, text)
    if value ~= nil then
      return { question = one.q, value = value, nonce = one.nonce }
    end
    output.write(text_of.escape(message) .. "\n")
  end
  return nil
end

-- Asks the open questions one after the other, until one has timed out (then the run resumes with the answers so far)
-- or the person stops answering.
local function ask_all(open, dir)
  local answers, due, why = {}, nil, nil
  for _, one in ipairs(open) do
    due = one.due and math.min(one.due, due or one.due) or due
  end
  for _, one in ipairs(open) do
    answers[#answers + 1], why = ask(one, #open > 1 and one.q or nil, dir, due)
    if why then
      break
    end
  end
  return (answers[1] or why == "timeout") and answers or nil
end

local function show_json(result, code)
  local event = require("skillrt.report.events").result(result)
  event.exit_code = code
  output.write_json(event)
end

local function show(result, args, started)
  local closing = require("skillrt.report.closing")
  local dir = text_of.path(result.work_dir, core.files.current())
  if result.questions and not result.question_shown and not args.quiet then
    for _, line in ipairs(require("skillrt.report.question").all(result.questions)) do
      output.write(line .. "\n")
    end
  end
  if result.trouble or (args.quiet and result.message and result.status ~= "completed") then
    M.complain(tostring(result.trouble or result.message))
  end
  if result.answer ~= nil and args.print then
    core.terminal.write(1, output.answer(result.answer) .. "\n")
  elseif result.answer ~= nil and result.answer ~= core.json.null and not args.quiet then
    output.write("\n" .. table.concat(text_of.lines(output.answer(result.answer)), "\n") .. "\n\n")
  end
  local asked, used = result.state.agents, result.used or {}
  if args.dry_run and asked and used.tokens then
    output.write(("would ask %d agents: their prompts are about %d tokens%s; their answers cost extra\n"):format(
      asked.asked, used.tokens, used.dollars and (", $%.4f"):format(used.dollars) or ""))
  end
  local by_phase = asked and asked.used and not args.quiet and require("skillrt.report.usage").by_phase(asked.used)
  for _, line in ipairs(by_phase or {}) do
    output.write(output.paint(1, "detail", line) .. "\n")
  end
  local elapsed = (core.mono_ns() - started) / 1e6
  output.write(output.paint(1, closing.kind(result.status), closing.line(result, elapsed, dir)) .. "\n")
  local command, why = closing.next(result, dir)
  if command then
    output.say("info", ("next: %s   (%s)"):format(command, why))
  elseif result.question then
    output.say("warning", NOT_KEPT)
  end
end

---Reports where an intact journal may have lost its last record: its last process did not close it.
---@param dir string
---@param report table  of core.read
function M.say_open_end(dir, report)
  if report.unclean and not require("skillrt.run.store").at(dir):holder() then
    local text = "%s: its last process did not close it: a last record may be missing"
    output.say("warning", text_of.escape(text:format(dir)))
  end
end

---Asks the open questions, resumes, and reports the end.
---@param result skillrt.Result
---@param args table  quiet, json, accept_changes
---@param started integer  ns of the monotonic clock
---@return integer exit_code
function M.tell(result, args, started)
  while result.question and not result.interrupted and not result.in_memory and M.can_ask(args) do
    local dir = text_of.path(result.work_dir, core.files.current())
    local command, why = require("skillrt.report.closing").next(result, dir)
    core.terminal.farewell(command and ("next: %s   (%s)\n"):format(command, why))
    local answers = ask_all(result.questions, result.work_dir)
    core.terminal.farewell(nil)
    if not answers then
      result.question_shown = true
      break
    end
    local next_result, message, code, traceback = require("skillrt.document.reopen").go_on(result.work_dir, {
      answers = answers,
      script = args.script,
      accept_changes = args.accept_changes,
      attended = true,
      agent = require("skillrt.cli.agent").read(args.agent, args.agent_env),
      watcher = require("skillrt.report.watch").new(args, true),
    })
    if not next_result then
      return M.refused(message, code, result.work_dir, traceback)
    end
    result = next_result
  end
  local code = exit_codes.of_result(result)
  if args.json then
    show_json(result, code)
  else
    show(result, args, started)
  end
  return code
end

-- The option that accepts the changes a run was refused for; nil: that would not be enough.
local function accepting(dir, options, message)
  local flags = tostring(message):match("%-%-accept%-changes %-%-yes") or tostring(message):match("%-%-accept%-changes")
  if not flags then
    return nil
  elseif options.answers or options.answer_all ~= nil then
    return "the answer was not accepted; give it again with " .. flags
  end
  local command = options.retry and "retry" or "resume"
  return ("next: skillrt %s %s %s   (resumes with the changes)"):format(command,
    text_of.escape(text_of.shell(dir)), flags)
end

---The options of a command that resumes a run: its own and the common ones.
---@param own skillrt.Option[]
---@return skillrt.Option[]
function M.options(own)
  local agent = require("skillrt.cli.agent")
  return tables.append(own, {
    agent.OPTION,
    agent.ENV_OPTION,
    require("skillrt.cli.trust").OPTION,
    { name = "script", value = "PATH", help = "where the run's script, folder or configuration is now, if it has "
      .. "moved" },
    { name = "accept-changes", help = "resumes although the script, a prompt or a strategy has changed" },
    { name = "yes", help = "with --accept-changes or --from-scratch: recorded results may be discarded and the calls "
      .. "repeated" },
    { name = "wait", help = "stays while the run only waits: for a person, an event or a time" },
    { name = "print", help = "prints the result alone on standard output; all else goes to standard error" },
    { name = "quiet", help = "prints errors and the last line only" },
    { name = "json", help = "prints one JSON object per event and line" },
  })
end

---Resumes the run of a directory and reports its end.
---@param dir string
---@param options table  as for again.go_on
---@param args table
---@return integer exit_code
function M.go_on(dir, options, args)
  local started = core.mono_ns()
  if args.print then
    output.divert()
  end
  local agent, problem = require("skillrt.cli.agent").read(args.agent, args.agent_env)
  if problem then
    return M.refused(problem, "invalid")
  end
  options.agent, options.attended = agent, M.can_ask(args)
  options.accept_changes, options.yes, options.wait = args.accept_changes, args.yes, args.wait
  options.script = options.script or args.script
  options.watcher, problem = require("skillrt.report.watch").new(args)
  if not options.watcher then
    return M.refused(problem, "invalid")
  end
  local result, message, code, traceback = require("skillrt.document.reopen").go_on(dir, options)
  if not result then
    local exit_code, hint = M.refused(message, code, dir, traceback), accepting(dir, options, message)
    if code == "changed" and hint then
      output.say("info", hint)
    end
    return exit_code
  end
  return M.tell(result, args, started)
end

return M
