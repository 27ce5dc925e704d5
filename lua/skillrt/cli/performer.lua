-- cli/performer.lua: a process of a worker, which performs all runs that the worker names, in one loop.
--
-- Standard input is a socket to the worker. It says the URL of a run, a line each; we say what becomes of the run, as
-- JSON: { url, state = "loading"|"begun"|"alone"|"over", code, message, words = how it is }. A run that may end its
-- process, or whose script waits for it itself, is performed alone, so that the others do not end or wait with
-- it. Called by command/worker.lua.

local core = require("skillrt.core")
local exit_codes = require("skillrt.cli.exit_codes")
local json = require("skillrt.base.json")
local poison = require("skillrt.skill.limit.poison")
local reopen = require("skillrt.document.reopen")
local runner = require("skillrt.run.runner")

local LONGEST <const> = 8192
local WAIT_MS <const> = 1000

local M = {}

local function say(entry)
  core.serve.say(json.encode(entry) .. "\n")
end

local function over(url, code, message, words)
  say({ url = url, state = "over", code = code, message = message and tostring(message), words = words })
end

---How a run is, in a line; of one that failed or paused with the first line of its message.
---@param status string
---@param reason string
---@param message string?
---@return string
function M.words(status, reason, message)
  local line = status ~= "completed" and (message or ""):match("[^\n]+")
  return status == "completed" and status or ("%s (%s)%s"):format(status, reason, line and ": " .. line or "")
end

-- What a run is resumed with.
local function options_of(url)
  local traced = os.getenv("OTEL_EXPORTER_OTLP_ENDPOINT") or os.getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
  return { work_dir = url, among_others = true,
    watcher = traced and require("skillrt.report.watch").of_host({ traces = "environment" }) or nil }
end

-- Opens a run; nil: its exit code and a message, or "alone".
local function open(url)
  local done, books = require("skillrt.cli.command.resume").before(url, { submitted = true, quiet = true })
  if done then
    return nil, done
  elseif books and poison.is_suspect(books) then
    return nil, "alone"
  end
  local options = options_of(url)
  local loaded, skill, message, code = pcall(reopen.skill_for, url, options)
  if options.waits then
    return nil, "alone"
  elseif not loaded then
    error(skill, 0)
  elseif not skill then
    return nil, exit_codes.of_error(code), message
  end
  local run, report, turn = runner.take_up(skill, options)
  if not run then
    return nil, exit_codes.of_error(turn --[[@as string]]), report
  end
  runner.announce(report, turn)
  return { url = url, run = run, turn = turn }
end

local function begin(list, url)
  say({ url = url, state = "loading" })
  local ok, run, code, message = xpcall(open, debug.traceback, url)
  if not ok then
    over(url, exit_codes.internal, run)
  elseif run then
    list[#list + 1] = run
    say({ url = url, state = "begun" })
  elseif code == "alone" then
    say({ url = url, state = "alone" })
  else
    over(url, code, message)
  end
end

-- Gives back the runs that have stopped.
local function sweep(list)
  for i = #list, 1, -1 do
    local one = list[i]
    if one.run:stopped() then
      list[i] = list[#list]
      list[#list] = nil
      local result = runner.result(one.run, one.turn)
      one.run:close()
      over(one.url, exit_codes.of_result(result), result.trouble, M.words(result.status, result.reason, result.message))
    end
  end
end

---@return integer code
function M.run()
  local lines, list, drains = core.serve.lines(LONGEST), {}, false
  while true do
    local url, why
    repeat
      url, why = lines:next()
      if url and not drains then
        begin(list, url)
      end
    until not url
    sweep(list)
    if why == "closed" or drains and not list[1] then
      return exit_codes.interrupted
    end
    local waited = core.serve.wait(WAIT_MS, lines, {})
    if not waited and not core.drains() then
      return exit_codes.interrupted
    elseif core.drains() and not drains then
      drains = true
      for _, one in ipairs(list) do
        one.run:event("inbox", "") -- so that it decides anew
      end
    end
  end
end

return M
