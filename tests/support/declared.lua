-- declared.lua: whether a record says nothing but what its type declares (lua/skillrt/run/record/<type>.lua).
--
-- declared(record) raises where it does not. Used by all that reads journals in tests.
local json = require "skillrt.base.json"
local record_of = require "skillrt.run.record"

local IS = {
  string = function(value) return type(value) == "string" end,
  boolean = function(value) return type(value) == "boolean" end,
  integer = function(value) return math.type(value) == "integer" end,
  number = function(value) return type(value) == "number" end,
  table = function(value) return type(value) == "table" end,
  list = function(value) return type(value) == "table" and (json.is_array(value) or next(value) == nil) end,
  any = function() return true end,
}

local common = record_of.rows(record_of.COMMON)
local rows_of = {} -- by type

return function(record)
  local kind = assert(record_of.of(record.t), "no type of records: " .. tostring(record.t))
  local rows, known = rows_of[record.t] or record_of.rows(kind.fields), {}
  rows_of[record.t] = rows
  for _, list in ipairs { common, rows } do
    for _, row in ipairs(list) do
      local value, name = record[row.name], ("%s.%s"):format(record.t, row.name)
      known[row.name] = true
      if value == nil then
        assert(row.may_be_absent or row.name == "t" or row.name == "at", name .. " is not there")
      else
        assert(IS[row.type], name .. ": its type is unknown: " .. row.type)
        assert(IS[row.type](value), ("%s is no %s: %s"):format(name, row.type, json.encode(value)))
      end
    end
  end
  for name in pairs(record) do
    assert(known[name], ("run/record/%s.lua does not declare the field %s"):format(record.t, name))
  end
  return record
end
