-- run/exchange.lua: one request of a step and its reply: intent before it leaves, verdict after.
--
-- Builds tasks from agents and from what scripts await, and records them before they leave.
-- Knows agents and the ledger through policy.lua, which alone calls it.

local fatal = require("skillrt.base.fatal")
local files = require("skillrt.base.files")
local record = require("skillrt.base.record")

-- Loaded when the first agent is met: a skill of functions only starts without it.
local call_of = setmetatable({}, { __index = function(_, key) return require("skillrt.run.call")[key] end })
local agent = setmetatable({}, { __index = function(_, key) return require("skillrt.agent")[key] end })

local M = {}

-- The agent an action or phase is declared to go to; a chain stands whole.
local function declared(policy, definition)
  local name = definition.agent
  return type(name) == "table" and name or policy.skill.agents[name]
end

---The function of the script that performs a step now; nil: an agent does.
---@param policy skillrt.Policy
---@param step skillrt.Step
---@param definition skillrt.Action
---@return function?
function M.performer(policy, step, definition)
  if definition.run then
    return definition.run
  elseif not definition.agent then
    return function() end -- a terminal action that only ends the run
  end
  local one = agent.pick(declared(policy, definition), step.link)
  return one.kind == "lua" and one.run or nil
end

---The next member of the step's fallback chain, or nil (F47).
---@return integer|nil
function M.next_link(policy, step, definition, failure)
  if not definition.agent then
    return nil
  end
  return agent.after(declared(policy, definition), { link = step.link }, failure)
end

-- The agent that a script awaits.
local function awaited_agent(policy, request)
  local name = request.agent
  if type(name) == "table" then
    return agent.check(name, "agent")
  end
  local one = policy.skill.agents[name]
  if not one then
    return nil, ("agent %q is not declared"):format(tostring(name))
  end
  return one
end

local function build_awaited(policy, call, request)
  if not request.agent then
    return require("skillrt.run.await").check(request)
  end
  local one, message = awaited_agent(policy, request)
  if not one then
    return nil, message
  elseif agent.pick(one).kind == "lua" then
    return nil, ("agent %q is a function of the script; call it directly"):format(tostring(one.name or "lua"))
  end
  return agent.request(one, call)
end

-- Commands run in the folder where the run was begun, wherever it is resumed.
local function place(policy, task)
  if task.kind == "command" and policy.elsewhere then
    task.cwd = files.join(policy.ledger.cwd, task.cwd or ".")
  end
  return task
end

-- Runs a builder; what the author's code or a missing file raises is a message.
local function guarded(builder, ...)
  local ok, task, message = pcall(builder, ...)
  if ok then
    return task, message
  end
  fatal.pass_on(task)
  if type(task) == "table" then
    return nil, tostring(task.message)
  end
  return nil, tostring(task)
end

-- A request to each member of a chain that a script awaits; nil: it names no chain.
local function to_members(policy, request)
  local one = awaited_agent(policy, request)
  if not one or one.kind ~= "chain" then
    return nil
  end
  local list = {}
  for i, member in ipairs(one.links) do
    list[i] = setmetatable({ agent = member }, { __index = request })
  end
  return list
end

---Checks and builds what a script awaits, before it waits for it.
---@return string? problem
---@return table[]? requests  of a chain: one to each member; nothing is built yet
function M.prepare(policy, step, request)
  local requests = request.agent and to_members(policy, request)
  if requests then
    return nil, requests
  end
  local definition = policy:definition_of(step)
  local call = call_of.new(policy, step, definition, step.asked + 1, request)
  local task, message = guarded(build_awaited, policy, call, request)
  if not task then
    return message
  end
  step.built = place(policy, task)
  return nil
end

-- The request of the next exchange with the step's own agent.
local function build(policy, step, definition)
  local call = call_of.new(policy, step, definition, step.sends + 1)
  local last = step.replies[step.sends]
  if last then
    return agent.reformat(declared(policy, definition), call, last)
  end
  return agent.request(declared(policy, definition), call)
end

-- Whether this exchange may leave again when nobody knows if it arrived.
local function repeatable(step, definition, request)
  if not step.asking then
    return definition.idempotent
  elseif definition.idempotent_declared ~= nil then
    return definition.idempotent_declared
  end
  -- a function may run again; what it asked others to do may not, unless it says so
  return step.asking.idempotent == true
    or request.idempotent == true
    or request.kind == "sleep"
    or (request.kind == "http" and request.method == "GET")
end

local function digest_of(policy, task, to)
  return policy.core.sha256((task.body or task.stdin or "") .. "\0" .. to)
end

-- Where a task goes, as it may be shown: without user and password.
local function target(task)
  local to = task.url or (task.argv and task.argv[1]) or task.kind
  return (to:gsub("//[^/@]*@", "//"))
end

-- The idempotency key a request carries: the author's own, or ours.
local function keyed(headers, key)
  for name, value in pairs(headers) do
    if name:lower() == "idempotency-key" then
      return value
    end
  end
  headers["Idempotency-Key"] = key
  return key
end

---Builds the step's next task and records that it is about to leave.
---@return table|nil task
---@return string? message  why there is none
function M.send(policy, step, definition)
  local task, message
  if step.asking then
    task = step.built
  else
    task, message = guarded(build, policy, step, definition)
    if not task then
      return nil, message
    end
    place(policy, task)
  end
  local number = step.sends + 1
  local key = ("%s-%d-%d"):format(policy.ledger.run_id, step.number, number)
  if task.kind == "http" then
    key = keyed(task.headers, key)
  end
  local to = target(task)
  local fresh = step.fresh
  step.fresh = fresh and {}
  assert(policy:emit({
    t = "send",
    step = step.number,
    x = number,
    attempt = step.attempt,
    kind = task.kind,
    to = record.printable(to),
    key = key,
    digest = digest_of(policy, task, to),
    idem = repeatable(step, definition, task) or nil,
    rec = fresh and #fresh > 0 and fresh or nil,
  }))
  return task
end

---Whether what a script awaits again after an interruption is what it awaited before.
---@param number integer  the exchange
---@return boolean
function M.is_same(policy, step, number)
  local before = step.digests[number]
  return not before or before == digest_of(policy, step.built, target(step.built))
end

---Records a reply after which the step goes on. Bytes that are no UTF-8 are replaced: the
---script has to see the same now and after a crash.
function M.received(policy, step, reply)
  for _, field in ipairs({ "body", "extra", "message" }) do
    if reply[field] and not utf8.len(reply[field]) then
      reply[field] = record.printable(reply[field])
    end
  end
  assert(policy:emit({ t = "reply", step = step.number, x = step.sends, reply = reply }))
end

---What ctx.await gives for a reply.
function M.interpret(policy, step, request, reply)
  if request.agent then
    local definition = policy:definition_of(step)
    local call = call_of.new(policy, step, definition, step.asked, request)
    local result, failure = agent.reply(awaited_agent(policy, request), reply, call)
    if result then
      return result
    end
    return nil, failure.message, failure.class
  elseif reply.status == "ok" then
    local given = {} -- the script's own: the recorded one stays as it was
    for key, value in pairs(reply) do
      given[key] = value
    end
    given.stdout, given.stderr = reply.body, reply.extra
    return given
  end
  return nil, reply.message, agent.class(request.kind, reply)
end

---What an agent's reply means: an outcome, "again" (one request to reformat), or a failure.
---@return table|"again"|nil
---@return table? failure
function M.judge(policy, step, definition, reply)
  local one = declared(policy, definition)
  local call = call_of.new(policy, step, definition, step.sends)
  local result, failure = agent.reply(one, reply, call)
  if result then
    return result
  end
  if failure.reformat and #step.replies == 0 and guarded(agent.reformat, one, call, reply) then
    M.received(policy, step, reply)
    return "again"
  end
  return nil, failure
end

return M
