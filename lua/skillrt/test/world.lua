-- test/world.lua: the world of a tested run: stubs answer its calls, a person's answers and events are prepared, and
-- time passes at once when there is nothing else to do.
--
-- Sending, recording, retrying, resuming and unknown outcomes are the runtime's own: only the transports are
-- replaced. A call without a stub ends the test. Called by turn, calls and rest as run.world; see skillrt.World.

local asked_of = require("skillrt.run.books.questions")
local clock = require("skillrt.base.fake_clock")
local core = require("skillrt.core")
local cut = require("skillrt.base.text").cut
local faults = require("skillrt.test.faults")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local pause = require("skillrt.run.turn.pause")
local questions = require("skillrt.run.questions")
local state = require("skillrt.skill.patch")
local stub = require("skillrt.test.stub")
local tables = require("skillrt.base.tables")

-- ---- which stub answers a call, and its next answer ----

---@param path string
---@return string
local function basename(path)
  return path:match("[^/]*$")
end

---What a stub gets of a call.
---@param world skillrt.test.World
---@param call skillrt.Call
---@return table asked
local function described(world, call)
  local request, by = call.request, world.by_thread[call.branch.thread] or {}
  local body = request.body
  if body == nil and type((request.declared or {}).body) == "string" then
    body = request.declared.body
  end
  return {
    agent = by.agent, agent_kind = by.kind, is_model = by.is_model,
    kind = call.kind, to = call.to, id = call.step.id, step = call.step.number,
    attempt = call.attempt, place = call.place, prompt = request.prompt or request.stdin or body or "",
    argv = request.argv, stdin = request.stdin, message = request.message, url = request.url,
    method = request.method, headers = request.headers,
    body = body, label = request.label, item = by.task and by.task.item, name = request.name,
    schema = by.task and by.task.schema, timeout = request.timeout,
  }
end

---The stub for a call, and its name.
---@param options table  of test.run
---@param asked table
---@return any stub
---@return string? name
local function find(options, asked)
  local agents, by_url = options.agents or {}, nil
  for _, name in ipairs({ asked.agent or false, asked.agent_kind or false }) do
    if name and agents[name] ~= nil then
      return agents[name], ("agents.%s"):format(name)
    end
  end
  if asked.argv and options.programs and options.programs[basename(asked.argv[1])] ~= nil then
    return options.programs[basename(asked.argv[1])], ("programs.%s"):format(basename(asked.argv[1]))
  end
  for url, answer in pairs(asked.url and options.urls or {}) do
    if asked.url:sub(1, #url) == url and #url > #(by_url or "") then
      by_url = url
      asked.found = answer
    end
  end
  if by_url then
    return asked.found, ("urls[%q]"):format(by_url)
  elseif agents["*"] ~= nil and asked.agent then
    return agents["*"], 'agents["*"]'
  end
end

---Where to define a stub for it.
---@param asked table
---@return string
local function wanted(asked)
  if asked.agent then
    return ("agents = { %s = ... }"):format(names.id(asked.agent) and asked.agent:find("^[%a_][%w_]*$") and asked.agent
      or ("[%q]"):format(asked.agent))
  elseif asked.argv then
    local name = basename(asked.argv[1])
    return ('programs = { [%q] = ... }, or real = { %q } where it may run'):format(name, name)
  elseif asked.url then
    return ("urls = { [%q] = ... }"):format(asked.to)
  end
  return "an agent of its own"
end

---Whether a stub, a person's answer or an event is a list of these.
---@param value any
---@return boolean
local function is_list(value)
  return type(value) == "table" and not faults.is(value) and value[1] ~= nil
end

---The next item of a list; nil: there is none left.
---@param used table  how far each list is
---@param list table
---@return any
local function next_of(used, list)
  local at = (used[list] or 0) + 1
  used[list] = at
  return list[at]
end

-- The first rule of a list that matches the prompt, and its answer.
local function by_prompt(list, asked)
  for _, rule in ipairs(list) do
    local is_rule = faults.is(rule) and rule.kind == "on"
    if not is_rule or asked.prompt:find(rule.text, 1, true) then
      return is_rule and rule.reply or rule
    end
  end
end

-- The next answer of a list; after a crash, a repeated call gets what the crash defines.
local function next_answer(used, list)
  local at = (used[list] or 0) + 1
  local last = list[at - 1]
  if faults.is(last) and last.kind == "crash" and last.next ~= nil and used[last] == true then
    used[last] = "answered"
    return last.next
  elseif list[at] ~= nil then
    used[list] = at
  end
  return list[at], at - 1
end

---A stub's answer now: the next of a list, the first matching rule, or a function's result.
---@param used table  how far each list is, and which crashes have happened
---@param value any
---@param asked table
---@param name string  of the stub
---@return any answer
---@return string? message  there is none
local function said(used, value, asked, name)
  local prompt = cut(asked.prompt, 300)
  while true do
    if type(value) == "function" then
      value = value(asked)
      if value == nil then
        return nil, ("the stub %s gave nothing for: %s"):format(name, prompt)
      elseif not faults.is(value) then
        return value
      end
    elseif faults.is(value) and value.kind == "crash" and used[value] then
      value = value.next
      if value == nil then
        return nil, ("the stub %s was called again after the crash, and has no answer: test.crash(answer)"):format(name)
      end
    elseif is_list(value) and faults.is(value[1]) and value[1].kind == "on" then
      value = by_prompt(value, asked)
      if value == nil then
        return nil, ("the stub %s has no rule for this prompt: %s"):format(name, prompt)
      end
    elseif is_list(value) then
      local count
      value, count = next_answer(used, value)
      if value == nil then
        return nil, ("the stub %s has answered %s, and is asked once more, by %s: %s"):format(name,
          count == 1 and "once" or count .. " times", asked.id, prompt)
      end
    else
      return value
    end
  end
end

---@class skillrt.test.World
---@field problem string|nil  why the test fails, whatever the run's result
---@field killed boolean|nil  the process "was killed": the run is to be resumed
---@field calls table[]       what was asked, in order
---@field questions table[]
local World = {}
World.__index = World

---@param options table  of test.run
---@param dir string|nil  the run's directory; nil: it is kept in memory
---@param seconds number  real ones, that the run may take
---@return skillrt.test.World
function World.new(options, dir, seconds)
  return setmetatable({ options = options, dir = dir, calls = {}, questions = {}, tried = {}, used = {}, delayed = {},
    by_thread = setmetatable({}, { __mode = "k" }), until_ns = clock.real_ns() + seconds * 1e9, crashes = 0,
    seconds = seconds }, World)
end

---Fails the test and ends the run.
---@param text string
function World:fail(text)
  self.problem = self.problem or text
  if self.open then
    self.open:stop()
  end
end

function World:opened(run)
  self.open, self.delayed = run, {}
end

-- ---- agents ----

---An agent in the test: one with a stub by its name, or with an answer of a special form, is replaced.
---@param agent table
---@param name string
---@return table
function World:agent(agent, name)
  local given = self.options.agents or {}
  if agent.links then
    local links = {}
    for i, link in ipairs(agent.links) do
      links[i] = self:agent(link, link.name or link.kind)
    end
    agent = setmetatable({ links = given[name] == nil and links or agent.links }, { __index = agent })
  end
  agent = stub.of(name, agent, given[name] ~= nil)
  local world, perform = self, agent.perform
  return setmetatable({
    needs_http = function() return false end,
    functions = function() return {} end,
    perform = function(_, ctx, task)
      local thread = coroutine.running()
      local before = world.by_thread[thread]
      world.by_thread[thread] = { agent = name, kind = agent.stands_for or agent.kind, task = task,
        is_model = agent.stub == "model" }
      local _ <close> = setmetatable({}, { __close = function() world.by_thread[thread] = before end })
      return perform(agent, ctx, task)
    end,
  }, { __index = agent })
end

---@param skill table  prepared for a run: a table of its own
function World:dress(skill)
  local dressed = {}
  for name, agent in pairs(skill.agents) do
    dressed[name] = self:agent(agent, name)
  end
  skill.agents = dressed
  if self.options.state and not self.begun then
    self.begun = true
    skill.state = state.merge(skill.state, self.options.state)
  end
end

-- ---- calls ----

local function is_real(options, request)
  for _, name in ipairs(request.argv and options.real or {}) do
    if basename(request.argv[1]) == name then
      return true
    end
  end
  return request.pure == true -- the script of a workflow: it depends only on its inputs and has no network
end

function World:takes(call)
  local request = call.request
  local real = is_real(self.options, request)
  if real then
    request.timeout = math.min(request.timeout or self.seconds, self.seconds)
  end
  return not real and call.kind ~= "local"
end

-- An answer as the bytes of a reply.
local function body_of(value, asked)
  if type(value) ~= "table" then
    return tostring(value)
  end
  local out = value
  if asked.agent and not asked.schema and not json.is_array(value) and value.status == nil then
    out = { status = "completed" } -- unless it says something else
    tables.fill(out, value)
  end
  return assert(json.encode(out))
end

local function good(value, call, asked)
  local is_model, body = asked.is_model, body_of(value, asked)
  return { status = "ok", code = call.kind == "http" and 200 or 0, body = is_model and stub.message(body) or body,
    extra = call.kind == "http" and (is_model or type(value) == "table") and "application/json" or "", message = "",
    elapsed_ms = 0 }
end

-- The process is gone: the journal stays as it is at this moment, and nothing more is written to it.
local function kill(self)
  if not self.dir then
    return self:fail('test.crash: a run that keeps nothing (context = "memory") cannot be resumed')
  end
  self.killed, self.crashes = true, self.crashes + 1
  assert(files.rename(self.dir, self.dir .. ".killed"))
  self.open:stop()
end

-- Delivers it when its time has come.
local function later(self, call, reply, seconds)
  table.insert(self.delayed, { at = core.mono_ms() + math.ceil(seconds * 1000), call = call, reply = reply })
  return nil
end

local REPLIES = {}

function REPLIES.reply(_, call, fault)
  local reply = { code = call.kind == "http" and fault.reply.status == "ok" and 200 or 0, elapsed_ms = 0, message = "" }
  tables.fill(reply, fault.reply)
  return reply
end

function REPLIES.garbage(_, call, fault, asked)
  return good(fault.text, call, asked)
end

function REPLIES.tools(self, call, fault, asked)
  if not asked.is_model then
    return self:fail(("test.tools: %s is not a model with tools of the skill"):format(asked.agent or asked.to))
  end
  local reply = good("", call, asked)
  reply.body = stub.message(nil, fault.calls)
  return reply
end

function REPLIES.status(_, _, fault)
  return { status = "ok", code = fault.code, body = type(fault.body) == "table" and json.encode(fault.body)
    or fault.body or "", extra = "", message = "", elapsed_ms = 0,
    retry_after_ms = fault.retry_after and math.ceil(fault.retry_after * 1000) or nil }
end

function REPLIES.hang(self, call)
  local seconds = call.request.timeout or 60
  return later(self, call, { status = "timeout", code = 0, elapsed_ms = math.ceil(seconds * 1000),
    message = ("no reply within %g s"):format(seconds) }, seconds)
end

function REPLIES.crash(self, _, fault)
  self.used[fault] = true
  kill(self)
end

local function reply_to(self, call, asked, value)
  if not faults.is(value) then
    return good(value, call, asked)
  elseif value.kind == "after" then
    local seconds = call.request.timeout
    if seconds and value.seconds > seconds then
      return REPLIES.hang(self, call)
    end
    local reply = reply_to(self, call, asked, value.reply)
    return reply and later(self, call, reply, value.seconds)
  end
  return REPLIES[value.kind](self, call, value, asked)
end

---The intent of a call is durable: returns the reply; nil: it comes later, or the run ends.
---@param call skillrt.Call
---@return table|nil reply
function World:perform(call)
  if self.problem or self.killed then
    return nil
  end
  local asked = described(self, call)
  self.calls[#self.calls + 1] = asked
  local found, name = find(self.options, asked)
  if found == nil then
    return self:fail(("%s: would leave the test: %s %s%s; no stub answers it: give %s"):format(asked.id, asked.kind,
      asked.to, asked.agent and (' (agent "%s")'):format(asked.agent) or "", wanted(asked)))
  end
  local ok, value, why = pcall(said, self.used, found, asked, name)
  if not ok or value == nil then
    return self:fail(ok and why or ("the stub %s raised: %s"):format(name, names.said(value)))
  end
  asked.reply = value
  return reply_to(self, call, asked, value)
end

-- ---- what happens when nothing is under way ----

-- The answer to a question: by its text, the next of a list, or a function's result.
local function answer_to(self, question)
  local given = self.options.answers
  if type(given) == "function" then
    return given(question)
  elseif is_list(given) then
    return next_of(self.used, given)
  end
  for _, text in ipairs(names.sorted(given or {})) do
    if (question.question or ""):find(text, 1, true) or question.header == text then
      local value = given[text]
      if is_list(value) then
        return next_of(self.used, value)
      end
      return value
    end
  end
end

local function answers(self, turn)
  for _, one in ipairs(asked_of.list(turn.books)) do
    if not self.tried[one.nonce] then
      local value = answer_to(self, one.question)
      self.tried[one.nonce] = true
      local row = { question = one.question.question, header = one.question.header, answer = value, options = {} }
      for i, option in ipairs(one.question.options or {}) do
        row.options[i] = option.id
      end
      self.questions[#self.questions + 1] = row
      if value ~= nil then
        local ok, why = questions.take(turn, { question = one.q, value = value, nonce = one.nonce })
        if not ok then
          self:fail("answers: " .. why)
        end
        return true
      end
    end
  end
end

local function events(self, turn)
  for _, name in ipairs(names.sorted(turn.calls.waiters)) do
    local given = (self.options.events or {})[name]
    local list = is_list(given) and given or { given }
    local at = (self.used[name] or 0) + 1
    if list[at] ~= nil then
      self.used[name] = at
      turn:event("event", assert(json.encode({ event = name, value = list[at] })))
      return true
    end
  end
end

-- Lets time pass until something is due.
local function passes(self, turn)
  local at = pause.due_at(turn)
  for _, one in ipairs(self.delayed) do
    at = math.min(at or one.at, one.at)
  end
  if not at then
    return false
  end
  local now = core.mono_ms()
  at = math.max(now, math.min(at, turn.run.limits:due() or at))
  clock.pass((at - now) / 1000)
  table.sort(self.delayed, function(a, b)
    return a.at < b.at
  end)
  local first = self.delayed[1]
  if first and first.at <= at then
    table.remove(self.delayed, 1)
    local call = first.call
    turn.calls:answered(call, first.reply)
    call.execution:go_on()
  end
  return true
end

---@param turn skillrt.Turn
---@return boolean moved
function World:idle(turn)
  if self.problem or self.killed then
    return false
  elseif clock.real_ns() > self.until_ns then
    self:fail(("the run takes longer than %g s, and does not end"):format(self.seconds))
    return false
  end
  return answers(self, turn) or events(self, turn) or passes(self, turn) or false
end

return World
