-- pack.lua: bytes made smaller for the table of embedded files; csrc/base/unpack.c undoes it.
--
-- A stream of sequences: a byte with two numbers (high half: literals, low half: length of a repeat
-- less 4; 15 goes on in further bytes, each of 255 or less), the literals, then how far back the
-- repeat begins (2 bytes, the low one first). The last sequence has no repeat. Called by embed.lua.
local M = {}

local LEAST <const>, FARTHEST <const> = 4, 65535

local function rest_of(number)
  if number < 15 then
    return ""
  end
  number = number - 15
  return ("\255"):rep(number // 255) .. string.char(number % 255)
end

local function sequence(literals, length, distance)
  local low = length and length - LEAST or 0
  local head = string.char(math.min(#literals, 15) << 4 | math.min(low, 15)) .. rest_of(#literals) .. literals
  if not length then
    return head
  end
  return head .. string.pack("<I2", distance) .. rest_of(low)
end

-- How many bytes from `at` on are those from `from` on.
local function repeated(bytes, from, at)
  local byte, count, size = string.byte, 0, #bytes
  while at + count <= size and byte(bytes, from + count) == byte(bytes, at + count) do
    count = count + 1
  end
  return count
end

---@param bytes string
---@return string packed
function M.pack(bytes)
  local out, seen, at, begin = {}, {}, 1, 1
  while at + LEAST <= #bytes do
    local key = string.unpack("<I4", bytes, at)
    local from = seen[key]
    seen[key] = at
    if from and at - from <= FARTHEST then
      local length = repeated(bytes, from, at)
      out[#out + 1] = sequence(bytes:sub(begin, at - 1), length, at - from)
      at = at + length
      begin = at
    else
      at = at + 1
    end
  end
  out[#out + 1] = sequence(bytes:sub(begin))
  return table.concat(out)
end

return M
