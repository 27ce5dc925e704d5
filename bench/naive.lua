-- naive.lua: the loop as one writes it at first: read state.json, filter and sort 50 actions, do
-- the action, write the whole pretty file twice a step, never fsync. What skillrt is measured against.
--
-- Usage: lua5.4 naive.lua FOLDER STEPS STATE_BYTES. Time is the caller's to take. Plain Lua and
-- lua-cjson.
local cjson = require "cjson"

local folder, steps, size = arg[1], math.tointeger(tonumber(arg[2])), math.tointeger(tonumber(arg[3]))
local path = folder .. "/state.json"

-- lua-cjson writes no indentation: every person's own pretty printer
local function pretty(value, indent)
  if type(value) ~= "table" then
    return cjson.encode(value)
  end
  local inner, parts = indent .. "  ", {}
  if #value > 0 then
    for i, item in ipairs(value) do
      parts[i] = inner .. pretty(item, inner)
    end
    return "[\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "]"
  end
  local keys = {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for i, key in ipairs(keys) do
    parts[i] = inner .. cjson.encode(key) .. ": " .. pretty(value[key], inner)
  end
  return "{\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "}"
end

local function read_state()
  local file <close> = assert(io.open(path))
  return cjson.decode(file:read "a")
end

local function write_state(state)
  local file <close> = assert(io.open(path, "w"))
  file:write(pretty(state, ""))
end

-- the actions of bench/skills/steps.lua, with conditions in Lua
local PARTS <const>, STAGES <const> = 10, 5
local all = os.getenv "BENCH_READS" == "all"
local actions = {}
for i = 1, PARTS * STAGES do
  local key, stage = "part_" .. (i - 1) % PARTS + 1, (i - 1) // PARTS
  actions[i] = {
    id = "action-" .. i,
    priority = i % 7,
    precondition = all and function(state) return state.step % 50 + 1 ~= i end
      or function(state) return state[key] % STAGES ~= stage end,
    run = function(state)
      state.step = state.step + 1
      state[key] = state[key] + 1
      state.done = state.step >= steps
    end,
  }
end

local state = { status = "running", step = 0, done = false, completed = {}, error_count = 0, items = {} }
for i = 1, size // 100 do
  state.items[i] = { id = i, name = "item number " .. i, note = ("x"):rep(50) }
end
for part = 1, PARTS do
  state["part_" .. part] = 0
end
write_state(state)

repeat
  state = read_state()
  local runnable = {}
  for _, action in ipairs(actions) do
    if action.precondition(state) then
      runnable[#runnable + 1] = action
    end
  end
  table.sort(runnable, function(a, b) return a.priority > b.priority end)
  local chosen = runnable[1]
  state.current_action = chosen.id
  write_state(state)
  chosen.run(state)
  state.current_action = nil
  write_state(state)
until state.done
