-- cli/serve/pages.lua: the page of `skillrt serve`, and what it shows of a run, which is read once for all who look.

local page = require("skillrt.report.page")
local store_of = require("skillrt.run.store")

local M = {}

local MOST <const> = 8 -- runs whose data is kept
local kept = {} -- the newest last: { dir, seq, text }

---What the page of a run shows, as JSON; kept until a record comes.
---@param dir string
---@return string|nil text
---@return string? message
---@return string? code
function M.data(dir)
  local store = store_of.at(dir)
  local report, message, code = store:read(function() return false end)
  if not report then
    return nil, message, code
  end
  for i, one in ipairs(kept) do
    if one.dir == dir then
      table.remove(kept, i)
      if one.seq == report.last then
        kept[#kept + 1] = one
        return one.text
      end
      break
    end
  end
  local text, why, cause = page.data(dir)
  if not text then
    return nil, why, cause
  end
  kept[#kept + 1] = { dir = dir, seq = report.last, text = text }
  if #kept > MOST then
    table.remove(kept, 1)
  end
  return text
end

---The page, made once.
---@return { html: string, policy: string }
function M.page()
  if not kept.page then
    local html, policy = page.live()
    kept.page = { html = html, policy = policy .. "; frame-ancestors 'none'" }
  end
  return kept.page
end

return M
