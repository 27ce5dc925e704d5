-- tool/looking.lua: what a model is shown of files: a part of a text, the names in a folder; each bounded, and told
-- how to go on.
--
-- Only reads. Knows places below roots, no tools.

local roots_of = require("skillrt.tool.roots")

local M = {}

---How much of a file is read at most.
M.MAX_READ = 4 << 20
local MAX_PART <const> = 64 * 1024
local MAX_LISTED <const> = 500

---The names in a folder, one a line.
---@param place skillrt.Place
---@return string|nil text
---@return string? message
function M.listed(place)
  local entries, message = roots_of.entries(place)
  if not entries then
    return nil, message
  end
  local lines = {}
  for i, entry in ipairs(entries) do
    if i > MAX_LISTED then
      lines[i] = ("... and %d more"):format(#entries - MAX_LISTED)
      break
    end
    local info = entry.kind == "file" and roots_of.stat(roots_of.inside(place, entry.name))
    lines[i] = entry.kind == "directory" and entry.name .. "/"
      or ("%s (%s)"):format(entry.name, info and info.size .. " bytes" or entry.kind)
  end
  return #lines > 0 and table.concat(lines, "\n") or "(an empty folder)"
end

---A text from an offset on, and where it goes on.
---@param text string
---@param offset integer
---@param most integer?  bytes
---@return string|nil part
---@return string? why
function M.part(text, offset, most)
  if not utf8.len(text) then
    return nil, "is no text"
  elseif offset > #text then
    return nil, ("has only %d bytes"):format(#text)
  end
  local stop = math.min(#text, offset + (most or MAX_PART))
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

---A file, or the names in a folder.
---@param place skillrt.Place
---@param offset integer
---@param most integer?
---@param is_file boolean?  a folder is none
---@return string|nil text
---@return string? message
function M.look(place, offset, most, is_file)
  local info, message = roots_of.stat(place)
  if not info then
    return nil, message
  elseif info.kind == "directory" and not is_file then
    return M.listed(place)
  end
  local text
  text, message = roots_of.read(place, M.MAX_READ)
  if not text then
    return nil, message
  end
  local out, why = M.part(text, offset, most)
  return out, why and ("%s %s"):format(place.shown, why)
end

return M
