-- tool/wildcard.lua: whether a path fits a pattern of a model's: `*` and `?` within a name, `**` for any folders, and
-- `{a,b}` for one of several; in time that grows with both texts, whatever they are.
--
-- Pure.

local M = {}

local MOST_CHOICES <const> = 64

-- One name against one part of a pattern: the last star takes one character more each time.
local function fits_name(part, name)
  local p, n, star, mark = 1, 1, nil, nil
  while n <= #name do
    local char = part:sub(p, p)
    if char == "*" then
      star, mark = p, n
      p = p + 1
    elseif char == "?" or char == name:sub(n, n) and char ~= "" then
      p, n = p + 1, n + 1
    elseif star then
      mark = mark + 1
      p, n = star + 1, mark
    else
      return false
    end
  end
  return part:find("^%**$", p) ~= nil
end

local function parts_of(path)
  local out = {}
  for part in path:gmatch("[^/]+") do
    out[#out + 1] = part
  end
  return out
end

-- The same for whole paths: "**" takes one name more each time.
local function fits_path(parts, path)
  local p, n, star, mark = 1, 1, nil, nil
  while n <= #path do
    local part = parts[p]
    if part == "**" then
      star, mark = p, n
      p = p + 1
    elseif part and fits_name(part, path[n]) then
      p, n = p + 1, n + 1
    elseif star then
      mark = mark + 1
      p, n = star + 1, mark
    else
      return false
    end
  end
  while parts[p] == "**" do
    p = p + 1
  end
  return p > #parts
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
  local all = {}
  for i, one in ipairs(choices(pattern:sub(1, 1024), {})) do
    all[i] = parts_of(one)
  end
  return function(path)
    local names = parts_of(path)
    for _, parts in ipairs(all) do
      if fits_path(parts, names) then
        return true
      end
    end
    return false
  end
end

return M
