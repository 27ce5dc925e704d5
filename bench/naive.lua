-- naive.lua: the loop as one writes it at first: read state.json, filter and sort 50 actions, do
-- the action, write the whole pretty file twice a step, never fsync. What skillrt is measured against.
--
-- Usage: lua5.4 naive.lua FOLDER STEPS STATE_BYTES. Prints the nanoseconds of CPU and the steps' wall
-- time is the caller's to take. Plain Lua and lua-cjson.
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

local actions = {}
for i = 1, 50 do
  actions[i] = {
    id = "action-" .. i,
    priority = i % 7,
    precondition = function(state) return state.step % 50 + 1 ~= i end,
  }
end

local items = {}
for i = 1, size // 100 do
  items[i] = { id = i, name = "item number " .. i, note = ("x"):rep(50) }
end
write_state { status = "running", step = 0, items = items, completed = {}, error_count = 0 }

for _ = 1, steps do
  local state = read_state()
  local runnable = {}
  for _, action in ipairs(actions) do
    if action.precondition(state) then
      runnable[#runnable + 1] = action
    end
  end
  table.sort(runnable, function(a, b) return a.priority > b.priority end)
  state.current_action = runnable[1].id
  write_state(state)
  state.step = state.step + 1
  state.current_action = nil
  write_state(state)
end
