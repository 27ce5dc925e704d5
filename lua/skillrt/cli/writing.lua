-- cli/writing.lua: writes a config's skill into a folder and reports it to a person: findings, differences, progress,
-- the tree of written files.
--
-- Called by command/generate.lua and command/new.lua.

local core = require("skillrt.core")
local ending = require("skillrt.cli.ending")
local exit_codes = require("skillrt.cli.exit_codes")
local output = require("skillrt.report.output")
local text_of = require("skillrt.base.terminal_text")
local tree = require("skillrt.report.tree")
local writer = require("skillrt.document.write")

local M = {}

local MOST_FINDINGS = 50

-- The options that generating and writing share.
---@class skillrt.cli.Writing
---@field out string
---@field lang string?
---@field templates string?
---@field source string?   the config's text, as it was read
---@field force boolean?
---@field dry_run boolean?
---@field strict boolean?
---@field quiet boolean?

local function paint(kind, text)
  return output.paint(1, kind, text)
end

local function write_lines(lines)
  if #lines > 0 then
    output.write(table.concat(lines, "\n") .. "\n")
  end
end

-- Errors are in the message already; shows the warnings.
local function tell_findings(findings, where)
  local count = 0
  for _, finding in ipairs(findings or {}) do
    if finding.level == "warning" then
      count = count + 1
      if count <= MOST_FINDINGS then
        output.say("warning", ("%s: warning: %s"):format(text_of.escape(where), text_of.escape(finding.what)))
      end
    end
  end
  if count > MOST_FINDINGS then
    output.say("warning", ("%s: and %d more warnings"):format(text_of.escape(where), count - MOST_FINDINGS))
  end
  return count
end

-- On a terminal, a line with a counter; at most ten times a second.
local function progress()
  if not output.is_terminal(2) then
    return nil
  end
  local last = core.mono_ns()
  local function show(done, total)
    local now = core.mono_ns()
    if now - last > 100000000 then
      last = now
      core.terminal.write(2, ("\rwriting %d%% of %d files\27[K"):format(100 * done // total, total))
    end
    if done >= total then
      core.terminal.write(2, "\r\27[K")
    end
  end
  return show
end

-- The language that the folder already has, if none is asked for.
local function language(options)
  local manifest = not options.lang and writer.manifest(options.out)
  local known = manifest and manifest.lang
  return options.lang or (known == "zh" and "zh") or "en"
end

local function tell_unfinished(plan)
  if plan.unfinished then
    output.say("info", text_of.escape(plan.dir) .. ": an earlier generation was interrupted; it is finished now")
  end
end

local MAX_CONFIG <const> = 16 << 20

-- The name of the skill in a folder, from its own config; nil: there is none.
local function skill_in(dir)
  local files = require("skillrt.base.files")
  local text = files.read(dir .. "/skill-config.json", MAX_CONFIG)
  local config = text and core.json.decode((text:gsub("^\u{FEFF}", "")))
  local name = type(config) == "table" and config.skill_name
  return type(name) == "string" and name or nil
end

-- Refuses to replace all of a skill whose files nobody changed by hand: a wrong --out must not cost that much.
local function refused_other(plan, there, name)
  local message = ('%s: holds the skill "%s", and this is the config of "%s"; nothing was written'):format(
    plan.dir,
    there,
    name
  )
  ending.complain(message, "--out names another folder, --force replaces the skill that is there")
  return exit_codes.usage
end

-- Prints what a person would lose, and how to continue.
local function refused(plan)
  local count = plan.counts.edited
  local message = ("%s: %d file%s changed by hand where something else is generated now; nothing was written"):format(
    plan.dir,
    count,
    count == 1 and " was" or "s were"
  )
  local hint = "take over what is generated there, or give that part up: --force overwrites"
  ending.complain(message, hint)
  return exit_codes.changed
end

local function finish(plan, name, options)
  local there = not options.force and skill_in(plan.dir)
  if there and there ~= name then
    return refused_other(plan, there, name)
  end
  local edited = plan.counts.edited
  if not options.quiet or (edited and not options.force) then
    write_lines(tree.lines(plan, paint))
  end
  if edited then
    write_lines(tree.diffs(plan, paint))
  end
  if edited and not options.force then
    return refused(plan)
  elseif options.dry_run then
    output.write(tree.sum(plan) .. "; nothing was written (--dry-run)\n")
    return exit_codes.completed
  end
  local ok, message, code = writer.write(plan, { force = options.force, progress = progress() })
  if not ok then
    return ending.refused(message, code == "edited" and "changed" or code)
  end
  output.write(tree.sum(plan, true) .. "\n")
  return exit_codes.completed
end

---Generates a config's folder.
---@param config any       decoded
---@param where string     what the config is called in messages
---@param options skillrt.cli.Writing
---@return integer exit_code
function M.generate(config, where, options)
  local lang = language(options)
  local list, message, code, findings = require("skillrt.document.generate").generate(config, {
    lang = lang,
    templates = options.templates,
  })
  local warnings = tell_findings(findings, where)
  if not list then
    return ending.refused(("%s: %s"):format(where, message), code)
  elseif warnings > 0 and options.strict then
    return ending.refused(where .. ": has warnings, and --strict takes them for errors; nothing was written", "invalid")
  end
  local plan
  plan, message, code = writer.plan(options.out, list, {
    lang = lang,
    source = options.source,
    force = options.force,
  })
  if not plan then
    return ending.refused(message, code)
  end
  tell_unfinished(plan)
  return finish(plan, config.skill_name, options)
end

return M
