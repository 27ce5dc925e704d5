-- run/contexts.lua: the contexts of a run, loaded once when it starts: required ones in the order of their
-- dependencies, optional ones if they exist, each file once; and the part of a session that is kept for the next run.
--
-- What was loaded is recorded with versions and digests; a resumed run reads nothing again. Knows files and the turn.
-- Called by turn.lua, subs.lua and `skillrt context`.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")

local M = {}

local LONGEST <const> = 16 << 20 -- bytes of a file

---The file of a session; or nil and why there is none.
---@param name string
---@return string|nil path
---@return string? message
function M.session_file(name)
  local id, problem = names.id(name)
  if not id then
    return nil, "session " .. problem
  end
  local base = files.state_home()
  if not base then
    return nil, "there is no folder for sessions: set HOME or XDG_STATE_HOME"
  end
  return ("%s/sessions/%s.json"):format(base, id)
end

-- "2.1" and "2.10.3" as numbers.
local function parts_of(version)
  local list = {}
  for number in tostring(version):gmatch("%d+") do
    list[#list + 1] = math.tointeger(tonumber(number)) or 0
  end
  return list
end

-- Whether a version is the wanted one or a later one with the same major number (R162).
local function fits(version, wanted)
  local have, want = parts_of(version), parts_of(wanted)
  if have[1] ~= want[1] then
    return false
  end
  for i = 2, #want do
    if (have[i] or 0) ~= want[i] then
      return (have[i] or 0) > want[i]
    end
  end
  return true
end

-- The content of a file, and the version that it states.
local function value_of(text, file)
  if file:find("%.json$") then
    local value, why = json.decode(text)
    if value == nil then
      return nil, why
    end
    return value, nil, type(value) == "table" and value.version or nil
  end
  local front = text:match("^%-%-%-\r?\n(.-)\n%-%-%-") or text:sub(1, 200)
  return text, nil, ("\n" .. front):match("\nversion:[ \t\"']*([%w.+-]+)")
end

-- Reads a file below a folder within the time limit; a read that takes longer is repeated once (R177). A stranger's
-- skill follows no links.
local function read(folder, file, seconds, is_stranger)
  local path = files.join(folder, file)
  local info = files.stat(path)
  if info and info.kind ~= "file" then
    return nil, ("%s: is not a regular file, so it is not read"):format(path), "invalid"
  end
  for attempt = 1, 2 do
    local began = core.mono_ns()
    local text, message, code
    if is_stranger then
      text, message, code = files.kept(folder, file, LONGEST)
    else
      text, message, code = files.read(path, LONGEST)
    end
    local took = (core.mono_ns() - began) / 1e9
    if seconds == 0 or took <= seconds then
      return text, message, code
    elseif attempt == 2 then
      return nil, ("%s: loading it took %.1f seconds, %g at most"):format(path, took, seconds), "timeout"
    end
  end
end

local function load_file(one, file, folders, seen, seconds)
  local folder = folders[one.library and "global" or one.kind]
  local below = one.library and files.join(one.library, file) or file
  if files.is_folder(files.join(folder, below)) then
    below = files.join(below, "SKILL.md") -- another skill's description of itself
  end
  local path = files.join(folder, below)
  local row = { name = one.name, kind = one.kind, file = path }
  if seen[path] then
    row.skipped = "loaded already, as " .. seen[path].name -- its value is that skill's (R162)
    row.digest, row.bytes, row.version = seen[path].digest, seen[path].bytes, seen[path].version
    return row, seen[path].value
  end
  local text, message, code = read(folder, below, seconds, folders.is_stranger)
  if not text then
    return nil, nil, one.library and ("%s (of the library %s)"):format(message, one.library) or message, code
  end
  local value, why, version = value_of(text, file)
  if value == nil then
    return nil, nil, ("%s: %s"):format(path, why), "invalid"
  elseif one.version and not (version and fits(version, one.version)) then
    return nil, nil, ("%s: is version %s, and %s is needed"):format(path, tostring(version or "unknown"), one.version),
      "version"
  end
  row.digest, row.bytes, row.version = core.sha256(text), #text, version and tostring(version)
  seen[path] = { name = one.name, digest = row.digest, bytes = row.bytes, version = row.version, value = value }
  return row, value
end

-- The replacement of an optional context, and how that is recorded: degraded (R182), or skipped.
local function otherwise(one, folders, seen, seconds, message)
  if one.alternative then
    local row, value = load_file(one, one.alternative, folders, seen, seconds)
    if row then
      row.degraded = message
      return row, value
    end
  end
  return { name = one.name, kind = one.kind, file = one.file, skipped = message }
end

-- The values of a session, by name; or nil and why they cannot be read.
local function held(path)
  local text, message, code = files.read(path, LONGEST)
  if code == "missing" then
    return {}
  elseif not text then
    return nil, message
  end
  local value, why = json.decode(text)
  if not json.is_object(value) then
    return nil, ("%s: is damaged (%s); repair it, or put it aside"):format(path, why or "not a JSON object")
  end
  return value
end

local function digest_of(value)
  return value ~= nil and core.sha256(assert(json.encode(value, { sorted = true }))) or nil
end

---Loads the contexts of a skill: the loaded ones in order, and their values by name.
---@param skill skillrt.Skill
---@param folders table  { global, project }: where files are searched
---@param session string|nil  the file of the session
---@return table[] rows  { name, kind, file, digest, bytes, version, skipped, degraded }
---@return table<string, any> values
---@return string? problem  with a required context: then nothing may start
function M.read(skill, folders, session)
  local rows, values, seen = json.array({}), {}, {}
  local seconds = skill.timeouts.context_load
  local kept, damaged = {}, nil
  if session then
    kept, damaged = held(session)
  end
  if not kept then
    return rows, values, damaged
  end
  for _, one in ipairs(skill.contexts) do
    local row, value, message
    if one.kind == "session" then
      value = kept[one.name]
      row = { name = one.name, kind = one.kind, file = session, digest = digest_of(value),
        bytes = value ~= nil and #json.encode(value) or nil,
        skipped = value == nil and (session and "nothing is saved yet" or "no --session is named") or nil }
    else
      row, value, message = load_file(one, one.file, folders, seen, seconds)
      if not row and not one.optional then
        return rows, values, ("context %s: %s"):format(one.name, message)
      elseif not row then
        row, value = otherwise(one, folders, seen, seconds, message)
      end
    end
    rows[#rows + 1], values[one.name] = row, value
  end
  return rows, values
end

-- What a caller refers to of the values it was itself given: passed on to the skill it calls (R166, R167).
local function handed(references, context, rows, values)
  for _, name in ipairs(type(references) == "table" and references or {}) do
    local value = context[name]
    if type(name) == "string" and value ~= nil and values[name] == nil then
      local text = json.encode(value)
      rows[#rows + 1] = { name = name, kind = "caller", digest = core.sha256(text), bytes = #text }
      values[name] = value
    end
  end
end

---A run or a sub-run starts: loads and records its contexts.
---@param turn skillrt.Turn
---@param skill skillrt.Skill
---@param sub string?        the scope of a sub-run
---@param from table?        its caller's: { references, context }
function M.load(turn, skill, sub, from)
  local session = turn.books.session
  local folders = { global = skill.dir, project = turn.books.cwd or turn.run.input_dir,
    is_stranger = skill.guest ~= nil }
  local rows, values, problem = json.array({}), {}, nil
  if skill.contexts then
    rows, values, problem = M.read(skill, folders, session and M.session_file(session))
  end
  if from then
    handed(from.references, from.context, rows, values)
  end
  if rows[1] or problem then
    assert(turn:emit({ t = "contexts", sub = sub, list = rows, values = values, failed = problem }))
  end
end

---A run stops, or a sub-run has finished: keeps its changes of the session for the next run that names it. Changes
---that another run made meanwhile are not overwritten: then this run's version is set aside.
---@param turn skillrt.Turn  the run's
---@param run skillrt.Run        the one that stops
---@return string? problem
---@return table<string, string|false>? digests  of what was kept, by name
function M.keep(turn, run)
  local session, context = turn.books.session, run.books.state.root.context
  local path = session and M.session_file(session)
  if not path then
    return nil
  end
  local all, problem = held(path)
  local digests, apart = {}, {}
  for _, row in ipairs(run.books.contexts or {}) do
    local value = context[row.name]
    local now = digest_of(value)
    if row.kind == "session" and now ~= row.digest then
      if all and digest_of(all[row.name]) == row.digest then
        all[row.name], digests[row.name] = value, now or false
      else
        apart[row.name] = value
      end
    end
  end
  files.make_folders(files.dirname(path))
  for file, values in pairs({ [path] = next(digests) ~= nil and all or nil,
    [path .. "." .. turn.books.run_id] = next(apart) ~= nil and apart or nil }) do
    local ok, message = files.write(file, assert(json.encode(values, { sorted = true, indent = 2 })) .. "\n")
    problem = not ok and message or problem
  end
  if next(apart) ~= nil then
    problem = problem or path .. ": another run changed it meanwhile"
    problem = ("%s; this run's version of %s is saved in %s.%s"):format(problem,
      table.concat(names.sorted(apart), ", "), path, turn.books.run_id)
  end
  return problem, next(digests) ~= nil and digests or nil
end

return M
