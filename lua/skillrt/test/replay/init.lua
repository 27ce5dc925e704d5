-- test/replay/init.lua: runs a run again from its recording, with the same or a changed skill: in a temporary folder,
-- without a network; and the result. Writes nothing into the recorded run.
--
-- Knows recordings, the runner and who opens skills; no command line. Called by `skillrt replay`.

local clock = require("skillrt.base.fake_clock") -- before any module that reads the time
local changes = require("skillrt.report.changes")
local files = require("skillrt.base.files")
local gate = require("skillrt.document.gate")
local open = require("skillrt.document.open")
local recording_of = require("skillrt.test.replay.recording")
local runner = require("skillrt.run.runner")
local state = require("skillrt.skill.state")
local store = require("skillrt.run.store")
local world_of = require("skillrt.test.replay.world")

local M = {}

---@class skillrt.Replay
---@field same boolean
---@field divergence table|nil   { step, id, call, recorded, now, why, nearest }
---@field differences string[]   results of steps, and the end, that differ
---@field ended table|nil        the recording ends here: { step, id, call }
---@field notes string[]
---@field steps integer
---@field answered integer       calls
---@field status string
---@field reason string
---@field live boolean           the recorded run is under way
---@field recording skillrt.Recording

-- The present skill; its script draws the recorded values while it is loaded.
local function load(path, first)
  local before = _G.arg
  _G.arg = table.move(first.args or {}, 1, #(first.args or {}), 1, { [0] = path })
  local value, message, code = open.load(path, { agent = first.agent, drawn = first.load, sees = first.skill,
    is_stranger = path == first.script and open.is_stranger(first, nil, first.sandbox) or nil }, false)
  _G.arg = before
  return value, message, code
end

-- Recordings contain no keys, and nothing is sent: any key will do.
local function with_keys(work, ...)
  local getenv = os.getenv
  local _ <close> = setmetatable({}, { __close = function() os.getenv = getenv end }) -- luacheck: ignore
  function os.getenv(name) -- luacheck: ignore
    return getenv(name) or (name:find("KEY") or name:find("TOKEN") or name:find("SECRET")) and "not needed" or nil
  end
  return work(...)
end

-- Runs it, and does what people did where it stopped for them.
local function perform(path, recording, world, folder)
  local first = recording.first
  local options = { work_dir = files.join(folder, "run"), run_id = first.run, cwd = first.cwd, input = first.input,
    args = first.args or {}, strategy = first.strategy, limits = first.limits, durability = "process", world = world,
    watcher = world.watcher, session = first.session }
  clock.now = first.at
  local value, message, code = load(path, first)
  if not value then
    return nil, message, code
  end
  local result
  result, message, code = runner.run(value, options)
  local left, at = recording.sessions - 1, 1
  while result and left > 0 and not (world.divergence or world.ended or result.status == "completed") do
    local all = { work_dir = options.work_dir, world = world, watcher = world.watcher, strategy = first.strategy }
    local person = recording.operator[at]
    if result.status ~= "paused" and not person then
      break
    elseif result.status == "failed" then
      at, all.retry, all.from = at + 1, person.retry, person.from
    end
    left = left - 1
    local again = load(path, first)
    if not again then
      break
    end
    result, message, code = runner.go_on(again, all)
  end
  return result, message, code
end

local ENDS <const> = { status = true, completed_actions = true, phases_completed = true, phases_skipped = true,
  errors = true, outputs = true, context = true, input = true }

-- A state without the parts that differ in every run: times, ids, folders.
local function comparable(root, world)
  local json = require("skillrt.base.json")
  local out = {}
  for key, value in pairs(root) do
    out[key] = (not state.is_reserved(key) or ENDS[key]) and value or nil
  end
  local text = world:placeless(assert(json.encode(out, { sorted = true })))
  text = text:gsub('"(%l+_at)":"[^"]*"', '"%1":""'):gsub('"timestamp":"[^"]*"', '"timestamp":""')
  local value = assert(json.decode(text))
  if type(value.metrics) == "table" then
    value.metrics.action_duration = nil
  end
  return value
end

-- How the end differs, if the recording has one.
local function compare_ends(found, result, world)
  local recording = found.recording
  local stop, differences = recording.stop, found.differences
  if not stop or recording.cut or world.ended then
    return
  end
  local reason = stop.reason
  if stop.status ~= result.status or reason ~= result.reason then
    differences[#differences + 1] = ("the end: %s (%s) -> %s (%s)"):format(stop.status, reason, result.status,
      result.reason)
  end
  local was, is = comparable(recording.books.state.root, world), comparable(result.state, world)
  for _, change in ipairs(changes.between(was, is)) do
    differences[#differences + 1] = "at the end: " .. changes.line(change)
  end
end

-- A recorded step that is missing when the run has ended.
local function missed(recording, world)
  local all = recording.starts["/"] or {}
  return all[(world.counts["/"] or 0) + 1]
end

---@param dir string
---@param path string|nil  the skill; nil: the recorded script, as it is now
---@param person skillrt.Person|false|nil  whom the gate asks
---@return skillrt.Replay|nil replay
---@return string? message
---@return string? code
function M.of(dir, path, person)
  local recording, message, code = recording_of.read(dir)
  if not recording then
    return nil, message, code
  end
  local ok
  if path then
    ok, message, code = gate.pass(path, nil, person)
  else
    ok, message, code = gate.pass_run(dir, recording.first, person)
  end
  if not ok then
    return nil, message, code
  end
  path = path or recording.first.script
  if not path then
    return nil, ("%s: its skill was not loaded from a file; name one: --skill PATH"):format(dir), "invalid"
  end
  local folder = os.tmpname()
  os.remove(folder)
  assert(files.make_folders(folder))
  local _ <close> = setmetatable({}, {
    __close = function() files.remove_tree(folder) end,
  })
  local world = world_of.new(recording, store.at(files.join(files.current(), dir)))
  world.places = { files.join(folder, "run"), world.store.place }
  for _, script in ipairs({ path, recording.first.script }) do -- as messages name them, wherever it was started
    table.insert(world.places, files.join(files.current(), script))
    table.insert(world.places, script)
    table.insert(world.places, script:match("[^/]+$"))
  end
  world.path = path
  local result
  result, message, code = with_keys(perform, path, recording, world, folder)
  if not result and not world.divergence then
    return nil, message, code
  end
  local found = { recording = recording, divergence = world.divergence, differences = world.differences,
    ended = world.ended, notes = world.notes, steps = world.steps, answered = world.answered,
    live = world.store:holder() ~= nil, status = result and result.status, reason = result and result.reason }
  local left = not found.divergence and not found.ended and missed(recording, world)
  if left and not recording.cut then
    found.divergence = { step = left.number, id = left.id, recorded = "step " .. left.id, now = "no further step",
      why = ("the run ended: %s (%s)%s"):format(result.status, result.reason, result.message and ": " .. result.message
        or "") }
  elseif not found.divergence then
    compare_ends(found, result, world)
  end
  found.same = not found.divergence and #found.differences == 0
  return found
end

return M
