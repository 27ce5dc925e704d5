-- cli/command/tokens.lua: `skillrt tokens SKILL|DIR`: what a skill's tools cost, all of them and each set; and of a
-- run, what it came to both ways. Runs nothing, writes nothing.

local M = {
  name = "tokens",
  looks = true,
  summary = "Shows what the tools of a skill cost in bytes, tokens and money, all of them against its tool sets",
  description = "Bytes are exact, as the provider of the skill's first model is sent them. Tokens are the provider's "
    .. "own where a run has recorded them, else bytes / 4, an estimate. What a run costs both ways counts the "
    .. "provider's prompt cache: tools stand first, so another list of them is another prompt. A tool that has no "
    .. "schema is counted by its name alone, and that is said.",
  arguments = { { name = "SKILL", usage = "SKILL|DIR", help = "a skill's folder, script or configuration, an "
    .. "agent.yml; or the directory of a run" } },
  options = {
    { name = "schemas", value = "FILE", help = "JSON: a list of tools as an API or a server of MCP has them, for "
      .. "those that the skill only names" },
    { name = "model", value = "NAME", help = "whose prices count" },
    { name = "rounds", value = "N", help = "exchanges of each step that are foreseen (10)" },
    { name = "json", help = "one object, as JSON" },
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
      return nil, path .. ": its skill came from no script", "invalid"
    end
    path, dir = first.script, path
  end
  local skill, message, code, traceback
  if dir then
    skill, message, code, traceback = require("skillrt.document.reopen").skill_for(dir,
      { look = function(found) return found end })
  else
    skill, message, code, traceback = require("skillrt.document.open").load(path, {})
  end
  if skill and not require("skillrt.skill").is(skill) then
    return nil, path .. ": is no skill that can be looked at: its script runs it itself", "invalid"
  elseif skill and not skill.tools and not skill.tool_sets then
    return nil, ("%s: has neither tools nor tool sets"):format(skill.name), "invalid"
  end
  return skill, skill and dir or message, code, traceback
end

-- The bytes of the longest prompt of a step that has this set; nil: of any.
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

local function money(usd)
  return usd and ("%.4f dollars"):format(usd) or "no price is known"
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

local function way(name, used)
  local read = used.input + used.cache_read + used.cache_write
  return ("%-10s %9s tokens sent, %9s of them from the cache; %7s answered; %s"):format(name, number(read),
    number(used.cache_read), number(used.output), money(used.usd))
end

local function verdict(all, sets)
  if not all.usd or not sets.usd or all.usd == 0 then
    return nil
  end
  local saved = 100 * (1 - sets.usd / all.usd)
  return saved >= 0 and ("sets are cheaper by %.1f%%"):format(saved)
    or ("all tools are cheaper: sets cost %.1f%% more"):format(-saved)
end

local function both(lines, found)
  lines[#lines + 1] = way("all tools", found.all)
  lines[#lines + 1] = way("sets", found.sets)
  lines[#lines + 1] = verdict(found.all, found.sets)
end

local function shown(catalog, report)
  local lines = table_of(report.sets, report.run and report.run.by_set)
  if report.written > 0 then
    table.insert(lines, 1, ("%d of %d tools have no schema here: written by skillrt, a name and nothing else"):format(
      report.written, #catalog.all))
  end
  if report.schemas then
    table.insert(lines, 1, "schemas: " .. require("skillrt.base.terminal_text").escape(report.schemas))
  end
  lines[#lines + 1] = ("bytes are exact (%s); tokens: %s; prompt: bytes of the longest; sent besides: read, ask_user"
    ):format(catalog.agent.kind, report.tokenizer)
  if report.foreseen then
    local text = "\nforeseen: %s, %d exchanges each, %d tokens more each time (%s, its prompt cache counted):"
    lines[#lines + 1] = text:format(table.concat(report.foreseen.steps, ", "), report.rounds, report.growth,
      report.model)
    both(lines, report.foreseen)
  end
  local run = report.run
  if run then
    local text = "\nrecorded: %d exchanges, %s tokens as the provider counted them, %s\n"
      .. "both ways (%s, its prompt cache counted):"
    lines[#lines + 1] = text:format(run.exchanges, number(run.tokens), money(run.dollars), report.model)
    both(lines, run)
    if run.spared > 0 then
      lines[#lines + 1] = ("%d exchanges called absent tools alone: all tools go without them"):format(run.spared)
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

---@param args table
---@return integer code
function M.run(args)
  local ending, tokens = require("skillrt.cli.ending"), require("skillrt.report.tokens")
  local rounds = math.tointeger(tonumber(args.rounds or 10))
  if not rounds or rounds < 1 then
    return ending.refused(("--rounds: %s is not how many"):format(args.rounds), "invalid")
  end
  local schemas
  if args.schemas then
    local text, message = require("skillrt.base.files").read(args.schemas)
    if text then
      schemas, message = tokens.read(text)
    end
    if not schemas then
      return ending.refused(("--schemas: %s: %s"):format(args.schemas, message), "invalid")
    end
  end
  local skill, dir, code, traceback = skill_of(args)
  if not skill then
    return ending.refused(dir, code, traceback)
  end
  local catalog_of = require("skillrt.agent.tool_catalog")
  local catalog, prompt_of = catalog_of.new(skill, schemas, args.model), prompts(skill)
  local report = { skill = skill.name, sets = catalog:rows(prompt_of), model = catalog.model, rounds = rounds,
    growth = catalog_of.GROWTH, schemas = args.schemas, tokenizer = require("skillrt.agent.tool_cost").TOKENIZER }
  if dir then
    local message
    report.run, message, code = tokens.recorded(catalog, dir)
    if not report.run then
      return ending.refused(message, code, nil, dir)
    end
  else
    report.foreseen = catalog:foreseen(rounds, catalog_of.GROWTH, prompt_of)
  end
  report.written = catalog.written
  local output = require("skillrt.report.output")
  if args.json then
    output.write(require("skillrt.base.json").encode(report, { sorted = true }) .. "\n")
  else
    output.write(shown(catalog, report))
  end
  return 0
end

return M
