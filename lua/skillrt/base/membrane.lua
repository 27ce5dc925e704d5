-- base/membrane.lua: passes values between two processes that use each other's functions: what can be copied is
-- copied, everything else is passed by number and freed when the receiver has dropped it.
--
-- Both sides have one. Knows no skills and no processes; csrc/lua/bind_pack.c encodes the bytes.

local core = require("skillrt.core")
local json = require("skillrt.base.json")
local readonly = require("skillrt.base.readonly")

local M = {}

---Starts the child of a program.
M.start = core.guest.start

---@class skillrt.Membrane
---@field ours table<integer, any>  what the other side may use, by number
---@field freed integer[]           numbers of the other side that we dropped; it is told with the next message
---@field lasts table<function, integer>  functions that are never freed
local Membrane = {}
Membrane.__index = Membrane

-- If the other side holds more of ours, that is a leak or an attack.
local MOST <const> = 100000

-- Stored with the stand-in for a thing of the other side.
local TOKEN <const> = { __gc = function(token)
  local freed = token[1].freed
  freed[#freed + 1] = token[2]
end }

---The numbers of what call n was given: it has them while it runs, and nobody frees them.
---@param call integer
---@return integer state
---@return integer ctx
function M.numbers_of(call)
  return -2 * call, -2 * call - 1
end

---The call that was given what has this number, and whether that is its state (else its ctx); nil: none was.
---@param number any  as it was said
---@return integer? call
---@return boolean? is_state
function M.call_of(number)
  if math.type(number) == "integer" and number < 0 then
    return -number // 2, number % 2 == 0
  end
end

---@param make fun(letter: string, number: integer): any  makes the stand-in for a thing of the other side: "f" a
---  function, "o" an object, "v" a view of an object, "a" a view of a list
---@param plain fun(value: any): table?  a table that is sent instead of one that cannot be copied
---@param given { number: nil|fun(value: any): integer?, value: nil|fun(number: integer): any }  what calls were given:
---  the side that was given it knows its number, the other one its value
---@return skillrt.Membrane
function M.new(make, plain, given)
  local tokens = setmetatable({}, { __mode = "k" })
  local self = setmetatable({ ours = {}, freed = {}, lasts = {}, count = 0, used = 0 }, Membrane)
  local given_number, given_value = given.number, given.value
  function self.name(value)
    local number = tokens[value] and tokens[value][2] or given_number and given_number(value)
    if number then
      return "b", number
    end
    number = self.lasts[value]
    if number then
      return "f", number
    elseif type(value) == "function" then
      return "f", self:register(value)
    end
    local instead = plain(value)
    if instead then
      return instead
    end
    return readonly.is(value) and (json.is_array(value) and "a" or "v") or "o", self:register(value)
  end
  function self.value(letter, number)
    if letter == "b" then
      return number < 0 and given_value and given_value(number) or self.ours[number]
    end
    local value = make(letter, number)
    tokens[value] = setmetatable({ self, number }, TOKEN)
    return value
  end
  return self
end

---A number for what the other side may use.
---@param value any
---@param lasts boolean?
---@return integer
function Membrane:register(value, lasts)
  self.count, self.used = self.count + 1, self.used + 1
  assert(self.used < MOST, "too much is held at once")
  self.ours[self.count] = value
  if lasts then
    self.lasts[value] = self.count
  end
  return self.count
end

---The other side has dropped these.
---@param numbers table  as it was said
function Membrane:free(numbers)
  for _, number in ipairs(numbers) do
    local value = self.ours[number]
    if value ~= nil and not self.lasts[value] then
      self.ours[number], self.used = nil, self.used - 1
    end
  end
end

---The bytes of a message; it also lists what we dropped.
function Membrane:pack(...)
  local freed = self.freed
  if not freed[1] then
    return core.guest.pack(self.name, nil, ...)
  end
  self.freed = {}
  return core.guest.pack(self.name, freed, ...)
end

local function taken(self, freed, ...)
  if type(freed) == "table" then
    self:free(freed)
  end
  return ...
end

---The content of a message.
---@param text string
function Membrane:unpack(text)
  return taken(self, core.guest.unpack(self.value, text))
end

return M
