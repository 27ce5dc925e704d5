-- cli/performer.lua: a process of a worker, which claims runs of its queue and performs them in one loop.
--
-- Standard input is a socket to the worker. We say, as JSON, a line each: { state = "ready"|"refused", message, code };
-- what becomes of a run: { url, state = "loading"|"begun"|"alone"|"over", code, message, words = how it is }; and
-- { state = "trouble", message } where no run can be claimed, without a message once that has passed. A run that may
-- end its process, or whose script waits for it itself, is performed alone, by another process of the worker, which
-- says when that has ended: { url, refused }. Called by command/worker.lua.

local core = require("skillrt.core")
local exit_codes = require("skillrt.cli.exit_codes")
local json = require("skillrt.base.json")
local poison = require("skillrt.skill.limit.poison")
local reopen = require("skillrt.document.reopen")
local runner = require("skillrt.run.runner")
local watch = require("skillrt.report.watch")

local LONGEST <const> = 8192
local POLL_MS <const> = 1000
-- So long we wait for more runs to end where less than an eighth of them has, and claim for all together.
local GATHER_MS <const>, GATHERED <const> = 20, 8

local M = {}

---@class skillrt.Performer
---@field claims userdata     the queue
---@field list table[]        the runs that are open: { url, run, turn }
---@field alone integer       how many are performed by other processes
---@field most integer        runs at the same time
---@field claimed_at integer  when runs were last claimed, in ms
---@field found boolean?      whether that found any
---@field trouble string?     why it failed

local function say(entry)
  core.serve.say(json.encode(entry) .. "\n")
end

local function over(self, url, code, message, words)
  self.claims:settle(url, exit_codes.refuses(code))
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
  return { work_dir = url, among_others = true, watcher = watch.of_host({ traces = "environment" }) }
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

local function begin(self, url)
  say({ url = url, state = "loading" })
  local ok, run, code, message = xpcall(open, debug.traceback, url)
  if not ok then
    over(self, url, exit_codes.internal, run)
  elseif run then
    self.list[#self.list + 1] = run
    say({ url = url, state = "begun" })
  elseif code == "alone" then
    self.claims:settle(url, true)
    self.alone = self.alone + 1
    say({ url = url, state = "alone" })
  else
    over(self, url, code, message)
  end
end

-- Gives back the runs that have stopped.
local function sweep(self)
  local list = self.list
  for i = #list, 1, -1 do
    local one = list[i]
    if one.run:stopped() then
      list[i] = list[#list]
      list[#list] = nil
      local result = runner.result(one.run, one.turn)
      one.run:close()
      over(self, one.url, exit_codes.of_result(result), result.trouble,
        M.words(result.status, result.reason, result.message))
    end
  end
end

-- Begins what there is room for. Where runs end one soon after the other, claims what follows them together. Returns
-- after how many ms to look again.
local function claim(self)
  local room, wait = self.most - #self.list - self.alone, self.claimed_at + GATHER_MS - core.mono_ms()
  if room < self.most // GATHERED and wait > 0 then
    return wait
  end
  self.claimed_at = core.mono_ms()
  local urls, message = self.claims:take(room)
  if message ~= self.trouble then
    self.trouble = message
    say({ state = "trouble", message = message })
  end
  self.found = urls and urls[1] ~= nil
  for _, url in ipairs(urls or {}) do
    if core.drains() then
      self.claims:settle(url)
    else
      begin(self, url)
    end
  end
  return POLL_MS + math.random(0, POLL_MS // 2)
end

-- What the worker says of runs that were performed alone. False: it is gone.
local function listen(self, lines)
  while true do
    local line, why = lines:next()
    if not line then
      return why ~= "closed"
    end
    local said = json.decode(line) --[[@as table]]
    self.alone = self.alone - 1
    self.claims:settle(said.url, said.refused)
  end
end

---@param place string
---@param queue string
---@param most integer   runs at the same time
---@param once boolean?  ends when no run can be performed now
---@return integer code
function M.run(place, queue, most, once)
  local claims, message, code = core.claims(place, queue)
  if not claims then
    say({ state = "refused", message = message, code = code })
    return exit_codes.of_error(code)
  end
  say({ state = "ready" })
  local lines, drains = core.serve.lines(LONGEST), false
  ---@type skillrt.Performer
  local self = { claims = claims, list = {}, alone = 0, most = most, claimed_at = 0 }
  while listen(self, lines) do
    sweep(self)
    local wait = POLL_MS
    if core.drains() then
      for _, one in ipairs(drains and {} or self.list) do
        one.run:event("inbox", "") -- so that it decides anew
      end
      drains = true
    else
      wait = claim(self)
    end
    local is_idle = not self.list[1] and self.alone == 0
    if is_idle and (drains or once and not self.found) then
      return drains and exit_codes.interrupted or self.trouble and exit_codes.failed or 0
    elseif not core.serve.wait(is_idle and self.found and 0 or wait, lines, {}) and not core.drains() then
      break
    end
  end
  return exit_codes.interrupted
end

return M
