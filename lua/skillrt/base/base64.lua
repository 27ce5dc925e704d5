-- base/base64.lua: bytes as text: base64, also in its form for URLs.
--
-- Pure.

local M = {}

local DIGITS <const> = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

---@param bytes string
---@return string
function M.encode(bytes)
  local out = bytes:gsub("..?.?", function(part)
    local a, b, c = part:byte(1, 3)
    local bits = a << 16 | (b or 0) << 8 | (c or 0)
    local word = ""
    for i = 0, #part do
      local at = (bits >> 18 - 6 * i & 63) + 1
      word = word .. DIGITS:sub(at, at)
    end
    return word .. ("="):rep(3 - #part)
  end)
  return out
end

---Without padding, with - and _.
---@param bytes string
---@return string
function M.of_url(bytes)
  return (M.encode(bytes):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

---The bytes of a text that `encode` gave; nil: it is no such text.
---@param text string
---@return string|nil
function M.decode(text)
  local body = text:gsub("=?=$", "")
  if #text % 4 ~= 0 or body:find("[^%w+/]") then
    return nil
  end
  local out = body:gsub("..?.?.?", function(part)
    local bits = 0
    for i = 1, 4 do
      local at = part:sub(i, i) ~= "" and DIGITS:find(part:sub(i, i), 1, true) or 1
      bits = bits << 6 | at - 1
    end
    return ("%c%c%c"):format(bits >> 16, bits >> 8 & 255, bits & 255):sub(1, #part - 1)
  end)
  return M.encode(out) == text and out or nil
end

---The bytes that a text of hex digits stands for.
---@param hex string
---@return string
function M.of_hex(hex)
  return (hex:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end))
end

return M
