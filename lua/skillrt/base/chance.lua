-- base/chance.lua: random numbers from a seed, as math.random gives them: the same seed, the same numbers in
-- every process.
--
-- A generator (splitmix64) is one integer, so that each branch of a step can have its own. Pure.

local M = {}

---@param seed integer
---@return table generator
function M.new(seed)
  return { state = seed }
end

local function bits(generator)
  local z = generator.state + 0x9E3779B97F4A7C15
  generator.state = z
  z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
  z = (z ~ (z >> 27)) * 0x94D049BB133111EB
  return z ~ (z >> 31)
end

local function whole(value, at)
  local number = math.tointeger(value)
  if not number then
    error(("bad argument #%d to 'random' (number has no integer representation)"):format(at), 4)
  end
  return number
end

---As math.random.
---@param generator table
---@param low number|nil
---@param high number|nil
---@return number
function M.draw(generator, low, high)
  if low == nil then
    return (bits(generator) >> 11) * 2.0 ^ -53
  elseif high == nil then
    low, high = 1, whole(low, 1)
    if high == 0 then
      return bits(generator)
    end
  else
    low, high = whole(low, 1), whole(high, 2)
  end
  if low > high then
    error("bad argument to 'random' (interval is empty)", 3)
  end
  local range = high - low -- without a sign
  local mask = range
  for _, shift in ipairs({ 1, 2, 4, 8, 16, 32 }) do
    mask = mask | (mask >> shift)
  end
  local value
  repeat
    value = bits(generator) & mask
  until not math.ult(range, value)
  return low + value
end

return M
