-- agent/url.lua: what may stand in a URL and in a header line, and a URL as it may be shown.
--
-- Knows no agents and no requests.

local M = {}

---Whether a text is a URL that can be asked.
---@param text string
---@return boolean
function M.is_url(text)
  return text:sub(1, 8):lower():find("^https?://") ~= nil and text:find("^%a+://[^/%s%c][^%s%c]*$") ~= nil
end

---A URL without user, password, query and fragment: what journals and logs may hold.
---@param url string
---@return string
function M.shown(url)
  local head = url:match("^[^?#]*")
  return (head:gsub("^(%a[%w+.-]*://)[^/]*@", "%1"))
end

---@param name string
---@return boolean
function M.is_header_name(name)
  return name:find("^[%w!#$%%&'*+.^_`|~-]+$") ~= nil
end

---A value holds no line break or other control character: it would begin another header.
---@param value string
---@return boolean
function M.is_header_value(value)
  return not value:find("[%z\1-\8\10-\31\127]")
end

return M
