-- requirements.lua: writes tests/requirements.md to standard output: each row (R1.., F1..) with
-- the tests whose own names claim it, so that the page cannot go stale.
--
-- Run by `make requirements` and, to compare, by `make lint`. Reads tests/requirements.txt and
-- every it("..."), TEST("...") below tests/ and examples/. A test names the rows it proves one by
-- one, as (R32, F18): breaking what the row says fails it. A row that later work brings is marked in
-- requirements.txt with the number of its issue. What is wrong with either is told, and fails.

local M = {}

local MOST <const> = 2 -- rows of one test: one that proves more says little about each

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
  for word, at in ("\n" .. text):gmatch "\n[ \t]*(%a+)[ \t]*%(*()" do
    if word == "it" or word == "TEST" then
      found[#found + 1] = literal(text, at - 1)
    end
  end
  return found
end

--- The rows a sentence names, and the ranges of rows it must not name: nobody proves one as a whole.
---@param sentence string
---@return string[] rows
---@return string[] ranges
function M.rows(sentence)
  local rows, ranges, seen = {}, {}, {}
  -- an en dash counts as a hyphen
  local text = sentence:gsub("\u{2013}", "-")
  for row, rest in text:gmatch "%f[%w]([RF]%d+)%f[^%d](%-?[RF]?%d*)" do
    if rest:find "^%-[RF]?%d+$" then
      ranges[#ranges + 1] = row .. rest
    elseif not seen[row] then
      seen[row] = true
      rows[#rows + 1] = row
    end
  end
  return rows, ranges
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

---@param texts table<string, string> of files, by their paths
---@return table<string, requirements.test[]> tests by row
---@return string[] faults
function M.collect(texts)
  local by_row, faults, paths = {}, {}, {}
  for path in pairs(texts) do
    paths[#paths + 1] = path
  end
  table.sort(paths)
  for _, path in ipairs(paths) do
    for _, name in ipairs(M.sentences(texts[path])) do
      local rows, ranges = M.rows(name)
      if #rows > MOST then
        local text = "%s: one test names %d rows (%s): name two at most, or split it"
        faults[#faults + 1] = text:format(path, #rows, name)
      end
      for _, row in ipairs(rows) do
        by_row[row] = by_row[row] or {}
        table.insert(by_row[row], { path = path, name = name })
      end
      for _, range in ipairs(ranges) do
        faults[#faults + 1] = ("%s: names %s: name each row that the test proves"):format(path, range)
      end
    end
  end
  return by_row, faults
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

---@class requirements.row
---@field name string
---@field statement string
---@field issue string|nil that brings it

-- The rows of requirements.txt in their order, and what its issues are called, by their numbers.
local function read_list(text)
  local rows, issues = {}, {}
  for line in text:gmatch "[^\n]+" do
    local issue, title = line:match "^issue (%d+)\t(.+)$"
    local name, statement, mark = line:match "^([RF]%d+)\t([^\t]+)\t?(%d*)$"
    if issue then
      issues[issue] = title
      issues[#issues + 1] = issue
    elseif name then
      rows[#rows + 1] = { name = name, statement = statement, issue = mark ~= "" and mark or nil }
    end
  end
  return rows, issues
end

-- What is wrong with a row: proven and yet open, or neither; open for no known issue.
local function fault_of(row, tests, issues)
  if row.issue and not issues[row.issue] then
    return ("tests/requirements.txt: %s is open for issue %s, which is none"):format(row.name, row.issue)
  elseif row.issue and tests then
    return ("%s: a test names %s, which is open until issue %s: take the mark in %s away, or the name"):format(
      tests[1].path, row.name, row.issue, "tests/requirements.txt")
  elseif not row.issue and not tests then
    return ("tests/requirements.txt: no test proves %s: write one, or say which issue brings it"):format(row.name)
  end
end

local function proof_of(row, tests)
  local list = {}
  for _, test in ipairs(tests or {}) do
    list[#list + 1] = ("`%s`: %s"):format(test.path, cell(plain(test.name)))
  end
  return row.issue and "open: issue " .. row.issue or table.concat(list, "<br>")
end

local function open_list(rows, issues)
  local lines = {}
  for _, issue in ipairs(issues) do
    local open = {}
    for _, row in ipairs(rows) do
      open[#open + 1] = row.issue == issue and row.name or nil
    end
    if #open > 0 then
      lines[#lines + 1] = ("Issue %s, %s:\n%s.\n"):format(issue, issues[issue], in_ranges(open))
    end
  end
  return #lines > 0 and table.concat(lines, "\n") or "None.\n"
end

---@param list string the text of tests/requirements.txt
---@param by_row table<string, requirements.test[]>
---@return string page
---@return string[] faults
function M.page(list, by_row)
  local rows, issues = read_list(list)
  local lines, known, faults, proven = {}, {}, {}, 0
  for _, row in ipairs(rows) do
    local tests = by_row[row.name]
    known[row.name] = true
    proven = proven + (tests and 1 or 0)
    faults[#faults + 1] = fault_of(row, tests, issues)
    lines[#lines + 1] = ("| %s | %s | %s |"):format(row.name, cell(row.statement), proof_of(row, tests))
  end
  for row, tests in pairs(by_row) do
    if not known[row] then
      faults[#faults + 1] = ("%s: a test names %s, which is no row"):format(tests[1].path, row)
    end
  end
  table.sort(faults)
  return table.concat({
    "# Requirements and the tests that prove them",
    "",
    "Written by `make requirements` from the names of the tests; do not edit. R rows are what is asked,",
    "F rows are faults of the source documents with the behaviour that is right. A row counts as proven",
    "when a test that names it fails without it; the others name the issue that brings them.",
    ("%d of %d rows are proven."):format(proven, #rows),
    "",
    "| row | what it asks | proven by |",
    "|---|---|---|",
    table.concat(lines, "\n"),
    "",
    "## Rows still open",
    "",
    open_list(rows, issues),
  }, "\n"), faults
end

if arg and arg[0] and arg[0]:match "requirements%.lua$" then
  local texts = {}
  for _, path in ipairs(lines_of "find tests examples \\( -name '*_spec.lua' -o -name '*.c' \\) 2>/dev/null") do
    texts[path] = read(path)
  end
  local by_row, ranges = M.collect(texts)
  local page, faults = M.page(read "tests/requirements.txt", by_row)
  io.write(page)
  for _, fault in ipairs(table.move(faults, 1, #faults, #ranges + 1, ranges)) do
    io.stderr:write(fault, "\n")
  end
  os.exit(#ranges == 0)
end

return M
