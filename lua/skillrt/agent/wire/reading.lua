-- agent/wire/reading.lua: reads a provider's reply, whole or as a stream of events. A reply that is no JSON, reports
-- an error, has another shape or ended too early is no answer. Its wire reads what it says.
--
-- Pure. Called by the wires.

local condition = require("skillrt.agent.condition")
local extract = require("skillrt.agent.extract")
local fatal = require("skillrt.base.fatal")
local json = require("skillrt.base.json")
local tables = require("skillrt.base.tables")

local M = {}

---What a model is told of a tool's result, where its API has no field for an error.
---@param result { text: string, is_error: boolean? }
---@return string
function M.told(result)
  local text = result.text:find("%S") and result.text or "(nothing)"
  return result.is_error and "Error: " .. text or text
end

-- ---- schemas ----

local TAKEN = {}
for word in ([[type properties required additionalProperties items enum const anyOf $ref $defs description title
  minimum maximum minItems maxItems pattern]]):gmatch("%S+") do
  TAKEN[word] = true
end

local function is_closed(schema)
  if schema.additionalProperties ~= false then
    return false
  end
  local required = tables.set(schema.required or {})
  for name in pairs(schema.properties or {}) do
    if not required[name] then
      return false
    end
  end
  return true
end

local function each_inner(schema, fits)
  for _, key in ipairs({ "properties", "$defs" }) do
    for _, inner in pairs(schema[key] or {}) do
      if not fits(inner) then
        return false
      end
    end
  end
  for _, inner in ipairs(schema.anyOf or {}) do
    if not fits(inner) then
      return false
    end
  end
  return type(schema.items) ~= "table" or fits(schema.items)
end

local function fits(schema)
  for key in pairs(schema) do
    if not TAKEN[key] then
      return false
    end
  end
  return (schema.type ~= "object" or is_closed(schema)) and each_inner(schema, fits)
end

---Whether a provider can enforce a schema strictly: every object closed, all fields required, and no keyword that
---strict output rejects.
---@param schema table
---@return boolean
function M.is_strict(schema)
  return schema.type == "object" and fits(schema)
end

---What the data of an event adds to the text, for people who watch.
---@param mark string  what stands in the data of such events
---@param text_of fun(event: table): any  may raise: then the event is another one
---@return fun(data: string): string|nil
function M.shown(mark, text_of)
  return function(data)
    local ok, text = pcall(text_of, data:find(mark, 1, true) and json.decode(data))
    return ok and type(text) == "string" and text or nil
  end
end

---@class skillrt.Reading  what differs between providers; any function may raise: then the reply has another shape
---@field new fun(): table                          what has been read so far
---@field event fun(self: table, event: table)      takes an event of a stream
---@field whole fun(self: table, object: table)     takes a reply that is not a stream
---@field is_over fun(self: table): any             whether nothing is missing
---@field said fun(self: table): skillrt.ModelReply|nil, skillrt.Failure?

-- The error that a provider's object reports.
local function error_in(object)
  local given = object.error
  if type(given) == "table" or type(given) == "string" then
    return condition.of(given)
  end
  return object.type == "error" and condition.of(object) or nil
end

local function guarded(act, ...)
  local ok, value, failure = pcall(act, ...)
  if ok then
    return value, failure
  end
  fatal.pass_on(value)
  return nil, condition.broken("the reply has an unexpected form")
end

local function take(self, act, text)
  local object, why = json.decode(text)
  if type(object) ~= "table" then
    return condition.broken("the reply is not a JSON object: " .. tostring(why))
  end
  return error_in(object) or select(2, guarded(act, self, object))
end

---What reads the replies of a provider.
---@param how skillrt.Reading
---@return fun(reply: table): skillrt.ModelReply|nil, skillrt.Failure?
function M.of(how)
  return function(reply)
    local self, act, list, cut = how.new(), how.whole, { reply.body or "" }, nil
    if extract.is_stream(reply.extra) then
      act, list, cut = how.event, extract.events(list[1])
    end
    for _, text in ipairs(list or {}) do
      if text:find("^%s*%[DONE%]") then
        break
      end
      local failure = take(self, act, text)
      if failure then
        return nil, failure
      end
    end
    if not list or not how.is_over(self) then
      return nil, condition.broken(type(cut) == "string" and cut or cut and "the stream was cut inside an event"
        or "the reply ended before it was complete")
    end
    return guarded(how.said, self)
  end
end

return M
