-- run/inbox.lua: what others put into a run's folder inbox/: answers and events, each a file put there whole.
--
-- A file is read, what it says is recorded, and only when that is durable the file is removed; one that
-- cannot be taken goes into inbox/refused/. Knows files, no books. Used by policy.lua and by the commands
-- that put something there.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")

local core_files = require("skillrt.core").files

local M = {}

M.FOLDER = "inbox"
local REFUSED <const> = "refused"
local LONGEST <const> = 1024 * 1024 -- bytes of a file

---@class skillrt.Inbox
---@field folder string
---@field taken string[]  files to be removed when what they said is durable
local Inbox = {}
Inbox.__index = Inbox

---@param work_dir string  absolute
---@return skillrt.Inbox
function M.new(work_dir)
  return setmetatable({ work_dir = work_dir, folder = files.join(work_dir, M.FOLDER), taken = {}, met = {} }, Inbox)
end

-- What a file says: { question, value, nonce, approval } or { event, value }, with its id; or why it says nothing.
local function read(self, name)
  local text, message, code = files.kept(self.work_dir, M.FOLDER .. "/" .. name, LONGEST)
  if not text then
    return nil, message, code
  end
  local entry, why = json.decode(text)
  if type(entry) ~= "table" then
    return nil, ("inbox/%s: is no JSON object%s"):format(name, why and ": " .. why or "")
  end
  local id = entry.id == nil and name:match("^(.*)%.json$") or entry.id
  if type(id) ~= "string" or id == "" or #id > 200 then
    return nil, ("inbox/%s: its id must be a text of at most 200 bytes"):format(name)
  elseif type(entry.event) == "string" then
    local value = entry.value
    if value == nil then
      value = true
    end
    return { event = entry.event, value = value, arrival = id }
  elseif entry.answer ~= nil and entry.answer ~= json.null then
    return { question = entry.question, value = entry.answer, nonce = entry.nonce, arrival = id,
      approval = entry.approval }
  end
  return nil, ('inbox/%s: has neither "answer" nor "event"'):format(name)
end

---What lies there and was not met before, oldest first.
---@param now integer  UTC ms
---@return table[] list  of { file, came = UTC ms, question, value, nonce, event, arrival } or { file, came, problem }
---@return boolean whole  false: the system refused to read something now
function Inbox:look(now)
  local list, whole = {}, true
  local entries, _, failed = core_files.list(self.folder)
  if not entries and failed == "system" then
    whole = false
  end
  for _, entry in ipairs(entries or {}) do
    local name = entry.name
    if entry.kind ~= "directory" and name:find("^[^.].*%.json$") and not self.met[name] then
      local info = core_files.stat(files.join(self.folder, name))
      local what, problem, code = read(self, name)
      if code == "system" then
        whole = false
      elseif what or code ~= "missing" then
        what = what or { problem = problem }
        what.file, what.came = name, math.min(now, info and info.mtime_ns // 1000000 or now)
        list[#list + 1] = what
      end
    end
  end
  table.sort(list, function(a, b)
    return a.came < b.came or (a.came == b.came and a.file < b.file)
  end)
  return list, whole
end

---What a file said is recorded: it goes when that is durable.
---@param name string
function Inbox:take(name)
  self.met[name] = true
  self.taken[#self.taken + 1] = name
end

---It cannot be taken: it is put aside.
---@param name string
function Inbox:refuse(name)
  self.met[name] = true
  local folder = files.join(self.folder, REFUSED)
  core_files.make_folders(folder)
  core_files.rename(files.join(self.folder, name), files.join(folder, name))
end

---All that was recorded is durable.
function Inbox:durable()
  local taken = self.taken
  for i = 1, #taken do
    core_files.remove(files.join(self.folder, taken[i]))
    self.met[taken[i]], taken[i] = nil, nil
  end
end

---Puts something there, whole.
---@param work_dir string  absolute
---@param entry table  { answer, question, nonce } or { event, value }, and maybe id
---@param soon boolean|nil  it is taken by this process: it need not survive a power cut until then
---@return string|nil name  of the file
---@return string? message
function M.put(work_dir, entry, soon)
  local name = (entry.id and entry.id:gsub("[^%w_-]", "_"):sub(1, 100) .. "-" or "") .. files.random_name() .. ".json"
  local text, why = json.encode(entry)
  if not text then
    return nil, why
  end
  local ok, message = files.keep(work_dir, M.FOLDER .. "/" .. name, text .. "\n", not soon)
  return ok and name or nil, message
end

---What became of a file that was put there.
---@param work_dir string
---@param name string
---@return "waits"|"refused"|"taken"
function M.fate(work_dir, name)
  local folder = files.join(work_dir, M.FOLDER)
  if core_files.stat(files.join(folder, name)) then
    return "waits"
  end
  return core_files.stat(files.join(folder, REFUSED .. "/" .. name)) and "refused" or "taken"
end

---How many files lie there.
---@param work_dir string
---@return integer
function M.count(work_dir)
  local count = 0
  for _, entry in ipairs(core_files.list(files.join(work_dir, M.FOLDER)) or {}) do
    count = count + (entry.name:find("^[^.].*%.json$") and 1 or 0)
  end
  return count
end

return M
