-- cli/serving/runs.lua: the runs of one folder, for the serving commands: starts and resumes each in its own process,
-- which outlives the server; follows its journal; stops it; and gives its status.
--
-- A run is known only by the name of its directory in that folder. Knows no protocol.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local folder_of = require("skillrt.run.folder")
local instant = require("skillrt.base.instant")
local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local names = require("skillrt.base.names")
local store_of = require("skillrt.run.store")
local tables = require("skillrt.base.tables")

local M = {}

local US <const> = "/proc/self/exe" -- the program that is running, even if a newer one has been installed since
local MOST_STATE <const> = 32 << 10 -- bytes of JSON
local MOST_OUTPUT <const> = 64 << 10
local BLIND_MS <const> = 2000 -- the interval after which runs may have changed, where no notification comes of it
local SHARE <const> = 10      -- the share of time that lists may take while runs change
local MOST_LISTS <const> = 8

---@class skillrt.cli.serving.Runs
---@field where string        a folder, absolute, or the URL of a database
---@field folder string       for the server's own files: that folder, or one for the database
---@field at_once integer     the maximal number of processes that advance runs
---@field words string[]      options that the operator gives every run: --limit, --agent
---@field agent string[]      --agent and its words, for resumed runs
---@field raise boolean       a caller may add to limits
---@field programs table[]    all that were started and not yet reaped
---@field lists table[]       recently requested lists: { key, version, list, stale: no longer valid from then on, ms }
local Runs = {}
Runs.__index = Runs

---@return skillrt.cli.serving.Runs
function M.new(options)
  local where = store_of.absolute(options.folder)
  return setmetatable({ where = where, folder = store_of.at(where).folder, at_once = options.at_once,
    words = options.words, agent = options.agent, raise = options.raise, programs = {},
    lists = {}, version = 0, looked = 0, rests = 0 }, Runs)
end

---A number that changes when runs here change. If they change all the time, it stays unchanged after each list, in
---proportion to the time that the list took.
---@return integer
function Runs:news()
  local now = core.mono_ms()
  self.is_resting = now < self.rests
  if not self.is_resting then
    self.watch = self.watch or store_of.changes_at(self.where)
    if self.watch and self.watch:changed() or not self.watch and now >= self.looked + BLIND_MS then
      self.version, self.looked = self.version + 1, now
    end
  end
  return self.version
end

---How long a waiting reader need not check, in ms. A change during a rest wakes no reader, even after the rest: it
---checked too early.
---@param now integer  ms
---@return integer
function Runs:patience(now)
  return self.is_resting and math.max(0, self.rests - now) or self.watch and 60000 or BLIND_MS
end

---The runs here that match a filter, the newest first.
---@param filter skillrt.RunFilter|nil
---@param take fun(one: table)
---@return true|nil ok  also where there is no such folder yet
---@return string? message  not all of them were given
function Runs:each(filter, take)
  local began = core.mono_ms()
  local ok, message, code = require("skillrt.report.runs").each(self.where, filter, take)
  local now = core.mono_ms()
  self.rests = now + SHARE * (now - began)
  return ok or code == "missing" or nil, message
end

---The runs here, the newest first, each in a few words.
---@param filter skillrt.RunFilter|nil
---@param most integer
---@return { runs: table[], more: integer? }|nil list
---@return string? message
function Runs:list(filter, most)
  local key, version = json.encode({ filter or false, most }, { sorted = true }), self:news()
  local now = core.mono_ms()
  for _, one in ipairs(self.lists) do
    if one.key == key and one.version == version and now < one.stale then
      return one.list
    end
  end
  local told, count, stale = json.array({}), 0, math.huge
  local ok, message = self:each(filter, function(one)
    count = count + 1
    local status = one.status or {}
    stale = one.problem and now + BLIND_MS or stale -- what could not be read then can be read later, without a change
    told[count] = count <= most and { run = store_of.name(one.dir), skill = status.skill, problem = one.problem,
      status = status.status, reason = status.reason, questions = status.questions ~= 0 and status.questions or nil,
      steps = status.steps, updated_at = one.status and instant.iso(one.at) } or nil
  end)
  if not ok then
    return nil, message
  end
  local list = { runs = told, more = count > most and count - most or nil }
  table.insert(self.lists, 1, { key = key, version = version, list = list, stale = stale })
  self.lists[MOST_LISTS + 1] = nil
  return list
end

---The directory of a run.
---@param id any
---@return string|nil dir
---@return string? message
function Runs:dir(id)
  if type(id) ~= "string" or id == "" or id:find("[/%c]") or id:sub(1, 1) == "." or #id > 200 then
    return nil, ("%s is not a valid run name"):format(names.show(id))
  end
  local dir = store_of.inside(self.where, id)
  if not store_of.at(dir):exists() then
    return nil, ("there is no run %s here"):format(names.show(id))
  end
  return dir
end

---Starts our program for a short task, or for a run.
---@param words string[]
---@param input string?
---@param of string?  the directory of the run that it advances
---@return table|nil program  { handle, of }
---@return string? message
function Runs:start(words, input, of)
  local busy = 0
  for _, one in ipairs(self.programs) do
    busy = busy + (one.of and 1 or 0)
  end
  if of and busy >= self.at_once then
    return nil, ("%d runs are active, which is the maximum; wait for one, or stop one"):format(busy)
  elseif #self.programs >= self.at_once + 16 then
    return nil, "too many requests at once; wait for the earlier ones"
  end
  local argv = { US, table.unpack(words) }
  local ok, handle, message = pcall(core.serve.start, argv, input or "", of ~= nil)
  if not ok or not handle then
    return nil, tostring(ok and message or handle)
  end
  local program = { handle = handle, of = of }
  self.programs[#self.programs + 1] = program
  return program
end

---The handles to wait for; reaps the ended ones first.
---@return userdata[]
function Runs:watched()
  local left, handles = {}, {}
  for _, one in ipairs(self.programs) do
    one.code = one.code or one.handle:code()
    if not one.code then
      left[#left + 1], handles[#handles + 1] = one, one.handle
    end
  end
  self.programs = left
  return handles
end

---What a program printed; its end if that is long. The client knows the run, so a message does not begin with its path.
---@param program table
---@param dir string?  the run; default: the one that the program advances
---@return string
function M.said(program, dir)
  local said = program.handle:output(MOST_OUTPUT):gsub("%s+$", ""):gsub("^skillrt: ", "")
  local start = (dir or program.of or "") .. ": "
  return said:sub(1, #start) == start and said:sub(#start + 1) or said
end

---Starts a run.
---@param skill { name: string, path: string }
---@param given { input: table?, args: string[]?, limits: table? }
---@return string|nil id
---@return table|string program_or_message
function Runs:begin(skill, given)
  folder_of.make(self.folder)
  local ok, message = files.make_folders(self.folder)
  if not ok then
    return nil, message --[[@as string]]
  end
  local id = skill.name:gsub("[^%w_-]", "_"):gsub("^[_-]+", "") .. "-" .. names.new_run()
  local dir = store_of.inside(self.where, id)
  local words = { "run", skill.path, "--work-dir", dir, "--quiet", "--input", "-" }
  tables.append(words, self.words)
  for _, name in ipairs(names.sorted(given.limits or {})) do
    words[#words + 1] = "--at-most"
    words[#words + 1] = ("%s=%s"):format(name, given.limits[name])
  end
  words[#words + 1] = "--"
  tables.append(words, given.args or {})
  local program, why = self:start(words, assert(json.encode(given.input or {})), dir)
  if not program then
    return nil, why --[[@as string]]
  end
  return id, program
end

---The words by which our program lists the skills of some paths.
---@param paths string[]
---@return string[]
function Runs:words_to_list(paths)
  local words = tables.append({ "mcp", "--list" }, self.agent)
  words[#words + 1] = "--"
  return tables.append(words, paths)
end

---Starts a command of ours that advances a run.
---@param name string
---@param dir string
---@param words string[]?
---@param input string?
---@return table|nil program
---@return string? message
function Runs:command(name, dir, words, input)
  local all = tables.append({ name, dir, "--quiet" }, self.agent)
  return self:start(tables.append(all, words or {}), input, dir)
end

---Resumes a run, unless a process already advances it.
---@param dir string
---@param words string[]?
---@return table|nil program  nil without a message: a process already advances it
---@return string? message
function Runs:go_on(dir, words)
  if store_of.at(dir):holder() then
    return nil
  end
  return self:command("resume", dir, words)
end

---Asks the process that advances a run, or is about to, to stop; the run can be resumed.
---@param dir string
---@return boolean|nil ok
---@return string? message
function Runs:stop(dir)
  local holder = store_of.at(dir):holder()
  local program = not holder and self:program_of(dir)
  if program then
    program.handle:stop()
    return true
  end
  return require("skillrt.cli.stopping").ask(holder)
end

---The program that was started to advance a run and has not ended.
---@param dir string
---@return table|nil
function Runs:program_of(dir)
  for _, one in ipairs(self.programs) do
    if one.of == dir and not one.code and not one.handle:code() then
      return one
    end
  end
end

-- The suggested next command, as the caller would type it.
local NEXT <const> = { answer = "answer answers it", resume = "resume resumes it", retry = "log and explain show why",
  log = "log and explain show why" }

---A run's status, for a caller.
---@param id string
---@param dir string
---@return table|nil
---@return string? message
function Runs:stands(id, dir)
  local books, report = look.books(dir)
  if not books then
    return nil, report --[[@as string]]
  end
  local status = require("skillrt.report.status").of(dir, books, report --[[@as table]])
  status.held_by = status.held_by or self:program_of(dir) -- it is about to open the run
  local told = { run = id, dir = dir, skill = status.skill, status = status.held_by and "running" or status.status,
    reason = not status.held_by and status.reason or nil, message = not status.held_by and status.message or nil,
    steps = status.steps, open = status.open, last_error = status.last_error,
    updated_at = status.updated_at, started_at = status.started_at,
    limits = #status.limits > 0 and status.limits or nil,
    next = status.held_by and "status waits for it, stop stops it"
      or NEXT[status.next and status.next:match("^skillrt (%a+)")] }
  told.reason = told.status == "interrupted" and "its process is gone" or told.reason
  for i, one in ipairs(status.questions or {}) do
    told.questions = told.questions or json.array({})
    told.questions[i] = { number = one.q, question = one.question, due = one.due }
  end
  local state = not status.held_by and json.encode(books.state and books.state.root or {})
  if state and #state <= MOST_STATE then
    told.state = books.state and books.state.root
  elseif state then
    told.state_file = store_of.at(dir):path("state.json")
  end
  return told
end

---@class skillrt.cli.serving.Follow  a run that somebody waits for
---@field id string
---@field dir string
---@field program table|nil  the program that advances it
---@field over boolean
local Follow = {}
Follow.__index = Follow

---@param id string
---@param dir string
---@param program table|nil  the program that was started for it; nil: another process may hold the run
---@param new boolean?  it is a new run: all its records are printed; else only new ones
function M.follow(id, dir, program, new)
  local told, store = { next = 0 }, store_of.at(dir)
  if not new then
    local report = store:read(function() return false end)
    told.next = report and report.last + 1 or 0
  end
  return setmetatable({ id = id, dir = dir, store = store, program = program, told = told, over = false,
    lines = require("skillrt.report.lines").new({ continuing = not new }) }, Follow)
end

---What happened to it since the last check.
---@param tell fun(line: string)
---@return boolean over
function Follow:advance(tell)
  local watch = self.store:changes()
  local ended
  if self.program then
    self.program.code = self.program.code or self.program.handle:code()
    ended = self.program.code ~= nil
  else
    ended = not self.store:holder()
  end
  if ended or not watch or watch:changed() then
    pcall(look.behind, self.dir, self.told, function(record) -- the run's status reports a damaged journal
      for _, line in ipairs(self.lines:of(record)) do
        tell(line.text)
      end
    end)
  end
  self.over = ended
  return ended
end

---Whether the run exists at all: a program may end before it creates one.
---@return boolean
function Follow:begun()
  return look.books(self.dir) ~= nil
end

return M
