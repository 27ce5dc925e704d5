-- fuzz_config.lua: mutates skill-configs: generate and load never raise, end soon, and what they
-- let through names no file outside its folder and generates itself again.
--
-- Run from the tree after make: lua5.4 tests/fuzz/fuzz_config.lua [SECONDS [SEED]] (or FUZZ_SECONDS).
-- luacheck: no max line length
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
package.cpath = ("%s/lib/?.so;"):format(os.getenv "SKILLRT_BUILD" or "build/release") .. package.cpath
local generate = require("skillrt.document.generate").generate
local json = require "skillrt.base.json"
local load_config = require "skillrt.document.load.config"

local seconds = tonumber(arg[1] or os.getenv "FUZZ_SECONDS" or "") or 5
local seed = tonumber(arg[2] or "") or os.time()
math.randomseed(seed)

local SLOW = 5
local ANY = { ["*"] = { kind = "command", argv = { "true" } } }

local texts = {
  "", " ", "a", "a-b", "a.b", "..", "../../x", "/etc/passwd", "a\nb", "{{x}}", "$&", "a | b", "]", "`", "```", "\0", "\255",
  "status === 'pending'", "completed_actions.includes('go')", "x = 1", "files.length > 0", "n++", "k=v", "@autonomous",
  "file", "memory", "sequential", "autonomous", "hybrid", "string[]", "number | null", "stop", "run_finalize", "go", "01-a",
  "01-a.json", "state.json", "specs/a.md", "llm", ("x"):rep(2000),
}
local keys = {}
for key in ([[skill_name display_name description triggers execution_mode context_strategy sequential_config phases id name
  input output parallel condition agent type tool fallback_chain objectives autonomous_config actions preconditions effects
  priority state_schema fields termination_conditions allowed_tools specs templates path purpose x_skillrt hybrid order
  on_loop_failed limits max_iterations initial_state terminal max_runs quality dimensions llm_integration enabled]]):gmatch "%S+" do
  keys[#keys + 1] = key
end

local function pick(list)
  return list[math.random(#list)]
end

local function random_value(depth)
  local kind = math.random(depth > 3 and 5 or 8)
  if kind == 1 then
    return pick { 0, 1, -1, 1e308, 0.5, 100000 }
  elseif kind == 2 then
    return pick { true, false, json.null }
  elseif kind <= 5 then
    return pick(texts)
  elseif kind == 6 then
    return json.array {}
  end
  local out = kind == 7 and json.array {} or {}
  for i = 1, math.random(0, 4) do
    out[kind == 7 and i or pick(keys)] = random_value(depth + 1)
  end
  return out
end

-- Changes something at a random place; deeper places as likely as the root.
local function mutate(value, depth)
  if type(value) ~= "table" or next(value) == nil or math.random(6) == 1 then
    return random_value(depth)
  end
  local places = {}
  for key in pairs(value) do
    places[#places + 1] = key
  end
  table.sort(places, function(a, b)
    return tostring(a) < tostring(b)
  end)
  local key, choice = pick(places), math.random(8)
  if choice == 1 and not json.is_array(value) then
    value[key] = nil
  elseif choice == 2 and json.is_array(value) then
    value[#value + 1] = value[key]
  elseif choice == 3 and not json.is_array(value) then
    value[pick(keys)] = random_value(depth + 1)
  else
    value[key] = mutate(value[key], depth + 1)
  end
  return value
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local corpus = {}
for _, name in ipairs { "release-notes", "link-fixer", "data-import" } do
  corpus[#corpus + 1] = read(("tests/golden/configs/%s.json"):format(name))
end

local function complain(text, fault)
  print(("seed %d: %s\nconfig %s"):format(seed, fault, text))
  os.exit(1)
end

local function check_files(text, files, options)
  for _, file in ipairs(files) do
    if file.path:find "^/" or ("/" .. file.path .. "/"):find "/%.%./" or file.path:find "%c" then
      complain(text, "names a file outside: " .. file.path)
    elseif file.path == "skill-config.json" then
      local again, message = generate(json.decode(file.text), options)
      if not again or #again ~= #files then
        complain(text, "does not generate itself again: " .. tostring(message))
      end
    end
  end
end

local function check(text)
  local config, started = json.decode(text), os.clock()
  local options = { lang = pick { "en", "zh" } }
  local ok, files, message, code = pcall(generate, config, options)
  if not ok or (not files and (type(message) ~= "string" or code ~= "invalid")) then
    complain(text, "generate: " .. tostring(files) .. " " .. tostring(message))
  end
  local loaded, skill, why = pcall(load_config.skill, config, { agents = ANY, folder = "." })
  if not loaded or (not skill and type(why) ~= "string") then
    complain(text, "load: " .. tostring(skill))
  end
  if files then
    check_files(text, files, options)
  end
  if os.clock() - started > SLOW then
    complain(text, "took too long")
  end
  return files ~= nil
end

local runs, good = 0, 0
local stop = os.clock() + seconds
while os.clock() < stop do
  local config = json.decode(pick(corpus))
  for _ = 1, math.random(1, 3) do
    config = mutate(config, 0)
  end
  local text = json.encode(config)
  if text and #text < 100000 then
    runs = runs + 1
    if check(text) then
      good = good + 1
      corpus[#corpus < 300 and #corpus + 1 or math.random(#corpus)] = text
    end
  end
end
print(("%d configs, %d of them valid, seed %d"):format(runs, good, seed))
