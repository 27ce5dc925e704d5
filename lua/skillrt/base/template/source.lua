-- base/template/source.lua: where a piece of template text came from, and how its lines are indented.
--
-- Turns byte offsets into line and column for messages, and moves text right for partials. Knows nothing of tags.
-- Called by template.parse, template.render.
local M = {}

---@class skillrt.template.Source
---@field name string what a message calls the text
---@field text string the text that is parsed
---@field shift integer columns that indentation added to every line

---@class skillrt.template.Fault
---@field message string the whole message, with name, line and column
---@field line integer
---@field column integer

---@param name string
---@param text string
---@param shift integer?
---@return skillrt.template.Source
function M.new(name, text, shift)
  return { name = name, text = text, shift = shift or 0 }
end

---Line and column (both from 1, in bytes) of an offset.
---@param source skillrt.template.Source
---@param at integer
---@return integer line
---@return integer column
function M.place(source, at)
  local line, start = 1, 1
  while true do
    local newline = source.text:find("\n", start, true)
    if not newline or newline >= at then
      break
    end
    line, start = line + 1, newline + 1
  end
  return line, math.max(1, at - start + 1 - source.shift)
end

---A fault that names the place.
---@param source skillrt.template.Source
---@param at integer
---@param message string
---@return skillrt.template.Fault
function M.fault(source, at, message)
  local line, column = M.place(source, at)
  local text = ("%s:%d:%d: %s"):format(source.name, line, column, message)
  return { message = text, line = line, column = column }
end

---Puts `indent` before every line that is not empty; the first line only if `first`.
---@param text string
---@param indent string
---@param first boolean
---@return string
function M.indent(text, indent, first)
  if indent == "" then
    return text
  end
  local moved = text:gsub("\n([^\r\n])", function(c)
    return "\n" .. indent .. c
  end)
  if first and moved ~= "" and not moved:find "^\r?\n" then
    moved = indent .. moved
  end
  return moved
end

return M
