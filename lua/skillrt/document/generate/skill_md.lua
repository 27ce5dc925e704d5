-- document/generate/skill_md.lua: SKILL.md: front matter, overview with Phase 0 first, and links to all the rest
-- (R76, R79). Pure. Called by generate.
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local view = require "skillrt.document.generate.view"

local M = {}

local MAX_DESCRIPTION = 1024

-- The description and, as far as they fit, the words that trigger the skill.
local function front_description(config, words)
  local text = markdown.line(config.description)
  local ended = text:find "[.!?]$" or text:find "\u{3002}$"
  local called = text .. (ended and "" or words.stop) .. words.calls
  local out = text
  for i, trigger in ipairs(config.triggers) do
    local word = words.open .. markdown.line(trigger):gsub('"', "'") .. words.close
    called = called .. (i > 1 and words.join or "") .. word
    if #called + #words.stop > MAX_DESCRIPTION then
      break
    end
    out = called .. words.stop
  end
  return out
end

local function tools_of(config)
  local tools = {}
  for _, list in ipairs { config.allowed_tools, config.mcp_tools } do
    for _, tool in ipairs(list) do
      tools[#tools + 1] = markdown.line(tool)
    end
  end
  return table.concat(tools, ", ")
end

local function references(files)
  local kinds = {
    ["skill.lua"] = "is_skill_lua",
    ["skill-config.json"] = "is_config",
    ["workflow.json"] = "is_workflow",
    ["phases/_orchestrator.md"] = "is_orchestrator",
    ["phases/orchestrator.md"] = "is_orchestrator",
    ["phases/state-schema.md"] = "is_schema",
    ["specs/action-catalog.md"] = "is_catalog",
    ["phases/00-spec-study.md"] = "is_study",
  }
  local out = {}
  for _, file in ipairs(files) do
    if kinds[file.path] then
      out[#out + 1] = { path = file.path, [kinds[file.path]] = true }
    end
  end
  return out
end

---@param config skillrt.generate.Config
---@param shared table
---@param files { path: string }[] the files next to it
---@return table
function M.data(config, shared, files)
  local dimensions = {}
  for i, name in ipairs(config.quality.dimensions) do
    dimensions[i] = markdown.line(name)
  end
  local extension = config.output.format == "markdown" and "md" or config.output.format
  local result = config.output.filename_pattern:gsub("{name}", config.skill_name):gsub("{ext}", extension)
  return view.with(shared, {
    front_description = json.encode(front_description(config, shared.words)),
    allowed_tools = json.encode(tools_of(config)),
    result_file = markdown.line(result),
    has_quality = #dimensions > 0,
    dimensions = table.concat(dimensions, shared.words.join),
    references = references(files),
  })
end

return M
