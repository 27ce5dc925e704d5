-- tool/mcp/client.lua: an MCP server as a step uses it: a request is a call of the run; the server's own requests
-- meanwhile are answered, and the answer to the request is awaited again.
--
-- Everything it does follows from what was recorded, so a resume does the same. A server's words are data: they are
-- read here and obeyed nowhere. Knows ctx; stdio.lua and http.lua transport messages.

local content = require("skillrt.tool.mcp.content")
local cut = require("skillrt.base.text").cut
local privileges = require("skillrt.base.privileges")
local json = require("skillrt.base.json")
local messages = require("skillrt.tool.mcp.messages")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")
local stateless = require("skillrt.tool.mcp.stateless")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.McpLive  what this process knows of a server; a resume starts without it
---@field place table?      where its program runs, filled in
---@field starts integer    how often it was started
---@field ended boolean?     its last exchange broke off
---@field changed integer   how often it reported that its tools changed
---@field problem string?   why it cannot be used
---@field heard fun(message: any): boolean, any, string?  takes a message; returns which request its progress belongs to

---@class skillrt.McpClient
---@field ctx table
---@field server skillrt.McpServer
---@field live skillrt.McpLive
---@field capabilities table
---@field version string
---@field cwd string  the run's
local Client = {}

-- How often a call is repeated that broke off while the server asked.
local MAX_AGAIN <const> = 20

Client.__index = Client

local MAX_PAGES <const>, MAX_ITEMS <const> = 200, 2000

-- Requests that only read.
local READS <const> = { idempotent = true, acts = false }

local NOTICE = {
  ["notifications/tools/list_changed"] = function(live) live.changed = live.changed + 1 end,
  ["notifications/progress"] = function(_, params)
    local done, total, text = params.progress, params.total, params.message
    local of = type(total) == "number" and (" of %.10g"):format(total) or ""
    local count = type(done) == "number" and ("%.10g%s"):format(done, of) or nil
    text = type(text) == "string" and record.printable(cut(text, 500)) or nil
    return params.progressToken, table.concat({ count or text or "...", count and text }, ": ") .. "\n"
  end,
}

-- Takes unrequested messages: none is recorded, and nothing waits for them.
local function live_of(server, all)
  local live = all[server.name]
  if not live then
    live = { starts = 0, changed = 0 }
    function live.heard(message)
      if type(message) == "table" and message.id == messages.OPENING then
        live.starts, live.ended, live.problem = live.starts + 1, false, messages.problem_of(message)
      elseif type(message) == "table" and NOTICE[message.method] then
        return true, NOTICE[message.method](live, tables.object(message.params))
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

---The client of a server for a step: of one by its name, or by its declaration.
---@param ctx table
---@param server skillrt.McpServer|string
---@param task { mcp: skillrt.McpTask }
---@return skillrt.McpClient|nil
---@return string? message
function M.find(ctx, server, task)
  local known = task.mcp
  if type(server) == "string" then
    local found = known.servers[server]
    if not found then
      return nil, ("there is no mcp server %s%s"):format(names.show(server), names.suggest(server, known.servers))
    end
    server = found
  end
  return M.new(ctx, server, known)
end

---A message that names the server.
---@param text string  of string.format
---@return string
function Client:said(text, ...)
  return record.printable(("mcp %s: " .. text):format(self.server.name, ...))
end

-- It was started too often, like one that dies of each call.
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

-- The identity of a question, without what a server draws anew each time that it asks.
local function key_of(question)
  local params = {}
  for name, value in pairs(tables.object(question.params)) do
    params[name] = name ~= "elicitationId" and name ~= "_meta" and value or nil
  end
  return json.encode({ question.method, params }, { sorted = true })
end

---The reply to the server's question: the text that is sent back. A repeated call gets the same one.
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

-- The result of a request, once.
local function exchange(self, call)
  local answer, message, class = self.wire.exchange(self, call)
  return answer, message and self:said("%s", message), class
end

-- A call that broke off while the server asked: its outcome is unknown.
local function may_again(self, call, why)
  local answer = self.ctx.ask({
    header = "mcp " .. self.server.name,
    question = ("%s; %s may have been executed. Send it again?"):format(why, call.shown or call.method),
    options = { { id = "retry", description = "send it once more" }, { id = "fail", description = "it has failed" } },
  })
  return answer == "retry"
end

---Sends a message, again if a person who was asked says so; returns the message that answers it.
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

---Sends a request to the server: returns its result; or nil and why not.
---@param method string
---@param params table?
---@param options { timeout: number?, idempotent: boolean?, acts: boolean?, shown: string? }?
---@return table|nil result
---@return string? message
---@return string? class
function Client:request(method, params, options)
  local problem = privileges.of(self.ctx).drawn(function() return problem_of(self) or "" end)
  if problem == stateless.REFUSED then
    return stateless.request(self, method, params, options)
  elseif problem ~= "" then
    return nil, problem, "permanent"
  end
  local id = ("%d-%s"):format(self.ctx.step, privileges.of(self.ctx).place())
  local call = { method = method, params = params, known = {}, id = id }
  tables.fill(call, options)
  if call.progress then
    params._meta = { progressToken = call.id }
  end
  local answer, message, class = self:send(call)
  problem = (answer or class == "permanent")
    and privileges.of(self.ctx).drawn(function() return self.live.problem or "" end) or ""
  if stateless.wanted(answer) or problem == stateless.REFUSED and not (answer and answer.result) then
    return stateless.request(self, method, params, options)
  elseif problem ~= "" and problem ~= stateless.REFUSED then
    return nil, self:said("%s", problem), "permanent"
  elseif not answer then
    return nil, message, class
  end
  return self:result_of(answer)
end

---The result in an answer; or nil and why there is none.
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

-- ---- what a script may request from a server ----

-- All that the server lists, page by page; `field` of a page holds its items.
local function pages(client, method, field)
  local out, cursor, seen = {}, nil, {}
  for _ = 1, MAX_PAGES do
    local page, message, class = client:request(method, cursor and { cursor = cursor } or {}, READS)
    if not page then
      return nil, message, class
    end
    for _, one in ipairs(tables.object(page[field])) do
      out[#out + 1] = type(one) == "table" and one or nil
    end
    cursor = page.nextCursor
    if type(cursor) ~= "string" or #out > MAX_ITEMS then
      return table.move(out, 1, math.min(#out, MAX_ITEMS), 1, {})
    elseif seen[cursor] then
      break
    end
    seen[cursor] = true
  end
  return nil, ("mcp %s: its list of %s has no end"):format(client.server.name, field), "permanent"
end

---The tools of the server, as it lists them.
---@return table[]|nil tools
---@return string? message
---@return string? class
function Client:tools()
  local list, message, class = pages(self, "tools/list", "tools")
  local out = {}
  for _, one in ipairs(list or {}) do
    out[#out + 1] = type(one.name) == "string" and one or nil
  end
  return list and out, message, class
end

---Calls a tool by the server's own name: returns its text, and its whole result; or nil, message and class.
---@param name string
---@param arguments table?
---@param options { timeout: number?, idempotent: boolean?, acts: boolean?, input: table? }?
---@return string|nil text
---@return any result_or_message
---@return string? class
function Client:call(name, arguments, options)
  local all = { shown = "tools/call " .. name }
  tables.fill(all, options)
  all.progress = true
  local result, message, class = self:request("tools/call", { name = name, arguments = arguments or {} }, all)
  if not result then
    return nil, message, class
  end
  local text = content.text(result.content, result.structuredContent)
  if result.isError == true then
    return nil, record.printable(text), "permanent"
  end
  return text, result
end

---The resources of the server: { uri, name, description, mimeType } each.
function Client:resources()
  return pages(self, "resources/list", "resources")
end

---The text of a resource, and its contents as they came.
---@param uri string
function Client:read(uri)
  local result, message, class = self:request("resources/read", { uri = uri }, READS)
  if not result then
    return nil, message, class
  end
  local parts = {}
  for i, one in ipairs(tables.object(result.contents)) do
    parts[i] = content.of_resource(one)
  end
  return table.concat(parts, "\n"), result.contents
end

---The prompts of the server: { name, description, arguments } each.
function Client:prompts()
  return pages(self, "prompts/list", "prompts")
end

---A prompt filled in: its text, and its messages as they came.
---@param name string
---@param arguments table?
function Client:prompt(name, arguments)
  local result, message, class = self:request("prompts/get", { name = name, arguments = arguments or {} }, READS)
  if not result then
    return nil, message, class
  end
  local parts = {}
  for i, one in ipairs(tables.object(result.messages)) do
    parts[i] = type(one) == "table" and content.text({ one.content }) or ""
  end
  return table.concat(parts, "\n\n"), result.messages
end

return M
