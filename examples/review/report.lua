-- report.lua: the findings of a review as a page for people.
--
-- Text that came from the reviewed files is data: it is made harmless for Markdown before it is
-- written. Knows the state's shape, nothing of runs. Called by skill.lua.

local M = {}

local SEVERITIES = { "error", "warning", "style", "note" }
local RANK = { error = 1, warning = 2, style = 3, note = 4 }
-- How many findings are told one by one: of one rule, and in all.
local BAD = { of_rule = 10, all = 60 }
local SMALL = { of_rule = 3, all = 40 }

-- One line in which nothing acts as Markdown or HTML.
local function plain(text, most)
  text = tostring(text):gsub("[%c]", " ")
  if #text > (most or 160) then
    text = text:sub(1, utf8.offset(text, 0, most or 160) - 1) .. "..."
  end
  return (text:gsub("[\\`*_%[%]<>|#]", "\\%0"))
end

-- A path and line as code: no backtick gets out of it.
local function place(finding)
  return ("`%s:%d`"):format(finding.file:gsub("[%c`|]", "?"), finding.line)
end

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

local function all_findings(state)
  local list = {}
  for _, key in ipairs(sorted_keys(state.findings)) do
    for _, finding in ipairs(state.findings[key]) do
      list[#list + 1] = finding
    end
  end
  table.sort(list, function(a, b)
    if a.severity ~= b.severity then
      return RANK[a.severity] < RANK[b.severity]
    elseif a.file ~= b.file then
      return a.file < b.file
    elseif a.line ~= b.line then
      return a.line < b.line
    end
    return a.rule .. a.message < b.rule .. b.message
  end)
  return list
end

-- Rows { severity, rule, from, count }, the worst and most frequent first.
local function by_rule(list)
  local rows, known = {}, {}
  for _, finding in ipairs(list) do
    local key = finding.severity .. " " .. finding.from .. " " .. finding.rule
    local row = known[key]
    if not row then
      row = { severity = finding.severity, rule = finding.rule, from = finding.from, count = 0, example = finding }
      known[key] = row
      rows[#rows + 1] = row
    end
    row.count = row.count + 1
  end
  table.sort(rows, function(a, b)
    if a.severity ~= b.severity then
      return RANK[a.severity] < RANK[b.severity]
    elseif a.count ~= b.count then
      return a.count > b.count
    end
    return a.from .. a.rule < b.from .. b.rule
  end)
  return rows
end

local function by_file(list)
  local rows, known = {}, {}
  for _, finding in ipairs(list) do
    local row = known[finding.file]
    if not row then
      row = { file = finding.file, count = 0, error = 0, warning = 0, style = 0, note = 0 }
      known[finding.file] = row
      rows[#rows + 1] = row
    end
    row.count = row.count + 1
    row[finding.severity] = row[finding.severity] + 1
  end
  table.sort(rows, function(a, b)
    for _, key in ipairs { "error", "warning", "count" } do
      if a[key] ~= b[key] then
        return a[key] > b[key]
      end
    end
    return a.file < b.file
  end)
  return rows
end

local function count(n, what)
  return ("%d %s"):format(n, n == 1 and what or what:find "ch$" and what .. "es" or what .. "s")
end

local function write_head(out, state, summary, now)
  out("# Review of %s", plain(state.root))
  out("")
  out("%s, %s in %s%s.", os.date("!%Y-%m-%d %H:%M UTC", now // 1000), count(state.lines, "line"),
    count(#state.files, "file"), state.revision and (", revision " .. plain(state.revision)) or "")
  out("")
  out("**%s, %s, %d style, %s.**", count(summary.error, "error"), count(summary.warning, "warning"),
    summary.style, count(summary.note, "note"))
  out("")
  out("Checked with cppcheck%s, luacheck%s and the skill's own checks, in %s of files.",
    state.tools.cppcheck and " " .. state.tools.cppcheck or " (not installed)",
    state.tools.luacheck and " " .. state.tools.luacheck or " (not installed)", count(state.batches, "batch"))
end

local function write_rules(out, rows)
  out("\n## By severity and rule\n")
  if #rows == 0 then
    return out("Nothing was found.")
  end
  out("| severity | rule | from | found | for example |")
  out("|---|---|---|---:|---|")
  for _, row in ipairs(rows) do
    out("| %s | %s | %s | %d | %s %s |", row.severity, plain(row.rule), row.from, row.count, place(row.example),
      plain(row.example.message, 80))
  end
end

-- The findings one by one; of each rule some, and of all not too many.
local function write_list(out, title, list, worst, last, most)
  out("\n## %s\n", title)
  local shown, left, of_rule = 0, 0, {}
  for _, finding in ipairs(list) do
    if RANK[finding.severity] >= worst and RANK[finding.severity] <= last then
      local seen = (of_rule[finding.rule] or 0) + 1
      of_rule[finding.rule] = seen
      if seen <= most.of_rule and shown < most.all then
        shown = shown + 1
        out("- %s **%s** %s (%s %s)", place(finding), finding.severity, plain(finding.message, 300), finding.from,
          plain(finding.rule))
      else
        left = left + 1
      end
    end
  end
  if shown == 0 then
    out("None.")
  elseif left > 0 then
    out("\n%d more are left out: at most %d of a rule, %d in all.", left, most.of_rule, most.all)
  end
end

local function write_files(out, rows)
  if #rows == 0 or rows[1].count < 2 then
    return -- the list above says it all
  end
  out("\n## Files with the most\n")
  out("| file | errors | warnings | style | notes |")
  out("|---|---:|---:|---:|---:|")
  for i = 1, math.min(10, #rows) do
    local row = rows[i]
    if row.count < 2 then
      break
    end
    out("| `%s` | %d | %d | %d | %d |", row.file:gsub("[%c`|]", "?"), row.error, row.warning, row.style, row.note)
  end
end

local function write_skipped(out, state)
  out("\n## Skipped\n")
  local any = false
  local function line(...)
    any = true
    out(...)
  end
  for _, pair in ipairs { { "cppcheck", "%.[ch]$", "C" }, { "luacheck", "%.lua$", "Lua" } } do
    local files = 0
    for _, name in ipairs(state.files) do
      files = files + (name:find(pair[2]) and 1 or 0)
    end
    if not state.tools[pair[1]] and files > 0 then
      line("- %s is not installed: %s of %s were read by the own checks only.", pair[1], count(files, "file"), pair[3])
    end
  end
  for _, key in ipairs(sorted_keys(state.skipped)) do
    line("- %s: %s", plain(key), plain(state.skipped[key]))
  end
  if not any then
    out("Nothing.")
  end
end

local function write_times(out, state, now)
  out("\n## Time\n")
  out("| action | steps | seconds |")
  out("|---|---:|---:|")
  local ids = sorted_keys(state.times)
  table.sort(ids, function(a, b)
    return state.times[a].ms > state.times[b].ms
  end)
  for _, id in ipairs(ids) do
    out("| %s | %d | %.2f |", id, state.times[id].runs, state.times[id].ms / 1000)
  end
  out("\nFrom the first file to this report: %.1f seconds.", (now - state.started) / 1000)
  for _, key in ipairs(sorted_keys(state.retried)) do
    local row = state.retried[key]
    out("\nBatch %s took %d attempts: the last one had %g seconds.", plain(key), row.attempts, row.deadline)
  end
end

---The page, and the numbers at its top.
---@param state table
---@param now integer  UTC milliseconds
---@return string text
---@return table summary
function M.render(state, now)
  local lines = {}
  local function out(format, ...)
    lines[#lines + 1] = select("#", ...) == 0 and format or format:format(...)
  end
  local list = all_findings(state)
  local summary = { files = #state.files, lines = state.lines, root = state.root }
  for _, severity in ipairs(SEVERITIES) do
    summary[severity] = 0
  end
  for _, finding in ipairs(list) do
    summary[finding.severity] = summary[finding.severity] + 1
  end
  write_head(out, state, summary, now)
  write_rules(out, by_rule(list))
  write_list(out, "Errors and warnings", list, 1, 2, BAD)
  write_list(out, "Style and notes", list, 3, 4, SMALL)
  write_files(out, by_file(list))
  write_skipped(out, state)
  write_times(out, state, now)
  return table.concat(lines, "\n") .. "\n", summary
end

return M
