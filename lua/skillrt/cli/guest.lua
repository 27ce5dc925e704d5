-- cli/guest.lua: the child process that runs untrusted Lua: loads its chunks, calls its functions, and asks its
-- parent for everything outside (document/guest.lua, csrc/jail/confine.h). `skillrt --guest`, started by csrc/main.c.
--
-- Messages alternate: one arrives, one is sent. A call from the parent runs as a coroutine; where the script uses
-- something of the parent's, the coroutine yields a request, so that the parent may wait and call other functions
-- meanwhile.

local core = require("skillrt.core")
local environment = require("skillrt.base.environment")
local membrane_of = require("skillrt.base.membrane")
local readonly = require("skillrt.base.readonly")

local M = {}

local MEMORY <const> = 512 << 20
local ASKS <const>, RETURNS <const> = {}, {} -- what a call yields: a request, or its end

local membrane
local threads, by_thread = {}, {} -- waiting calls by number; the coroutines of calls
local idle = {} -- coroutines whose function has returned
local alone = 0 -- numbers of requests that no call makes

-- ---- the parent's things ----

-- The script's line, as errors of a function in this process have it.
local function complain(message)
  local level = 2
  while type(message) == "string" do
    local info = debug.getinfo(level, "Sl")
    if not info then
      break
    elseif info.what ~= "C" and not info.source:find("^@skillrt/") then
      message = ("%s:%d: %s"):format(info.short_src, info.currentline, message)
      break
    end
    level = level + 1
  end
  error(message, 0)
end

local function answered(ok, ...)
  if not ok then
    complain((...))
  end
  return ...
end

local dispatch

-- Waits until requests that no call makes are answered.
local function listen(number)
  while true do
    local message = table.pack(membrane:unpack(core.guest.listen()))
    if message[1] == "go" and message[2] == number then
      return table.unpack(message, 3, message.n)
    end
    dispatch(table.unpack(message, 1, message.n))
  end
end

-- Asks the parent. A coroutine of the script's own, or a function that Lua's library calls, cannot yield: then it
-- waits for the answer.
local function ask(what, ...)
  if by_thread[coroutine.running()] and coroutine.isyieldable() then
    return answered(coroutine.yield(ASKS, what, ...))
  end
  alone = alone - 1
  core.guest.say(membrane:pack("ask", alone, what, ...))
  return answered(listen(alone))
end

local function each(keys, object)
  local i = 0
  return function()
    i = i + 1
    if keys[i] ~= nil then
      return keys[i], object[keys[i]]
    end
  end
end

-- Numbers of the trees behind views; an object stores its own as a field.
local number_of = setmetatable({}, { __mode = "k" })
local NUMBER <const> = {}

-- A function of an object never changes: it is asked for once.
local functions = setmetatable({}, { __mode = "k" })

local OBJECT <const> = {
  __index = function(object, key)
    local known = functions[object]
    local value = known and known[key]
    if value == nil then
      value = ask("index", object[NUMBER], key)
      if type(value) == "function" then
        functions[object] = known or {}
        functions[object][key] = value
      end
    end
    return value
  end,
  __newindex = function(object, key, value)
    ask("set", object[NUMBER], key, value)
  end,
  __len = function(object)
    return ask("length", object[NUMBER])
  end,
  __pairs = function(object)
    return each(ask("keys", object[NUMBER]), object)
  end,
  __metatable = false,
}

-- A tree all of whose fields have been copied here.
local function fill(tree, mark)
  setmetatable(tree, mark)
  for key, value in pairs(ask("whole", number_of[tree])) do
    tree[key] = value
  end
end

-- The state: a field is copied when it is first read; all of them when the script iterates over it.
local TREE <const> = {
  __index = function(tree, key)
    local value = ask("index", number_of[tree], key)
    rawset(tree, key, value)
    return value
  end,
  __pairs = function(tree)
    fill(tree)
    return next, tree
  end,
  __len = function(tree)
    fill(tree)
    return #tree
  end,
}

local function make(letter, number)
  if letter == "f" then
    return function(...)
      return ask("call", number, ...)
    end
  elseif letter == "o" then
    return setmetatable({ [NUMBER] = number }, OBJECT)
  end
  local tree = setmetatable({}, letter == "v" and TREE or nil)
  number_of[tree] = number
  if letter == "a" then
    fill(tree, core.json.array_mt)
  end
  return readonly.of(tree)
end

-- ---- how the parent sees what the script defines ----

local given = setmetatable({}, { __mode = "k" }) -- skills and agents: the tables they were made from

-- A table with a metatable is copied without it, as it is on its way to the journal.
local function plain(value)
  if given[value] then
    return given[value]
  elseif type(value.text) == "string" and getmetatable(value).__call then
    return value.text -- a condition
  elseif readonly.target(value) then
    return readonly.target(value)
  end
  local copy = {}
  for key, inner in next, value do
    copy[key] = inner
  end
  return copy
end

-- The functions that a script defines have the same numbers in each process that loads it.
local function number_functions(value, seen)
  if type(value) == "function" and not membrane.lasts[value] then
    membrane:register(value, true)
  elseif type(value) == "table" and not seen[value] then
    seen[value] = true
    local content, keys = given[value] or value, {}
    for key in next, content do
      keys[#keys + 1] = key
    end
    table.sort(keys, function(a, b)
      return type(a) == type(b) and a < b or type(a) ~= type(b) and type(a) == "number"
    end)
    for _, key in ipairs(keys) do
      number_functions(rawget(content, key), seen)
    end
  end
end

local function remember_makers()
  local agents, skills = require("skillrt.agent"), require("skillrt.skill")
  local new = skills.new
  function skills.new(definition, where)
    local skill = new(definition, where)
    given[skill] = given[skill] or definition
    return skill
  end
  function agents.made(agent, kind, definition)
    given[agent] = setmetatable({ kind = kind }, { __index = nil })
    for key, value in pairs(definition) do
      given[agent][key] = value
    end
  end
end

-- ---- a script's surroundings ----

local REFUSED <const> = {
  io = { "open", "popen", "lines", "read", "input", "output", "tmpfile", "close" },
  os = { "execute", "remove", "rename", "tmpname", "setlocale", "exit" },
}
local REASON <const> = "%s.%s: a script that came with a folder has no files and no programs; ctx.read, ctx.write and "
  .. "ctx.await have them; --sandbox off runs it as your own"

local function refuse(env)
  for library, list in pairs(REFUSED) do
    for _, name in ipairs(list) do
      env[library][name] = function()
        error(REASON:format(library, name), 2)
      end
    end
  end
  env.io.stdout, env.io.stderr, env.io.stdin = false, false, false
  function env.os.getenv() -- its environment is empty
    return nil
  end
end

local function add_world(env, world)
  env.math.random, env.math.randomseed = world.random, world.randomseed
  env.os.time, env.os.clock, env.print = world.time, world.clock, world.print
  function env.io.write(...)
    world.write(...)
    return env.io
  end
  local loaded = env.package.loaded
  local function chunk_of(name, is_module)
    local text, chunkname = world.helper(name, is_module)
    if not text then
      return nil, chunkname
    end
    return environment.chunk(text, chunkname, env)
  end
  local outside = env.require
  function env.require(name)
    if loaded[name] ~= nil then
      return loaded[name]
    end
    local ours = type(name) ~= "string" or name:find("^skillrt") or package.loaded[name] or env.package.preload[name]
    if ours then
      return outside(name)
    end
    local chunk, message = chunk_of(name, true)
    if not chunk then
      error(message, 2)
    end
    local value = chunk(name)
    loaded[name] = value == nil and true or value
    return loaded[name]
  end
  env.loadfile = chunk_of
  function env.dofile(path)
    return assert(chunk_of(path))()
  end
end

local function no_door(name)
  return function()
    error(("%s: a script that came with a folder returns its skill, and nothing else of skillrt is there; --sandbox "
      .. "off runs it as your own"):format(name), 2)
  end
end

local function refuse_doors()
  local skillrt = require("skillrt")
  for _, name in ipairs({ "load", "resume", "retry", "from_config", "check", "generate", "tool_sets" }) do
    rawset(skillrt, name, no_door("skillrt." .. name))
  end
  local methods = require("skillrt.skill").methods
  methods.run, methods.open = no_door("skill:run"), no_door("skill:open")
  rawset(skillrt, "secret", function(name)
    return ("{secret.%s}"):format(name)
  end)
end

-- Runs a chunk of untrusted code and returns its results.
local function run(text, chunkname, argument, world)
  local env = environment.new(chunkname:sub(2)).env
  refuse(env)
  add_world(env, world)
  rawset(require("skillrt"), "chosen_agent", function()
    local stands_for = world.chosen_agent() and require("skillrt.agent").dry({}) or nil
    if stands_for then
      given[stands_for] = { kind = "chosen" }
    end
    return stands_for
  end)
  local chunk, message = environment.chunk(text, chunkname, env)
  if not chunk then
    error(message, 0)
  end
  local value, why, code = chunk(argument)
  number_functions(value, {})
  return value, why, code, given[value] ~= nil
end

-- ---- messages ----

local function say_end(number, ok, ...)
  local said, bytes = pcall(membrane.pack, membrane, "over", number, ok, ...)
  if not said then
    bytes = membrane:pack("over", number, false, tostring(bytes))
  end
  core.guest.say(bytes)
end

local function message_of(problem)
  if type(problem) == "table" and type(problem.message) == "string" then
    return { message = problem.message, code = problem.code }
  end
  return type(problem) == "string" and problem or tostring(problem)
end

local function failed(number, thread, problem)
  by_thread[thread] = nil
  coroutine.close(thread)
  say_end(number, false, message_of(problem))
end

local function returned(number, ok, ...)
  if ok then
    return say_end(number, true, ...)
  end
  say_end(number, false, message_of((...)))
end

local function went_on(number, thread, _, what, ...)
  if what == RETURNS then
    by_thread[thread], idle[#idle + 1] = nil, thread
    return returned(number, ...)
  elseif what ~= ASKS then
    return failed(number, thread, "run yielded; to wait, call ctx.await(request)")
  end
  local said, bytes = pcall(membrane.pack, membrane, "ask", number, ...)
  if not said then
    return failed(number, thread, tostring(bytes))
  end
  threads[number] = thread
  core.guest.say(bytes)
end

-- What a coroutine runs: one function after the other.
local function work(...)
  return work(coroutine.yield(RETURNS, pcall(...)))
end

-- Whether a running call was given this: its number.
local function given_number(value)
  local number = type(value) == "table" and (rawget(value, NUMBER) or number_of[readonly.target(value)])
  return membrane_of.call_of(number) and number
end

-- What a call is called with (document/guest.lua, arguments).
local function arguments(number, known, ctx_at, ...)
  local list = table.pack(...)
  local state_number, ctx_number = membrane_of.numbers_of(number)
  if known then
    number_of[known] = state_number
    list[1] = readonly.of(setmetatable(known, TREE))
  end
  if ctx_at then
    list[ctx_at] = setmetatable({ [NUMBER] = ctx_number }, OBJECT)
  end
  return table.unpack(list, 1, list.n)
end

local function begin(number, ...)
  local thread = table.remove(idle) or coroutine.create(work)
  by_thread[thread] = true
  return went_on(number, thread, coroutine.resume(thread, ...))
end

function dispatch(what, number, ...)
  local thread = threads[number]
  if what == "run" then
    begin(number, run, ...)
  elseif what == "call" then
    begin(number, membrane.ours[...] or function()
      error("the function that is called is no longer there", 0)
    end, arguments(number, select(2, ...)))
  elseif what == "go" and thread then
    threads[number] = nil
    went_on(number, thread, coroutine.resume(thread, ...))
  elseif thread then -- it was cancelled from outside: its result is not wanted any more
    threads[number], by_thread[thread] = nil, nil
    coroutine.close(thread)
    say_end(number, true)
  else
    say_end(number, true)
  end
end

---Serves until its last client has gone.
function M.serve()
  collectgarbage("generational")
  membrane = membrane_of.new(make, plain, { number = given_number })
  remember_makers()
  require("skillrt.agent.kind.command")
  require("skillrt.run.ctx")
  pcall(require("skillrt.base.system").require, "lpeg")
  pcall(require("skillrt.base.system").require, "cjson")
  require("skillrt.expr").compile("a == 1")
  refuse_doors()
  local ok, message = core.guest.confine(MEMORY)
  core.guest.listen() -- asks whether we are alive
  core.guest.say(membrane:pack("ready", ok, message))
  local due = 0
  while true do
    dispatch(membrane:unpack(core.guest.listen()))
    if collectgarbage("count") > due then -- while the parent records the answer, rather than inside the next function
      collectgarbage("step")
      due = 1.1 * collectgarbage("count")
    end
  end
end

return M
