-- tool/result.lua: converts a tool's result to what a model gets: a text of bounded length; the rest is in a file of
-- the run that the model can read. Text by others is marked as data by marks that it cannot contain (F44).
--
-- Knows files and tools, no journal. Part of loop.lua.

local fatal = require("skillrt.base.fatal")
local files = require("skillrt.base.files")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")
local data_marks = require("skillrt.base.data_marks")

local M = {}

---The folder of long results, below the run's folder.
M.FOLDER = "tool-results"

---The result of a tool; if it raises, the error.
---@param tool skillrt.Tool
---@param ctx table
---@param arguments table
---@param task table
---@return string|nil text
---@return string? message
function M.guarded(tool, ctx, arguments, task)
  local ok, text, message = pcall(tool.perform, tool, ctx, arguments, task)
  if not ok then
    fatal.pass_on(text)
    local said = type(text) == "table" and text.message or text
    return nil, ("%s failed: %s"):format(tool.name, names.said(said))
  end
  return text, message
end

-- Where a text may be cut: not inside a character.
local function border(text, at)
  while at > 0 and (text:byte(at + 1) or 0) & 0xC0 == 0x80 do
    at = at - 1
  end
  return at
end

-- Writes the rest of a long text to a file of the run; says so if that is impossible.
local function cut(loop, text, most, place)
  local task = loop.task
  local name = ("%s/%d-%s.txt"):format(M.FOLDER, task.step, place:gsub("[^%w=]", "-"))
  local stop = border(text, most)
  local head, ok = text:sub(1, stop), nil
  if task.context_strategy ~= "memory" then
    ok = task.store:keep(name, text, task.lasts)
  end
  if not ok then
    return ("%s\n(the first %d of %d bytes; the rest is left out)"):format(head, stop, #text)
  end
  return ("%s\n(the first %d of %d bytes; all of it is in %s, continue with offset %d)"):format(head, stop, #text,
    task.store:path(name), stop)
end

---What a model gets.
---@param loop skillrt.ToolLoop
---@param tool skillrt.Tool
---@param place string
---@param text string|nil
---@param message string|nil
---@return { text: string, is_error: boolean?, digest: string? }  digest: of the whole, where that is longer
function M.bounded(loop, tool, place, text, message)
  local told, digest = record.printable(text or message or "failed without saying why"), nil
  local most = tool.max_result or loop.settings.max_tool_result
  if #told > most then
    digest = files.digest(told):sub(1, 32)
    told = cut(loop, told, most, place)
  end
  if tool.outside then
    told = data_marks.marked(told, "RESULT")
  end
  return { text = told, is_error = text == nil or nil, digest = digest }
end

return M
