-- document/generate/config.lua: skill-config.json in its normal form: every default applied once, before all
-- generators (F3), every fault named by its key.
--
-- Works on a copy; reads no files. Called by generate and by load/config.
local fields = require "skillrt.document.generate.fields"
local findings_of = require "skillrt.document.generate.findings"
local json = require "skillrt.base.json"
local limits = require "skillrt.skill.limits"
local names = require "skillrt.base.names"
local actions_of = require "skillrt.document.generate.config_actions"
local phases_of = require "skillrt.document.generate.config_phases"

local M = {}

local MAX_DESCRIPTION = 1024
local BASE_TOOLS = { "Task", "Read", "Write", "Glob", "Grep", "Bash" }
local MODES = { sequential = true, autonomous = true, hybrid = true }
local STRATEGIES = { file = true, memory = true }

-- Keys that once stood at the top and now live below autonomous_config, or nowhere.
---@type table<string, boolean>
M.KNOWN = {}
local KNOWN = M.KNOWN
for key in ([[$schema skill_name display_name description triggers execution_mode context_strategy phase_count
  action_count llm_integration sequential_config autonomous_config allowed_tools mcp_tools output quality
  specs templates created_at version x_skillrt]]):gmatch "%S+" do
  KNOWN[key] = true
end

---@class skillrt.generate.Config skill-config.json with every default applied
---@field skill_name string
---@field display_name string
---@field description string
---@field triggers string[]
---@field execution_mode "sequential"|"autonomous"|"hybrid"
---@field context_strategy "file"|"memory"
---@field sequential_config { phases: table[] }?
---@field autonomous_config { state_schema: { fields: table[] }, actions: table[], termination_conditions: string[] }?
---@field allowed_tools string[]
---@field mcp_tools string[]
---@field output { format: string, location: string, filename_pattern: string }
---@field quality { dimensions: string[], pass_threshold: number }
---@field specs { path: string, purpose: string, context: string? }[]
---@field templates { path: string, purpose: string, context: string? }[]
---@field version string
---@field x_skillrt table

local function check_name(config, found)
  local name = config.skill_name
  if name == nil then
    found:error("missing", "skill_name", 'is missing: give a name such as "code-reviewer"')
  elseif type(name) ~= "string" or not name:find "^[a-z][a-z0-9-]*$" or (name .. "-"):find("--", 1, true) then
    local message = "must be small letters, digits and single hyphens and begin with a letter, not %s"
    found:error("name", "skill_name", message, fields.show(name))
  elseif #name < 3 or #name > 30 then
    found:error("name", "skill_name", "must have 3 to 30 characters, not %d", #name)
  end
end

local function check_description(config, found)
  fields.text(config, "description", "", found, { required = true })
  if type(config.description) == "string" and #config.description > MAX_DESCRIPTION then
    local message = "is %d bytes long; a skill's description has at most %d: shorten it"
    found:error("description", "description", message, #config.description, MAX_DESCRIPTION)
  end
  config.display_name = config.display_name == nil and config.skill_name or config.display_name
  fields.text(config, "display_name", "", found, {})
end

local function check_choice(config, key, choices, default, found)
  if config[key] == nil then
    config[key] = default
  end
  if not choices[config[key]] then
    local message = "must be one of %s, not %s%s"
    found:error("choice", key, message, table.concat(fields.sorted_keys(choices), ", "), fields.show(config[key]),
      type(config[key]) == "string" and names.meant(config[key], choices) or "")
  end
end

local function default_output(config, found)
  local output = fields.object(config, "output", "", found)
  local extension = { markdown = "md", html = "html", json = "json" }
  output.format = output.format or "markdown"
  output.location = output.location or (".workflow/.scratchpad/%s-{timestamp}"):format(config.skill_name)
  output.filename_pattern = output.filename_pattern or "{name}-output." .. (extension[output.format] or "md")
  for _, key in ipairs { "format", "location", "filename_pattern" } do
    fields.text(output, key, "output.", found, {})
  end
end

-- specs and templates: paths that stay in the skill's folder, each once (F13).
local function check_documents(config, key, found)
  local list = fields.list(config, key, "", found)
  local seen = {}
  for i, entry in ipairs(list) do
    local where = ("%s[%d]."):format(key, i)
    if type(entry) == "string" then
      entry = { path = entry }
      list[i] = entry
    end
    if type(entry) ~= "table" then
      found:error("type", where:sub(1, -2), "must be an object with path and purpose, not %s", fields.show(entry))
      list[i] = { path = "", purpose = "" }
    else
      entry.purpose = entry.purpose or entry.path
      fields.text(entry, "purpose", where, found, {})
      fields.text(entry, "context", where, found, {})
      fields.path(entry, "path", where, found)
      if seen[entry.path] then
        found:error("duplicate-path", where .. "path", "names %s a second time: remove one", fields.show(entry.path))
      end
      seen[entry.path or ""] = true
    end
  end
end

-- The top-level `actions` and `termination_conditions` of older configs move to their place.
local function move_old_keys(config, found)
  for _, key in ipairs { "actions", "termination_conditions", "state_schema" } do
    local value = config[key]
    if value ~= nil then
      config[key] = nil
      local target = fields.object(config, "autonomous_config", "", found)
      if target[key] == nil then
        target[key] = value
        found:warn("moved-key", key, "belongs into autonomous_config; taken from there")
      else
        found:warn("moved-key", key, "is ignored: autonomous_config.%s is there too", key)
      end
    end
  end
  if type(config.phases) == "table" then
    local target = fields.object(config, "sequential_config", "", found)
    target.phases = target.phases or config.phases
    config.phases = nil
    found:warn("moved-key", "phases", "belongs into sequential_config; taken from there")
  end
end

-- Keys that stand deeper, by their name: what a key at the top that nobody knows may have been meant for.
local function deeper()
  local out = {}
  for _, name in ipairs(limits.names()) do
    out[name] = "x_skillrt.limits." .. name
  end
  for name in ("agents agent_decides strategy interaction_mode initial_state hybrid records"):gmatch "%S+" do
    out[name] = "x_skillrt." .. name
  end
  return out
end

-- " (did you mean x_skillrt.limits.max_iterations?)", where the key or one like it is known there.
local function meant(key)
  local hint = names.meant(key, KNOWN)
  if hint ~= "" then
    return hint
  end
  local known = deeper()
  local near = known[key] and key or names.nearest(key, known)
  return near and (" (did you mean %s?)"):format(known[near]) or ""
end

local function warn_unknown(config, found)
  for _, key in ipairs(fields.sorted_keys(config)) do
    if not KNOWN[key] and not tostring(key):find "^[xX][_-]" then
      found:warn("unknown-key", tostring(key), "is no key of a skill-config; it is kept and used by nothing%s",
        meant(tostring(key)))
    end
  end
end

-- Keys of our own extension that hold names and values.
local OWN = {}
for key in ("hybrid limits termination timeouts_s actions phases initial_state host agents"):gmatch "%S+" do
  OWN[#OWN + 1] = key
end

local function check_limit(given, row, found)
  local where = "x_skillrt.limits."
  if not row.map or given[row.name] == nil then
    return fields.number(given, row.name, where, found)
  end
  local object = fields.object(given, row.name, where, found)
  for _, name in ipairs(fields.sorted_keys(object)) do
    fields.number(object, name, where .. row.name .. ".", found)
  end
end

local function check_extension(config, found)
  local own = fields.object(config, "x_skillrt", "", found)
  for _, key in ipairs(OWN) do
    if own[key] ~= nil then
      fields.object(own, key, "x_skillrt.", found)
    end
  end
  if own.agent_decides ~= nil and type(own.agent_decides) ~= "boolean" then
    found:error("type", "x_skillrt.agent_decides", "must be true or false, not %s", fields.show(own.agent_decides))
  end
  local kind = type(own.agent)
  if own.agent ~= nil and (own.agent == "" or kind ~= "string" and kind ~= "table") then
    found:error("type", "x_skillrt.agent", "must be what --agent takes, or an agent's definition, not %s",
      fields.show(own.agent))
  end
  fields.number(own.limits or {}, "attempts_per_action", "x_skillrt.limits.", found)
  for _, row in ipairs(limits.TABLE) do
    check_limit(own.limits or {}, row, found)
  end
  local termination = own.termination or {}
  fields.number(termination, "max_retries", "x_skillrt.termination.", found)
  fields.text(termination, "on_success", "x_skillrt.termination.", found, {})
  fields.text(termination, "on_error", "x_skillrt.termination.", found, {})
end

-- A count that somebody wrote down is held against the list.
local function check_count(config, key, list, found)
  if config[key] ~= nil and type(list) == "table" and config[key] ~= #list then
    found:warn("count", key, "says %s, and there are %d: correct it, or leave it out", fields.show(config[key]), #list)
  end
end

-- Without a mode the parts that are there say it; a part the mode has no use for is named.
local function check_mode(config, found)
  local phases, loop = config.sequential_config ~= nil, config.autonomous_config ~= nil
  local default = phases and loop and "hybrid" or loop and "autonomous" or "sequential"
  check_choice(config, "execution_mode", MODES, default, found)
  if config.execution_mode == "autonomous" and phases then
    found:warn("unused", "sequential_config", "is ignored: a skill that runs autonomous has no phases")
    config.sequential_config = nil
  elseif config.execution_mode == "sequential" and loop then
    found:warn("unused", "autonomous_config", "is ignored: a sequential skill has no actions")
    config.autonomous_config = nil
  end
end

local function check_common(config, found)
  check_name(config, found)
  check_description(config, found)
  check_mode(config, found)
  check_choice(config, "context_strategy", STRATEGIES, "file", found)
  fields.texts(config, "triggers", "", found)
  if config.allowed_tools == nil then
    config.allowed_tools = fields.copy(BASE_TOOLS)
  end
  fields.texts(config, "allowed_tools", "", found)
  fields.texts(config, "mcp_tools", "", found)
  default_output(config, found)
  local quality = fields.object(config, "quality", "", found)
  fields.texts(quality, "dimensions", "quality.", found)
  quality.pass_threshold = quality.pass_threshold or 80
  fields.number(quality, "pass_threshold", "quality.", found)
  check_documents(config, "specs", found)
  check_documents(config, "templates", found)
  if config.version == nil then
    config.version = "1.0.0"
  end
  fields.text(config, "version", "", found, {})
  check_extension(config, found)
end

---The config with every default applied. Never changes what it is given.
---@param raw table a decoded skill-config.json
---@return skillrt.generate.Config? config
---@return string? message all errors, one a line
---@return string? code "invalid"
---@return skillrt.generate.Finding[] findings errors and warnings
function M.normalise(raw)
  local found = findings_of.new()
  if type(raw) ~= "table" or json.is_array(raw) then
    found:error("type", "skill-config", "must be an object, not %s", fields.show(raw))
    return nil, found:errors(), "invalid", found
  end
  local config = fields.copy(raw)
  if not config then
    local message = "is nested too deep or holds something that is no JSON (a function, a text that is no UTF-8)"
    found:error("type", "skill-config", message)
    return nil, found:errors(), "invalid", found
  end
  move_old_keys(config, found)
  warn_unknown(config, found)
  check_common(config, found)
  local mode = config.execution_mode
  if mode ~= "autonomous" then
    phases_of.normalise(config, found)
    check_count(config, "phase_count", config.sequential_config.phases, found)
  end
  if mode ~= "sequential" then
    actions_of.normalise(config, found)
    check_count(config, "action_count", config.autonomous_config.actions, found)
  end
  if mode == "hybrid" and not found:errors() then
    phases_of.check_order(config, found)
  end
  local message = found:errors()
  if message then
    return nil, message, "invalid", found
  end
  return config, nil, nil, found
end

return M
