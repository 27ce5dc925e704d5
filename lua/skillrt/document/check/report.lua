-- document/check/report.lua: the validation report of a skill: which files exist, what they contain, and whether it
-- passes: PASS from 80, REVIEW from 60, else FAIL.
--
-- Four dimensions weigh alike: files, contents, references, behaviour. A script, a config or an
-- agent.yml alone has no documents, so contents do not count. Reads what was checked. Called by
-- cli/command/check.lua.
local files_of = require "skillrt.base.files"
local json = require "skillrt.base.json"
local outline = require "skillrt.base.outline"
local tables = require "skillrt.base.tables"
local write = require "skillrt.document.write"

local M = {}

---@class skillrt.check.Report
---@field skill_name string
---@field execution_mode string
---@field generated_at string
---@field file_checks table  { total, existing, with_content, with_todos, details }
---@field content_checks { total: integer, passed: integer, details: table[] }
---@field scores table<string, integer>  without contents for a file alone
---@field summary { status: "PASS"|"REVIEW"|"FAIL", score: integer, issues: string[], recommendations: string[] }

M.PASS, M.REVIEW = 80, 60
local MIN_CONTENT = 20 -- bytes below which a document counts as empty
local MAX_ISSUES = 20

local SECTIONS = {
  phase = { "Objective", "Input", "Execution", "Output", "Quality" },
  action = { "Purpose", "Preconditions", "Execution", "State Updates", "Error Handling" },
}

-- The files of a skill of this mode: path, kind.
local function expected(subject, model)
  local list, seen, tree = {}, {}, subject.tree
  local function add(path, kind)
    list[#list + 1] = not seen[path] and { path = path, kind = kind } or nil
    seen[path] = true
  end
  if not tree then
    add(subject.path, "data")
    return list
  end
  add("SKILL.md", "skill")
  if tree:has "skill-config.json" or tree:has "skill.lua" then
    add("skill-config.json", "data")
  end
  if #model.actions > 0 then
    add(tree:first("phases/orchestrator.md", "phases/_orchestrator.md") or "phases/orchestrator.md", "document")
    add("phases/state-schema.md", "document")
    add(tree:first("specs/action-catalog.md", "phases/orchestrator.md") or "specs/action-catalog.md", "document")
  elseif tree:has "skill.lua" or tree:has "workflow.json" then
    add(tree:first("phases/_orchestrator.md", "phases/orchestrator.md") or "phases/_orchestrator.md", "document")
    add("workflow.json", "data")
  end
  for _, phase in ipairs(model.phases) do
    local path = phase.prompt
    add(type(path) == "string" and tree:has(path) and path or ("phases/%s.md"):format(phase.id), "phase")
  end
  for _, action in ipairs(model.actions) do
    local path = ("phases/actions/%s.md"):format(action.id)
    if tree:has(path) or not action.terminal then
      add(path, "action")
    end
  end
  for _, spec in ipairs(subject.specs or {}) do
    add(spec.path, "document")
  end
  return list
end

local function has_todo(result, path)
  for _, finding in ipairs(result.findings) do
    if finding.file == path and (finding.code == "prompt.todo" or finding.code == "prompt.placeholder") then
      return true
    end
  end
  return false
end

-- Generated documents of steps and specs that nobody has edited: they do not yet say how the work is done.
local OUTLINED = { phase = true, action = true }

-- Whether a document of a step, or a spec, is unchanged since it was generated: by the manifest, or by its text.
local function outlines_of(result)
  local tree, specs = result.subject.tree, tables.by(result.subject.specs, "path")
  local made = tree and tree:has(write.MANIFEST) and write.manifest(tree.dir)
  return function(one, text)
    return (OUTLINED[one.kind] or specs[one.path]) and (outline.is(text)
      or made and made.files[one.path] == files_of.digest(files_of.read(files_of.join(tree.dir, one.path)))) or false
  end
end

local function check_files(result, list)
  local is_outline = outlines_of(result)
  local tree = result.subject.tree
  local out = { total = #list, existing = 0, with_content = 0, with_todos = 0, details = json.array {} }
  for i, one in ipairs(list) do
    local text
    if not tree then
      text = files_of.read(one.path)
    elseif tree:has(one.path) then
      text = tree:read(one.path)
    end
    local row = { path = one.path, exists = text and true or false, bytes = text and #text or 0 }
    row.has_content = row.exists and #text:gsub("%s", "") >= MIN_CONTENT
    row.outline = row.exists and is_outline(one, text)
    row.has_todos = row.exists and (row.outline or has_todo(result, one.path))
    row.issue = not row.exists and "is missing" or not row.has_content and "says nothing"
      or row.outline and "is as it was generated: it does not say how to do the work" or nil
    out.existing = out.existing + (row.exists and 1 or 0)
    out.with_content = out.with_content + (row.has_content and 1 or 0)
    out.with_todos = out.with_todos + (row.has_todos and 1 or 0)
    out.details[i] = row
  end
  return out
end

local function headings(tree, path)
  local all = {}
  for _, block in ipairs(tree:document(path)) do
    if block.kind == "heading" then
      all[#all + 1] = block.text:lower()
    end
  end
  return table.concat(all, "\n")
end

local function check_contents(result, list)
  local out = { total = 0, passed = 0, details = json.array {} }
  for _, one in ipairs(list) do
    local wanted, missing = SECTIONS[one.kind] or {}, json.array {}
    local text = #wanted > 0 and headings(result.subject.tree, one.path) or ""
    for _, section in ipairs(wanted) do
      out.total = out.total + 1
      if text:find(section:lower(), 1, true) then
        out.passed = out.passed + 1
      else
        missing[#missing + 1] = section
      end
    end
    if #wanted > 0 then
      out.details[#out.details + 1] = { path = one.path, passed = #missing == 0, missing = missing }
    end
  end
  return out
end

local FAMILY = {
  reference = "references", machine = "references", input = "references", output = "references", load = "references",
  config = "references", spec = "references", skill = "references", condition = "behaviour", effect = "behaviour",
  key = "behaviour", reach = "behaviour", prompt = "behaviour",
}

local COST = { error = 25, warning = 5, note = 0 }

local function outlines_in(files)
  local count = 0
  for _, row in ipairs(files.details) do
    count = count + (row.outline and 1 or 0)
  end
  return count
end

local function scores_of(result, files, contents)
  local scores = { references = 100, behaviour = 100 }
  for _, finding in ipairs(result.findings) do
    local family = FAMILY[finding.code:match "^[^.]*"] or "references"
    scores[family] = math.max(0, scores[family] - COST[finding.level])
  end
  scores.files = files.total > 0 and 100 * files.with_content // files.total or 0
  scores.contents = contents.total > 0 and 100 * contents.passed // contents.total or 100
  scores.contents = scores.contents * (files.total - outlines_in(files)) // math.max(files.total, 1)
  if not result.subject.model then
    scores.contents, scores.behaviour = contents.total > 0 and scores.contents or 0, 0
  end
  scores.contents = result.subject.tree and scores.contents or nil
  return scores
end

local DIMENSIONS = { "files", "contents", "references", "behaviour" }

-- The mean of the applicable dimensions.
local function score_of(scores)
  local sum, count = 0, 0
  for _, name in ipairs(DIMENSIONS) do
    if scores[name] then
      sum, count = sum + scores[name], count + 1
    end
  end
  return sum // count
end

local function summary_of(result, scores, outlines)
  local score = score_of(scores)
  if outlines > 0 then
    score = math.min(score, M.PASS - 1) -- a document that nobody has filled in does not pass
  end
  local status = score >= M.PASS and "PASS" or score >= M.REVIEW and "REVIEW" or "FAIL"
  if not result.subject.model then
    status = "FAIL" -- nothing in it can run
  elseif status == "PASS" and result.counts.error > 0 then
    status = "REVIEW" -- what does not run does not pass
  end
  local out, seen = { status = status, score = score, issues = json.array {},
    recommendations = json.array {} }, {}
  for _, finding in ipairs(result.findings) do
    if finding.level ~= "note" and #out.issues < MAX_ISSUES then
      local where = finding.line and ("%s:%d"):format(finding.file, finding.line) or finding.file or "."
      out.issues[#out.issues + 1] = ("%s: %s [%s]"):format(where, finding.what, finding.code)
      if finding.fix and not seen[finding.fix] then
        seen[finding.fix] = true
        out.recommendations[#out.recommendations + 1] = finding.fix
      end
    end
  end
  return out
end

---The report of what was checked at a path.
---@param result skillrt.check.Result
---@param now string  UTC, as in 2026-11-21T10:00:00Z
---@return skillrt.check.Report
function M.of(result, now)
  local subject = result.subject
  local model = subject.model or { actions = {}, phases = {}, mode = "none" }
  local list = expected(subject, model)
  local files, contents = check_files(result, list), check_contents(result, list)
  local scores = scores_of(result, files, contents)
  return {
    skill_name = subject.name or (subject.path or ""):match "([^/]+)/*$" or "?",
    execution_mode = model.mode,
    generated_at = now,
    file_checks = files,
    content_checks = contents,
    scores = scores,
    summary = summary_of(result, scores, outlines_in(files)),
  }
end

local function bullets(lines, title, list)
  if #list > 0 then
    lines[#lines + 1] = title
    for _, one in ipairs(list) do
      lines[#lines + 1] = "  - " .. one
    end
  end
end

---The report as people read it.
---@param report skillrt.check.Report
---@return string[]
function M.lines(report)
  local files, contents, summary = report.file_checks, report.content_checks, report.summary
  local lines = {
    ("%s: %s (%d of 100), %s, %s"):format(report.skill_name, summary.status, summary.score, report.execution_mode,
      report.generated_at),
    ("files: %d of %d there, %d with content, %d with something left to do"):format(
      files.existing, files.total, files.with_content, files.with_todos),
  }
  local scores = {}
  for _, name in ipairs(DIMENSIONS) do
    scores[#scores + 1] = report.scores[name] and ("%s %d"):format(name, report.scores[name])
  end
  if report.scores.contents then
    lines[#lines + 1] = ("contents: %d of %d sections"):format(contents.passed, contents.total)
  end
  lines[#lines + 1] = "scores: " .. table.concat(scores, ", ")
  local lacking = {}
  for _, row in ipairs(files.details) do
    lacking[#lacking + 1] = row.issue and ("%s %s"):format(row.path, row.issue)
  end
  for _, row in ipairs(contents.details) do
    if not row.passed then
      lacking[#lacking + 1] = ("%s has no section %s"):format(row.path, table.concat(row.missing, ", "))
    end
  end
  bullets(lines, "missing:", lacking)
  bullets(lines, "issues:", summary.issues)
  bullets(lines, "recommendations:", summary.recommendations)
  return lines
end

return M
