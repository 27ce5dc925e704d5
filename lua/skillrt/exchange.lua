-- exchange.lua: one request of a step and its reply: intent before, verdict after, doubt on resume.
--
-- Builds tasks from agents and from what scripts await, records them before they leave, and
-- decides on resume what to do with a request whose reply is not there. Knows agents and
-- the ledger through policy.lua, which alone calls it.

local files = require("skillrt.files")
local json = require("skillrt.json")
local state = require("skillrt.state")

-- Loaded when the first agent is met: a skill of functions only starts without it.
local agent = setmetatable({}, {
  __index = function(_, key)
    return require("skillrt.agent")[key]
  end,
})

local M = {}

local TRANSPORT_CLASS = {
  timeout = "timeout",
  canceled = "canceled",
  too_large = "invalid_output",
  broken = "transient",
  refused = "permanent",
  killed = "transient",
}

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

-- The text of a prompt: a file of the skill (pinned), or the text itself.
local function prompt_text(policy, prompt)
  if not prompt then
    return nil
  end
  local kept = policy.prompts[prompt]
  if kept then
    return kept
  end
  if prompt:find("\n", 1, true) or prompt:find(" ", 1, true) then
    return prompt
  end
  local text, message = files.read(files.join(policy.skill.dir, prompt))
  if not text then
    error({ message = ("prompt %s"):format(message), code = "missing" }, 0)
  end
  policy.prompts[prompt] = text
  return text
end

-- The state an agent is shown: the declared keys, each bounded in size (F43).
local function state_text(policy, root)
  local limit, shown = policy.skill.limits.max_prompt_state, {}
  local keys = policy.skill.project
  local function show(key)
    local value = root[key]
    if value == nil then
      return
    end
    local text = json.encode(value)
    if text and #text > limit then
      value = ("(left out: %d bytes of JSON, the limit is %d)"):format(#text, limit)
    end
    shown[key] = value
  end
  if keys then
    for _, key in ipairs(keys) do
      show(key)
    end
  else
    for key in pairs(root) do
      show(key)
    end
  end
  return assert(json.encode(shown, { indent = 2 }))
end

local function input_paths(policy, definition)
  local list = {}
  for i, name in ipairs(definition.input or {}) do
    list[i] = files.join(policy.work_dir, name)
  end
  return list
end

-- Everything an agent module needs to build a request or to read a reply.
local function call_of(policy, step, definition, request)
  local ledger = policy.ledger
  return {
    run_id = ledger.run_id,
    skill = policy.skill.name,
    step = step.number,
    kind = step.kind,
    [step.kind] = definition,
    link = step.link,
    timeout = request and request.timeout or definition.timeout or policy.skill.limits.step_timeout,
    attempt = step.attempt,
    exchange = step.sends + 1,
    key = ("%s-%d-%d"):format(ledger.run_id, step.number, step.sends + 1),
    state = state.view(step.root),
    state_text = state_text(policy, step.root),
    work_dir = policy.work_dir,
    dir = policy.skill.dir,
    input = ledger.input,
    context_strategy = ledger.context_strategy,
    prompt = prompt_text(policy, request and request.prompt or definition.prompt),
    inputs = input_paths(policy, definition),
    output = definition.output and files.join(policy.work_dir, definition.output) or nil,
  }
end

local function awaited_agent(policy, request)
  local one = type(request.agent) == "table" and request.agent or policy.skill.agents[request.agent]
  if not one then
    error({ message = ("ctx.await: agent %q is not declared"):format(tostring(request.agent)) }, 0)
  end
  return one
end

local KINDS = { http = "url", command = "argv", sleep = "seconds" }

-- A request that a script wrote itself.
local function check_raw(request)
  local needed = KINDS[request.kind]
  if not needed then
    return nil, ('ctx.await: kind must be "http", "command" or "sleep", not %q'):format(tostring(request.kind))
  elseif request[needed] == nil then
    return nil, ("ctx.await: a request of kind %q needs the field %q"):format(request.kind, needed)
  end
  local copy = {}
  for key, value in pairs(request) do
    copy[key] = value
  end
  if copy.kind == "command" and not copy.env then
    copy.env = {}
    for _, name in ipairs(require("skillrt.agent.command").ALLOWED) do
      copy.env[name] = os.getenv(name)
    end
  end
  return copy
end

-- The request of the next exchange, in the Lua form of a task.
local function build(policy, step, definition)
  local request = step.asking
  if request and not request.agent then
    return check_raw(request)
  end
  local call = call_of(policy, step, definition, request)
  if request then
    return agent.request(awaited_agent(policy, request), call)
  end
  local last = step.replies[step.sends]
  if last then
    return agent.reformat(declared(policy, definition), call, last)
  end
  return agent.request(declared(policy, definition), call)
end

-- Whether this exchange may leave again when nobody knows if it arrived.
local function repeatable(step, definition, request)
  local said = step.asking and definition.idempotent_declared or definition.idempotent
  if step.asking and definition.idempotent_declared == nil then
    said = nil -- a function may run again; what it asked others to do may not, unless it says so
  end
  if said ~= nil then
    return said
  end
  return request.idempotent == true
    or request.kind == "sleep"
    or (request.kind == "http" and request.method == "GET")
end

---Builds the step's next task and records that it is about to leave.
---@return table task
function M.send(policy, step, definition)
  local request, message = build(policy, step, definition)
  if not request then
    error({ message = ("%s: %s"):format(step.id, message), code = "invalid" }, 0)
  end
  local number = step.sends + 1
  local key = ("%s-%d-%d"):format(policy.ledger.run_id, step.number, number)
  if request.kind == "http" then
    request.headers = request.headers or {}
    request.headers["Idempotency-Key"] = request.headers["Idempotency-Key"] or key
  end
  local to = request.url or (request.argv and request.argv[1]) or request.kind
  local fresh = step.fresh
  step.fresh = fresh and {}
  assert(policy:emit({
    t = "send",
    step = step.number,
    x = number,
    attempt = step.attempt,
    kind = request.kind,
    to = to:gsub("//[^/@]*@", "//"),
    key = key,
    digest = policy.core.sha256((request.body or request.stdin or "") .. "\0" .. to),
    idem = repeatable(step, definition, request) or nil,
    rec = fresh and #fresh > 0 and fresh or nil,
  }))
  return request
end

---Records a reply after which the step goes on.
function M.received(policy, step, reply)
  local ok = policy:emit({ t = "reply", step = step.number, x = step.sends, reply = reply })
  if not ok then -- bytes that are not text: kept as base64 is not worth it; keep what JSON can
    reply.body = M.printable(reply.body)
    reply.extra = M.printable(reply.extra)
    assert(policy:emit({ t = "reply", step = step.number, x = step.sends, reply = reply }))
  end
end

---Bytes as valid UTF-8: what is not is replaced by U+FFFD.
---@param text string
---@return string
function M.printable(text)
  local out, at = {}, 1
  while at <= #text do
    local bad = select(2, utf8.len(text, at))
    if not bad then
      out[#out + 1] = text:sub(at)
      break
    end
    out[#out + 1] = text:sub(at, bad - 1)
    out[#out + 1] = "\u{FFFD}"
    at = bad + 1
  end
  return table.concat(out)
end

---What ctx.await gives for a reply.
function M.interpret(policy, step, request, reply)
  if request.agent then
    local definition = policy.mode:find(step.id)
    local call = call_of(policy, step, definition, request)
    local result, failure = agent.reply(awaited_agent(policy, request), reply, call)
    if result then
      return result
    end
    return nil, failure.message, failure.class
  elseif reply.status == "ok" then
    reply.stdout, reply.stderr = reply.body, reply.extra
    return reply
  end
  return nil, reply.message, TRANSPORT_CLASS[reply.status] or "permanent"
end

---What an agent's reply means: an outcome, "again" (one request to reformat), or a failure.
---@return table|"again"|nil
---@return table? failure
function M.judge(policy, step, definition, reply)
  local one = declared(policy, definition)
  local call = call_of(policy, step, definition)
  local result, failure = agent.reply(one, reply, call)
  if result then
    return result
  end
  if failure.reformat and #step.replies == 0 and agent.reformat(one, call, reply) then
    M.received(policy, step, reply)
    return "again"
  end
  return nil, failure
end

local function decide(policy, step)
  local choice = step.decision or policy.decide or policy.skill.on_indoubt
  if type(choice) == "function" then
    choice = choice({ id = step.id, step = step.number, attempt = step.attempt, to = step.sent.to })
  end
  return choice
end

-- One open step: goes on, is given up, or waits for a person.
local function take_up_step(policy, step)
  local number = step.number
  local choice = not step.sent and "retry" or (step.sent.idem and "retry" or decide(policy, step))
  if choice == "retry" then
    if step.sent then -- the same exchange leaves again, with the same key
      step.sends = step.sent.x - 1
      step.sent = nil
    end
    policy.going_on[#policy.going_on + 1] = number
  elseif choice == "skip" then
    assert(policy:emit({ t = "skip", step = number, why = "skipped by decision" }))
  elseif choice == "fail" then
    assert(policy:emit({
      t = "fail",
      step = number,
      attempt = step.attempt,
      class = "permanent",
      message = ("%s: interrupted, and decided to have failed"):format(step.id),
    }))
  else
    policy.waiting[#policy.waiting + 1] = step
  end
end

---Takes up the steps that were under way when the run stopped, by what is known of each.
---@param policy skillrt.Policy
function M.take_up(policy)
  local numbers = {}
  for number in pairs(policy.ledger.steps) do
    numbers[#numbers + 1] = number
  end
  table.sort(numbers)
  policy.waiting, policy.going_on = {}, {}
  for _, number in ipairs(numbers) do
    take_up_step(policy, policy.ledger.steps[number])
  end
end

---The question about a request in doubt, or nil.
---@return table|nil question
function M.undecided(policy)
  local step = policy.waiting and policy.waiting[1]
  if not step then
    return nil
  end
  return {
    step = step.number,
    header = "In doubt",
    question = ("%s: its request to %s left, and the run was interrupted before a reply. Send it again?"):format(
      step.id,
      step.sent.to
    ),
    options = {
      { id = "retry", label = "retry", description = "send it again with the same idempotency key" },
      { id = "skip", label = "skip", description = "go on without its result" },
      { id = "fail", label = "fail", description = "count it as failed" },
    },
  }
end

---Steps that were under way when the run was interrupted; given once.
---@return integer[]|nil
function M.interrupted(policy)
  local list = policy.going_on
  policy.going_on = nil
  return list and #list > 0 and list or nil
end

return M
