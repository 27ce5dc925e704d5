-- run/record.lua: the types of records: each is the file record/<type>.lua, found by its name and loaded on first
-- use.
--
-- A type says which fields its records have, what they change in the books, and how people, reports and logs show
-- them. Knows no type. Called by books.lua, story.lua and whatever shows records.

local json = require("skillrt.base.json")

local M = {}

---@class skillrt.RecordType
---@field doc string       what happened
---@field fields string    a row for each field: its name, its type ("?" after it: it may be absent), its description
---@field of_step boolean|nil  it belongs to an open step, and means nothing without it
---@field beyond string|nil  why a replay ends before it
---@field apply fun(books: skillrt.Books, record: table, whole: skillrt.Books, seq: integer|nil): skillrt.Books|nil
---  changes the books: of the run or sub-run that it belongs to (`books`), and of the run (`whole`); `seq`: its
---  number in the journal, if it is read back. Returns the books of a scope that starts with it
---@field line (fun(lines: skillrt.report.Lines, record: table, step: table|nil, books: skillrt.Books|nil))|nil  shows
---  it to people
---@field story (fun(story: skillrt.Story, record: table, step: skillrt.story.Step|nil))|nil
---@field log (fun(record: table, step: skillrt.story.Step|nil): string|nil, string|nil, table|nil)|nil
---       a line of the JSON log: its level, message and fields
---@field point (fun(record: table): table|false|nil)|nil  a place that a person may return to: what, name, text

---Fields that any record may have.
M.COMMON = [[
  t string its type
  at integer UTC ms
  start table? the start of its step, of which it is the first record
  rec table? what the step's function drew since the record before, by place
  arrival string? the id under which what it tells of came
  move table? of a machine: from one state to another
  blobs list? digests of values over 64 KiB
]]

---The types by name; false: there is none of this name.
---@type table<string, skillrt.RecordType|false>
M.types = setmetatable({}, { __index = function(types, name)
  local path = "skillrt.run.record." .. name
  local ok, found = pcall(require, path)
  if not ok and not tostring(found):find(("module '%s' not found"):format(path), 1, true) then
    error(found, 0)
  end
  types[name] = ok and found
  return types[name]
end })

---The rows of a type's fields.
---@param text string
---@return { name: string, type: string, may_be_absent: boolean, doc: string }[]
function M.rows(text)
  local rows = {}
  for line in text:gmatch("[^\n]+") do
    local name, kind, absent, doc = line:match("^ +([%w_]+) (%l+)(%??) ?(.*)$")
    if name then
      rows[#rows + 1] = { name = name, type = kind, may_be_absent = absent ~= "" or kind == "any", doc = doc }
    end
  end
  return rows
end

local math_type <const> = math.type

-- The types that neither type() nor math.type() names.
local IS <const> = {
  list = function(value) return type(value) == "table" and (json.is_array(value) or next(value) == nil) end,
  any = function() return true end,
}

-- What the fields of a type are; nil: there is none of this name.
---@type table<string, { types: table<string, string>, required: string[] }?>
local declared_by_type = setmetatable({}, { __index = function(declared_by_type, name)
  local kind = name:find("^%l+$") and M.types[name]
  if not kind then
    return nil
  end
  local declared = { types = {}, required = {} }
  for _, text in ipairs({ M.COMMON, kind.fields }) do
    for _, row in ipairs(M.rows(text)) do
      declared.types[row.name] = row.type
      declared.required[#declared.required + 1] = not row.may_be_absent and row.name ~= "at" and row.name or nil
    end
  end
  declared_by_type[name] = declared
  return declared
end })

---A field that a record has and its type does not declare, or that is required and missing; nil: none.
---@param record any
---@return string|nil
function M.problem_of(record)
  local name = type(record) == "table" and record.t
  if type(name) ~= "string" then
    return "it has no type"
  end
  local declared = declared_by_type[name]
  if not declared then
    return ("its type %q is unknown"):format(name)
  end
  local types, required = declared.types, declared.required
  for field, value in next, record do
    local wanted = types[field]
    if not wanted then
      return ("a record `%s` has no field %s"):format(name, tostring(field))
    elseif wanted ~= type(value) and wanted ~= math_type(value) and not (IS[wanted] and IS[wanted](value)) then
      return ("the field %s of a record `%s` must be of the type %s"):format(field, name, wanted)
    end
  end
  for i = 1, #required do
    if record[required[i]] == nil then
      return ("a record `%s` must have the field %s"):format(name, required[i])
    end
  end
end

---The start of a step that a record carries, as a record of its own: watchers see both.
---@param record table
---@return table|nil start
function M.start_in(record)
  local start = record.start
  if start then
    start.t, start.step = "start", record.step
  end
  return start
end

---The parts of a record, one after the other.
---@param record table  its start is removed
---@param take fun(record: table, ...: any): any
---@return any of_the_last
function M.each(record, take, ...)
  local start = M.start_in(record)
  if start then
    record.start = nil
    take(start, ...)
  end
  return take(record, ...)
end

return M
