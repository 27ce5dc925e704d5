-- checks.lua: what the review looks for: its own checks of a file's text, and the findings that
-- cppcheck and luacheck print, all in one form.
--
-- A finding is { file, line, severity, rule, from, message }. Severities: error, warning, style,
-- note. Knows nothing of runs. Called by skill.lua.

local M = {}

M.MAX_FILE, M.MAX_FUNCTION, M.MAX_LINE = 400, 50, 120

-- Words out of the reviewed files may be any bytes; the state takes text only.
local function readable(text)
  text = text:gsub("%c", " ")
  return utf8.len(text) and text or (text:gsub("[\128-\255]", "?"))
end

local FROM_CPPCHECK = {
  error = "error", warning = "warning", portability = "warning", style = "style", performance = "style",
}

-- By luacheck's numbers: 0 syntax, 1 globals, 2 and 3 unused, 4 shadowing, 5 dead code, 6 format.
-- An argument or loop variable that nobody uses (212, 213) is a matter of style.
local function luacheck_severity(code)
  local group, is_style = code:sub(2, 2), code == "W212" or code == "W213"
  if code:sub(1, 1) == "E" then
    return "error"
  end
  return (is_style or group == "4" or group == "6") and "style" or "warning"
end

---Findings in what cppcheck prints with the template of skill.lua.
function M.from_cppcheck(output)
  local list = {}
  for line in output:gmatch "[^\n]+" do
    local file, number, severity, rule, message = line:match "^([^\t]*)\t(%d+)\t(%a+)\t([^\t]*)\t(.*)$"
    if file and file ~= "" then
      list[#list + 1] = {
        file = file, line = math.tointeger(tonumber(number)), rule = rule, message = readable(message),
        severity = FROM_CPPCHECK[severity] or "note", from = "cppcheck",
      }
    end
  end
  return { found = list }
end

---Findings in luacheck's plain output with --codes.
function M.from_luacheck(output)
  local list = {}
  for line in output:gmatch "[^\n]+" do
    local file, number, code, message = line:match "^(.-):(%d+):%d+: %((%u%d+)%) (.*)$"
    if file then
      list[#list + 1] = {
        file = file, line = math.tointeger(tonumber(number)), rule = code, message = readable(message),
        severity = luacheck_severity(code), from = "luacheck",
      }
    end
  end
  return { found = list }
end

-- Lua: a named function ends at the `end` that is indented as it is.
local function lua_functions(lines, visit)
  local open = {}
  for number, line in ipairs(lines) do
    local indent, name = line:match "^(%s*)local%s+function%s+([%w_]+)"
    if not name then
      indent, name = line:match "^(%s*)function%s+([%w_.:]+)"
    end
    if not name then
      indent, name = line:match "^(%s*)[%w_.]*%f[%w_]([%w_]+)%s*=%s*function%f[%W]"
    end
    if name and not line:find "%f[%w]end%f[%W]" then
      open[indent] = { name = name, line = number }
    end
    local close = line:match "^(%s*)end%f[%W]"
    if close and open[close] then
      visit(open[close].name, open[close].line, number)
      open[close] = nil
    end
  end
end

-- C: a body begins with the "{" that ends a line at the outermost level, and ends at a "}" in the
-- first column; its name stands before the first "(" of what leads to it.
local function c_functions(lines, visit)
  local head, first, name, began = "", nil, nil, nil
  for number, line in ipairs(lines) do
    if began then
      if line:find "^}" then
        visit(name, began, number)
        head, first, began = "", nil, nil
      end
    elseif line:find "^%s*$" or line:find "^#" or line:find "[;}]%s*$" or line:find "^%s*[/*]" then
      head, first = "", nil
    else
      head, first = head .. " " .. line, first or number
      if line:find "{%s*$" then
        name = head:match "([%w_]+)%s*%("
        local is_function = name and not head:find "=" and name ~= "struct"
        began = is_function and first or nil
        head, first = "", nil
      end
    end
  end
end

local function lines_of(text)
  local lines = {}
  for line in (text:sub(-1) == "\n" and text or text .. "\n"):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = line
  end
  return lines
end

local MARKS = { "TODO", "FIXME", "XXX" }

-- Checks that look at one line.
local function check_line(line, add)
  local last = line:gsub("\r$", "")
  if last:find "[ \t]$" then
    add("trailing-blank", "style", "blanks at the end of the line")
  end
  local columns = utf8.len(line) or #line
  if columns > M.MAX_LINE then
    add("long-line", "style", ("%d columns, at most %d"):format(columns, M.MAX_LINE))
  end
  for _, mark in ipairs(MARKS) do
    local comment = line:match("[-/*][-/*].*") or line:match "^%s*%*.*"
    if comment and comment:find("%f[%w]" .. mark .. "%f[%W]") then
      add("mark", "note", comment:gsub("^[-/* ]+", ""):gsub("[ */]+$", ""):gsub("%s+", " "))
    end
  end
end

---Looks at one file; adds its findings to `list` and gives the number of its lines.
---@param file string
---@param text string
---@param list table[]
---@return integer lines
function M.file(file, text, list)
  local function add_at(line)
    return function(rule, severity, message)
      list[#list + 1] =
        { file = file, line = line, rule = rule, severity = severity, from = "own", message = readable(message) }
    end
  end
  local lines = lines_of(text)
  if not utf8.len(text) then
    add_at(1)("not-utf8", "warning", "holds bytes that are not UTF-8")
  end
  if text ~= "" and text:sub(-1) ~= "\n" then
    add_at(#lines)("no-last-newline", "style", "the last line has no end")
  end
  if #lines > M.MAX_FILE then
    add_at(1)("long-file", "style", ("%d lines, at most %d"):format(#lines, M.MAX_FILE))
  end
  for number, line in ipairs(lines) do
    check_line(line, add_at(number))
  end
  local each = file:find "%.lua$" and lua_functions or c_functions
  each(lines, function(name, first, last)
    if last - first + 1 > M.MAX_FUNCTION then
      local message = ("%s has %d lines, at most %d"):format(name, last - first + 1, M.MAX_FUNCTION)
      add_at(first)("long-function", "style", message)
    end
  end)
  return #lines
end

return M
