-- document/guest.lua: runs untrusted Lua in a child of this program that can only compute and ask us
-- (csrc/jail/confine.h, cli/guest.lua).
--
-- The child only has the functions of its skill: a function here stands for one of the child's, while the skill, its
-- run and all rules are ours. What such a function uses (its ctx, the state, the clock) is done here, as for a
-- person's own script, except for the limits in skill/stranger.lua. A child that ended fails its present call; the
-- next call starts another one. Called by document/load.

local agents = require("skillrt.agent")
local environment = require("skillrt.base.environment")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local membrane_of = require("skillrt.base.membrane")
local readonly = require("skillrt.base.readonly")
local schema = require("skillrt.skill.schema")
local secrets = require("skillrt.base.secrets")
local skill_of = require("skillrt.skill")
local tables = require("skillrt.base.tables")
local stranger = require("skillrt.skill.stranger")

local M = {}

-- How long a function may run without asking for anything; a limit of its run may be shorter.
local SECONDS <const> = 60

---@class skillrt.Guest
---@field path string       of its script
---@field dir string
---@field granted skillrt.Sandbox
---@field under_way table<integer, table>  calls by number: their `state` and `ctx`, and `keys`, the fields of the
---  state that were requested
---@field chunks table[]    what was run in it, in order: a new child runs the same
local Guest = {}
Guest.__index = Guest

---@param path string
---@param granted skillrt.Sandbox
---@param loaded skillrt.Loaded
---@return skillrt.Guest
function M.new(path, granted, loaded)
  return setmetatable({ path = path, dir = files.join(files.current(), files.dirname(path)), granted = granted,
    loaded = loaded, chunks = {}, calls = 0, under_way = {} }, Guest)
end

-- ---- the child ----

local function failed(self, how)
  self.process, self.membrane = nil, nil
  error({ message = ("the process of %s %s"):format(self.path, how), code = "guest" }, 0)
end

local function understood(self, ok, what, ...)
  if not ok then
    self.process:close()
    failed(self, "said what cannot be read: " .. tostring(what))
  end
  return what, ...
end

local function exchange(self, ...)
  local text, how = self.process:ask(self.membrane:pack(...), SECONDS)
  if not text then
    failed(self, how)
  end
  return understood(self, pcall(self.membrane.unpack, self.membrane, text))
end

-- ---- requests of the child ----

local function check(self, value)
  local problem = stranger.problem(value, self.granted)
  if problem then
    error(("the script %s"):format(problem), 0)
  end
  return value
end

-- Fills in the secrets that it names, where a request is sent.
local function with_secrets(value)
  if type(value) == "string" then
    return (value:gsub("{secret%.([%w_.-]+)}", secrets.get))
  elseif type(value) ~= "table" or readonly.target(value) then
    return value
  end
  for key, inner in pairs(value) do
    value[key] = with_secrets(inner)
  end
  return value
end

local NAMED <const> = "%s: the agent is named, and declared in the skill"

local function request(self, given)
  if type(given) == "table" and type(given.agent) == "table" then
    error(NAMED:format("ctx.await"), 0)
  end
  check(self, given)
  if type(given) == "table" and given.declared then -- journals and people would be shown that
    error("ctx.await: a script that came with a folder declares nothing but its request", 0)
  end
  return type(given) == "table" and given.url and with_secrets(given) or given
end

-- The parts of a ctx that reach further than its skill may.
local narrow = {}

function narrow.await(self, ctx, given)
  return ctx.await(request(self, given))
end

function narrow.await_all(self, ctx, list, options)
  for i, given in ipairs(type(list) == "table" and list or {}) do
    list[i] = request(self, given)
  end
  return ctx.await_all(list, options)
end

function narrow.glob(self, ctx, pattern, dir)
  return ctx.glob(pattern, dir, self)
end

function narrow.read(self, ctx, path)
  return ctx.read(path, self)
end

function narrow.agent(self, ctx, prompt, options)
  local agent = type(options) == "table" and options.agent
  if agent and (type(agent) ~= "string" or not self.skill.agents[agent]) then
    error(NAMED:format("ctx.agent"), 0)
  end
  return ctx.agent(prompt, check(self, options))
end

function narrow.emit()
  error("ctx.emit: a script that came with a folder sends no events to other runs", 0)
end

function narrow.run(_, ctx, path, input, options)
  if type(path) ~= "string" or not files.is_confined(path) then
    error("ctx.run: needs the path of a skill below the folder of this one", 0)
  end
  return ctx.run(path, input, options)
end

-- The other parts of a ctx that a stranger's function has. What is added to a ctx is not its, until it is named here.
local PARTS <const> = tables.words("input args dir work_dir run_id step id attempt interaction context limits repair "
  .. "now random uuid log phase used checkpoint budget sleep sleep_until ask wait approve once all pipeline gather "
  .. "first loop spawn map within write tool mcp")

-- Keys that no child gets.
local GUEST <const>, CTX <const> = {}, {}

local NARROW <const> = { __index = function(narrowed, name)
  local fn, self, ctx = narrow[name], narrowed[GUEST], narrowed[CTX]
  if fn then
    return function(...) return fn(self, ctx, ...) end
  end
  if PARTS[name] then
    return ctx[name]
  end
end }

local function narrowed(self, ctx)
  return setmetatable({ [GUEST] = self, [CTX] = ctx }, NARROW)
end

local ASKED = {}

-- What a strategy uses of the list of actions. The rest of an object is how it works.
local OFFERED <const> = { has = true }

local function is_offered(what, key)
  return readonly.is(what) or getmetatable(what) == NARROW or math.type(key) == "integer" or OFFERED[key]
end

function ASKED.call(what, ...)
  return what(...)
end

function ASKED.index(what, key)
  if is_offered(what, key) then
    local value = what[key]
    return readonly.target(value) or value
  end
end

function ASKED.set()
  error("what a function of the skill is called with cannot be changed", 0)
end

function ASKED.length(what)
  return #what
end

function ASKED.keys(what)
  local keys = {}
  for i = 1, #what do
    keys[i] = i
  end
  return keys
end

function ASKED.whole(what)
  return readonly.target(what)
end

-- Removes the place in our own files, as the script's line replaces it.
local function answered(ok, problem, ...)
  if not ok and type(problem) == "string" then
    problem = problem:gsub("^skillrt/[^:]*:%d+: ", "")
  elseif not ok and require("skillrt.base.fatal").is(problem) then
    error(problem, 0)
  end
  return ok, problem, ...
end

-- What a call was given, by its number; nil: it has ended.
local function given_of(self, number)
  local at, is_state = membrane_of.call_of(number)
  local call = self.under_way[at]
  if not call or is_state then
    return call and call.state
  end
  call.narrowed = call.narrowed or call.ctx and narrowed(self, call.ctx)
  return call.narrowed
end

local function answer(self, what, which, ...)
  local call, is_state = membrane_of.call_of(which)
  local asked, object = ASKED[what], given_of(self, which)
  if not call then
    object = self.membrane.ours[which]
  end
  if object == nil or not asked then
    return false, "what is asked of is no longer there: the state and ctx of a function end with it"
  elseif is_state and what == "index" then
    self.under_way[call].keys[...] = true
  end
  return answered(pcall(asked, object, ...))
end

-- A request outside of a function that could wait: if it waits anyway, it is cancelled.
local function answer_at_once(self, ...)
  local thread = coroutine.create(answer)
  local answers = table.pack(coroutine.resume(thread, self, ...))
  if coroutine.status(thread) == "suspended" then
    coroutine.close(thread)
    return false, "call it from the function itself, not inside a coroutine of your own"
  elseif not answers[1] then
    error(answers[2], 0)
  end
  return table.unpack(answers, 2, answers.n)
end

-- ---- a function of the child ----

local follow

-- The error that it raised. The child cannot stop its run.
local function mistake(problem)
  if type(problem) == "table" then
    local code = problem.code
    return { message = tostring(problem.message), code = type(code) == "string" and code ~= "stopped" and code or nil }
  end
  return tostring(problem)
end

local function go_on(self, process, number, ...)
  if self.process ~= process then -- another function of it ended the child meanwhile
    error({ message = ("the process of %s ended while it waited"):format(self.path), code = "guest" }, 0)
  end
  return follow(self, process, exchange(self, "go", number, ...))
end

function follow(self, process, what, number, ...)
  if what == "ask" and number < 0 then
    return go_on(self, process, number, answer_at_once(self, ...))
  elseif what == "ask" then
    return go_on(self, process, number, answer(self, ...))
  elseif not ... then
    error(mistake((select(2, ...))), 0)
  end
  return select(2, ...)
end

-- A call that is cancelled from outside is dropped in the child, too.
local CALL <const> = { __close = function(call)
  local self = call.guest
  self.under_way[call.number] = nil
  if not call.is_over and call.process and self.process == call.process then
    pcall(exchange, self, "drop", call.number)
  end
end }

local function over(call, ok, ...)
  call.is_over = true
  if not ok then
    error((...), 0)
  end
  return ...
end

-- A ctx, or a wrapper of one.
local function is_ctx(value)
  local mark = getmetatable(value)
  return mark == "ctx" or mark and not readonly.is(value) and type(value.await) == "function"
end

-- The fields of the state that the function requested last time: they are now sent with the call.
local function known(call)
  local fields = {}
  for key in pairs(call.keys) do
    local value = call.state[key]
    fields[key] = readonly.target(value) or value
  end
  return fields
end

-- The arguments of a call: what is known of the state, if that comes first; its ctx by number; and the rest.
local function arguments(call, ...)
  local given, ctx_at = table.pack(...), nil
  local state = given[1]
  if readonly.is(state) and not json.is_array(state) then
    call.state, given[1] = state, nil
  end
  for i = 1, given.n do
    local value = given[i]
    if type(value) == "table" and is_ctx(value) then
      if call.ctx then
        given[i] = narrowed(call.guest, value)
      else
        call.ctx, ctx_at, given[i] = value, i, nil
      end
    end
  end
  return call.state and known(call), ctx_at, table.unpack(given, 1, given.n)
end

-- `keys`: the call is a function's, which gets the rest as arguments; else the rest is sent unchanged.
local function perform(self, kind, keys, which, ...)
  local process, number = self.process, self.calls + 1
  local call <close> = setmetatable({ guest = self, number = number, process = process, keys = keys, is_over = false },
    CALL)
  self.calls, self.under_way[number] = number, call
  if not keys then
    return over(call, pcall(follow, self, process, exchange(self, kind, number, which, ...)))
  end
  return over(call, pcall(follow, self, process, exchange(self, kind, number, which, arguments(call, ...))))
end

-- ---- life of the child ----

-- What a script draws from outside, recorded as for a person's own script.
local function world_of(self)
  local env = self.loaded.env
  return { random = env.math.random, randomseed = env.math.randomseed, time = env.os.time, clock = env.os.clock,
    print = env.print, write = function(...)
      env.io.write(...)
    end,
    helper = function(name, is_module)
      return environment.helper(self.loaded, tostring(name), is_module)
    end,
    chosen_agent = function()
      return (self.loaded.agents or {})["*"] ~= nil
    end }
end

local function begin(self)
  local process, message = membrane_of.start("/proc/self/exe")
  if not process then
    return nil, message
  end
  self.process = process
  local membrane = membrane_of.new(function(letter, number)
    return self:stand_in(letter, number)
  end, function() end, { value = function(number)
    return given_of(self, number)
  end })
  self.membrane = membrane
  local ready, ok, why = pcall(function()
    local text, how = process:ask(membrane:pack(), SECONDS)
    if not text then
      failed(self, how)
    end
    return select(2, membrane:unpack(text))
  end)
  if not ready or not ok then
    self.process = nil
    return nil, ready and why or "its process does not answer"
  end
  for _, chunk in ipairs(self.chunks) do
    perform(self, "run", nil, chunk.text, chunk.name, chunk.argument, world_of(self))
  end
  return true
end

local function alive(self)
  if not self.process then
    local ok, message = begin(self)
    if not ok then
      error({ message = ("%s: no process of its own can run it: cannot %s; --sandbox off runs it as your own, with all "
        .. "that you may do"):format(self.path, message), code = "invalid" }, 0)
    end
  end
end

---The stand-in for a thing of the child. A function that existed when its script was loaded also exists in the next
---child; one that it passed later ends with it.
function Guest:stand_in(letter, number)
  if letter ~= "f" then
    return nil
  end
  local process, lasts, keys = self.process, self.loading, {}
  return function(...)
    if lasts then
      alive(self)
    elseif self.process ~= process then
      error({ message = ("the process of %s ended"):format(self.path), code = "guest" }, 0)
    end
    return perform(self, "call", keys, number, ...)
  end
end

---Runs a chunk in it: returns the results, and whether they are a skill's definition. Raises what the chunk raises.
---@param text string
---@param name string  of the chunk
---@param argument any
---@return any value
---@return any why
---@return any code
---@return boolean is_skill
function Guest:run(text, name, argument)
  alive(self)
  self.loading = true
  local _ <close> = setmetatable({}, { __close = function() self.loading = nil end })
  local value, why, code, is_skill = perform(self, "run", nil, text, name, argument, world_of(self))
  self.chunks[#self.chunks + 1] = { text = text, name = name, argument = argument }
  return value, why, code, is_skill
end

local OUTSIDE <const> = ": is outside of the folders of its skill and its run"

---The text of a file that it may read: below its folder or its working folder, following no link.
---@param base string
---@param path string
---@return string|nil text
---@return string? message
---@return string? code
function Guest:text(base, path)
  local folder, inside = self:below(base, path)
  if not folder then
    return nil, path .. OUTSIDE, "invalid"
  end
  return files.kept(folder, inside)
end

---Why it may not use a path: it is in none of its folders, or a link leads to it. nil: it may, also if it is not there.
---@param base string
---@param path string
---@return string?
function Guest:refused(base, path)
  local folder, inside = self:below(base, path)
  if not folder then
    return path .. OUTSIDE
  elseif inside == "." then
    return nil
  end
  local _, message, code = files.stat(folder, inside)
  return code ~= "missing" and message or nil
end

---Which of its folders contains a path, and the path there; nil: none.
---@param base string  where its run works
---@param path string
---@return string|nil folder
---@return string? inside
function Guest:below(base, path)
  for _, folder in ipairs({ base, self.dir }) do
    local inside = path == folder and "." or path:sub(1, #folder + 1) == folder .. "/" and path:sub(#folder + 2) or path
    if files.is_confined(inside) then
      return folder, inside
    end
  end
end

---The present child; 0: none.
function Guest:pid()
  return self.process and self.process:pid() or 0
end

-- ---- a skill ----

local FREE <const> = { state = true, inputs = true, schema = true, x = true }

-- The agent that the person chose, which is theirs with all that it is a chain of; nil: none.
local function chosen_agent(self)
  local given, agent, message = (self.loaded.agents or {})["*"], nil, nil
  if given then
    agent, message = agents.check(given, "the chosen agent")
  end
  for _, one in ipairs(agent and { agent, table.unpack(agent.links or {}) } or {}) do
    one.theirs = true
  end
  return agent, message
end

-- Puts it where the script's definitions of agents name it.
local function put_chosen(self, list)
  local problem
  for name, agent in pairs(tables.object(list)) do
    if type(agent) == "table" and agent.kind == "chosen" then
      list[name], problem = chosen_agent(self)
    elseif type(agent) == "table" and not problem then
      problem = put_chosen(self, agent.links)
    end
  end
  return problem
end

-- ... and where one is written into an action or a phase.
local function put_written(self, list)
  local problem
  for _, one in ipairs(tables.object(list)) do
    local written = { agent = type(one) == "table" and one.agent or nil }
    if type(written.agent) == "table" then
      problem = problem or put_chosen(self, written)
      one.agent = written.agent
    end
  end
  return problem
end

local function checked(self, definition)
  local looked = {}
  for key, value in pairs(definition) do
    looked[key] = not FREE[key] and value or nil
  end
  local problem = stranger.problem(looked, self.granted) or put_chosen(self, definition.agents)
    or put_written(self, definition.actions) or put_written(self, definition.phases)
  if problem then
    return nil, problem
  end
  return skill_of.check(definition)
end

---The guest for the Lua that a document names: its strategy.
---@param dir string
---@return skillrt.Guest
function M.of_folder(dir)
  local path = files.join(dir, "SKILL.md")
  return M.new(path, schema.types.sandbox("strict"), environment.new(path))
end

---A skill whose functions are a guest's.
---@param path string
---@param options { drawn: table?, sandbox: any, agents: table? }?
---@return skillrt.Skill|nil skill
---@return string? message
---@return string? code
function M.script(path, options)
  options = options or {}
  local text, message, code = files.read(path, require("skillrt.document.script").MAX_SCRIPT)
  if not text then
    return nil, message, code
  end
  local loaded = environment.new(path, { drawn = options.drawn, agents = options.agents })
  local granted = schema.types.sandbox(options.sandbox or "strict")
  local self = M.new(path, granted, loaded)
  local is_skill
  local ok, value, why, cause = environment.during(loaded, pcall, function()
    local given, reason, kind
    given, reason, kind, is_skill = self:run(text, "@" .. path, files.join(files.current(), path))
    return given, reason, kind
  end)
  if not ok and type(value) == "table" then
    return nil, value.message, value.code
  elseif not ok then
    return nil, tostring(value), "script"
  elseif value == nil and type(why) == "string" then
    return nil, why, cause
  elseif not is_skill or type(value) ~= "table" then
    return nil, ("%s: must return a skill, as in `return skillrt.skill { ... }`"):format(path), "no_skill"
  end
  local skill
  skill, message = checked(self, value)
  if not skill then
    return nil, ("%s: %s"):format(path, message), "invalid"
  end
  skill.guest, skill.loaded, skill.source = self, loaded, path
  skill.sandbox = options.sandbox and granted or nil
  local dir = files.dirname(path)
  local problem = value.dir and self:refused(dir, value.dir) -- its programs will see it
  if problem then
    return nil, ("%s: dir: %s"):format(path, problem), "invalid"
  end
  skill.dir = value.dir and files.join(dir, value.dir) or dir
  self.skill = skill
  return skill
end

return M
