-- base/text.lua: small functions on text from outside, each in linear time.
--
-- A pattern with two open ends ("^(.-)%s*$", "[^\n]*$") tries each end from each beginning: a line of 64 KB takes
-- minutes. These functions do not. Knows nothing but strings, and numbers as text.

local M = {}

local find, match = string.find, string.match

---Without white space at both ends.
---@param text string
---@return string
function M.trim(text)
  local first = find(text, "%S")
  return first and match(text, "^.*%S", first) or ""
end

---Without white space at its end.
---@param text string
---@return string
function M.trim_end(text)
  return match(text, "^.*%S") or ""
end

---Removes one kind of mark at the end: `without_end("a--", "%-")` is "a".
---@param text string
---@param marks string  as they stand in a pattern's [^...]
---@return string
function M.without_end(text, marks)
  return match(text, "^.*[^" .. marks .. "]") or ""
end

---What follows the last of these bytes; the whole text if there is none.
---@param text string
---@param byte string  one, as it stands in a pattern
---@return string
function M.behind_last(text, byte)
  return match(text, "^.*" .. byte .. "(.*)$") or text
end

---A text of at most so many bytes: a longer one ends behind a whole character, with a mark.
---@param text string
---@param most integer  bytes, without the mark
---@param mark string?  "..."
---@return string
function M.cut(text, most, mark)
  return #text <= most and text or text:sub(1, utf8.offset(text, 0, most + 1) - 1) .. (mark or "...")
end

---The end of a text, of at most so many bytes: of a longer one it begins with a whole character.
---@param text string
---@param most integer  bytes
---@return string
function M.tail(text, most)
  local from = #text - most + 1
  while from > 1 and find(text, "^[\x80-\xBF]", from) do
    from = from + 1
  end
  return from > 1 and text:sub(from) or text
end

---The shortest decimal text that reads back as the same number: 0.7, 1e+300; a whole one without ".0".
---@param value number
---@return string
function M.number(value)
  local whole = math.tointeger(value)
  if whole and (math.type(value) == "integer" or math.abs(whole) < 1 << 53) then
    return ("%d"):format(whole)
  end
  for digits = 15, 16 do
    local text = ("%." .. digits .. "g"):format(value)
    if tonumber(text) == value then
      return text
    end
  end
  return ("%.17g"):format(value)
end

---The lines of a text, without their ends; what stands behind the last "\n" is a line too.
---@param text string
---@return fun(): string?
function M.lines(text)
  local at = 1
  return function()
    if not at then
      return nil
    end
    local stop = find(text, "\n", at, true)
    local line = text:sub(at, stop and stop - 1)
    at = stop and stop + 1
    return line
  end
end

---The value of a header; nil: there is none.
---@param lines string  "name: value" each
---@param name string   in small letters
---@return string?
function M.header(lines, name)
  for line in lines:gmatch("[^\n]+") do
    local at = find(line, ":", 1, true)
    if at and line:sub(1, at - 1):lower() == name then
      return M.trim(line:sub(at + 1))
    end
  end
end

return M
