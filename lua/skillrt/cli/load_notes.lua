-- cli/load_notes.lua: what was found while a skill was loaded, said before it runs: what its documents state and
-- skillrt does not do, and whether it may run at all.
--
-- Knows findings, no documents. Called by cli/command/run.
local M = {}

local MAX_SAID <const> = 10

-- Of these the run differs from what is written; all else is the check's to tell.
local CHANGES = { "^load%.flow%-", "^load%.condition%-unread$", "^load%.repeat%-unread$", "^load%.termination%-unread$",
  "^load%.phase%-order$", "^load%.foreign$", "^load%.registry%-any$" }

local function changes_the_run(finding)
  for _, pattern in ipairs(finding.level == "warning" and CHANGES or {}) do
    if finding.code:find(pattern) then
      return true
    end
  end
  return false
end

---Why --strict does not let the skill run; nil: it may.
---@param findings skillrt.Finding[]?
---@param strict boolean?
---@return string? message
function M.refused(findings, strict)
  local text_of = require("skillrt.document.findings").text
  local lines = {}
  for _, one in ipairs(findings or {}) do
    if strict and one.level == "warning" then
      lines[#lines + 1] = text_of(one)
    end
  end
  if #lines == 0 then
    return nil
  end
  return "--strict: the skill is not run as it is written:\n"
    .. require("skillrt.base.names").lines(lines, MAX_SAID)
end

---Says where the run differs from what is written.
---@param findings skillrt.Finding[]?
function M.say(findings)
  local output, said, more = require("skillrt.report.output"), 0, 0
  local text_of = require("skillrt.document.findings").text
  for _, one in ipairs(findings or {}) do
    if changes_the_run(one) then
      said = said + 1
      more = more + (said > MAX_SAID and 1 or 0)
      if said <= MAX_SAID then
        output.say("warning", text_of(one))
      end
    end
  end
  if more > 0 then
    output.say("warning", ("and %d more: skillrt check says all"):format(more))
  end
end

---Says which keys of an input nothing reads, as far as the text of a script tells. It is no error: what a script loads
---later, or does with all of its input, cannot be seen.
---@param skill skillrt.Skill
---@param input table
function M.say_unread(skill, input)
  local files, names = require("skillrt.base.files"), require("skillrt.base.names")
  local text = not skill.inputs and skill.loaded and skill.source and files.read(skill.source)
  if not text or next(input) == nil then
    return
  end
  for _, list in ipairs({ skill.actions, skill.phases }) do
    for _, one in ipairs(list) do
      if one.agent then
        return -- its prompt carries the state, and so all of it
      end
    end
  end
  for name in pairs(skill.loaded.pins) do
    text = text .. "\n" .. (files.read(files.join(skill.dir or ".", (name:gsub("^helper ", "")))) or "input")
  end
  local read = {}
  for name in text:gmatch("%f[%w_]input%s*%.%s*([%a_][%w_]*)") do
    read[name] = true
  end
  if (text:gsub("%f[%w_]input%s*%.%s*[%a_]", "")):find("%f[%w_]input%f[^%w_]") then
    return
  end
  for _, name in ipairs(names.sorted(input)) do
    if not read[name] then
      require("skillrt.report.output").say("warning", require("skillrt.base.terminal_text").escape(
        ("--set %s: nothing in %s reads it%s"):format(name, skill.source, names.suggest(name, read))))
    end
  end
end

return M
