-- golden.lua: compares what skillrt says with what tests/golden keeps of it; `make golden` writes that anew.
local files = require "skillrt.base.files"

local M = {}

---The first line in which a text differs from what is kept of it, and what stands before it; nil: none does.
---@param path string  of what is kept
---@param is string
---@return string? problem
function M.difference(path, is)
  local next_line = assert(files.read(path)):gmatch "([^\n]*)\n"
  local at
  for line in is:gmatch "([^\n]*)\n" do
    local was = next_line()
    if was ~= line then
      local text = "%s\nwas: %s\nis:  %s\nread `git diff %s` after `make golden`"
      return text:format(at or path, tostring(was), line, path)
    end
    at = line:find "^[#$]" and line or at
  end
  return next_line() and path .. ": lines are missing at its end" or nil
end

return M
