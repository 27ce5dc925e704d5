-- agent/model.lua: an agent that is a model: a talk of exchanges, each one call, until it gives its answer; the tools
-- it calls are performed in between, an answer in the wrong form is told what was wrong.
--
-- How a provider writes requests and replies is its wire's (wire/),
-- what is done with tool calls tool/loop.lua's. A model costs, it does not act: every exchange may be made again.

local Agent = require("skillrt.agent.kind")
local answer_of = require("skillrt.agent.answer")
local asking = require("skillrt.tool.ask_user")
local compact = require("skillrt.agent.compact")
local condition = require("skillrt.agent.condition")
local gate = require("skillrt.agent.gate")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local prices_of = require("skillrt.agent.prices")
local prompt = require("skillrt.agent.prompt")
local provider = require("skillrt.agent.provider")
local talk_of = require("skillrt.agent.talk")
local tools_of = require("skillrt.agent.tools")
local url_of = require("skillrt.agent.url")
local used_of = require("skillrt.agent.used")

---@class skillrt.ModelAgent: skillrt.Agent
---@field wire skillrt.Wire
---@field vendor skillrt.Vendor
local M = setmetatable({ word = true, stub = "model", acts = false, idempotent = true }, Agent)
M.__index = M

---@class skillrt.Turn  of a talk
---@field role "user"|"model"|"results"
---@field text string?     user
---@field content table?   model: as the provider wrote it
---@field results { id: string, name: string, text: string, is_error: boolean? }[]?

---@class skillrt.ModelReply  what a wire reads out of a reply
---@field text string
---@field content table         to be sent back
---@field calls { id: string, name: string, input: table?, problem: string?, rename: fun(id: string, name: string) }[]
---@field stop "end"|"tools"|"length"|"refused"|"pause"
---@field reason string?        in the provider's own words
---@field used skillrt.Used
---@field model string?

---@class skillrt.Wire
---@field field string  of the body: where the turns stand
---@field body fun(agent: table, want: table): table  all but these
---@field opening (fun(agent: table): table[])?  messages before all turns
---@field turned fun(turn: skillrt.Turn, last: table|nil): table[], boolean?  messages; the first instead of the last
---@field mark (fun(agent: table, message: table): table)?  the first and the last, for a cache
---@field mark_head (fun(agent: table, body: table): table|nil)?  all before the messages, for a cache
---@field headers fun(agent: table, endpoint: skillrt.Endpoint): table, table  headers, declared
---@field show fun(data: string): string?  what an event adds to the text
---@field ANSWER string?  the tool by which an answer in a schema is given, where the provider has no other way
---@field joins string[]  fields of events whose texts are pieces of one: joined as they come
---@field read fun(reply: table): skillrt.ModelReply|nil, skillrt.Failure?

---A kind of model, with what all have.
---@param kind table
---@return skillrt.ModelAgent
function M.new(kind)
  kind.FIELDS = Agent.fields(provider.FIELDS, kind.FIELDS)
  return Agent.new(kind, M) --[[@as skillrt.ModelAgent]]
end

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M:check(definition, where)
  local agent, message = Agent.check(self, definition, where)
  message = message or provider.check(agent, where)
  if not message and agent.output then
    local _, why = json_schema.check(agent.output, where .. ": output")
    message = why
    agent.output = not why and json_schema.normal(agent.output) or nil
  end
  message = message or compact.check(agent, where)
  if not message and agent.prices then
    message = prices_of.check(agent.prices, where)
  end
  return not message and agent or nil, message
end

---How it is named in messages.
---@return string
function M:label()
  return ("%s:%s"):format(self.kind, self.model or self.vendor.model)
end

function M.needs_http()
  return true
end

---As many exchanges as it may have, each as long as it may be. What it reads is not known.
---@param agent table
---@return table
function M.cost(agent)
  local vendor = type(agent.vendor) == "table" and agent.vendor or {}
  local calls = tonumber(agent.max_turns) or provider.FIELDS.max_turns.default
  local tokens = calls * (tonumber(agent.max_tokens) or vendor.max_tokens or 0)
  local rows = type(agent.prices) == "table" and agent.prices or prices_of.OURS
  local row = type(agent.model) == "string" and prices_of.row(rows, agent.model)
  return { calls = calls, tokens = tokens, dollars = row and tokens * row.output / 1e6 or 0 }
end

---Where it is asked from this machine, and which key is found.
---@return table
function M:here()
  local vendor = self.vendor
  local base = os.getenv(vendor.url_env)
  return { name = self.kind, kind = "model", found = true, version = vendor.model,
    url = base and base ~= "" and url_of.shown(base) or vendor.url, keys = { vendor.key_env, vendor.token_env } }
end

-- ---- one exchange ----

-- A reply is read once, though its judge and its reader both look at it.
local function reader(wire)
  local body, answer, failure
  return function(reply)
    if reply.body ~= body or not (answer or failure) then
      body = reply.body
      answer, failure = wire.read(reply)
    end
    return answer, failure
  end
end

local function request_of(agent, task, talk, want, read)
  local endpoint, message = provider.endpoint(agent, agent.vendor)
  if not endpoint then
    return nil, message
  end
  local body, declared_body = talk:body(want)
  local most = used_of.most(#body, agent.max_tokens or agent.vendor.max_tokens, want.model, agent.prices)
  local headers, declared = agent.wire.headers(agent, endpoint)
  for name, value in pairs(agent.headers) do
    headers[name], declared[name] = value, value
  end
  headers["Content-Type"], declared["Content-Type"] = "application/json", "application/json"
  headers["Accept"] = agent.stream and "text/event-stream, application/json;q=0.5" or "application/json"
  declared["Accept"] = headers["Accept"]
  return {
    kind = "http",
    method = "POST",
    url = endpoint.url,
    shown = endpoint.shown,
    headers = headers,
    body = body,
    declared = { url = endpoint.declared, headers = declared, body = declared_body },
    secrets = endpoint.key and { endpoint.key } or nil,
    expect = "raw",
    show = agent.stream and agent.wire.show or nil,
    joins = agent.stream and agent.wire.joins or nil,
    prompt = #talk.turns == 1 and talk.turns[1].text or nil,
    judge = function(reply)
      if reply.code < 200 or reply.code > 299 then
        return condition.of_status(reply)
      end
      local answer, failure = read(reply)
      if not answer then
        return failure or condition.broken("the reply is no answer")
      end
    end,
    usage = most,
    gate = gate.of(endpoint.url:match("^%a+://[^/]+"), endpoint.key, agent.pace, most.tokens),
    idempotent = true,
    acts = false,
    retry = task.retry or { max = (task.action or task.phase or {}).max_retries },
    timeout = task.timeout or agent.timeout,
    connect_timeout = agent.connect_timeout,
    idle_timeout = agent.idle_timeout,
    max_reply = agent.max_reply,
    ca_file = agent.ca_file,
    max_redirects = 0,
  }
end

-- What a provider says of a request that it refused.
local function explained(agent, reply, message)
  local value = reply and reply.status == "ok" and json.decode(reply.body or "")
  local said = type(value) == "table" and type(value.error) == "table" and value.error or nil
  if not said or type(said.message) ~= "string" then
    return message
  end
  local kind = type(said.type) == "string" and " " .. said.type or ""
  local text = ("HTTP %d%s: %s"):format(reply.code, kind, said.message:sub(1, 500))
  if reply.code == 401 or reply.code == 403 then
    text = ("%s (the key is in %s)"):format(text, agent.key_file or agent.key_env or agent.vendor.key_env)
  end
  return text
end

-- One call and what came back; nil, message, class.
local function exchange(agent, ctx, task, talk, want)
  local read = reader(agent.wire)
  local request, problem = request_of(agent, task, talk, want, read)
  if not request then
    return nil, problem, "permanent"
  end
  local reply, message, class, bad = ctx.await(request)
  if not reply then
    return nil, explained(agent, bad, message), class
  end
  local answer = read(reply)
  talk:name_calls(answer.calls)
  return answer
end

-- What the model says to other turns than those of its talk.
local function aside(agent, ctx, task, want, used, turns)
  local talk = talk_of.new(agent)
  talk:replace(turns)
  local reply, message, class = exchange(agent, ctx, task, talk, want)
  if not reply then
    return nil, message, class
  end
  ctx.used(used_of.add(used, reply.used, reply.model or want.model, agent.prices))
  return reply.text
end

-- ---- the talk ----

-- What an exchange asks for besides its turns; its tools are those that are present then.
local function wanted(agent, task)
  return {
    schema = task.schema or agent.output,
    model = task.model or agent.model or agent.vendor.model,
    effort = task.effort or agent.effort,
  }
end

-- An answer by the tool that stands for it: its value, or what is wrong with it.
local function answered(want, call)
  local problem = call.problem
  if not problem then
    problem = select(2, json_schema.judge(want.schema, call.input))
  end
  local text = problem and "This answer cannot be used: " .. problem or "taken"
  return { id = call.id, name = call.name, text = text, is_error = problem ~= nil or nil }, problem
end

-- Performs what it asked for: a result for every call; and the value of the answer where it answered by a tool.
local function perform_calls(agent, loop, reply, want)
  local results, tools, places, value, problem = {}, {}, {}, nil, nil
  for i, call in ipairs(reply.calls) do
    if call.name == agent.wire.ANSWER and want.schema then
      local why
      results[i], why = answered(want, call)
      value, problem = not why and value == nil and { call.input } or value, problem or why
    else
      tools[#tools + 1], places[#places + 1] = call, i
    end
  end
  if value then
    return results, nil, value -- what it called beside its answer is not performed: it is over
  end
  local done, message = {}, nil
  if #tools > 0 then
    done, message = loop:perform(tools)
  end
  for k, i in ipairs(places) do
    results[i] = done and done[k]
  end
  return done and results, message, nil, problem
end

local function ended(agent, reply)
  if reply.stop == "refused" then
    return ("the model refuses: %s"):format(reply.reason or "it does not say why"), "permanent"
  elseif reply.stop == "length" then
    return ("its answer was cut off (%s); raise max_tokens%s"):format(reply.reason or "length",
      agent.max_tokens and (", now %d"):format(agent.max_tokens) or ""), "permanent"
  end
end

-- What is said to a model whose answer cannot be used.
local function repair(task, want, problem)
  local form = want.schema and "Give it as JSON that fits the schema, and nothing else."
    or prompt.return_format(task)
  local text = "Your answer cannot be used: %s.\nDo not do the work again; write your answer anew.\n%s"
  return text:format(problem, form)
end

-- What an answer in words comes to: an outcome; or a turn that goes on with the talk, and what was wrong; or a failure.
local function read_answer(agent, ctx, task, want, reply, used)
  local outcome, failure, left_out = answer_of.text(reply.text, task, want.schema, used)
  if left_out then
    ctx.log(("%s: left out of its answer: %s"):format(agent:label(), table.concat(left_out, ", ")))
  end
  local asked = failure and failure.question and asking.may(ctx, task)
  if outcome or not (failure.form or asked) then
    return outcome, nil, failure and failure.message, failure and failure.class
  elseif not asked then
    return nil, { role = "user", text = repair(task, want, failure.message) }, failure.message
  end
  local told, message, class = asking.ask(ctx, agent, failure.question)
  if not told then
    return nil, nil, message, class
  end
  return nil, { role = "user", text = asking.told(told) }
end

---The talk, from the task to its outcome.
---@param agent table
---@param ctx table
---@param task skillrt.Task
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
function M.perform(agent, ctx, task)
  local want, used, repairs = wanted(agent, task), used_of.new(), 0
  local function failed(message, class)
    return nil, ("%s: %s"):format(agent:label(), message), class
  end
  local loop, missing = tools_of.loop(agent, ctx, task)
  if not loop then
    return failed(missing, "permanent")
  end
  local talk = talk_of.new(agent)
  talk:add({ role = "user", text = prompt.text(task) })
  for _ = 1, agent.max_turns do
    local reply, good, message, class
    want.tools, message = loop:tools()
    if not want.tools then
      return failed(message, "permanent")
    end
    good, message, class = compact.look(agent, ctx, talk, function(turns)
      return aside(agent, ctx, task, want, used, turns)
    end)
    if good then
      reply, message, class = exchange(agent, ctx, task, talk, want)
    end
    if not reply then
      return failed(message, class)
    end
    ctx.used(used_of.add(used, reply.used, reply.model or want.model, agent.prices))
    message, class = ended(agent, reply)
    if message then
      return failed(message, class)
    end
    talk:add({ role = "model", content = reply.content, empty = #reply.content == 0 })
    local problem, told
    if #reply.calls > 0 then
      local results, why, value, wrong = perform_calls(agent, loop, reply, want)
      if value then
        return answer_of.value(value[1], task, used)
      elseif not results then
        return failed(why, "permanent")
      end
      talk:add({ role = "results", results = results })
      problem, told = wrong, loop:said(reply.text)
    else
      told = loop:said(reply.text)
    end
    if told then
      talk:add({ role = "user", text = told })
    elseif #reply.calls == 0 and reply.stop ~= "pause" then
      local outcome, turn, why, cause = read_answer(agent, ctx, task, want, reply, used)
      if outcome then
        return outcome
      elseif not turn then
        return failed(why, cause)
      end
      talk:add(turn)
      problem = why
    end
    if problem then
      repairs = repairs + 1
      if repairs > agent.max_repairs then
        return failed(problem, "invalid_output")
      end
      ctx.log(("%s: %s; asked to write its answer again"):format(agent:label(), problem))
    end
  end
  return failed(("came to no end in %d exchanges (max_turns)"):format(agent.max_turns), "permanent")
end

return M
