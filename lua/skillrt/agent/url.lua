-- agent/url.lua: what a URL and a header line may contain, and how a URL is shown.
--
-- Knows no agents and no requests.

local names = require("skillrt.base.names")

local M = {}

---Whether a text is a URL that can be requested.
---@param text string
---@return boolean
function M.is_url(text)
  return text:sub(1, 8):lower():find("^https?://") ~= nil and text:find("^%a+://[^/%s%c][^%s%c]*$") ~= nil
end

---A URL without user and password.
---@param url string
---@return string
function M.without_user(url)
  return (url:gsub("^(%a[%w+.-]*://)[^/?#]*@", "%1"))
end

---A URL without user, password, query and fragment: what journals and logs may hold.
---@param url string
---@return string
function M.shown(url)
  return M.without_user(url:match("^[^?#]*"))
end

---@param name string
---@return boolean
function M.is_header_name(name)
  return name:find("^[%w!#$%%&'*+.^_`|~-]+$") ~= nil
end

---A value holds no line break or other control character, as that would begin another header.
---@param value string
---@return boolean
function M.is_header_value(value)
  return not value:find("[%z\1-\8\10-\31\127]")
end

-- Headers that skillrt or the transport writes.
local OURS <const> = { ["content-length"] = true, ["content-type"] = true, host = true, ["idempotency-key"] = true,
  ["transfer-encoding"] = true, connection = true }

---What is wrong with the headers that an agent gives.
---@param headers table<string, string>
---@param where string
---@param ours string?  one more that skillrt writes
---@return string? message
function M.problem_of_headers(headers, where, ours)
  local seen = {}
  for _, name in ipairs(names.sorted(headers)) do
    local lower, problem = name:lower(), nil
    if not M.is_header_name(name) then
      problem = "not a header's name"
    elseif OURS[lower] or lower == ours then
      problem = "is written by skillrt; leave it out"
    elseif seen[lower] then
      problem = "is given twice"
    elseif not M.is_header_value(headers[name]) then
      problem = "its value holds a line break or control character"
    end
    if problem then
      return ('%s: header "%s": %s'):format(where, name, problem)
    end
    seen[lower] = true
  end
end

return M
