-- cli/command/check.lua: `skillrt check PATH ...`: finds errors in skills before they run.
--
-- A script is executed to get its skill; everything else is only read. Changes nothing.

local M = {
  name = "check",
  looks = true,
  summary = "Checks a skill: conditions, references, prompts, and every state that a run can reach",
  description = "Exit code 0: no warnings (notes do not count), 1: warnings, 2: errors, or a path that cannot be read. "
    .. "Of several paths the highest code counts; with --json the result is a list. "
    .. "docs/reference/checks.md lists the findings.",
  own_codes = true,
  arguments = { { name = "PATH", is_skill = "each", many = true,
    help = "a skill's folder, script, skill-config.json, workflow.json, agent.yml, command or agent's file" } },
  options = {
    { name = "json", help = "prints one JSON object per PATH and line" },
    { name = "format", value = "FORMAT", choices = { "text", "json", "sarif" },
      help = "text (the default), json, or sarif, which editors and CI services read" },
    { name = "strict", help = "treats warnings as errors: code 2" },
    { name = "report", help = "prints a validation report: files, contents, PASS, REVIEW or FAIL" },
    { name = "max-states", value = "N", help = "the most states that the search visits (default 100000)" },
    require("skillrt.cli.trust").OPTION,
  },
}

local KINDS = { error = "error", warning = "warning", note = "detail" }

local function clean(text)
  return table.concat(require("skillrt.base.terminal_text").lines(text), " ")
end

local function show(result, output)
  for i, one in ipairs(result.findings) do
    local next_one = result.findings[i + 1] or {}
    local where = one.line and ("%s:%d"):format(one.file, one.line) or one.file or result.path
    output.write(("%s: %s %s [%s]\n"):format(
      clean(where), output.paint(1, KINDS[one.level], one.level .. ":"), clean(one.what), one.code))
    local repeats = next_one.code == one.code and next_one.why == one.why and next_one.fix == one.fix
    if one.why and not repeats then
      output.write("    why: " .. clean(one.why) .. "\n")
    end
    if one.fix and not repeats then
      output.write("    do:  " .. clean(one.fix) .. "\n")
    end
  end
  local counts = result.counts
  local searched = result.states > 0 and (", %d states searched"):format(result.states) or ""
  local parts = {}
  for i, level in ipairs({ "error", "warning", "note" }) do
    parts[i] = ("%d %s%s"):format(counts[level], level, counts[level] == 1 and "" or "s")
  end
  output.write(("%s: %s%s\n"):format(clean(result.path), table.concat(parts, ", "), searched))
end

-- Marks empty lists as JSON arrays.
local function plain(result)
  local json = require "skillrt.base.json"
  local findings = json.array {}
  for i, one in ipairs(result.findings) do
    findings[i] = { code = one.code, level = one.level, file = one.file, line = one.line, what = one.what,
      why = one.why,
      fix = one.fix, steps = one.steps and json.array(one.steps) or nil }
  end
  return { path = result.path, findings = findings, counts = result.counts, states = result.states,
    complete = result.complete }
end

local function report(result, args, output)
  local report_of = require "skillrt.document.check.report"
  local made = report_of.of(result, os.date "!%Y-%m-%dT%H:%M:%SZ" --[[@as string]])
  if args.json then
    output.write_json(made)
  else
    for _, line in ipairs(report_of.lines(made)) do
      output.write(clean(line) .. "\n")
    end
  end
end

local function show_all(results, args, output)
  local format = args.format or args.json and "json" or "text"
  if args.report then
    for _, result in ipairs(results) do
      report(result, { json = format == "json" }, output)
    end
  elseif format == "sarif" then
    output.write_json(require("skillrt.document.check.sarif").of(results, require("skillrt.core").version))
  elseif format == "json" then
    for _, result in ipairs(results) do
      output.write_json(plain(result))
    end
  else
    for _, result in ipairs(results) do
      show(result, output)
    end
  end
end

---@param args table
---@return integer code
function M.run(args)
  local check = require "skillrt.document.check"
  local bound = args.max_states and math.tointeger(tonumber(args.max_states))
  if args.max_states and not (bound and bound > 0) then
    return require("skillrt.cli.help").wrong(M, "--max-states must be a whole number above 0")
  end
  local results, worst = {}, 0
  for _, path in ipairs(args.path) do
    local result, message, code = check.check(path, { max_states = bound })
    if result then
      results[#results + 1] = result
      worst = math.max(worst, check.exit_code(result))
    else
      worst = math.max(worst, require("skillrt.cli.ending").refused(message, code))
    end
  end
  show_all(results, args, require "skillrt.report.output")
  return args.strict and worst == 1 and 2 or worst
end

return M
