-- base/environment.lua: the environment of a script: globals of its own, copies of Lua's libraries, the recorded
-- clock and random numbers, a fixed order of pairs, and helpers, which are loaded into the same environment and noted
-- with their digests.
--
-- No sandbox: a script may do what its user may. Knows scripts; no skills and no runs. Used by document/script.lua
-- and skill/strategy.lua.

local core = require("skillrt.core")
local drawn = require("skillrt.base.drawn")
local files = require("skillrt.base.files")
local ordered = require("skillrt.base.ordered")
local system = require("skillrt.base.system")

local M = {}

-- ---- random numbers from a seed (splitmix64), as math.random gives them: each branch has a generator ----

---@param seed integer
---@return table generator
local function new(seed)
  return { state = seed }
end

local function bits(generator)
  local z = generator.state + 0x9E3779B97F4A7C15
  generator.state = z
  z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
  z = (z ~ (z >> 27)) * 0x94D049BB133111EB
  return z ~ (z >> 31)
end

local function whole_number(value, at)
  local number = math.tointeger(value)
  if not number then
    error(("bad argument #%d to 'random' (number has no integer representation)"):format(at), 4)
  end
  return number
end

---As math.random.
---@param generator table
---@param low number|nil
---@param high number|nil
---@return number
local function draw(generator, low, high)
  if low == nil then
    return (bits(generator) >> 11) * 2.0 ^ -53
  elseif high == nil then
    low, high = 1, whole_number(low, 1)
    if high == 0 then
      return bits(generator)
    end
  else
    low, high = whole_number(low, 1), whole_number(high, 2)
  end
  if low > high then
    error("bad argument to 'random' (interval is empty)", 3)
  end
  local range = high - low -- without a sign
  local mask = range
  for _, shift in ipairs({ 1, 2, 4, 8, 16, 32 }) do
    mask = mask | (mask >> shift)
  end
  local value
  repeat
    value = bits(generator) & mask
  until not math.ult(range, value)
  return low + value
end

local MAX_HELPER <const> = 4 * 1024 * 1024
local LIBRARIES <const> = { "coroutine", "debug", "io", "math", "os", "package", "string", "table", "utf8" }
local FUNCTIONS <const> = {
  "assert", "collectgarbage", "error", "getmetatable", "ipairs", "pcall", "rawequal", "rawget", "rawlen", "rawset",
  "select", "setmetatable", "tonumber", "tostring", "type", "warn", "xpcall", "_VERSION",
}

---@class skillrt.Loaded  a script that was loaded, or is being loaded
---@field env table
---@field dir string                      its folder
---@field pins table<string, string>      helpers by name, with their digests
---@field drawn table<string, any[]>|nil  what it drew while it was loaded, by kind
---@field before table<string, any[]>|nil what was drawn then when the run began
---@field run function|nil                what skill:run does in it; set by whoever loads it
---@field agents table|nil                by name, for what it loads
---@field told table<table, boolean>      runs that are notified of helpers loaded later: pin(name, digest)
---@field seed integer|nil                 what the script seeded its random numbers with
local Loaded = {}
Loaded.__index = Loaded

---What the script draws while it is loaded.
function Loaded:value(kind, make)
  local all = self.drawn or {}
  self.drawn = all
  local list = all[kind] or {}
  all[kind] = list
  local known = self.before and self.before[kind]
  local value = known and known[#list + 1]
  if value == nil then
    value = make()
  end
  list[#list + 1] = value
  return value
end

local function fresh_seed()
  return math.floor(core.random() * 2.0 ^ 53)
end

-- A seed for one place: drawn, or derived from what the script gave to math.randomseed.
local function seed_of(self, place)
  if self.seed then
    return math.tointeger(tonumber(core.sha256(("%d %s"):format(self.seed, place)):sub(1, 15), 16))
  end
  return drawn.value("s", fresh_seed)
end

-- The random numbers of whoever asks: each branch of a step has its own.
local function generator_of(self)
  local step = drawn.step
  if step and not drawn.loading then
    local list, place = drawn.chances(step)
    if not list[place] then
      list[place] = new(seed_of(self, ("%d %s"):format(step.number, place)))
    end
    return list[place]
  end
  self.chance = self.chance or new(seed_of(self, ""))
  return self.chance
end

local function add_chance(self, math_table)
  function math_table.random(low, high)
    return draw(generator_of(self), low, high)
  end
  function math_table.randomseed(seed)
    seed = seed == nil and drawn.value("s", fresh_seed) or seed
    seed = math.tointeger(seed) or math.floor((tonumber(seed) or 0) * 65536)
    if drawn.step and not drawn.loading then
      generator_of(self).state = seed
    else
      self.seed, self.chance = seed, new(seed)
    end
  end
end

local function add_clock(os_table)
  local time, date = os.time, os.date
  local function now()
    return core.wall_ms() // 1000
  end
  function os_table.time(fields)
    if fields ~= nil then
      return time(fields)
    end
    return drawn.value("t", now)
  end
  function os_table.date(format, at)
    return date(format or "%c", at or os_table.time())
  end
  function os_table.clock()
    return drawn.value("c", os.clock)
  end
end

-- ---- helpers ----

-- The name of a helper in the journal.
local function name_of(self, path)
  local here = files.join(files.current(), self.dir) .. "/"
  local whole = files.join(files.current(), (path:gsub("^%./", "")))
  here, whole = here:gsub("/%./", "/"), whole:gsub("/%./", "/")
  return whole:sub(1, #here) == here and whole:sub(#here + 1) or whole
end

local function note(self, path, text)
  local name, digest = "helper " .. name_of(self, path), core.sha256(text)
  if self.pins[name] ~= digest then
    self.pins[name] = digest
    for run in pairs(self.told) do
      run:pin(name, digest)
    end
  end
end

---The digest of a helper now; nil: it cannot be read.
---@param name string  its name in the journal
---@param dir string   the script's folder
---@return string|nil
function M.digest_of(name, dir)
  local text = files.read(files.join(dir, (name:gsub("^helper ", ""))), MAX_HELPER)
  return text and core.sha256(text)
end

local function is_there(path)
  return files.stat(path) ~= nil
end

---A file's text as a function, read as `lua` does: without a UTF-8 mark and without a first line for the shell.
---@param text string
---@param chunkname string
---@param env table
---@return function|nil
---@return string? message
function M.chunk(text, chunkname, env)
  return load(text:gsub("^\xEF\xBB\xBF", "", 1):gsub("^#[^\n]*", "", 1), chunkname, "t", env)
end

-- The function that a helper's file holds; notes the helper.
local function chunk_of(self, path, env)
  if not files.is_absolute(path) and not is_there(path) and is_there(files.join(self.dir, path)) then
    path = files.join(self.dir, path)
  end
  local text, message = files.read(path, MAX_HELPER)
  if not text then
    return nil, message
  end
  note(self, path, text)
  return M.chunk(text, "@" .. path, env)
end

local function lua_file_of(self, name)
  local beside = files.join(self.dir, "?.lua") .. ";" .. files.join(self.dir, "?/init.lua")
  return package.searchpath(name, beside) or package.searchpath(name, self.env.package.path)
end

-- Modules that are no Lua file of the script: ours and those we use come from the system's paths; C modules from
-- where the script says.
local function outside(self, name)
  local ok, value, where
  if name:find("^skillrt") then
    ok, value, where = pcall(require, name)
  elseif name == "lpeg" or name == "yaml" or name == "cjson" then
    ok, value, where = pcall(system.require, name)
  end
  if not ok then
    ok, value, where = system.from(self.env.package.path, self.env.package.cpath, name)
  end
  if not ok then
    error(value, 3)
  end
  return value, where
end

---The text of a helper of an untrusted script, below its folder, and the name of its chunk; notes the helper.
---@param self skillrt.Loaded
---@param name string  a path, or a module's name
---@param is_module boolean?
---@return string|nil text
---@return string name_or_message
function M.helper(self, name, is_module)
  local stem, message = is_module and name:gsub("%.", "/") or name, nil
  for _, folder in ipairs({ files.join(files.current(), self.dir) .. "/", self.dir .. "/" }) do
    stem = stem:sub(1, #folder) == folder and stem:sub(#folder + 1) or stem
  end
  for _, path in ipairs(is_module and { stem .. ".lua", stem .. "/init.lua" } or { stem }) do
    local text
    text, message = files.kept(self.dir, path, MAX_HELPER)
    if text then
      note(self, files.join(self.dir, path), text)
      return text, "@" .. files.join(self.dir, path)
    end
  end
  return nil, ("module '%s' not found below %s: %s"):format(name, self.dir, message)
end

local function add_loaders(self)
  local env = self.env
  local loaded, preload = env.package.loaded, env.package.preload
  function env.require(name)
    if type(name) ~= "string" then
      error(("bad argument #1 to 'require' (string expected, got %s)"):format(type(name)), 2)
    elseif loaded[name] ~= nil then
      return loaded[name]
    end
    local ours = name == "skillrt" or name:find("^skillrt%.") or package.preload[name]
    local path = not preload[name] and not ours and lua_file_of(self, name) or nil
    local value, where
    if preload[name] then
      value, where = preload[name](name, ":preload:"), ":preload:"
    elseif path then
      local chunk, message = chunk_of(self, path, env)
      if not chunk then
        error(("error loading module '%s' from file '%s':\n\t%s"):format(name, path, message), 2)
      end
      value, where = chunk(name, path), path
    else
      value, where = outside(self, name)
    end
    if value ~= nil then
      loaded[name] = value
    elseif loaded[name] == nil then
      loaded[name] = true
    end
    return loaded[name], where
  end
  function env.loadfile(path, _, ...)
    return chunk_of(self, path, select("#", ...) > 0 and (...) or env)
  end
  function env.dofile(path)
    local chunk, message = chunk_of(self, path, env)
    if not chunk then
      error(message, 2)
    end
    return chunk()
  end
  function env.load(chunk, name, _, ...)
    return load(chunk, name, "t", select("#", ...) > 0 and (...) or env)
  end
end

-- ---- an environment ----

-- A library as a script sees it: the script's own changes first, the original behind them.
local behind = {}

local function view_of(library)
  behind[library] = behind[library] or { __index = library }
  return setmetatable({}, behind[library])
end

-- Lua looks up methods of texts in its own table: what a script adds to `string` is added there; what it replaces is
-- replaced for that script alone.
local function add_text(list, name, value)
  rawset(list, name, value)
  if string[name] == nil then
    rawset(string, name, value)
  end
end

behind[string] = { __newindex = add_text, __index = string }

local function write(...) -- the same: something may have replaced `io.write`
  return io.write(...)
end

local function functions_of(env)
  env.pairs, env.next, env.arg = ordered.pairs, ordered.next, _G.arg
  for _, name in ipairs(FUNCTIONS) do
    env[name] = _G[name]
  end
  function env.print(...) -- whoever shows the run may have replaced it
    return print(...)
  end
  return env
end

local function globals()
  local env = functions_of({})
  for _, name in ipairs(LIBRARIES) do
    env[name] = view_of(_G[name])
  end
  env.io.write = write
  env._G = env
  local loaded = { _G = env }
  for _, name in ipairs(LIBRARIES) do
    loaded[name] = env[name]
  end
  env.package.loaded, env.package.preload = loaded, {}
  return env
end

local WEAK <const> = { __mode = "k" }

---An environment for a script.
---@param path string  the script's path
---@param given table|nil  { drawn = what it drew while it was loaded, when the run began; run = what skill:run does;
---  sees = nothing is to run, so skill:open does that, too; agents = for what it loads, by name }
---@return skillrt.Loaded
function M.new(path, given)
  local outer = drawn.loading
  local self = setmetatable({
    env = globals(),
    dir = files.dirname(path),
    pins = {},
    before = given and given.drawn,
    run = given and given.run or outer and outer.run,
    sees = given and given.sees or outer and outer.sees,
    agents = given and given.agents or outer and outer.agents,
    told = setmetatable({}, WEAK),
  }, Loaded)
  add_chance(self, self.env.math)
  add_clock(self.env.os)
  add_loaders(self)
  return self
end

---Calls a function as part of a script's loading: what it draws is recorded with that.
---@param loaded skillrt.Loaded
---@param fn function
---@return any ...
function M.during(loaded, fn, ...)
  local before = drawn.loading
  drawn.loading = loaded
  local _ <close> = setmetatable({}, { __close = function() drawn.loading = before end })
  local a, b, c, d = fn(...)
  return a, b, c, d
end

return M
