-- base/wildcard.lua: whether a path matches a pattern: `*` and `?` within a name, `**` for any characters, `**/` for
-- any folders or none, and `{a,b}` for one of several; in bounded time for any input.
--
-- Names are bytes: they need not be UTF-8. Pure. Called by base/files.lua and tool/reading.lua.

local core = require("skillrt.core")

local M = {}

-- A character of a name that need not be UTF-8.
local CHARACTER <const> = "(?:[^/\\x80-\\xff]|[\\xc0-\\xff][\\x80-\\xbf]*|[\\x80-\\xbf])"

-- Translates a pattern into a regular expression on bytes.
local function expression_of(pattern)
  local text = pattern:gsub("[^%w/*?,{}\128-\255]", "\\%0"):gsub("%?", "\3"):gsub("{([^{}]*)}", function(list)
    return "\1" .. list:gsub(",", "|") .. "\2"
  end):gsub("[{}]", "\\%0")
  text = text:gsub("()(%*+)(/?)", function(at, stars, slash)
    if stars == "*" then
      return "[^/]*" .. slash
    end
    local begins = at == 1 or text:sub(at - 1, at - 1) == "/"
    return begins and slash == "/" and "(?:.*/)?" or ".*" .. slash
  end)
  return "(?s)^" .. text:gsub("\1", "(?:"):gsub("\2", ")"):gsub("\3", CHARACTER) .. "$"
end

---Returns a function that tells whether a path matches.
---@param pattern string
---@return fun(path: string): boolean
function M.compile(pattern)
  local find = core.regex(expression_of(pattern:sub(1, 1024):gsub("//+", "/"):gsub("^%.?/", "")), true)
  return function(path)
    return find ~= nil and find(path) == true
  end
end

return M
