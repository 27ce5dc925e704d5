-- tool/mcp/content.lua: converts a server's content to a text: texts unchanged, other items described.
--
-- Pure.

local json = require("skillrt.base.json")
local tables = require("skillrt.base.tables")

local M = {}

local OF = {}

function OF.text(part)
  return type(part.text) == "string" and part.text or nil
end

local function binary(kind, part)
  return ("(%s, %s, %d bytes of base64: left out)"):format(kind, tostring(part.mimeType), #tostring(part.data or ""))
end

function OF.image(part)
  return binary("an image", part)
end

function OF.audio(part)
  return binary("a sound", part)
end

function OF.resource_link(part)
  return ("(resource %s: %s)"):format(tostring(part.uri), tostring(part.description or part.name or ""))
end

function OF.resource(part)
  return M.of_resource(part.resource)
end

---The text of a resource's contents.
---@param one any
---@return string?
function M.of_resource(one)
  if type(one) ~= "table" then
    return nil
  elseif type(one.text) == "string" then
    return one.text
  end
  return ("(resource %s, %s, %d bytes of base64: left out)"):format(tostring(one.uri), tostring(one.mimeType),
    #tostring(one.blob or ""))
end

---@param list any      of content
---@param structured any  the same result as a value
---@return string
function M.text(list, structured)
  local parts = {}
  for _, part in ipairs(tables.object(list)) do
    local tell = type(part) == "table" and OF[part.type]
    parts[#parts + 1] = tell and tell(part) or nil
  end
  if #parts == 0 and structured ~= nil and structured ~= json.null then
    parts[1] = json.encode(structured, { sorted = true })
  end
  return #parts > 0 and table.concat(parts, "\n") or "(nothing)"
end

return M
