-- operators.lua: small faults that can be put into a line of C or Lua: one sign, one word, one number, one statement.
--
-- Pure: text in, text out. What is within quotes or a comment is left alone. Used by run.lua.

local M = {}

-- Where strings and comments are, as the author's neighbours would see them: their bytes become "\0".
local function masked(line, comment)
  local out, at = {}, 1
  while at <= #line do
    local quote = line:match("^[\"']", at)
    if line:sub(at, at + #comment - 1) == comment or line:find("^/%*", at) then
      out[#out + 1] = ("\0"):rep(#line - at + 1)
      break
    elseif quote then
      local stop = at + 1
      while stop <= #line and line:sub(stop, stop) ~= quote do
        stop = stop + (line:sub(stop, stop) == "\\" and 2 or 1)
      end
      out[#out + 1] = ("\0"):rep(math.min(stop, #line) - at + 1)
      at = stop + 1
    else
      out[#out + 1] = line:sub(at, at)
      at = at + 1
    end
  end
  return table.concat(out)
end

-- Patterns with a frontier on both sides, so that "<" is not found in "<=" nor in "<<".
local SHARED <const> = {
  { "equality", "%f[=]==%f[^=]", "~=" },
  { "order", " < ", " <= " },
  { "order", " <= ", " < " },
  { "order", " > ", " >= " },
  { "order", " >= ", " > " },
  { "arithmetic", " %+ ", " - " },
  { "arithmetic", " %- ", " + " },
  { "constant", "%f[%w_]true%f[^%w_]", "false" },
  { "constant", "%f[%w_]false%f[^%w_]", "true" },
  { "number", "%f[%w_%.]1%f[^%w_%.]", "2" },
  { "number", "%f[%w_%.]0%f[^%w_%.]", "1" },
}
local OF <const> = {
  lua = {
    { "equality", "~=", "==" },
    { "logic", " and ", " or " },
    { "logic", " or ", " and " },
    { "negation", "%f[%w_]not ", "" },
    { "condition", "^(%s*if ).+( then)$", "%1true%2" },
    { "condition", "^(%s*if ).+( then)$", "%1false%2" },
    { "statement", "^(%s*)[%w_.:]+%(.*%)$", "%1do end" },
    { "statement", "^(%s*)[%w_.%[%]]+%.[%w_]+ = .*[%w%)%]\"}]$", "%1do end" },
    { "return", "^(%s*return ).+$", "%1nil" },
  },
  c = {
    { "equality", "!=", "==" },
    { "logic", " && ", " || " },
    { "logic", " || ", " && " },
    { "negation", "%f[!]!%f[%w_]", "" },
    { "condition", "^(%s*if %()(.+)(%) .*;)$", "%1!(%2)%3" },
    { "condition", "^(%s*if %()(.+)(%) {)$", "%1!(%2)%3" },
    { "statement", "^(%s*)[%w_]+%(.*%);$", "%1;" },
    { "statement", "^(%s*)[%w_]+[%w_%->.%[%]]* [%+%-|]?= .*;$", "%1;" },
    { "return", "^(%s*return )false;$", "%1true;" },
    { "return", "^(%s*return )true;$", "%1false;" },
  },
}

-- A line that no fault can be put into so that it means something: declarations, requires, annotations.
local function is_code(line, language)
  if language == "lua" then
    return not line:find "^%s*%-%-" and not line:find "require" and not line:find "^%s*$"
  end
  return not line:find "^%s*[#/*]" and line:find "^  " and not line:find "static " and not line:find "assert%("
end

-- What a rule looks at: zeros that only clear a variable are no number that somebody chose, and an array with more room
-- is no fault.
local function seen_by(rule, mask)
  local text = mask.text
  if rule[1] == "number" and mask.language == "c" then
    text = text:gsub("{0}", "{\0}"):gsub("^(%s*%l[%w_ ]* [%w_]+%[[%w_ ]+ %+ )1]", "%1\0]")
  end
  return text
end

-- One change of `line` where `pattern` is found in its mask at `from`.
local function changed(line, mask, rule, from, to)
  local pattern, by = rule[2], rule[3]
  if pattern:sub(1, 1) == "^" then
    return (line:gsub(pattern, by, 1))
  elseif rule[1] == "equality" and by == "~=" and mask.language == "c" then
    by = "!="
  end
  return line:sub(1, from - 1) .. by .. line:sub(to + 1)
end

---All faults that fit a line.
---@param line string
---@param language "c"|"lua"
---@return { operator: string, text: string }[]
function M.of(line, language)
  local faults = {}
  if not is_code(line, language) then
    return faults
  end
  local mask = { text = masked(line, language == "c" and "//" or "--"), language = language }
  for _, rules in ipairs { SHARED, OF[language] } do
    for _, rule in ipairs(rules) do
      local from, to = seen_by(rule, mask):find(rule[2])
      local text = from and changed(line, mask, rule, from, to)
      if text and text ~= line then
        faults[#faults + 1] = { operator = rule[1], text = text }
      end
    end
  end
  return faults
end

return M
