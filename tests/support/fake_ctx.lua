-- fake_ctx.lua: a ctx that answers requests from a list, judging replies as a run does; it remembers what
-- was asked and what was logged.
require "tests.support.json_shim"
local privileges = require "skillrt.base.privileges"
local json = require "skillrt.base.json"
local reply_of = require "skillrt.run.call.reply"
local store = require "skillrt.run.store"

local M = {}

-- A task as a run hands it to an agent; each request has a key of its own.
local Task = {}
function Task:__index(key)
  if key == "key" then
    return "r1-7-" .. #self._ctx.asked + 1
  end
end

---@param replies table[]  { status, code, body, extra } in their order; a string is a body
function M.new(replies)
  local ctx = { asked = {}, lines = {}, counted = {} }
  function ctx.log(text)
    ctx.lines[#ctx.lines + 1] = text
  end
  function ctx.used(used)
    ctx.counted[#ctx.counted + 1] = used
  end
  function ctx.ask(question)
    ctx.questions = ctx.questions or {}
    ctx.questions[#ctx.questions + 1] = question
    if not replies.answers then
      return nil, "nobody answers", "timeout"
    end
    return replies.answers[#ctx.questions]
  end
  function ctx.once(_, fn)
    return fn()
  end
  ctx[privileges.KEY] = {}
  ctx[privileges.KEY].use = function(use, fn)
    ctx.uses = ctx.uses or {}
    ctx.uses[#ctx.uses + 1] = use
    return fn(tostring(#ctx.uses))
  end
  function ctx.map(list, fn)
    local results = {}
    for i, item in ipairs(list) do
      results[i] = fn(item, i)
    end
    return results
  end
  function ctx.await(request)
    ctx.asked[#ctx.asked + 1] = request
    local given = replies[#ctx.asked] or error("no reply is left for request " .. #ctx.asked)
    given = type(given) == "string" and { body = given } or given
    local reply = { status = "ok", code = request.kind == "http" and 200 or 0, body = "", extra = "" }
    for key, value in pairs(given) do
      reply[key] = value
    end
    local good, value = reply_of.meaning(request, reply)
    if good then
      reply.value = value
      return reply
    end
    return nil, value.message, value.class, reply
  end
  return ctx
end

---@param ctx table
---@param changes table?
function M.task(ctx, changes)
  local task = {
    _ctx = ctx, run_id = "r1", skill = "review-code", step = 7, attempt = 2, kind = "action",
    action = { id = "review", name = "Review", description = "Reviews the files" },
    state = { file = "a.c", n = 3, third = 0.1 + 0.2, deep = { list = { "x", "y" } } },
    state_text = '{"file":"a.c","n":3}', store = store.at "/runs/r1", dir = "/skills/rc", input = { dir = "src" },
    context_strategy = "file", prompt = "Review the file.\n",
  }
  if changes and changes.kind == "phase" then
    task.action, task.phase = nil, { id = "02-scan", name = "Scan" }
  end
  for key, value in pairs(changes or {}) do
    task[key] = value
  end
  return setmetatable(task, Task)
end

---Performs a task with an agent: the outcome, or nil, message, class; and the ctx behind them.
function M.perform(agent, replies, changes)
  local ctx = M.new(replies)
  local outcome, message, class = agent:perform(ctx, M.task(ctx, changes))
  return outcome, message, class, ctx
end

---The first request that an agent makes for a task, or nil and the message.
function M.request(agent, changes)
  local request
  local ctx = M.new {}
  ctx.await = function(asked)
    request = asked
    return nil, "enough", "permanent"
  end
  local _, message = agent:perform(ctx, M.task(ctx, changes))
  return request, message
end

---What was asked, decoded, and the request it was asked with.
function M.sent(ctx, n)
  local request = ctx.asked[n or 1]
  return assert(json.decode(request.body)), request
end

---An environment for tests: `set` before each of them, `restore` behind it.
---@param variables table<string, string>  what each test begins with
---@return { now: table<string, string>, set: fun(), restore: fun() }
function M.environment(variables)
  local environment, getenv = { now = variables }, os.getenv
  function environment.set()
    environment.now = variables
    os.getenv = function(name) return environment.now[name] end -- luacheck: ignore
  end
  function environment.restore()
    os.getenv = getenv -- luacheck: ignore
  end
  return environment
end

---Lets a ctx perform functions of this process at once; all else is answered from its list.
function M.performs(ctx)
  local await = ctx.await
  ctx.await = function(request)
    if request.kind ~= "local" then
      return await(request)
    end
    local value, message = request.run()
    return value and { value = value } or nil, message
  end
  return ctx
end

return M
