-- base/outline.lua: whether a document is an outline that nobody has filled in, judged by its text: only headings,
-- comments, placeholders, or one line repeated.
--
-- Knows no skills. Called where a document is required (Phase 0) and by the checks.
local text_of = require("skillrt.base.text")

local M = {}

-- A whole line that is a placeholder.
local PLACEHOLDERS = {
  "^todo%f[%W]", "^tbd%f[%W]", "^fixme%f[%W]", "^%.%.%.$", "^\u{2026}$", "^none yet%.?$", "^n/?a%.?$", "^<[^<>]*>$",
  "^%[[^%[%]]*%]$", "^{{[^{}]*}}$", "^{[^{}]*}$", "^to be [%a]+%.?$", "^\u{6682}\u{65E0}", "^\u{5F85}\u{8865}",
  "^\u{5F85}\u{5B9A}",
}

local function is_placeholder(line)
  for _, pattern in ipairs(PLACEHOLDERS) do
    if line:find(pattern) then
      return true
    end
  end
  return false
end

-- A document without its <!-- comments -->; an unclosed one reaches to the end.
local function without_comments(text)
  local parts, at = {}, 1
  while true do
    local start = text:find("<!--", at, true)
    parts[#parts + 1] = text:sub(at, (start or #text + 1) - 1)
    if not start then
      return table.concat(parts)
    end
    local _, stop = text:find("-->", start, true)
    at = (stop or #text) + 1
  end
end

-- What a line says, without the marks of a list or a quote; nil for headings, rules and blank lines.
local function said_in(line)
  line = text_of.trim(line)
  if line == "" or line:find "^#" or line:find "^[%-=*_|: ]+$" then
    return nil
  end
  line = line:gsub("^[%-*+>]%s+", ""):gsub("^%d+[.)]%s+", ""):gsub("^%[[ xX]%]%s+", "")
  return text_of.trim(line):lower()
end

---@param text string
---@return boolean
function M.is(text)
  local counts, order = {}, {}
  local body = text:find "^%-%-%-\n" and text:match "\n%-%-%-%s*\n(.*)$" or text
  for line in text_of.lines(without_comments(body)) do
    local said = said_in(line)
    if said and not is_placeholder(said) then
      order[#order + 1] = not counts[said] and said or nil
      counts[said] = (counts[said] or 0) + 1
    end
  end
  for _, said in ipairs(order) do
    if counts[said] == 1 then
      return false
    end
  end
  return #order <= 1 -- the purpose, repeated below a heading
end

return M
