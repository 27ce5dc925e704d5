-- base/wildcard.lua: whether a path fits a pattern: `*` and `?` within a name, `**` for any characters, `**/` for any
-- folders or none, and `{a,b}` for one of several; in bounded time, whatever they are.
--
-- Pure. Called by base/files.lua and tool/reading.lua.

local regex = require("skillrt.base.regex")

local M = {}

-- The regular expression that a pattern stands for.
local function expression_of(pattern)
  local text = pattern:gsub("[^%w/*?,{}\128-\255]", "\\%0"):gsub("%?", "[^/]"):gsub("{([^{}]*)}", function(list)
    return "\1" .. list:gsub(",", "|") .. "\2"
  end):gsub("[{}]", "\\%0")
  text = text:gsub("()(%*+)(/?)", function(at, stars, slash)
    if stars == "*" then
      return "[^/]*" .. slash
    end
    local begins = at == 1 or text:sub(at - 1, at - 1) == "/"
    return begins and slash == "/" and "(?:.*/)?" or ".*" .. slash
  end)
  return "(?s)^" .. text:gsub("\1", "(?:"):gsub("\2", ")") .. "$"
end

---What tells whether a path fits.
---@param pattern string
---@return fun(path: string): boolean
function M.compile(pattern)
  local find = regex.compile(expression_of(pattern:sub(1, 1024):gsub("//+", "/"):gsub("^%.?/", "")))
  return function(path)
    return find ~= nil and find(path) == true
  end
end

return M
