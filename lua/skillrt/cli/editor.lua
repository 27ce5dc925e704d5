-- cli/editor.lua: lets a person edit a text in their own editor.
--
-- Knows files and the variables VISUAL and EDITOR; nothing of questions. Called while no run is open.

local files = require("skillrt.base.files")
local store_of = require("skillrt.run.store")

local M = {}

---@param text string  the initial text
---@param dir string   the run in whose folder the file is meanwhile
---@return string|nil written  without line breaks at its end
---@return string? message
function M.write(text, dir)
  local command = os.getenv("VISUAL")
  command = command and command:find("%S") and command or os.getenv("EDITOR")
  if not command or not command:find("%S") then
    return nil, "neither VISUAL nor EDITOR names an editor; give the answer, or --file"
  end
  local store = store_of.at(store_of.absolute(dir))
  local path = store:path("answer.edit")
  local ok, message = store:make()
  if ok then
    ok, message = files.write(path, text .. "\n")
  end
  if not ok then
    return nil, message
  elseif not os.execute(("%s '%s'"):format(command, path:gsub("'", "'\\''"))) then
    return nil, ("%s failed; your text is in %s"):format(command, path)
  end
  local written
  written, message = files.read(path)
  os.remove(path)
  return written and (written:gsub("[\r\n]+$", "")), message
end

return M
