-- runs.lua: what specs of whole runs share: folders that go away, skills in few words, files,
-- a journal cut short, the test server. Required by tests/run/*_spec.lua and tests/lua/*_spec.lua.
local declared = require "tests.support.declared"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local M = {}
local BUILD = os.getenv "SKILLRT_BUILD" or ("build/" .. (os.getenv "SKILLRT_MODE" or "release"))
local made = {}

-- A run that is cut short behind each record in turn is resumed from all of them with NIGHTLY=1, else from one in so
-- many: the simulator kills at any call of every run that it draws.
M.EVERY = os.getenv "SKILLRT_NIGHTLY" and 1 or 5
local replies, reply_count = nil, 0 -- the folder of what the test server gives as it is

function M.folder()
  local name = os.tmpname()
  os.remove(name)
  assert(os.execute(("mkdir '%s'"):format(name)))
  made[#made + 1] = name
  return name
end

---One that does not lie in /tmp, which a sandbox has empty.
function M.kept_folder()
  local path = ("%s/build/tests.%s"):format(io.popen("pwd"):read "l", require("skillrt.core").uuid())
  assert(os.execute(("mkdir -p '%s'"):format(path)))
  made[#made + 1] = path
  return path
end

---To be called after each test.
function M.clean()
  for i = #made, 1, -1 do
    os.execute(("rm -rf '%s'"):format(made[i]))
    made[i] = nil
  end
  replies = nil
end

function M.read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

function M.write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

function M.exists(path)
  local file <close> = io.open(path, "rb")
  return file ~= nil
end

function M.json(path)
  local text = assert(M.read(path), path .. " is not there")
  return assert(json.decode(text))
end

-- Retries without waiting, unless a test says otherwise.
function M.skill(definition)
  definition.name = definition.name or "tested"
  definition.durability = definition.durability or "process"
  definition.retry = definition.retry or { base = 0.001, cap = 0.002, jitter = false }
  return skillrt.skill(definition)
end

function M.run(definition, options)
  options = options or {}
  options.work_dir = options.work_dir or M.folder() .. "/run"
  local result, message, code = M.skill(definition):run(options)
  return result, message, code
end

---The records of a run, in order: as they are written, or those of a kind, also where a record carries the `start` of
---its step; the books; and the starts that records carry, by the record.
function M.records(dir, kind)
  local list, began, last = {}, {}, nil
  local books = assert(require("skillrt.run.runner").read(dir, nil, function(record, _, seq)
    declared(record)
    if not kind and seq == last then
      began[record], list[#list] = list[#list], record
    elseif not kind or record.t == kind then
      list[#list + 1] = record
    end
    last = seq
  end))
  return list, books, began
end

---What the records of a run tell, in order: the start of a step before the record that carries it.
function M.told(dir)
  local list = {}
  assert(require("skillrt.run.runner").read(dir, function(record)
    list[#list + 1] = record
  end))
  return list
end

---The ids of a list of rows, in one text.
function M.ids(list)
  local out = {}
  for i, row in ipairs(list) do
    out[i] = row.id
  end
  return table.concat(out, " ")
end

---The actions of a run in the order in which they were begun, in one text.
function M.order(dir)
  local out = {}
  for i, record in ipairs(M.records(dir, "start")) do
    out[i] = record.action
  end
  return table.concat(out, " ")
end

---A function for an action that returns these updates.
function M.sets(updates)
  return function()
    return updates
  end
end

---A function for an action that fails for good.
function M.fails(message)
  return function()
    return nil, message or "no"
  end
end

---Runs a skill and stops it from outside when a record for which `wanted` holds is written.
---@return string status
---@return string reason
function M.stopped(definition, dir, wanted)
  local run
  local watcher = {
    observe = function(record)
      if wanted(record) then
        run:stop()
      end
    end,
    flush = function() end,
  }
  run = assert(require("skillrt.run.runner").begin(M.skill(definition), { work_dir = dir, watcher = watcher }))
  local open <close> = run
  open:wait()
  local status, reason = open:status()
  return status, reason
end

---Copies a run and keeps only its first `keep` records. What is left of a batch that was cut
---in two is a torn tail: recovery takes it away.
function M.cut(from, to, keep)
  assert(os.execute(("mkdir -p '%s/journal' && cp -r '%s'/. '%s/'"):format(to, from, to)))
  os.execute(("cd '%s' && rm -rf state.json execution-state.json run.lock context"):format(to))
  for name in io.popen(("ls '%s/journal'"):format(to)):lines() do
    local path, kept = to .. "/journal/" .. name, {}
    for line in assert(M.read(path)):gmatch "[^\n]*\n" do
      local own = line:find('{"t":"journal",', 1, true) -- the journal's own record: a head, or its end
      if keep > 0 or #kept == 0 then
        keep = own and keep or keep - 1
        kept[#kept + 1] = line
      end
    end
    if #kept > 1 then
      M.write(path, table.concat(kept))
    else
      os.remove(path)
    end
  end
end

---A line of the test server's plan: it answers with these bytes.
---@param more string|nil  further parameters, from "&" on
function M.raw(bytes, more)
  replies, reply_count = replies or M.folder(), reply_count + 1
  local path = ("%s/%d"):format(replies, reply_count)
  M.write(path, bytes)
  return ("/raw?file=%s%s"):format(path, more or "")
end

---The test server, as { url =, log = function() -> lines, stop = function() }.
function M.server(plan)
  local folder = M.folder()
  local log, plan_file = folder .. "/log", folder .. "/plan"
  M.write(plan_file, plan or "/echo\n")
  local fifo = folder .. "/in"
  assert(os.execute(("mkfifo '%s'"):format(fifo)))
  local pipe = assert(io.popen(
    ("'%s/tests/agent_server' --log '%s' --plan '%s' --keep '%s' --seconds 60 < '%s'"):format(BUILD, log, plan_file,
      folder, fifo)))
  local hold = assert(io.open(fifo, "w")) -- it ends when this end is closed
  local port = assert(pipe:read "l"):match "port (%d+)"
  return {
    url = "http://127.0.0.1:" .. port,
    -- The n-th request: its head, its body decoded.
    request = function(n)
      local text = M.read(("%s/%d"):format(folder, n))
      local head, body = (text or ""):match "^(.-\r\n\r\n)(.*)$"
      return head, body and body:find "^[%[{]" and assert(json.decode(body)) or nil
    end,
    -- The body of the n-th request as it came.
    body = function(n)
      return (M.read(("%s/%d"):format(folder, n)) or ""):match "\r\n\r\n(.*)$"
    end,
    plan = function(text)
      M.write(plan_file, text)
    end,
    log = function()
      local lines = {}
      for line in (M.read(log) or ""):gmatch "[^\n]+" do
        lines[#lines + 1] = line
      end
      return lines
    end,
    stop = function()
      hold:close()
      pipe:close()
    end,
  }
end

-- Fields that differ from run to run.
local TIMES <const> = { timestamp = true, start_time = true, started_at = true, completed_at = true, failed_at = true,
  skipped_at = true, updated_at = true, action_duration = true, run_id = true }

---A state without what differs from run to run.
function M.without_times(value)
  if type(value) ~= "table" then
    return value
  end
  local out = json.is_array(value) and json.array {} or {}
  for key, item in pairs(value) do
    if not TIMES[key] then
      out[key] = M.without_times(item)
    end
  end
  return out
end

return M
