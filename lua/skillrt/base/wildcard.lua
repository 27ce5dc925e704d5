-- base/wildcard.lua: whether a path fits a pattern: `*` and `?` within a name, `**` for any characters, `**/` for any
-- folders or none, and `{a,b}` for one of several; in time that grows with both texts, whatever they are.
--
-- Pure. Called by base/files.lua and tool/reading.lua.

local M = {}

local MOST_CHOICES <const> = 64

-- The last star takes one character more each time; where it cannot, the last "**" takes one more, or one folder more.
local function fits(pattern, path)
  local p, n = 1, 1
  local star, star_at, deep, deep_at, by_folder
  while p <= #pattern or n <= #path do
    local char, own = pattern:sub(p, p), path:sub(n, n)
    if char == "*" and pattern:sub(p + 1, p + 1) == "*" then
      by_folder = pattern:sub(p + 2, p + 2) == "/" and (p == 1 or pattern:sub(p - 1, p - 1) == "/")
      p = p + (by_folder and 3 or 2)
      star, deep, deep_at = nil, p, n
    elseif char == "*" then
      p = p + 1
      star, star_at = p, n
    elseif own ~= "" and (char == own or char == "?" and own ~= "/") then
      p, n = p + 1, n + 1
    elseif star and path:find("^[^/]", star_at) then
      star_at = star_at + 1
      p, n = star, star_at
    else
      deep_at = deep and (by_folder and path:find("/", deep_at, true) or deep_at)
      if not deep_at or deep_at > #path or by_folder and path:sub(deep_at, deep_at) ~= "/" then
        return false
      end
      deep_at = deep_at + 1
      p, n, star = deep, deep_at, nil
    end
  end
  return true
end

-- The patterns that "{a,b}" stands for.
local function choices(pattern, out)
  local head, list, tail = pattern:match("^([^{]*){([^{}]*)}(.*)$")
  if not head then
    out[#out + 1] = pattern
    return out
  end
  for one in (list .. ","):gmatch("([^,]*),") do
    if #out >= MOST_CHOICES then
      return out
    end
    choices(head .. one .. tail, out)
  end
  return out
end

---What tells whether a path fits.
---@param pattern string
---@return fun(path: string): boolean
function M.compile(pattern)
  local short = pattern:sub(1, 1024):gsub("//+", "/"):gsub("^%.?/", "")
  local all = choices(short, {})
  return function(path)
    for _, one in ipairs(all) do
      if fits(one, path) then
        return true
      end
    end
    return false
  end
end

return M
