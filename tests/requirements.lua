-- requirements.lua: writes docs/requirements.md to standard output: each row (R1.., F1..) with
-- the tests whose own names claim it, so that the page cannot go stale.
--
-- Run by `make requirements` and, to compare, by `make lint`. Reads tests/requirements.txt and
-- every it("..."), TEST("...") below tests/ and examples/. A row is named as R32, F18, R27-R35.

local M = {}

---@class requirements.test
---@field path string where it stands
---@field name string its sentence, rows included

-- The string literal that begins at `at`, with the literals that follow it ("a" "b" or "a" .. "b").
local function literal(text, at)
  local parts = {}
  while true do
    local quote = text:match("^%s*(['\"])", at)
    if not quote then
      break
    end
    local from = text:find(quote, at, true) + 1
    local to = from
    while text:sub(to, to) ~= quote do
      if to > #text then
        return nil
      end
      to = to + (text:sub(to, to) == "\\" and 2 or 1)
    end
    parts[#parts + 1] = text:sub(from, to - 1)
    at = text:match("^%s*%.%.()", to + 1) or to + 1
  end
  return parts[1] and (table.concat(parts):gsub("\\(.)", "%1"))
end

--- The sentences of the tests in a file's text.
---@param text string
---@return string[]
function M.sentences(text)
  local found = {}
  -- only at a line's start: sentences end in "it", too
  for word, at in ("\n" .. text):gmatch "\n[ \t]*(%a+)[ \t]*%(?()" do
    if word == "it" or word == "TEST" then
      found[#found + 1] = literal(text, at - 1)
    end
  end
  return found
end

--- The rows a sentence names, ranges spelled out.
---@param sentence string
---@return string[]
function M.rows(sentence)
  local rows, seen = {}, {}
  local function add(letter, number)
    local row = letter .. number
    if not seen[row] then
      seen[row] = true
      rows[#rows + 1] = row
    end
  end
  -- an en dash counts as a hyphen
  local text = sentence:gsub("\u{2013}", "-")
  for letter, from, rest in text:gmatch "%f[%w]([RF])(%d+)%f[^%d](%-?[RF]?%d*)" do
    from = math.tointeger(tonumber(from))
    local to = math.tointeger(tonumber(rest:match "^%-[RF]?(%d+)$" or from))
    for number = from, math.min(to, from + 300) do
      add(letter, number)
    end
  end
  return rows
end

local function lines_of(command)
  local pipe <close> = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do
    lines[#lines + 1] = line
  end
  return lines
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

---@return table<string, requirements.test[]> tests by row
function M.collect(paths)
  local by_row = {}
  for _, path in ipairs(paths) do
    for _, name in ipairs(M.sentences(read(path))) do
      for _, row in ipairs(M.rows(name)) do
        by_row[row] = by_row[row] or {}
        table.insert(by_row[row], { path = path, name = name })
      end
    end
  end
  return by_row
end

local function cell(text)
  return (text:gsub("%s+", " "):gsub("[|<]", { ["|"] = "\\|", ["<"] = "&lt;" }))
end

-- R1, R2, R3, R7 -> "R1-R3, R7", in lines of some 100 characters.
local function in_ranges(rows)
  local ranges, first, last = {}, nil, nil
  local function close()
    if first then
      ranges[#ranges + 1] = first == last and first or first .. "-" .. last
    end
  end
  for _, row in ipairs(rows) do
    local before = last and last:sub(1, 1) .. math.tointeger(last:sub(2)) + 1
    if row ~= before then
      close()
      first = row
    end
    last = row
  end
  close()
  local lines = { "" }
  for i, range in ipairs(ranges) do
    if #lines[#lines] > 90 then
      lines[#lines + 1] = ""
    end
    lines[#lines] = lines[#lines] .. (lines[#lines] ~= "" and " " or "") .. range .. (i < #ranges and "," or "")
  end
  return table.concat(lines, "\n")
end

--- The sentence without the rows in brackets at its end: they are the table's first column.
local function plain(name)
  return (name:gsub("%s*%([RF]%d+[^()]*%)%s*$", ""))
end

---@param statements string the text of tests/requirements.txt
---@param by_row table<string, requirements.test[]>
---@return string page, string[] unknown rows that tests name and the list does not have
function M.page(statements, by_row)
  local rows, open, known = {}, {}, {}
  for row, statement in statements:gmatch "%f[^\n\0]([RF]%d+)\t([^\n]+)" do
    known[row] = true
    local tests = {}
    for _, test in ipairs(by_row[row] or {}) do
      tests[#tests + 1] = ("`%s`: %s"):format(test.path, cell(plain(test.name)))
    end
    rows[#rows + 1] = ("| %s | %s | %s |"):format(row, cell(statement), table.concat(tests, "<br>"))
    if #tests == 0 then
      open[#open + 1] = row
    end
  end
  local unknown = {}
  for row, tests in pairs(by_row) do
    if not known[row] then
      unknown[#unknown + 1] = ("%s: a test names %s, which is no row"):format(tests[1].path, row)
    end
  end
  table.sort(unknown)
  local page = {
    "# Requirements and the tests that prove them",
    "",
    "Written by `make requirements` from the names of the tests; do not edit. R rows are what is asked,",
    "F rows are faults of the source documents with the behaviour that is right.",
    ("%d of %d rows are named by a test."):format(#rows - #open, #rows),
    "",
    "| row | what it asks | proven by |",
    "|---|---|---|",
    table.concat(rows, "\n"),
    "",
    "## Rows without a test",
    "",
    #open > 0 and in_ranges(open) or "None.",
  }
  return table.concat(page, "\n") .. "\n", unknown
end

if arg and arg[0] and arg[0]:match "requirements%.lua$" then
  local paths = lines_of "find tests examples \\( -name '*_spec.lua' -o -name '*.c' \\) 2>/dev/null | LC_ALL=C sort"
  local page, unknown = M.page(read "tests/requirements.txt", M.collect(paths))
  io.write(page)
  for _, text in ipairs(unknown) do
    io.stderr:write(text, "\n")
  end
  os.exit(#unknown == 0)
end

return M
