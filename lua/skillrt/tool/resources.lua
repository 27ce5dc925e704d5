-- tool/resources.lua: the tool `read`, which every bare model gets: a file, or a folder's names, of the skill or of
-- the run. It writes nothing, runs nothing, and follows no link out of those folders.

local looking = require("skillrt.tool.looking")
local roots_of = require("skillrt.tool.roots")

local M = {}

M.FIELDS = {}

local INPUT <const> = {
  type = "object",
  properties = {
    path = { type = "string", description = "file or folder; \".\" is the skill's folder" },
    offset = { type = "integer", minimum = 0, description = "bytes to skip" },
  },
  required = { "path" },
  additionalProperties = false,
}

local function perform(_, _, arguments, task)
  local place, message = roots_of.place(roots_of.of(nil, task), arguments.path)
  if not place then
    return nil, message
  end
  return looking.look(place, math.tointeger(arguments.offset or 0) or 0)
end

---@param given table
---@return table parts
function M.make(given)
  given.description = given.description or "Reads a text file, or lists a folder, of the skill or of the run's work "
    .. "directory. Paths are absolute, or relative to the skill's folder. Long files come in parts: give the offset "
    .. "that was named."
  given.input, given.perform, given.source = INPUT, perform, "built in"
  return given
end

return M
