-- cli/command/tokens.lua: `skillrt tokens SKILL|DIR`: how much of each request a skill's tools take, with all tools
-- sent and with each set; and for a run, how many calls were to absent tools. Runs and writes nothing.

local M = {
  name = "tokens",
  looks = true,
  summary = "Shows what a skill's tools add to each request, in bytes and tokens: all tools, and each tool set",
  description = "Bytes are exact: what is sent to the provider of the skill's first model; tokens are estimated as "
    .. "bytes / 4. A tool without a schema is counted by its name alone, and the result says so. For a run: how many "
    .. "of 100 calls were to tools that were not present.",
  arguments = { { name = "SKILL", is_skill = "first", usage = "SKILL|DIR",
    help = "a skill's folder, script or configuration, an agent.yml; or the directory of a run" } },
  options = {
    { name = "schemas", value = "FILE", help = "a JSON list of tools in the form of an API or an MCP server, for "
      .. "tools that the skill only names" },
    { name = "json", help = "prints one JSON object" },
    require("skillrt.cli.trust").OPTION,
  },
}

-- The skill that is meant, and the directory of the run where it is one.
local function skill_of(args)
  local path, dir = args.skill, nil
  if require("skillrt.run.store").at(path):exists() then
    local first, message, code = require("skillrt.run.runner").first(path)
    if not first then
      return nil, message, code
    elseif not first.script then
      return nil, path .. ": its skill was not loaded from a file", "invalid"
    end
    path, dir = first.script, path
  end
  local skill, message, code, traceback
  if dir then
    skill, message, code, traceback = require("skillrt.document.reopen").skill_for(dir, { sees = true })
  else
    skill, message, code, traceback = require("skillrt.document.open").see(path)
  end
  if skill and not skill.tools and not skill.tool_sets then
    return nil, ("%s: has neither tools nor tool sets"):format(skill.name), "invalid"
  end
  return skill, skill and dir or message, code, traceback
end

-- The bytes of the longest prompt of a step with this set; nil: of any step.
local function prompts(skill)
  local text_of = require("skillrt.cli.command.prompt").text_of
  local longest, most = {}, nil
  for _, kind in ipairs({ "phase", "action" }) do
    for _, one in ipairs(skill[kind .. "s"] or {}) do
      local ok, text = false, nil
      if one.agent and not one.run then
        ok, text = pcall(text_of, skill, { kind = kind, definition = one }, {})
      end
      if ok then
        local name = one.tool_set or ""
        longest[name], most = math.max(longest[name] or 0, #text), math.max(most or 0, #text)
      end
    end
  end
  return function(set)
    if set then
      return longest[set.name]
    end
    return most
  end
end

-- ---- for people ----

local function number(value)
  local text = ("%d"):format(value)
  return (text:reverse():gsub("(%d%d%d)(%f[%d])", "%1,%2"):reverse())
end

local function table_of(rows, by_set)
  local lines = { ("%-16s %5s %8s %7s %6s %8s%s"):format("", "tools", "bytes", "tokens", "saved", "prompt",
    by_set and "  absent of 100 calls" or "") }
  for _, row in ipairs(rows) do
    local seen = by_set and by_set[row.name]
    lines[#lines + 1] = (("%-16s %5d %8s %7s %6s %8s%s"):format(row.name, row.tools, number(row.bytes),
      number(row.tokens), row.saved and ("%.1f%%"):format(row.saved) or "", row.prompt and number(row.prompt) or "-",
      seen and seen.calls > 0 and ("  %.1f (%d calls)"):format(100 * seen.absent / seen.calls, seen.calls) or "")
      :gsub("%s+$", ""))
  end
  return lines
end

local function shown(report)
  local lines = table_of(report.sets, report.calls)
  if report.written > 0 then
    table.insert(lines, 1, ("%d of %d tools have no schema here: skillrt counts them by name only"):format(
      report.written, report.sets[1].tools))
  end
  if report.schemas then
    table.insert(lines, 1, "schemas: " .. require("skillrt.base.terminal_text").escape(report.schemas))
  end
  lines[#lines + 1] = ("bytes are exact (%s); tokens: %s; prompt: bytes of the longest; also sent: read, ask_user"
    ):format(report.model, report.tokenizer)
  return table.concat(lines, "\n") .. "\n"
end

---@param args table
---@return integer|nil code
function M.run(args)
  local tokens = require("skillrt.report.tokens")
  local schemas
  if args.schemas then
    local text, message = require("skillrt.base.files").read(args.schemas, nil, true)
    if text then
      schemas, message = tokens.schemas(text)
    end
    if not schemas then
      return nil, ("--schemas: %s: %s"):format(args.schemas, message), "invalid"
    end
  end
  local skill, dir, code, traceback = skill_of(args)
  if not skill then
    return nil, dir, code, nil, traceback
  end
  local found = tokens.of(skill, schemas or {}, prompts(skill))
  local report = { skill = skill.name, sets = found.rows, model = found.model, written = found.written,
    schemas = args.schemas, tokenizer = tokens.TOKENIZER }
  if dir then
    local message
    report.calls, message, code = tokens.calls(dir)
    if not report.calls then
      return nil, message, code, dir
    end
  end
  local output = require("skillrt.report.output")
  if args.json then
    output.write_json(report)
  else
    output.write(shown(report))
  end
  return 0
end

return M
