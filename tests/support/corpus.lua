-- corpus.lua: the labelled folders below tests/support/corpus: each line of theirs says what a check
-- has to find there, and a line that says nothing has to be left alone.
--
-- A file holds a family: a line about it, then folders. `##### name: what it is` begins one,
-- `=== path` a file of it (`=== path +`: with a good front matter before it), ` @@ code` at the end
-- of a line labels that line, `@ path code` labels a file without a line, `--- path` says what of the
-- folder is checked. `code?` may be found and need not be; `a|b` is one of both. Notes do not count.
-- Called by corpus_spec.lua, tests/corpus.lua (`make corpus`) and tests/golden.lua (`make golden`).
local check = require "skillrt.document.check"
local files = require "skillrt.base.files"
local graph = require "skillrt.document.graph"
local json = require "skillrt.base.json"
local load = require "skillrt.document.load"
local simulate = require "skillrt.document.simulate"
local text_of = require("skillrt.document.findings").text

local M = {}

M.FOLDER = "tests/support/corpus"
local HEAD = { "---", "name: demo", "description: Does a thing. Use it when asked.", "---", "# Demo", "" }

---@class corpus.Case
---@field name string
---@field what string
---@field family string
---@field files table<string, string[]>  lines by path
---@field labels { file: string, line: integer?, codes: string[], optional: boolean }[]
---@field target string?

local function add_labels(case, file, line, codes)
  for code in codes:gmatch "%S+" do
    local optional = code:sub(-1) == "?"
    local list = {}
    for one in (optional and code:sub(1, -2) or code):gmatch "[^|]+" do
      list[#list + 1] = one
    end
    case.labels[#case.labels + 1] = { file = file, line = line, codes = list, optional = optional }
  end
end

local function directive(case, line)
  local file, codes = line:match "^@ (%S+) (.+)$"
  if file then
    add_labels(case, file, nil, codes)
    return
  end
  case.target = line:match "^%-%-%- (%S+)$" or error(case.name .. ": cannot be read: " .. line)
end

local function content(case, path, line)
  local lines = case.files[path]
  local text, codes = line:match "^(.-)%s*@@ (.+)$"
  lines[#lines + 1] = text or line
  if codes then
    add_labels(case, path, #lines, codes)
  end
end

---The folders of one family.
---@param text string
---@param family string
---@return corpus.Case[]
function M.parse(text, family)
  local cases, case, path = {}, nil, nil
  for line in text:gmatch "([^\n]*)\n" do
    local name, what = line:match "^##### ([%w-]+): (.+)$"
    local file, plus = line:match "^=== (%S+)%s*(%+?)$"
    if name then
      case, path = { name = name, what = what, family = family, files = {}, labels = {} }, nil
      cases[#cases + 1] = case
    elseif case and file then
      path, case.files[file] = file, plus == "+" and { table.unpack(HEAD) } or {}
    elseif case and path then
      content(case, path, line)
    elseif case then
      directive(case, line)
    end
  end
  return cases
end

---All folders, family by family.
---@return corpus.Case[]
function M.cases()
  local all, names = {}, files.glob(M.FOLDER, "*.txt")
  table.sort(names)
  for _, name in ipairs(names) do
    local text = assert(files.read(M.FOLDER .. "/" .. name))
    table.move(M.parse(text, (name:gsub("%.txt$", ""))), 1, 1000, #all + 1, all)
  end
  return all
end

---Writes the files of a folder below a base.
---@return string dir
function M.write(case, base)
  local dir = base .. "/" .. case.name .. "/demo"
  for path, lines in pairs(case.files) do
    assert(files.make_folders(files.dirname(dir .. "/" .. path)))
    assert(files.write(dir .. "/" .. path, table.concat(lines, "\n") .. "\n"))
  end
  return dir
end

local function fits(label, finding, root)
  local file = finding.file or "."
  file = file:sub(1, #root + 1) == root .. "/" and file:sub(#root + 2) or file
  if file ~= label.file or finding.line ~= label.line then
    return false
  end
  for _, code in ipairs(label.codes) do
    if finding.code == code then
      return true
    end
  end
  return false
end

---Checks one folder: what was rightly found, what was found and is not there, what was not found.
---@param case corpus.Case
---@param base string  where it may be written
---@return { right: integer, false_alarms: skillrt.check.Finding[], missed: table[] }
function M.judge(case, base)
  local dir = M.write(case, base)
  local target = case.target and case.target ~= "." and dir .. "/" .. case.target or dir
  local result = assert(check.check(target))
  local out, met = { right = 0, false_alarms = {}, missed = {} }, {}
  for _, finding in ipairs(result.findings) do
    local label
    for _, one in ipairs(case.labels) do
      label = label or fits(one, finding, dir) and one
    end
    if label then
      met[label] = true
      out.right = out.right + 1
    elseif finding.level ~= "note" then
      out.false_alarms[#out.false_alarms + 1] = finding
    end
  end
  for _, label in ipairs(case.labels) do
    if not met[label] and not label.optional then
      out.missed[#out.missed + 1] = label
    end
  end
  return out
end

local function line_of(case, finding)
  return ("%s/%s: %s:%s: %s [%s]"):format(case.family, case.name, finding.file or ".", finding.line or "-",
    finding.what, finding.code)
end

---Checks all folders. Rows are families and their sum; `wrong` says each false alarm and miss.
---@param base string
---@return table[] rows  { family, folders, right, false_alarms, planted, missed }
---@return string[] wrong
function M.run(base)
  local rows, by, wrong = {}, {}, {}
  local sum = { family = "all", folders = 0, right = 0, false_alarms = 0, planted = 0, missed = 0 }
  for _, case in ipairs(M.cases()) do
    local row = by[case.family]
    if not row then
      row = { family = case.family, folders = 0, right = 0, false_alarms = 0, planted = 0, missed = 0 }
      by[case.family], rows[#rows + 1] = row, row
    end
    local got = M.judge(case, base)
    local planted = 0
    for _, label in ipairs(case.labels) do
      planted = planted + (label.optional and 0 or 1)
    end
    for _, one in ipairs { row, sum } do
      one.folders, one.right = one.folders + 1, one.right + got.right
      one.false_alarms, one.missed = one.false_alarms + #got.false_alarms, one.missed + #got.missed
      one.planted = one.planted + planted
    end
    for _, finding in ipairs(got.false_alarms) do
      wrong[#wrong + 1] = "false: " .. line_of(case, finding)
    end
    for _, label in ipairs(got.missed) do
      wrong[#wrong + 1] = ("missed: %s/%s: %s:%s: %s"):format(case.family, case.name, label.file, label.line or "-",
        table.concat(label.codes, "|"))
    end
  end
  rows[#rows + 1] = sum
  return rows, wrong
end

-- What a document became, as JSON can hold it.
local function plain(value)
  if type(value) == "function" then
    return "(function)"
  elseif type(value) ~= "table" or value.text and value.source then
    return type(value) == "table" and value.text or value
  end
  local out = json.is_array(value) and json.array {} or {}
  for key, one in pairs(value) do
    out[key] = plain(one)
  end
  return out
end

-- The fields of a definition, a line each; a list of tables has a line for each of them.
local function definition_lines(definition)
  local lines = {}
  for _, key in ipairs(require("skillrt.base.names").sorted(definition)) do
    local value = plain(definition[key])
    local is_list = type(value) == "table" and type(value[1]) == "table"
    lines[#lines + 1] = ("%s: %s"):format(key, is_list and "" or assert(json.encode(value, { sorted = true })))
    for _, one in ipairs(is_list and value or {}) do
      lines[#lines + 1] = "  " .. assert(json.encode(one, { sorted = true }))
    end
  end
  return lines
end

M.GOLDEN = "tests/golden/corpus.txt"

---All that is said of each folder, what it becomes and its picture: what may change only where somebody sees it.
---@param base string  where the folders may be written
---@return string
function M.golden(base)
  local out = { "# Written by `make golden`: what is found in each folder of the corpus, what runs, a picture.\n" }
  for _, case in ipairs(M.cases()) do
    local dir = M.write(case, base)
    local target = case.target and case.target ~= "." and dir .. "/" .. case.target or dir
    local lines = { ("##### %s/%s"):format(case.family, case.name) }
    for _, finding in ipairs(assert(check.check(target)).findings) do
      lines[#lines + 1] = text_of(finding)
    end
    local document = load.read(target)
    if document and document.definition then
      table.move(definition_lines(document.definition), 1, 1000, #lines + 1, lines)
      local picture = graph.of(target)
      lines[#lines + 1] = picture and graph.text(picture, "text") or ""
      local simulated, why = simulate.of(target)
      lines[#lines + 1] = "simulated: " .. (simulated and assert(json.encode(simulated, { sorted = true })) or why)
    end
    out[#out + 1] = (table.concat(lines, "\n") .. "\n"):gsub(base:gsub("%p", "%%%0") .. "/[^/]+/demo", "DIR")
  end
  return table.concat(out)
end

local function percent(part, whole)
  return whole == 0 and "-" or ("%.1f%%"):format(100 * part / whole)
end

---Precision and recall of a row, as fractions; 1 where there is nothing to be wrong about.
---@return number precision
---@return number recall
function M.rates(row)
  local found = row.right + row.false_alarms
  return found == 0 and 1 or row.right / found, row.planted == 0 and 1 or (row.planted - row.missed) / row.planted
end

---The rows as docs/reference/checks.md shows them.
---@return string
function M.table_of(rows)
  local lines = {
    "| family | folders | found | of these false | precision | planted | missed | recall |",
    "|---|---|---|---|---|---|---|---|",
  }
  for _, row in ipairs(rows) do
    local found = row.right + row.false_alarms
    lines[#lines + 1] = ("| %s | %d | %d | %d | %s | %d | %d | %s |"):format(row.family:gsub("_", " "), row.folders,
      found, row.false_alarms, percent(row.right, found), row.planted, row.missed,
      percent(row.planted - row.missed, row.planted))
  end
  return table.concat(lines, "\n")
end

M.BEGIN, M.END = "<!-- corpus: written by make corpus -->", "<!-- corpus end -->"

---A page with the table between its two marks.
---@param page string
---@param rows table[]
---@return string
function M.placed(page, rows)
  local from = select(2, page:find(M.BEGIN, 1, true))
  local to = page:find(M.END, 1, true)
  assert(from and to, "docs/reference/checks.md has no place for the table")
  return page:sub(1, from) .. "\n" .. M.table_of(rows) .. "\n" .. page:sub(to)
end

return M
