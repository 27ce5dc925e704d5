-- agent/reading.lua: the one tool that a bare model is given: to read a file, or list a folder, of the skill or
-- of the run. It writes nothing, runs nothing, and leaves those folders by no link.
--
-- What was read is kept with the step, so that a resume reads the same. Knows files and tasks, no providers.

local files = require("skillrt.base.files")
local names = require("skillrt.base.names")

local M = {}

M.NAME = "read"

local MAX_READ <const> = 4 << 20
local MAX_PART <const> = 64 * 1024
local MAX_LISTED <const> = 500

local TOOL = {
  name = M.NAME,
  description = "Reads a text file, or lists a folder, of the skill or of the run's work directory. Paths are "
    .. "absolute, or relative to the skill's folder. Long files come in parts: give the offset that was named.",
  schema = {
    type = "object",
    properties = {
      path = { type = "string", description = "file or folder; \".\" is the skill's folder" },
      offset = { type = "integer", minimum = 0, description = "bytes to skip" },
    },
    required = { "path" },
    additionalProperties = false,
  },
}

---@param task skillrt.Task
---@return table[] tools
function M.tools(task)
  return task.dir and { TOOL } or {}
end

-- The root that a path lies in, and the path below it.
local function placed(task, path)
  for _, root in ipairs({ task.dir, task.work_dir }) do
    local base = root:gsub("/+$", "")
    if path == base or path == base .. "/" then
      return base, "."
    elseif path:sub(1, #base + 1) == base .. "/" then
      return base, path:sub(#base + 2)
    end
  end
  if files.is_absolute(path) then
    return nil, "is neither in the skill's folder nor in the work directory"
  end
  return task.dir, path
end

local function listed(base, name)
  local folder = name == "." and base or files.join(base, name)
  local entries, message = files.list(folder)
  if not entries then
    return nil, message
  end
  table.sort(entries, function(a, b) return a.name < b.name end)
  local lines = {}
  for i, entry in ipairs(entries) do
    if i > MAX_LISTED then
      lines[i] = ("... and %d more"):format(#entries - MAX_LISTED)
      break
    end
    local info = entry.kind == "file" and files.stat(files.join(folder, entry.name))
    lines[i] = entry.kind == "directory" and entry.name .. "/"
      or ("%s (%s)"):format(entry.name, info and info.size .. " bytes" or entry.kind)
  end
  return #lines > 0 and table.concat(lines, "\n") or "(an empty folder)"
end

local function part(text, offset)
  if not utf8.len(text) then
    return nil, "is no text"
  elseif offset > #text then
    return nil, ("has only %d bytes"):format(#text)
  end
  local stop = math.min(#text, offset + MAX_PART)
  while stop > offset and stop < #text and (text:byte(stop + 1) or 0) & 0xC0 == 0x80 do
    stop = stop - 1
  end
  local out = text:sub(offset + 1, stop)
  if not utf8.len(out) then
    return nil, "offset lies inside a character"
  elseif stop < #text then
    out = ("%s\n(%d of %d bytes; go on with offset %d)"):format(out, stop, #text, stop)
  end
  return out ~= "" and out or "(an empty file)"
end

local function look(task, path, offset)
  local base, name = placed(task, path)
  if not base then
    return nil, ("%s %s"):format(path, name)
  elseif name ~= "." then
    local why
    name, why = names.confined((name:gsub("/+$", "")))
    if not name then
      return nil, ("%s: the path %s"):format(path, why)
    end
  end
  local info, message = { kind = "directory" }, nil
  if name ~= "." then
    info, message = files.stat(base, name)
  end
  if not info then
    return nil, message
  elseif info.kind == "directory" then
    return listed(base, name)
  end
  local text
  text, message = files.kept(base, name, MAX_READ)
  if not text then
    return nil, message
  end
  local out, why = part(text, offset)
  return out, why and ("%s %s"):format(path, why)
end

---Performs what a model asked for; what it was told is kept.
---@param ctx table
---@param task skillrt.Task
---@param call table  { name, input, problem }
---@return string text
---@return boolean is_error
function M.perform(ctx, task, call)
  local input = call.input or {}
  if call.name ~= M.NAME then
    return ("there is no tool %s; there is only %s"):format(names.show(call.name), M.NAME), true
  elseif call.problem or type(input.path) ~= "string" or input.path:find("\0", 1, true) then
    return call.problem or 'give the path as a text: {"path":"..."}', true
  end
  local offset = math.tointeger(input.offset or 0) or 0
  local kept = ctx.once(("read %s %d"):format(input.path, offset), function()
    local text, why = look(task, input.path, math.max(0, offset))
    return { text = text or why, is_error = text == nil }
  end)
  return kept.text, kept.is_error
end

return M
