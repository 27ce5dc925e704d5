-- run/store.lua: where a run is stored, and everything that can be asked of it: its journal, its inbox, its holder,
-- its files.
--
-- The only module that knows the layout of a run's directory: all others use a store. A run in a database has its
-- journal and its inbox there; the files of its steps are in a folder of the machine that performs them.
-- tests/lua/run/store_spec.lua is the contract for other kinds of stores. Knows no records. Errors are returned: nil,
-- message, code.

local core = require("skillrt.core")
local files = require("skillrt.base.files")

local M = {}


---@class skillrt.Store
---@field place string         for people and for command lines; what `at` takes
---@field folder string        of its files
---@field keeps_nothing boolean?  the journal is in memory, and there is no inbox
---@field opened userdata?     its inbox
---@field watching userdata?
local Store = {}
Store.__index = Store

-- The part of a database URL that names a run: "<host>/<database>/<run>"; nil: a place is a directory.
local function named(place)
  return place:match("^postgres%w*://[^/@?]*@([^?]*)") or place:match("^postgres%w*://([^?]*)")
end

-- The folder of its steps' files on this machine.
local function folder_of(name)
  return ("%s/files/%s"):format(files.state_home() or files.current(), (name:gsub("[^%w._-]", "-")))
end

local IN_DATABASE <const> =
  ": is in a database; only a run in a directory is renamed or removed; skillrt fleet drop removes whole months"

---A place in a form that is valid in every folder. For a database URL without a run's name: the run with this id.
---@param place string
---@param run_id string?
---@return string
function M.absolute(place, run_id)
  local name = named(place)
  if not name then
    return files.join(files.current(), place)
  elseif run_id and name:find("^[^/]*/[^/]*/?$") then
    return (place:gsub("/?%f[?\0]", "/" .. run_id, 1))
  end
  return place
end

---The name of this machine, as the holders of runs are shown with it.
---@return string
function M.host()
  return (files.read("/proc/sys/kernel/hostname", 1000) or ""):match("%S+") or "this machine"
end

---A place as every machine may call it: a directory with the machine that it is on.
---@param place string  absolute
---@return string
function M.everywhere(place)
  return named(place) and place or ("%s on %s"):format(place, M.host())
end

---The place that `everywhere` named; nil: it is on another machine.
---@param known_as string
---@return string|nil
function M.from_here(known_as)
  local path, host = known_as:match("^(.*) on (%S+)$")
  return named(known_as) and known_as or host == M.host() and path or nil
end

---The place of a run in a folder or a database.
---@param where string
---@param name string
---@return string
function M.inside(where, name)
  return named(where) and M.absolute(where, name) or files.join(where, name)
end

---The name of a run where it is.
---@param place string
---@return string
function M.name(place)
  return (named(place) or place):match("([^/]+)/*$") or place
end

---The place of the run of this name next to another one.
---@param place string
---@param name string
---@return string
function M.sibling(place, name)
  return (place:gsub("[^/?]+/?%f[?\0]", function() return name end, 1))
end

---The store of a run, whether it exists or not. Opens nothing.
---@param place string  its directory, or its URL
---@param keeps_nothing boolean?
---@return skillrt.Store
function M.at(place, keeps_nothing)
  local name = named(place)
  return setmetatable({ place = place, keeps_nothing = keeps_nothing, folder = name and folder_of(name) or place },
    Store)
end

---Calls `each` for the runs at a place, until it returns false: first those whose end does not tell their time, in no
---order, then the others, the newest first.
---@param where string
---@param each fun(place: string, status: string, is_held: boolean, problem: string?, at: integer?, about: string?)
---  `status`: "executing" where it was not stopped in order; `at`, `about`: its time and JSON of look.summary without
---  it, where it was; `problem`: why no more is known
---@return true|nil ok
---@return string? message
---@return string? code
function M.list(where, each)
  return core.list(where, each)
end

---A watch that reports when runs at a place may have started, changed, ended or disappeared; its first check reports
---a change.
---@param where string
---@return userdata|nil watch  nil: there is none
function M.changes_at(where)
  return (core.watch(where, true))
end

-- The prefix of the name of a run that is being removed: lists skip it, even if the process is killed.
local GOING <const> = ".removed-"

---Deletes the rest of runs whose removal was interrupted.
---@param where string  a folder of runs
function M.sweep(where)
  for _, entry in ipairs(core.files.list(where) or {}) do
    if entry.name:sub(1, #GOING) == GOING then
      files.remove_tree(files.join(where, entry.name))
    end
  end
end

---The store of a sub-run: only its files, as its records are in this journal.
---@param name string
---@return skillrt.Store
function Store:below(name)
  return M.at(self:path("sub/" .. name:gsub("/", "%%2F")), self.keeps_nothing)
end

-- ---- the journal ----

---Whether a run exists there.
---@return boolean
function Store:exists()
  return core.exists(self.place)
end

---Takes the run for this process, and advances it.
---@param policy table
---@param options table  as core.open takes them
---@return userdata|nil run
---@return table|string report_or_message
---@return string? code
function Store:open(policy, options)
  if not self.keeps_nothing then
    options.directory = self.place
    local ok, message, code = self.folder == self.place, nil, nil
    if not ok then -- a run in a database has its files here all the same
      ok, message, code = self:make()
    end
    if not ok then
      return nil, message --[[@as string]], code
    end
  end
  return core.open(policy, options)
end

---Every payload of the journal, in order, until `each` returns false. Takes no lock.
---@param each fun(payload: string, seq: integer): boolean?
---@param wishes table?  { from, ending, whole }; it gets `blob`: fun(digest), until this returns
---@return table|nil report
---@return string? message
---@return string? code
function Store:read(each, wishes)
  return core.read(self.place, each, wishes)
end

---The payloads before the damage for which `read` refuses a journal.
---@param each fun(payload: string, seq: integer): boolean?
function Store:salvage(each)
  core.salvage(self.place, each)
end

---Truncates the journal before the damage, and keeps the rest separately.
---@return table|nil report  `aside`: where a view is now that showed more than the journal still holds
---@return string? message
---@return string? code
function Store:recover()
  local report, message, code = core.recover(self.place)
  local view = self:path("state.json")
  if report and report.view_seq > report.last then
    report.aside = ("%s.cut-%d"):format(view, report.view_seq)
    local ok
    ok, message, code = files.rename(view, report.aside)
    report = ok and report
  end
  return report, message, code
end

---What was truncated from the journal so far.
---@return string[] names
function Store:cuts()
  local names = {}
  for _, entry in ipairs(core.files.list(self.folder) or {}) do
    names[#names + 1] = entry.name:match("^journal%.cut%-.*")
  end
  table.sort(names)
  return names
end

---The process that advances the run.
---@return { pid: integer?, host: string, since: string }|nil holder
function Store:holder()
  local pid, host, since = core.holder(self.place)
  return pid and { pid = math.tointeger(tonumber(pid)), host = host, since = since } or nil
end

---A watch that reports changes of the journal, whether the run exists yet or not; its first check reports a change.
---@return userdata|nil watch  of core.watch; nil: the system watches no more folders
function Store:changes()
  self.watching = self.watching or core.watch(self.place)
  return self.watching
end

---Waits for a change of the journal; the first check reports one.
---@param ms integer  at most 60000
---@return boolean|nil changed  false: the time has passed, or the system watches no more folders; nil: a signal came
function Store:changed(ms)
  local watch = self:changes()
  if watch then
    return watch:wait(ms)
  end
  return core.terminal.pause(math.min(ms, 200)) and false
end

---Waits for progress of the process that advances the run. The system reports changes of the journal; that the
---process has ended, or has removed from the inbox what it recorded, is polled 5, 10, 20 ms ... after the last
---change, at least every second.
---@param done fun(): any
---@param within integer|nil  ms
---@return boolean|nil ok  false: the time has passed; nil: a signal came
function Store:wait(done, within)
  local pause, deadline = 5, within and core.mono_ms() + within
  while not done() do
    local changed = self:changed(pause)
    if changed == nil then
      return nil
    elseif deadline and core.mono_ms() > deadline then
      return false
    end
    pause = changed and 5 or math.min(2 * pause, 1000)
  end
  return true
end

---Renames the run, so that a new one may start in its place.
---@param name string
---@return string|nil place  where it is now
---@return string? message
---@return string? code
function Store:put_aside(name)
  if self.folder ~= self.place then
    return nil, self.place .. IN_DATABASE, "invalid"
  end
  local aside = ("%s.%s"):format(files.bare(self.place), name)
  if files.stat(aside) then
    return nil, aside .. ": already exists; move it away", "exists"
  end
  local ok, message, code = files.rename(self.place, aside)
  return ok and aside or nil, message, code
end

---Removes the run and all its files. A process that advances it notices that, and writes nothing more.
---@return boolean|nil ok
---@return string? message
---@return string? code
function Store:discard()
  if self.folder ~= self.place then
    return nil, self.place .. IN_DATABASE, "invalid"
  end
  local folder, name = files.bare(self.place):match("^(.-)([^/]+)$")
  local going = folder .. GOING .. name
  local ok, message, code = files.rename(self.place, going)
  if not ok then
    return nil, message, code
  end
  return files.remove_tree(going)
end

---The disk space of the run's files.
---@return { journal: integer, blobs: integer, others: integer }|nil  bytes
---@return string? message
function Store:sizes()
  if self.folder ~= self.place then
    return nil, self.place .. ": is in a database, which tells the sizes of its tables: psql, \\dt+ skillrt.*"
  end
  local function size(path)
    local info, sum = files.stat(path), 0
    if info and info.kind == "directory" then
      for _, entry in ipairs(core.files.list(path) or {}) do
        sum = sum + size(path .. "/" .. entry.name)
      end
    end
    return info and info.kind == "file" and info.size or sum
  end
  local sizes = { journal = size(self:path("journal")), blobs = size(self:path("blobs")) }
  sizes.others = size(self.folder) - sizes.journal - sizes.blobs
  return sizes
end

-- ---- the inbox ----

---@return userdata  of core.inbox
function Store:inbox()
  self.opened = self.opened or assert(core.inbox(self.place))
  return self.opened
end

---Puts an answer or an event there, whole.
---@param entry table
---@param soon boolean|nil  this process takes it: it need not survive a power cut until then
---@return string|nil name
---@return string? message
function Store:put(entry, soon)
  local text, why = core.json.encode(entry)
  if not text then
    return nil, why
  end
  return self:inbox():put(text .. "\n", entry.id, not soon)
end

---@class skillrt.Arrival
---@field name string
---@field came integer   UTC ms
---@field text string?   nil: it cannot be read
---@field problem string?

---The entries of the inbox, oldest first; the same store returns each once.
---@return skillrt.Arrival[]
---@return boolean whole  false: the system refused to read something now
function Store:take()
  return self:inbox():take()
end

---An arrival is recorded: removes it.
---@param name string
function Store:acknowledge(name)
  self:inbox():acknowledge(name)
end

---An arrival is invalid: sets it aside, for people.
---@param name string
function Store:refuse(name)
  self:inbox():refuse(name)
end

---What happened to an arrival.
---@param name string
---@return "waits"|"refused"|"taken"  waits: also where that cannot be found out now
function Store:fate(name)
  return self:inbox():fate(name) or "waits"
end

---How many arrivals wait.
---@return integer
function Store:waiting()
  return self:inbox():waiting() or 0
end

-- ---- files of steps ----

---The path of a run's file for programs of this machine; without a name, the folder of all of them.
---@param name string?
---@return string
function Store:path(name)
  return name and files.join(self.folder, name) or self.folder
end

---Makes the folder of all files.
---@return boolean|nil ok
---@return string? message
---@return string? code
function Store:make()
  return files.make_folders(self.folder)
end

---Writes a file, completely or not at all, following no link.
---@param name string
---@param text string
---@param durable boolean?  it survives a power cut once this returns
---@param runs boolean?     it is a program
---@return boolean|nil ok
---@return string? message
---@return string? code
function Store:keep(name, text, durable, runs)
  return files.keep(self.folder, name, text, durable, runs)
end

---The text of a regular file; follows no link.
---@param name string
---@param maximum integer?
---@return string|nil text
---@return string? message
---@return string? code
function Store:kept(name, maximum)
  return files.kept(self.folder, name, maximum)
end

---The file of a name: { kind, size, ... }.
---@param name string
---@return table|nil info
---@return string? message
---@return string? code
function Store:stat(name)
  return files.stat(self.folder, name)
end

---Renames a file.
---@param name string
---@param to string
---@param durable boolean?
---@return boolean|nil ok
---@return string? message
---@return string? code
function Store:move(name, to, durable)
  local ok, message, code = files.rename(self:path(name), self:path(to))
  if ok and durable then
    return files.settle(self.folder, to)
  end
  return ok, message, code
end

---Removes a file; leaves a folder of that name.
---@param name string
---@return boolean|nil ok
---@return string? message
---@return string? code
function Store:remove(name)
  local info, message, code = self:stat(name)
  if info and info.kind == "directory" then
    return nil, self:path(name) .. ": is a folder", "invalid"
  elseif not info then
    return nil, message, code
  end
  return files.remove(self:path(name))
end

---Makes a file that a program wrote survive a power cut.
---@param name string
---@return boolean|nil ok
---@return string? message
---@return string? code
function Store:settle(name)
  return files.settle(self.folder, name)
end

return M
