-- cli/acp.lua: the Agent Client Protocol (version 1), as an agent: an editor's prompt starts a run of a skill; the
-- run's lines and questions go to the editor.
--
-- Takes lines and returns lines; never waits. Called by cli/command/acp.lua.

local core = require("skillrt.core")
local cut = require("skillrt.base.text").cut
local elicitation = require("skillrt.cli.mcp.elicitation")
local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local names = require("skillrt.base.names")
local output = require("skillrt.report.output")
local open_questions = require("skillrt.run.books.questions")
local runs_of = require("skillrt.cli.serving.runs")

local M = {}

M.LONGEST = 4 << 20 -- maximal bytes of a line

local PARSE <const>, INVALID <const>, NO_METHOD <const>, PARAMS <const> = -32700, -32600, -32601, -32602
local MOST <const> = 64 -- sessions

---@class skillrt.cli.Acp
---@field served table                   { runs, skills } of serving/options.lua
---@field sessions table<string, table>  { id, turn: the prompt under way: { id, follow }, asked: the question that
---  the next prompt answers }
---@field sent table<string, table>      by the id of our own request: { session, question }
local Acp = {}
Acp.__index = Acp

---@return skillrt.cli.Acp
function M.new(served)
  return setmetatable({ served = served, sessions = {}, sent = {}, count = 0, last = 0, open = true }, Acp)
end

function Acp:say(message)
  message.jsonrpc = "2.0"
  self.open = core.terminal.write(1, assert(json.encode(message)) .. "\n") == true and self.open
end

function Acp:refuse(id, code, message)
  self:say({ id = id == nil and json.null or id, error = { code = code, message = message } })
end

function Acp:update(session, update)
  self:say({ method = "session/update", params = { sessionId = session.id, update = update } })
end

local function show(self, session, kind, text)
  self:update(session, { sessionUpdate = kind, content = { type = "text", text = text } })
end

-- Ends the turn of a prompt.
local function finish(self, session, reason, text)
  if text then
    show(self, session, "agent_message_chunk", text)
  end
  self:say({ id = session.turn.id, result = { stopReason = reason } })
  session.turn = nil
end

-- Asks the person at the editor to choose; a question without options is answered by the next prompt.
local function ask(self, session, one)
  local question, options = one.question, json.array({})
  local text = table.concat({ question.question, question.detail }, "\n")
  for i, option in ipairs(question.options or {}) do
    options[i] = { optionId = tostring(option.id), name = tostring(option.label or option.id),
      kind = (option.id == "deny" or option.id == "fail") and "reject_once" or "allow_once" }
  end
  if not options[1] or question.multiple then
    session.asked = { dir = session.turn.follow.dir, q = one.q }
    return finish(self, session, "end_turn", text)
  end
  self.last = self.last + 1
  local id = "skillrt-" .. self.last
  self.sent[id], session.turn.asking = { session = session, one = one }, id
  show(self, session, "agent_message_chunk", text)
  self:say({ id = id, method = "session/request_permission", params = { sessionId = session.id, options = options,
    toolCall = { toolCallId = ("question %d"):format(one.q), title = tostring(question.question), kind = "other",
      status = "pending", content = json.array({ { type = "content",
        content = { type = "text", text = text } } }) } } })
end

-- How a run ended, in words.
local function outcome(told)
  local outputs, result = told.state and told.state.outputs or {}, told.state and told.state.result
  local parts = { result ~= nil and output.answer(result) or nil }
  for _, name in ipairs(names.sorted(outputs)) do
    parts[#parts + 1] = output.answer(outputs[name])
  end
  local more = told.message and ": " .. told.message or ""
  parts[#parts + 1] = ("%s (%s)%s"):format(told.status, tostring(told.reason), more)
  if told.status ~= "completed" then
    parts[#parts + 1] = ("It is %s"):format(told.dir)
  end
  return table.concat(parts, "\n\n")
end

-- The run of a session's turn has stopped or waits.
local function stands(self, session)
  local follow, turn = session.turn.follow, session.turn
  local books, why = look.books(follow.dir)
  if not books then
    local said = follow.program and runs_of.said(follow.program) or ""
    return finish(self, session, turn.is_cancelled and "cancelled" or "end_turn", said ~= "" and said or tostring(why))
  elseif turn.is_cancelled then
    return finish(self, session, "cancelled")
  end
  local one = open_questions.list(books)[1]
  if one then
    return ask(self, session, one)
  end
  finish(self, session, "end_turn", outcome(assert(self.served.runs:stands(follow.id, follow.dir))))
end

-- Answers a question, then follows the run again.
local function answer(self, session, dir, one, value)
  local runs, program = self.served.runs, nil
  local ok, why = elicitation.answer(dir, one.q, value, one.approval)
  if ok then
    program, why = runs:go_on(dir)
  end
  if why then
    return finish(self, session, "end_turn", why)
  end
  session.turn.follow = runs_of.follow(require("skillrt.run.store").name(dir), dir, program)
end

local METHODS = {}

function METHODS.initialize()
  return { protocolVersion = 1, agentInfo = { name = "skillrt", title = "skillrt", version = core.version },
    authMethods = json.array({}),
    agentCapabilities = { loadSession = false, promptCapabilities = { embeddedContext = true } } }
end

METHODS["session/new"] = function(self)
  if self.count >= MOST then
    return nil, INVALID, ("%d sessions are open, which is the maximum"):format(self.count)
  end
  local session = { id = core.uuid() }
  self.sessions[session.id], self.count = session, self.count + 1
  return { sessionId = session.id }, nil, nil, function()
    local commands = json.array({})
    for i, one in ipairs(self.served.skills) do
      commands[i] = { name = one.name, description = "runs the skill " .. one.name,
        input = { hint = "what it is to do" } }
    end
    self:update(session, { sessionUpdate = "available_commands_update", availableCommands = commands })
  end
end

-- The text of a prompt.
local function words_of(prompt)
  local parts = {}
  for _, block in ipairs(type(prompt) == "table" and prompt or {}) do
    local resource = type(block) == "table" and type(block.resource) == "table" and block.resource.text
    local text = type(block) == "table" and (block.text or resource or block.uri)
    parts[#parts + 1] = type(text) == "string" and text or nil
  end
  return table.concat(parts, "\n")
end

METHODS["session/prompt"] = function(self, params, id)
  local session = self.sessions[params.sessionId]
  if not session or session.turn then
    return nil, PARAMS, session and "a prompt of this session is under way" or "there is no such session"
  end
  local text, asked = words_of(params.prompt), session.asked
  session.turn, session.asked = { id = id }, nil
  if asked then
    answer(self, session, asked.dir, asked, text)
    return
  end
  local name, task = text:match("^/(%S+)%s*(.*)$")
  local skill = self.served.skills[name or 1]
  if type(skill) ~= "table" or not name and self.served.skills[2] then
    local list = {}
    for i, one in ipairs(self.served.skills) do
      list[i] = "/" .. one.name
    end
    return finish(self, session, "end_turn", "Say which skill: " .. names.listed(list, 20))
  end
  task = task or text
  local run, program = self.served.runs:begin(skill, { input = { task = task:find("%S") and task or nil } })
  if not run then
    return finish(self, session, "end_turn", program --[[@as string]])
  end
  local dir = require("skillrt.run.store").inside(self.served.runs.where, run)
  session.turn.follow = runs_of.follow(run, dir, program --[[@as table]], true)
end

-- The person cancels a turn: its run stops and can be resumed.
local function cancel(self, params)
  local session = self.sessions[params.sessionId]
  local turn = session and session.turn
  if turn and turn.asking then
    self.sent[turn.asking] = nil
    finish(self, session, "cancelled")
  elseif turn then
    turn.is_cancelled = true
    self.served.runs:stop(turn.follow.dir)
  end
end

-- What the person chose.
local function chosen(self, message)
  local sent = self.sent[message.id]
  if not sent then
    return
  end
  self.sent[message.id], sent.session.turn.asking = nil, nil
  local outcome_of = type(message.result) == "table" and message.result.outcome
  if type(outcome_of) ~= "table" or outcome_of.outcome ~= "selected" then
    return finish(self, sent.session, "cancelled")
  end
  answer(self, sent.session, sent.session.turn.follow.dir, { q = sent.one.q, approval = sent.one.question.approval },
    outcome_of.optionId)
end

---A line from the editor.
---@param text string|nil  nil: it was too long
function Acp:take(text)
  local message, why = json.decode(text or "")
  if not text or message == nil then
    return (not text or text:find("%S")) and self:refuse(nil, PARSE, tostring(why))
  elseif not json.is_object(message) or message.jsonrpc ~= "2.0" then
    return self:refuse(nil, INVALID, "not a JSON-RPC 2.0 message")
  end
  local id, params = message.id, json.is_object(message.params) and message.params or {}
  if type(message.method) ~= "string" then
    return chosen(self, message)
  elseif id == nil then
    return message.method == "session/cancel" and cancel(self, params)
  end
  local method = METHODS[message.method]
  if not method then
    return self:refuse(id, NO_METHOD, ("there is no method %s"):format(cut(message.method, 100)))
  end
  local value, code, problem, behind = method(self, params, id)
  if value then
    self:say({ id = id, result = value })
  elseif code then
    self:refuse(id, code, problem)
  end
  if behind then
    behind()
  end
end

---Advances the runs of all turns.
---@return boolean busy  a turn is under way
function Acp:advance()
  local busy = false
  for _, session in pairs(self.sessions) do
    local turn = session.turn
    if turn and not turn.asking and turn.follow:advance(function(line)
      show(self, session, "agent_thought_chunk", line .. "\n")
    end) then
      stands(self, session)
    end
    busy = busy or session.turn ~= nil and not session.turn.asking
  end
  return busy
end

return M
