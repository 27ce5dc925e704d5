-- cli/settings.lua: `--set key=value` and `--input FILE` as the input of a run.
--
-- key=value is a text, key:=json any JSON value; a dotted key goes into an object.
-- Called by cli/command/run.lua.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")

local M = {}

local function put(root, path, value)
  local at, seen = root, {}
  for i, part in ipairs(path) do
    seen[i] = part
    if i == #path then
      if at[part] ~= nil then
        return nil, ("%s is set twice"):format(table.concat(seen, "."))
      end
      at[part] = value
      return true
    end
    if at[part] == nil then
      at[part] = {}
    elseif not json.is_object(at[part]) then
      local taken, wanted = table.concat(seen, "."), table.concat(path, ".")
      return nil, ("%s is a value already, so %s cannot be set"):format(taken, wanted)
    end
    at = at[part]
  end
end

local MAX_INPUT <const> = 16 << 20

-- The object that a file holds, or standard input.
local function of_file(path)
  local text, problem
  if path == "-" then
    text, problem = io.read("a"), "standard input could not be read"
  else
    text, problem = require("skillrt.base.files").read(path, MAX_INPUT, true)
  end
  if not text then
    return nil, "--input " .. problem
  end
  local value, wrong = json.decode(text)
  if not json.is_object(value) then
    return nil, ("--input %s: must be a JSON object%s"):format(path, wrong and ": " .. wrong or "")
  end
  return value
end

---@param words string[]|nil
---@param file string|nil  its path, or "-"
---@param given table|nil  what was read already, instead of a file
---@return table|nil input
---@return string? message
function M.read(words, file, given)
  local input, why = given or {}
  if file then
    input, why = of_file(file)
    if not input then
      return nil, why
    end
  end
  for _, word in ipairs(words or {}) do
    local key, operator, text = word:match("^([^=]-)(:?=)(.*)$")
    if not key or key == "" then
      return nil, ("--set %s: write key=value, or key:=json"):format(names.show(word))
    end
    local value = text
    if operator == ":=" then
      local problem
      value, problem = json.decode(text)
      if value == nil then
        return nil, ("--set %s: %s"):format(key, problem)
      end
    end
    local path = {}
    for part in (key .. "."):gmatch("(.-)%.") do
      if part == "" then
        return nil, ("--set %s: a part of the key is empty"):format(names.show(word))
      end
      path[#path + 1] = part
    end
    local ok, message = put(input, path, value)
    if not ok then
      return nil, "--set " .. word .. ": " .. message
    end
  end
  return input
end

---NAME=NUMBER, several times: a sum for each name; a limit is given once.
---@param words string[]|nil
---@param option string  for messages
---@param least boolean?  not the sum, but the smallest
---@return table<string, number>|nil amounts  nil: none was given
---@return string? message
function M.amounts(words, option, least)
  local amounts
  for _, word in ipairs(words or {}) do
    local name, number = word:match("^([^=]+)=(.+)$")
    local amount = tonumber(number)
    if not amount then
      return nil, ("%s %s: write LIMIT=NUMBER, such as calls=50"):format(option, names.show(word))
    end
    amounts = amounts or {}
    if amounts[name] and option == "--limit" then
      return nil, ("--limit %s: %s is limited twice"):format(word, name)
    end
    amounts[name] = least and math.min(amounts[name] or amount, amount) or (amounts[name] or 0) + amount
  end
  return amounts
end

return M
