-- agent/model.lua: an agent that is a model: a conversation of exchanges, each one call, until it gives its answer.
-- In between, its tool calls are performed, and it is asked to fix an answer of the wrong form.
--
-- Each provider's wire (wire/) writes requests and reads replies; tool/loop.lua performs tool calls. A model has no
-- side effects, so every exchange may be repeated.

local Agent = require("skillrt.agent.kind")
local answer_of = require("skillrt.agent.answer")
local asking = require("skillrt.tool.ask_user")
local condition = require("skillrt.agent.condition")
local cut = require("skillrt.base.text").cut
local data_marks = require("skillrt.base.data_marks")
local gate = require("skillrt.agent.gate")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local prices_of = require("skillrt.agent.prices")
local privileges = require("skillrt.base.privileges")
local prompt = require("skillrt.agent.prompt")
local provider = require("skillrt.agent.provider")
local schema = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")
local tally = require("skillrt.agent.tally")
local tools_of = require("skillrt.agent.tools")
local url_of = require("skillrt.agent.url")

-- ---- a conversation as it is sent: each turn is encoded once, as JSON ----

---@class skillrt.Chain  what of a body is declared; run/call/call.lua hashes each text once
---@field head string
---@field texts string[]
---@field hashes string[]

---@class skillrt.Talk
---@field agent table
---@field wire skillrt.Wire
---@field turns skillrt.Turn[]
---@field texts string[]   of the messages, each as JSON
---@field bytes integer    of all of them
local Talk = {}
Talk.__index = Talk

local SLOT <const> = "@skillrt-talk@"

local function encoded(value)
  local text, message = json.encode(value, { sorted = true })
  if not text then
    error({ message = message, class = "permanent" }, 0)
  end
  return text
end

-- Adds a message, or replaces the last one.
local function put(self, message, merged)
  local at = merged and #self.texts or #self.texts + 1
  local text = encoded(message)
  self.bytes = self.bytes + #text - (merged and #self.texts[at] or 0)
  self.texts[at], self.hashes[at], self.last = text, nil, message
  if at == 1 then
    self.first = message
    self.marked = self.wire.mark and encoded(self.wire.mark(self.agent, message))
  end
end

-- Encodes all turns again.
local function write(self, turns)
  self.turns, self.texts, self.hashes, self.bytes, self.last, self.marked = {}, {}, {}, 0, nil, nil
  self.parts, self.joined = {}, 1
  for _, message in ipairs(self.wire.opening and self.wire.opening(self.agent) or {}) do
    put(self, message)
  end
  for _, turn in ipairs(turns) do
    self:add(turn)
  end
end

---@param turn skillrt.Turn
function Talk:add(turn)
  self.turns[#self.turns + 1] = turn
  local messages, merged = self.wire.turned(turn, self.last)
  for i, message in ipairs(messages) do
    put(self, message, merged and i == 1)
  end
end

---Gives every tool call of a reply a unique id and a name that may be sent back, whatever the server wrote.
---@param calls table[]  of a skillrt.ModelReply
function Talk:name_calls(calls)
  for _, call in ipairs(calls) do
    self.calls = self.calls + 1
    local given = type(call.id) == "string" and call.id:find("^[%w_-]+$") and #call.id <= 64 and call.id or nil
    local id = given or ("call_%d"):format(self.calls)
    local n = 1
    while self.ids[id] do
      n = n + 1
      id = ("%s_%d"):format((given or "call"):sub(1, 50), self.calls + n - 2)
    end
    self.ids[id], call.id = true, id
    call.name = type(call.name) == "string" and call.name or "?"
    call.rename(id, call.name:sub(1, 64):gsub("[^%w_-]", "_"))
  end
end

---Replaces all turns.
---@param turns skillrt.Turn[]
function Talk:replace(turns)
  write(self, turns)
end

-- The whole request body, copied once: the head comes before the first text and the tail after the last; both carry
-- the marks of a provider's cache. `parts` is reused from one request to the next.
local function sent(self, head, tail)
  local texts, parts, count = self.texts, self.parts, #self.texts
  for i = self.joined, count do -- what was last, and what came since
    parts[i] = texts[i]
  end
  self.joined = count
  parts[1] = head .. (self.marked or texts[1])
  if count > 1 and self.marked then
    parts[count] = encoded(self.wire.mark(self.agent, self.last))
  end
  parts[count] = parts[count] .. tail
  return table.concat(parts, ",")
end

-- The head with a mark for the provider's cache, made once for each declared head.
local function marked(self, body, head)
  if self.head ~= head then
    local copy = self.wire.mark_head and self.wire.mark_head(self.agent, body)
    self.head, self.marked_head = head, copy and encoded(copy) or head
  end
  return self.marked_head
end

---The body of the next request, and what of it is declared, without cache marks.
---@param want table  { tools, schema, model, effort }
---@return string body
---@return skillrt.Chain declared
function Talk:body(want)
  local body, field = self.wire.body(self.agent, want), self.wire.field
  if body[field] == nil then -- else the agent's `extra` says it
    body[field] = SLOT
  end
  local declared = encoded(body)
  local head, slot = marked(self, body, declared), ('"%s":"%s"'):format(field, SLOT)
  local at = head:find(slot, 1, true)
  local text = at and sent(self, ('%s"%s":['):format(head:sub(1, at - 1), field), "]" .. head:sub(at + #slot)) or head
  return text, { head = declared, texts = self.texts, hashes = self.hashes }
end

-- ---- a conversation that has grown too long is shortened; all of it follows from what was recorded ----

local FIELDS <const> = {
  over = { type = "positive", required = true },
  keep = { type = "positive", default = 6 },
  how = { enum = { "drop_results", "keep", "summarise" }, default = "drop_results" },
}

---What is wrong with the agent's field; replaces it by its normal form.
---@param agent table
---@param where string
---@return string? message
local function check_compact(agent, where)
  if agent.compact then
    local checked, message = schema.record(agent.compact, FIELDS, where .. ": compact")
    agent.compact = checked
    return message
  end
end

-- Where the last `keep` rounds of a conversation begin; a round is a message of the model and the reply to it.
local function border(turns, keep)
  for i = #turns, 2, -1 do
    if turns[i].role == "model" then
      keep = keep - 1
      if keep == 0 then
        return i
      end
    end
  end
end

local LEFT_OUT <const> = 200 -- bytes of a result that is worth leaving out

local function without_results(turns, at)
  local out = {}
  for i, turn in ipairs(turns) do
    out[i] = turn
    if turn.role == "results" and i < at then
      local results = {}
      for k, one in ipairs(turn.results) do
        local text = #one.text > LEFT_OUT and ("(left out: %d bytes; call the tool again where you need it)"):format(
          #one.text) or one.text
        results[k] = { id = one.id, name = one.name, text = text, is_error = one.is_error }
      end
      out[i] = { role = "results", results = results }
    end
  end
  return out
end

-- The first turn, a note about what is missing, and the rounds that are kept.
local function without_rounds(turns, at, word)
  local out = { turns[1], { role = "user", text = word } }
  return table.move(turns, at, #turns, 3, out)
end

local ASK <const> = "Before you continue: summarize what was done in this conversation so far and what is known: "
  .. "what was asked for, what was found, decided and changed, what is left to do. It takes the place of the talk. "
  .. "Call no tool."

-- The model's summary of what is to be left out; nil: it gave none.
local function summary(talk, at, ask)
  local turns = table.move(talk.turns, 1, at - 1, 1, {})
  turns[#turns + 1] = { role = "user", text = ASK }
  local text, message, class = ask(turns)
  if not text then
    return nil, message, class
  elseif not text:find("%S") then
    return nil
  end
  return "Your summary of the talk before:\n" .. data_marks.marked(text, "SUMMARY")
end

---Shortens a conversation that has grown longer than its agent's policy allows.
---@param agent table
---@param ctx table
---@param talk skillrt.Talk
---@param ask fun(turns: skillrt.Turn[]): string|nil, string?, string?  the model's answer to these turns
---@return boolean|nil ok  nil: there is no summary
---@return string? message
---@return string? class
local function shorten(agent, ctx, talk, ask)
  local policy = agent.compact
  if not policy or talk.bytes <= math.max(policy.over, talk.shortened or 0) then
    return true
  end
  local turns, before = talk.turns, talk.bytes
  local at = border(turns, policy.keep)
  if not at or at <= 2 then
    return true
  end
  local how, word = policy.how, nil
  if how == "summarise" then
    local message, class
    word, message, class = summary(talk, at, ask)
    if message then
      return nil, message, class
    end
    how = word and how or "keep"
  end
  if how == "drop_results" then
    talk:replace(without_results(turns, at))
  else
    word = word or ("(%d turns of this talk were left out here.)"):format(at - 2)
    talk:replace(without_rounds(turns, at, word))
  end
  talk.shortened = talk.bytes + policy.over // 2
  privileges.of(ctx).mark({ t = "compact", agent = agent:label(), how = how, before = before, after = talk.bytes,
    kept = #turns - at + 1 })
  return true
end

---@class skillrt.ModelAgent: skillrt.Agent
---@field wire skillrt.Wire
---@field vendor skillrt.Vendor
local M = setmetatable({ word = true, stub = "model", acts = false, idempotent = true }, Agent)
M.__index = M

---A conversation with it that has no turns yet.
---@return skillrt.Talk
function M:talk()
  local talk = setmetatable({ agent = self, wire = self.wire, ids = {}, calls = 0 }, Talk)
  write(talk, {})
  return talk
end

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
---@field field string  the field of the body that holds the turns
---@field body fun(agent: table, want: table): table  everything but the turns
---@field opening (fun(agent: table): table[])?  messages that come before all turns
---@field turned fun(turn: skillrt.Turn, last: table|nil): table[], boolean?  messages of a turn; true: the first one
---  replaces the last
---@field mark (fun(agent: table, message: table): table)?  marks the first and the last message for a cache
---@field mark_head (fun(agent: table, body: table): table|nil)?  marks everything before the messages for a cache
---@field headers fun(agent: table, endpoint: skillrt.Endpoint): table, table  headers, declared
---@field show fun(data: string): string?  the text that an event adds
---@field ANSWER string?  the tool that carries an answer in a schema, where the provider has no other way
---@field joins string[]  fields of events whose texts are joined
---@field read fun(reply: table): skillrt.ModelReply|nil, skillrt.Failure?

---A kind of model, with what all have.
---@param kind table
---@return skillrt.ModelAgent
function M.new(kind)
  kind.FIELDS = Agent.fields(provider.FIELDS, kind.FIELDS)
  return Agent.new(kind, M) --[[@as skillrt.ModelAgent]]
end

---What a reply says, for people: its text, and the tools that it calls.
---@param reply table
---@param row any[]  of SPANS
---@return string?
function M.words(_, reply, row)
  local said = row[4].read(reply)
  local list = said and { said.text ~= "" and said.text or nil }
  for _, call in ipairs(said and said.calls or {}) do
    local input = call.input and json.encode(call.input, { sorted = true })
    list[#list + 1] = ("%s %s"):format(call.name, input or "")
  end
  return list and table.concat(list, "\n") or nil
end

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M:check(definition, where)
  local agent, message = Agent.check(self, definition, where)
  message = message or provider.check(agent, where)
  message = message or check_compact(agent, where)
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

---As many exchanges as it may have, each as long as allowed. How much it reads is unknown.
---@param agent table
---@return table
function M.cost(agent)
  local vendor = tables.object(agent.vendor)
  local calls = tonumber(agent.max_turns) or provider.FIELDS.max_turns.default
  local tokens = calls * (tonumber(agent.max_tokens) or vendor.max_tokens or 0)
  local rows = type(agent.prices) == "table" and agent.prices or prices_of.OURS
  local row = type(agent.model) == "string" and prices_of.row(rows, agent.model)
  return { calls = calls, tokens = tokens, dollars = row and tokens * row.output / 1e6 or 0 }
end

---The address it is asked at from this machine, and which key was found.
---@return table
function M:here()
  local vendor = self.vendor
  local base = os.getenv(vendor.url_env)
  return { name = self.kind, kind = "model", found = true, version = vendor.model,
    url = base and base ~= "" and url_of.shown(base) or vendor.url, keys = { vendor.key_env, vendor.token_env } }
end

-- ---- one exchange ----

-- Cached, because both the judge and the reader of a reply look at it.
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
  local most = tally.most(#body, agent.max_tokens or agent.vendor.max_tokens, want.model, agent.prices)
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
        return failure or condition.broken("the reply holds no answer")
      end
    end,
    usage = most,
    model = want.model,
    converses = true,
    theirs = agent.theirs,
    gate = gate.of(endpoint.url:match("^%a+://[^/]+"), endpoint.key, agent.pace, most.tokens),
    idempotent = true,
    acts = false,
    retry = task.retry or { max = (task.action or task.phase or {}).max_retries },
    timeout = task.timeout or agent.timeout,
    connect_timeout = agent.connect_timeout,
    idle_timeout = agent.stall,
    max_reply = agent.max_reply,
    ca_file = agent.ca_file,
    max_redirects = 0,
  }
end

-- What a provider's refusal means.
local function explained(agent, reply, message)
  local value = reply and reply.status == "ok" and json.decode(reply.body or "")
  local said = type(value) == "table" and type(value.error) == "table" and value.error or nil
  if not said or type(said.message) ~= "string" then
    return message
  end
  local kind = type(said.type) == "string" and " " .. said.type or ""
  local text = ("HTTP %d%s: %s"):format(reply.code, kind, cut(said.message, 500, ""))
  if reply.code == 401 or reply.code == 403 then
    text = ("%s (the key is in %s)"):format(text, agent.key_file or agent.key_env or agent.vendor.key_env)
  end
  return text
end

-- One call and its reply; or nil, message, class.
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
  answer.told = reply.told
  talk:name_calls(answer.calls)
  return answer
end

-- The same, counted.
local function asked(self, talk)
  local agent, want = self.agent, self.want
  local reply, message, class = exchange(agent, self.ctx, self.task, talk, want)
  if reply then
    self.ctx.used(tally.counted(reply.used, reply.model or want.model, agent.prices))
  end
  return reply, message, class
end

-- The model's answer to turns other than those of its conversation.
local function aside(self, turns)
  local talk = self.agent:talk()
  talk:replace(turns)
  local reply, message, class = asked(self, talk)
  return reply and reply.text, message, class
end

-- ---- the conversation ----

-- What an exchange asks for besides its turns; its tools are those that are present then.
local function wanted(agent, task)
  return {
    schema = task.schema or agent.output,
    model = agent:model_of(task) or agent.vendor.model,
    effort = task.effort or agent.effort,
  }
end

-- An answer given by a tool call: its value, or what is wrong with it.
local function answered(want, call)
  local problem = call.problem
  if not problem then
    problem = select(2, json_schema.judge(want.schema, call.input))
  end
  local text = problem and "This answer cannot be used: " .. problem or "taken"
  return { id = call.id, name = call.name, text = text, is_error = problem ~= nil or nil }, problem
end

-- Performs the tool calls: a result for each, and the value of the answer if one of them carried it.
local function perform_calls(self, reply)
  local results, tools, places, value, problem = {}, {}, {}, nil, nil
  for i, call in ipairs(reply.calls) do
    if call.name == self.agent.wire.ANSWER and self.want.schema then
      local why
      results[i], why = answered(self.want, call)
      value, problem = not why and value == nil and { call.input } or value, problem or why
    else
      tools[#tools + 1], places[#places + 1] = call, i
    end
  end
  if value and not reply.told then
    return results, nil, value -- tools that it called together with its answer are not performed: it has finished
  end
  local done, message = {}, nil
  if #tools > 0 then
    done, message = self.loop:perform(tools)
  end
  for k, i in ipairs(places) do
    results[i] = done and done[k]
  end
  return done and results, message, nil, problem
end

local function ended(agent, reply)
  if reply.stop == "refused" then
    return ("the model refused: %s"):format(reply.reason or "no reason given"), "permanent"
  elseif reply.stop == "length" then
    return ("its answer was cut off (%s); raise max_tokens%s"):format(reply.reason or "length",
      agent.max_tokens and (", now %d"):format(agent.max_tokens) or ""), "permanent"
  end
end

---@class skillrt.Turns: skillrt.Conversation  with a model
---@field talk skillrt.Talk
---@field loop skillrt.ToolLoop  performs the tools it calls
---@field want table             what an exchange asks for besides its turns
---@field count integer          of exchanges
local Turns = {}
Turns.__index = Turns

---@param ctx table
---@param task skillrt.Task
---@return skillrt.Turns|nil
---@return string? message
function M:conversation(ctx, task)
  local loop, message = tools_of.loop(self, ctx, task)
  if not loop then
    return nil, message
  end
  local talk = self:talk()
  talk:add({ role = "user", text = prompt.text(task) })
  return setmetatable({ agent = self, ctx = ctx, task = task, talk = talk, loop = loop, want = wanted(self, task),
    count = 0 }, Turns)
end

local function failed(message, class)
  return nil, { message = message, class = class or "permanent" }
end

-- One exchange with the model.
local function ask(self)
  local agent, message, class = self.agent
  if self.count == agent.max_turns then
    return failed(("gave no answer within %d exchanges (max_turns)"):format(agent.max_turns))
  end
  self.count = self.count + 1
  self.want.tools, message = self.loop:tools()
  if not self.want.tools then
    return failed(message)
  end
  local is_short, reply
  is_short, message, class = shorten(agent, self.ctx, self.talk, function(turns)
    return aside(self, turns)
  end)
  if is_short then
    reply, message, class = asked(self, self.talk)
  end
  if reply then
    message, class = ended(agent, reply)
  end
  if message then
    return failed(message, class)
  end
  self.talk:add({ role = "model", content = reply.content, empty = #reply.content == 0 })
  return reply
end

---Asks the model and performs the tools that it calls, until it answers.
function Turns:exchange()
  while true do
    local reply, failure = ask(self)
    if not reply then
      return nil, failure
    end
    local problem
    if #reply.calls > 0 then
      local results, why, value, wrong = perform_calls(self, reply)
      if value then
        return answer_of.value(value[1], self.task)
      elseif not results then
        return failed(why)
      end
      self.talk:add({ role = "results", results = results })
      problem = wrong
    end
    local more = self.loop:said(reply.text)
    if more then
      self.talk:add({ role = "user", text = more })
    end
    if reply.told then
      self.talk:add({ role = "user", text = reply.told })
    end
    if problem then
      return nil, { message = problem, class = "invalid_output", form = true, is_told = true }
    elseif not (more or reply.told) and #reply.calls == 0 and reply.stop ~= "pause" then
      return answer_of.text(reply.text, self.task, self.want.schema)
    end
  end
end

function Turns:repair(failure)
  if not failure.is_told then -- by the result of the tool that carried the answer
    local form = self.want.schema and "Give it as JSON that fits the schema, and nothing else."
      or prompt.return_format(self.task)
    local text = "Your answer cannot be used: %s.\nDo not do the work again; write your answer again.\n%s"
    self.talk:add({ role = "user", text = text:format(failure.message, form) })
  end
end

function Turns:go_on(said, text)
  local turns = self.talk.turns
  self.talk:add({ role = "user", text = turns[#turns].role == "model" and text or prompt.gone_on(said, text) })
end

function Turns:answered(_, answer)
  self.talk:add({ role = "user", text = asking.told(answer) })
end

return M
