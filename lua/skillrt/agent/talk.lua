-- agent/talk.lua: a talk with a model as it is sent: each turn is written once, as JSON, and a request is put together
-- of these texts. What a request declares is known by the digest of the turns before and of the new ones alone, so
-- that an exchange costs the same at the end of a long talk as at its start, but for what is sent.
--
-- How a provider writes turns is its wire's. Pure; keeps nothing in files.

local json = require("skillrt.base.json")

local M = {}

---@class skillrt.Chain  what is declared of a body: run/call/call.lua hashes each text once
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

-- A message behind the others, or in place of the last one.
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

-- Written anew from its turns.
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

---@param agent table
---@return skillrt.Talk
function M.new(agent)
  local self = setmetatable({ agent = agent, wire = agent.wire, ids = {}, calls = 0 }, Talk)
  write(self, {})
  return self
end

---@param turn skillrt.Turn
function Talk:add(turn)
  self.turns[#self.turns + 1] = turn
  local messages, merged = self.wire.turned(turn, self.last)
  for i, message in ipairs(messages) do
    put(self, message, merged and i == 1)
  end
end

---Gives every tool call of a reply an id of its own, and a name that may be sent back, whatever the server wrote.
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

---Other turns in place of all that there are.
---@param turns skillrt.Turn[]
function Talk:replace(turns)
  write(self, turns)
end

-- All that is sent, copied once: the head stands before the first text and the tail behind the last, which also have
-- the marks of a provider's cache. `parts` is kept from one request to the next.
local function sent(self, head, tail)
  local texts, parts, count = self.texts, self.parts, #self.texts
  for i = self.joined, count do -- what was the last, and what has come since
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

-- The head with a mark of the provider's cache, made once for each that is declared.
local function marked(self, body, head)
  if self.head ~= head then
    local copy = self.wire.mark_head and self.wire.mark_head(self.agent, body)
    self.head, self.marked_head = head, copy and encoded(copy) or head
  end
  return self.marked_head
end

---The body of the next request, and what is declared of it, without marks.
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

return M
