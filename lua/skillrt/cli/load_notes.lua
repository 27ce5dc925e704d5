-- cli/load_notes.lua: prints, before a run, what was found while its skill was loaded: what its documents state and
-- skillrt does not do, and whether it may run at all.
--
-- Knows findings, no documents. Called by cli/command/run.
local M = {}

local MAX_SAID <const> = 10

local CHANGES <const> = { ["load.fact-differs"] = true, ["load.condition-unread"] = true, ["load.repeat-unread"] = true,
  ["load.termination-unread"] = true, ["load.phase-order"] = true, ["load.foreign"] = true,
  ["load.machine-unread"] = true, ["load.hybrid-order"] = true, ["load.compiled-changed"] = true,
  ["load.command-unrun"] = true }

-- What is printed before a run, in this order: what runs, the lines that were not understood, and the warnings that
-- make the run differ from what is written. `skillrt check` prints everything else.
local QUOTES <const> = 2
local GROUPS <const> = {
  function(one)
    return one.code == "load.flow"
  end,
  function(one)
    return one.code == "load.quote"
  end,
  function(one)
    return one.level == "warning" and CHANGES[one.code]
      or one.code == "config.unread" and (one.file or ""):find "%.md$" ~= nil -- a key of the page, for a host
  end,
}

---Why --strict refuses the skill; nil: it may run.
---@param findings skillrt.Finding[]?
---@param strict boolean?
---@return string? message
function M.refused(findings, strict)
  local text_of = require("skillrt.document.findings").text
  local lines = {}
  for _, one in ipairs(findings or {}) do
    if strict and (one.level == "warning" or one.code == "load.quote") then
      lines[#lines + 1] = text_of(one)
    end
  end
  if #lines == 0 then
    return nil
  end
  return "--strict: skillrt would not run the skill as it is written:\n"
    .. require("skillrt.base.names").lines(lines, MAX_SAID)
end

---Prints where the run differs from what is written.
---@param findings skillrt.Finding[]?
function M.say(findings)
  local output, text_of = require "skillrt.report.output", require("skillrt.document.findings").text
  local lines = {}
  for group, is_in in ipairs(GROUPS) do
    for _, one in ipairs(findings or {}) do
      lines[#lines + 1] = is_in(one) and text_of(one, group == QUOTES) or nil
    end
  end
  for i = 1, math.min(#lines, MAX_SAID) do
    output.say("warning", lines[i])
  end
  if #lines > MAX_SAID then
    output.say("warning", ("and %d more: skillrt check lists all"):format(#lines - MAX_SAID))
  end
end

-- The agents of a skill that are models, also inside chains.
local function models_of(list, out)
  for _, agent in pairs(list or {}) do
    if type(agent) == "table" then
      out[#out + 1] = agent.stub == "model" and agent or nil
      models_of(agent.links, out)
    end
  end
  return out
end

---Prints which tools a page allows that its agent does not have: a model has only those of its skill.
---@param skill skillrt.Skill
function M.say_tools(skill)
  local model, absent = models_of(skill.agents, {})[1], {}
  for _, tool in ipairs(model and skill.guide and skill.guide.tools or {}) do
    local name = tool:match("^[%w_-]+") or tool
    local server = name:match("^mcp__(.-)__")
    if name ~= "AskUserQuestion" and not (skill.tools or {})[name] and not (skill.mcp or {})[server or ""] then
      absent[#absent + 1] = name
    end
  end
  if absent[1] then
    require("skillrt.report.output").say("warning", require("skillrt.base.terminal_text").escape(
      ("%s: %s has no %s, which the page allows: a model has the tools of its skill, reads the skill's files and asks; "
        .. "claude, codex and gemini have their own"):format(skill.name, model:label(), table.concat(absent, ", "))))
  end
end

-- Whether one of these agents, also of a chain, is of the same kind, address and program.
local function is_among(list, one)
  for _, agent in pairs(list) do
    if agent.kind == one.kind and agent.url == one.url
      and (one.kind ~= "command" or agent.argv[1] == one.argv[1]) or is_among(agent.links or {}, one) then
      return true
    end
  end
  return false
end

---Prints that no step of a skill asks the agent that the line names; the skills that it runs may.
---@param skill skillrt.Skill
---@param agent string|string[]|table|nil
function M.say_agent(skill, agent)
  local one = agent and require("skillrt.agent.choice").of(agent)
  if one and one.kind ~= "dry" and not is_among(skill.agents, one) then
    require("skillrt.report.output").say("info", require("skillrt.base.terminal_text").escape(
      ("--agent: %s itself never asks this agent; a script takes it with agents = { default = skillrt.chosen_agent() }"
        ):format(skill.name)))
  end
end

---Prints that a skill keeps nothing in the session that the line names; the skills that it runs may.
---@param skill skillrt.Skill
---@param session string|nil
function M.say_session(skill, session)
  for _, one in ipairs(skill.contexts or {}) do
    if one.kind == "session" then
      return
    end
  end
  if session then
    require("skillrt.report.output").say("info", require("skillrt.base.terminal_text").escape(
      ("--session %s: %s itself keeps nothing in it; that takes context = { session = NAME }"):format(session,
        skill.name)))
  end
end

---Prints which keys of an input nothing reads, as far as a script's text shows. This is no error: what a script
---loads later, or does with its whole input, cannot be seen.
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
        return -- its prompt contains the state, and so the whole input
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
