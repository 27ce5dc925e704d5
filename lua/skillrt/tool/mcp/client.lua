-- tool/mcp/client.lua: a server of the Model Context Protocol as a step talks to it: a request is a call of the run;
-- what the server asks meanwhile is answered, and the answer to the request waited for again.
--
-- All that it does follows from what was recorded, so that a resume does the same. What a server says is data: it is
-- read here and nowhere obeyed. Knows ctx; how messages travel is stdio.lua's and http.lua's.

local inside = require("skillrt.base.inside")
local json = require("skillrt.base.json")
local messages = require("skillrt.tool.mcp.messages")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")
local stateless = require("skillrt.tool.mcp.stateless")

local M = {}

---@class skillrt.McpLive  what this process knows of a server; a resume begins without it
---@field place table?      where its program runs, filled in
---@field starts integer    how often it began
---@field ended boolean?     it broke off when it was last talked to
---@field changed integer   how often it said that its tools changed
---@field problem string?   why it cannot be talked to
---@field heard fun(message: any): boolean, any, string?  taken; of which request what is shown

---@class skillrt.McpClient
---@field ctx table
---@field server skillrt.McpServer
---@field live skillrt.McpLive
---@field capabilities table
---@field version string
---@field cwd string  the run's
local Client = {}

-- How often a call is made again that broke off while the server asked.
local MAX_AGAIN <const> = 20

function Client.__index(_, key)
  return Client[key] or require("skillrt.tool.mcp.methods")[key]
end

local NOTICE = {
  ["notifications/tools/list_changed"] = function(live) live.changed = live.changed + 1 end,
  ["notifications/progress"] = function(_, params)
    local done, total, text = params.progress, params.total, params.message
    local of = type(total) == "number" and (" of %.10g"):format(total) or ""
    local count = type(done) == "number" and ("%.10g%s"):format(done, of) or nil
    text = type(text) == "string" and record.printable(text:sub(1, 500)) or nil
    return params.progressToken, table.concat({ count or text or "...", count and text }, ": ") .. "\n"
  end,
}

-- Takes what is said unasked: nothing of it is recorded, and nothing waits for it.
local function live_of(server, all)
  local live = all[server.name]
  if not live then
    live = { starts = 0, changed = 0 }
    function live.heard(message)
      if type(message) == "table" and message.id == messages.OPENING then
        live.starts, live.ended, live.problem = live.starts + 1, false, messages.problem_of(message)
      elseif type(message) == "table" and NOTICE[message.method] then
        return true, NOTICE[message.method](live, type(message.params) == "table" and message.params or {})
      end
      return true
    end
    all[server.name] = live
  end
  return live
end

---@param ctx table
---@param server skillrt.McpServer
---@param more table  { live = table by server, version, cwd }
---@return skillrt.McpClient
function M.new(ctx, server, more)
  return setmetatable({ ctx = ctx, server = server, live = live_of(server, more.live), version = more.version,
    cwd = more.cwd, wire = require(server.argv and "skillrt.tool.mcp.stdio" or "skillrt.tool.mcp.http") }, Client)
end

---A message that names the server.
---@param text string  of string.format
---@return string
function Client:said(text, ...)
  return record.printable(("mcp %s: " .. text):format(self.server.name, ...))
end

-- It began too often, as one does that dies of each call.
local function problem_of(self)
  local live = self.live
  if live.problem == stateless.REFUSED or self.server.protocol == stateless.VERSION then
    return stateless.REFUSED
  end
  return live.problem and self:said("%s", live.problem)
    or live.ended and live.starts > self.server.max_restarts
      and self:said("began %d times in this run and ended each time (max_restarts)", live.starts)
end

local UNKNOWN <const> = { code = -32601, message = "not supported by this client" }

-- What tells a question from others: not what a server draws for each time that it asks.
local function key_of(question)
  local params = {}
  for name, value in pairs(type(question.params) == "table" and question.params or {}) do
    params[name] = name ~= "elicitationId" and name ~= "_meta" and value or nil
  end
  return json.encode({ question.method, params }, { sorted = true })
end

---What the server asks, answered: the text that goes back. Where a call is made again it is answered as before.
---@param question table
---@param call table
---@return string
function Client:answered(question, call)
  local answer = { jsonrpc = "2.0", id = question.id }
  local key = key_of(question)
  local known = call.known[key]
  local perform = require("skillrt.tool.mcp.answers").of(self.server, question.method)
  if question.method == "ping" then
    answer.result = {}
  elseif known then
    answer.result = known
  elseif perform then
    answer.result, answer.error = perform(self, question.params)
    call.known[key] = answer.result
  else
    answer.error = UNKNOWN
  end
  return assert(json.encode(answer, { sorted = true }))
end

-- What a request came to, once.
local function exchange(self, call)
  local answer, message, class = self.wire.exchange(self, call)
  return answer, message and self:said("%s", message), class
end

-- A call that broke off while the server asked: nobody knows whether it acted.
local function may_again(self, call, why)
  local answer = self.ctx.ask({
    header = "mcp " .. self.server.name,
    question = ("%s; %s may have been executed. Send it again?"):format(why, call.shown or call.method),
    options = { { id = "retry", description = "send it once more" }, { id = "fail", description = "it has failed" } },
  })
  return answer == "retry"
end

---Sends a message, again where a person says so who was asked about it: the message that answers it.
---@param call table
---@return table|nil answer
---@return string? message
---@return string? class
function Client:send(call)
  local answer, message, class = exchange(self, call)
  for _ = 1, MAX_AGAIN do
    if class ~= "lost" and not (class == "doubt" and may_again(self, call, message)) then
      break
    end
    answer, message, class = exchange(self, call)
  end
  return answer, message, (class == "doubt" or class == "lost") and "permanent" or class
end

---Asks the server for something: its result; or nil and why not.
---@param method string
---@param params table?
---@param options { timeout: number?, idempotent: boolean?, acts: boolean?, shown: string? }?
---@return table|nil result
---@return string? message
---@return string? class
function Client:request(method, params, options)
  local problem = inside.of(self.ctx).drawn(function() return problem_of(self) or "" end)
  if problem == stateless.REFUSED then
    return stateless.request(self, method, params, options)
  elseif problem ~= "" then
    return nil, problem, "permanent"
  end
  local id = ("%d-%s"):format(self.ctx.step, inside.of(self.ctx).place())
  local call = { method = method, params = params, known = {}, id = id }
  for key, value in pairs(options or {}) do
    call[key] = value
  end
  if call.progress then
    params._meta = { progressToken = call.id }
  end
  local answer, message, class = self:send(call)
  problem = (answer or class == "permanent")
    and inside.of(self.ctx).drawn(function() return self.live.problem or "" end) or ""
  if stateless.wanted(answer) or problem == stateless.REFUSED and not (answer and answer.result) then
    return stateless.request(self, method, params, options)
  elseif problem ~= "" and problem ~= stateless.REFUSED then
    return nil, self:said("%s", problem), "permanent"
  elseif not answer then
    return nil, message, class
  end
  return self:result_of(answer)
end

---What a message that answers gives; nil and why it gives nothing.
---@param answer table
---@return table|nil result
---@return string? message
---@return string? class
function Client:result_of(answer)
  if type(answer.result) == "table" then
    return answer.result
  end
  local why = type(answer.error) == "table" and answer.error.message
  why = why or "its answer has neither a result nor an error"
  return nil, self:said("%s", names.said(why)), "permanent"
end

return M
