-- skill/question.lua: a question to a person, and which values answer it.
--
-- Pure. A question offers options, or accepts a text; it is the same whoever asks: a step, a call with an unknown
-- outcome, a strategy.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local trim = require("skillrt.base.text").trim

local M = {}

---The fields of a question.
M.FIELDS = {
  header = { type = "text" },
  question = { type = "text", required = true },
  options = { type = "table" },
  multiple = { type = "boolean" }, -- the answer is a list of options (R204)
  text = { type = "boolean" },
  edit = { type = "string" },
  default = {},
  detail = { type = "string" }, -- shown in full below the question
  approval = { type = "text" }, -- the digest of what is approved (run/approval.lua)
}

local OPTION <const> = {
  id = { type = { "text", "integer" }, required = true },
  label = { type = "text" },
  description = { type = "string" },
}

local function options_of(given)
  local list, seen = json.array({}), {}
  for i, one in ipairs(given) do
    local option, message = schema.record(type(one) == "table" and one or { id = one }, OPTION,
      ("its option %d"):format(i))
    if not option then
      return nil, message
    elseif seen[option.id] then
      return nil, ("its options %d and %d are the same: %s"):format(seen[option.id], i, names.show(option.id))
    end
    seen[option.id] = i
    list[i] = { id = option.id, label = option.label or tostring(option.id), description = option.description }
  end
  if #list == 0 then
    return nil, "its options are an empty list; leave them out to take a text"
  end
  return list
end

---A question of a script in its normal form.
---@param given table  { header, question, options | text | edit, default }
---@return table|nil question
---@return string? message
function M.check(given)
  if type(given.question) ~= "string" or not given.question:find("%S") then
    return nil, ("its question must be a text, not %s"):format(names.show(given.question))
  elseif given.options ~= nil and type(given.options) ~= "table" then
    return nil, ("its options must be a list, not %s"):format(names.show(given.options))
  end
  local ways = (given.options and 1 or 0) + (given.text and 1 or 0) + (given.edit and 1 or 0)
  if ways > 1 then
    return nil, "give only one of options, text and edit"
  elseif given.multiple and not given.options then
    return nil, "multiple needs options to choose from"
  end
  local options, message
  if given.options then
    options, message = options_of(given.options)
    if not options then
      return nil, message
    end
  end
  local question = { header = given.header, question = given.question, options = options, edit = given.edit,
    multiple = given.multiple or nil,
    default = given.default, detail = given.detail, approval = given.approval }
  local why = given.default ~= nil and M.refusal(question, given.default)
  if why then
    return nil, "its default is no answer: " .. why
  end
  return question
end

local SHOWN <const> = 20

-- "1 (retry), 2 (skip)"
local function offered(options)
  local ids = {}
  for i = 1, math.min(#options, SHOWN) do
    ids[i] = ("%d (%s)"):format(i, tostring(options[i].id))
  end
  return table.concat(ids, ", ") .. (#options > SHOWN and ", ..." or "")
end

-- Why the question does not accept a value; nil: it does.
local function refusal_of(question, value)
  local options = question.options or {}
  if type(value) == "string" and not utf8.len(value) then
    return ("%s is not UTF-8"):format(names.show(value))
  elseif #options == 0 then
    return type(value) ~= "string" and ("%s is not a text"):format(names.show(value)) or nil
  end
  for _, option in ipairs(options) do
    if option.id == value then
      return nil
    end
  end
  if (question.more or 0) > 0 and type(value) == "string" then
    return nil -- one that is not listed; whoever asked checks it
  end
  return ("there is no option %s; there are: %s"):format(names.show(value), offered(options))
end

---An answer in one line, as a person would type it: chosen options have commas between them.
---@param value any
---@return string
function M.in_words(value)
  if type(value) ~= "table" then
    return tostring(value)
  end
  local words = {}
  for i, one in ipairs(value) do
    words[i] = tostring(one)
  end
  return table.concat(words, ", ")
end

---Why a value is no answer to a question; nil: it is one.
---@param question table  { options, multiple, more }
---@param value any
---@return string|nil
function M.refusal(question, value)
  if not question.multiple then
    return refusal_of(question, value)
  elseif type(value) ~= "table" then
    return ("%s is no list of options"):format(names.show(value))
  end
  local count, seen = 0, {}
  for _ in pairs(value) do
    count = count + 1
    local one = value[count]
    local why = one == nil and "it is no list of options"
      or seen[one] and ("%s is chosen twice"):format(names.show(one))
      or refusal_of(question, one)
    if why then
      return why
    end
    seen[one] = true
  end
end

-- The meaning of one word of a person.
local function value_of(question, text)
  local options = question.options or {}
  for _, option in ipairs(options) do
    if tostring(option.id) == text then
      return option.id
    end
  end
  local chosen = text:find("^%d+$") and options[tonumber(text)]
  if chosen then
    return chosen.id
  end
  local why = refusal_of(question, text)
  if why then
    return nil, why
  end
  return text
end

---The meaning of a person's words: an option's id or number, several separated by commas if the question allows that;
---a text if there are no options.
---@param question table
---@param text string
---@return any value
---@return string? message
function M.value(question, text)
  if not question.multiple then
    return value_of(question, text)
  end
  local list = json.array({})
  for word in text:gmatch("[^,]+") do
    local value, message = value_of(question, trim(word))
    if value == nil then
      return nil, message
    end
    list[#list + 1] = value
  end
  local why = M.refusal(question, list)
  if why then
    return nil, why
  end
  return list
end

return M
