-- test/stubs.lua: which stub answers a call, and what it says now.
--
-- Pure: knows calls as a stub is told of them, no runs. Part of test/world.lua.

local faults = require("skillrt.test.faults")
local names = require("skillrt.base.names")

local M = {}

---@param path string
---@return string
function M.basename(path)
  return path:match("[^/]*$")
end

---What a stub is told of a call.
---@param world skillrt.test.World
---@param call skillrt.Call
---@return table asked
function M.described(world, call)
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

---The stub that a call is for, and how it is named.
---@param options table  of test.run
---@param asked table
---@return any stub
---@return string? name
function M.find(options, asked)
  local agents, by_url = options.agents or {}, nil
  for _, name in ipairs({ asked.agent or false, asked.agent_kind or false }) do
    if name and agents[name] ~= nil then
      return agents[name], ("agents.%s"):format(name)
    end
  end
  if asked.argv and options.programs and options.programs[M.basename(asked.argv[1])] ~= nil then
    return options.programs[M.basename(asked.argv[1])], ("programs.%s"):format(M.basename(asked.argv[1]))
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

---Where a stub for it would have to stand.
---@param asked table
---@return string
function M.wanted(asked)
  if asked.agent then
    return ("agents = { %s = ... }"):format(names.id(asked.agent) and asked.agent:find("^[%a_][%w_]*$") and asked.agent
      or ("[%q]"):format(asked.agent))
  elseif asked.argv then
    local name = M.basename(asked.argv[1])
    return ('programs = { [%q] = ... }, or real = { %q } where it may run'):format(name, name)
  elseif asked.url then
    return ("urls = { [%q] = ... }"):format(asked.to)
  end
  return "an agent of its own"
end

---Whether a stub, an answer of a person or an event is a list of such.
---@param value any
---@return boolean
function M.is_list(value)
  return type(value) == "table" and not faults.is(value) and value[1] ~= nil
end

---The next of a list; nil: it is used up.
---@param used table  how far each list is
---@param list table
---@return any
function M.next_of(used, list)
  local at = (used[list] or 0) + 1
  used[list] = at
  return list[at]
end

-- The first rule of a list that fits the prompt, and what it answers.
local function by_prompt(list, asked)
  for _, rule in ipairs(list) do
    local is_rule = faults.is(rule) and rule.kind == "on"
    if not is_rule or asked.prompt:find(rule.text, 1, true) then
      return is_rule and rule.reply or rule
    end
  end
end

-- The next answer of a list; behind a crash who asks again gets what the crash says.
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

---What a stub says now: of a list the next, of rules the first that fits, of a function what it gives.
---@param used table  how far each list is, and which crashes were
---@param value any
---@param asked table
---@param name string  of the stub
---@return any answer
---@return string? message  there is none
function M.said(used, value, asked, name)
  local prompt = asked.prompt:sub(1, 300)
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
        return nil, ("the stub %s is asked again after the crash, and has no answer: test.crash(answer)"):format(name)
      end
    elseif M.is_list(value) and faults.is(value[1]) and value[1].kind == "on" then
      value = by_prompt(value, asked)
      if value == nil then
        return nil, ("the stub %s has no rule for this prompt: %s"):format(name, prompt)
      end
    elseif M.is_list(value) then
      local count
      value, count = next_answer(used, value)
      if value == nil then
        return nil, ("the stub %s has answered %d times, and is asked once more, by %s: %s"):format(name, count,
          asked.id, prompt)
      end
    else
      return value
    end
  end
end

return M
