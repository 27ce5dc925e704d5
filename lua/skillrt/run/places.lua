-- run/places.lua: where in a step something happens: "3.2.1" is the first position of the second branch
-- under the third position of the main branch (docs/write/steps.md, "Places").
--
-- Pure. The odd parts are positions, the even ones are branches and rounds.

local M = {}

---A branch's name as part of a place: without dots, and never a mere number unless it is the index.
---@param key string|integer
---@return string
function M.part(key)
  if math.type(key) == "integer" then
    return tostring(key)
  end
  local text = tostring(key):gsub("[%%.%c]", function(char)
    return ("%%%02X"):format(char:byte())
  end)
  return text:find("^%d*$") and "=" .. text or text
end

---Whether `place` is `other`, follows it in the same branch, or is below it: other branches run in parallel, whatever
---their places.
---@param place string
---@param other string
---@return boolean
function M.is_behind(place, other)
  local prefix, position = other:match("^(.-)(%d+)$")
  if place:sub(1, #prefix) ~= prefix then
    return false
  end
  local own = math.tointeger(place:match("^%d+", #prefix + 1))
  return own ~= nil and own >= math.tointeger(position)
end

---The common prefix of the places of the branch that contains a place.
---@param place string
---@return string
function M.prefix_of(place)
  return place:match("^(.*%.)") or ""
end

---The position that a branch with this prefix is below: the prefix of the branch above it, and the position there.
---@param prefix string
---@return string|nil above  nil: it is the main branch
---@return integer? position
function M.above(prefix)
  local above, position = prefix:match("^(.-)(%d+)%.[^.]+%.$")
  return above, math.tointeger(position)
end

---The positions that a place is below, outermost first: each place above it, and the next part.
---@param place string
---@return fun(): string?, string?
function M.ways_to(place)
  local at = 0
  return function()
    at = place:find(".", at + 1, true)
    if at then
      return place:sub(1, at - 1), place:match("^[^.]*", at + 1)
    end
  end
end

---Whether a place lies below another.
---@param place string
---@param above string
---@return boolean
function M.is_below(place, above)
  return place:sub(1, #above) == above and place:byte(#above + 1) == 46
end

return M
