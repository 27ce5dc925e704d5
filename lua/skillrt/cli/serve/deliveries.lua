-- cli/serve/deliveries.lua: the webhooks of `skillrt serve`: when a run of the folder ends, pauses or is interrupted,
-- a program (`skillrt notify`) sends a message to each address, and retries until the address accepts it.
--
-- The file serve.notified holds a time: messages about runs that stopped after it may be sent twice, with the same
-- id.

local core = require("skillrt.core")
local escape = require("skillrt.base.terminal_text").escape
local files = require("skillrt.base.files")
local output = require("skillrt.report.output")

local M = {}

local ROOM_MS <const> = 1000                             -- until a program may start again
local MOST <const> = 4                                   -- programs at the same time
local FIRST_MS <const>, LONGEST_MS <const> = 5000, 3600000 -- until the first retry; doubled each time
local MOST_TRIES <const> = 24
local LATE_MS <const> = 60000 -- how long after its last record a stopped run may be noticed

---@class skillrt.cli.serve.Deliveries
---@field open table[]  { dir, at, url, words, tries, due, program }
local Deliveries = {}
Deliveries.__index = Deliveries

---@param options { runs: table, urls: string[], secret_file: string, links: string|nil }
---@return skillrt.cli.serve.Deliveries
function M.new(options)
  local self = setmetatable({ runs = options.runs, urls = options.urls, open = {}, told = {}, seen = 0,
    words = { "--secret-file", options.secret_file }, path = files.join(options.runs.folder, "serve.notified") },
    Deliveries)
  if options.links then
    table.move({ "--links", options.links }, 1, 2, 3, self.words)
  end
  local noted = math.tointeger(tonumber(files.stat(self.path) and files.read(self.path, 100)))
  self.since = noted or core.wall_ms()
  self.first = noted and 0 or self.since
  return self
end

-- The runs that stopped since about the newest message, and all interrupted ones; those interrupted before the server
-- started are known already.
local function look(self)
  local since, gone = math.max(self.since - LATE_MS, self.first), {}
  local ok = self.runs:each({ since = since, gone = true }, function(one)
    local stands = one.status
    local name = ("%s %d %s"):format(one.dir, one.at, stands.status)
    local is_old = one.at < since
    local is_known = self.told[name] or is_old and (not self.gone or self.gone[name])
    gone[name] = stands.status == "interrupted" or nil
    if not stands.held_by and not is_known then
      self.told[name] = not is_old and one.at or nil
      for _, url in ipairs(self.urls) do
        self.open[#self.open + 1] = { dir = one.dir, at = one.at, url = url, tries = 0, due = 0 }
      end
    end
  end)
  self.gone = ok and gone or self.gone
  return ok
end

-- Records the time up to which all messages were accepted.
local function note(self)
  local since, newest = math.maxinteger, self.since
  for _, at in pairs(self.told) do
    newest = math.max(newest, at)
  end
  for _, one in ipairs(self.open) do
    since = math.min(since, one.at)
  end
  since = math.min(since, newest)
  if since > self.since and files.write(self.path, ("%d\n"):format(since)) then
    self.since = since
    for name, at in pairs(self.told) do
      self.told[name] = at >= since - LATE_MS and at or nil
    end
  end
end

-- The end of a program: whether the address accepted the message, or is given up.
local function is_over(one, now)
  one.code = one.program.code or one.program.handle:code()
  if not one.code then
    return false
  elseif one.code ~= 0 then
    one.tries, one.program = one.tries + 1, nil
    one.due = now + math.min(LONGEST_MS, FIRST_MS << one.tries - 1)
  end
  if one.tries >= MOST_TRIES then
    output.say("warning", escape(("webhook: %s got no message about %s: given up after %d tries"):format(one.url,
      one.dir, one.tries)))
  end
  return one.code == 0 or one.tries >= MOST_TRIES
end

---@param now integer  ms
function Deliveries:advance(now)
  local version = self.runs:news()
  if version ~= self.seen and look(self) then
    self.seen = version
  end
  local left, running = {}, 0
  for _, one in ipairs(self.open) do
    if not one.program and one.due <= now and running < MOST then
      local words = table.move(self.words, 1, #self.words, 5, { "notify", one.dir, "--url", one.url })
      one.program = self.runs:start(words)
    end
    if not (one.program and is_over(one, now)) then
      left[#left + 1] = one
    end
    running = running + (one.program and 1 or 0)
  end
  self.open = left
  note(self)
end

---The ms until there is work.
---@param now integer  ms
---@return integer
function Deliveries:patience(now)
  local least = self.runs:patience(now)
  for _, one in ipairs(self.open) do
    least = math.min(least, one.program and 60000 or one.due > now and one.due - now or ROOM_MS)
  end
  return least
end

return M
