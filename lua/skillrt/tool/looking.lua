-- tool/looking.lua: what a model is shown of files: part of a text, or the names in a folder; bounded, with a hint
-- how to read on.
--
-- Only reads. Knows places below roots, no tools.

local roots_of = require("skillrt.tool.roots")

local M = {}

---The maximal part of a file that is searched.
M.MAX_READ = 4 << 20
---The maximal duration of a search.
M.SEARCH_SECONDS = 60
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

---The text of a file from an offset on, and the offset of the rest.
---@param place skillrt.Place
---@param offset integer
---@param most integer?  bytes
---@return string|nil part
---@return string? why
function M.part(place, offset, most)
  most = most or MAX_PART
  local text, size = roots_of.part(place, offset, most + 1) -- the next byte tells whether a character is cut
  if not text then
    return nil, size
  elseif offset > size then
    return nil, ("%s has only %d bytes"):format(place.shown, size)
  end
  local stop = math.min(#text, most)
  while stop > 0 and stop < #text and text:byte(stop + 1) & 0xC0 == 0x80 do
    stop = stop - 1
  end
  local out = text:sub(1, stop)
  if not utf8.len(out) then
    local inside = offset > 0 and out:byte() & 0xC0 == 0x80
    return nil, place.shown .. (inside and " has no character that begins at this offset" or " is no text")
  elseif offset + stop < size then
    out = ("%s\n(%d of %d bytes; continue with offset %d)"):format(out, offset + stop, size, offset + stop)
  end
  return out ~= "" and out or "(an empty file)"
end

---A file, or the names in a folder.
---@param place skillrt.Place
---@param offset integer
---@param most integer?
---@param is_file boolean?  a folder is refused
---@return string|nil text
---@return string? message
function M.look(place, offset, most, is_file)
  local info, message = roots_of.stat(place)
  if not info then
    return nil, message
  elseif info.kind == "directory" and not is_file then
    return M.listed(place)
  end
  return M.part(place, offset, most)
end

return M
