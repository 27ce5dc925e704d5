-- agent/file.lua: agents as people keep them for coding agents: agents/NAME.md of the skill, .claude/agents/NAME.md of
-- the project or of the person: who it is, which tools it has, which model; the body is what it is told first.
--
-- Such a file is no agent by itself: it is what an agent that was chosen is, under that name. Knows no runs.

local agents = require("skillrt.agent")
local files = require("skillrt.base.files")
local names = require("skillrt.base.names")
local models = require("skillrt.agent.models")
local text_of = require("skillrt.base.text")

local M = {}

local MAX_FILE <const> = 1 << 20

---@class skillrt.AgentFile
---@field path string
---@field name string
---@field description string?
---@field tools string[]?
---@field model string?
---@field system string?

local function unquoted(text)
  return text:match('^"(.*)"$') or text:match("^'(.*)'$") or text
end

-- "Read, Grep, Bash(git:*)" as a list; commas inside of brackets belong to a tool.
local function list_of(text)
  local out, depth, from = {}, 0, 1
  for i = 1, #text + 1 do
    local char = text:sub(i, i)
    depth = depth + (char == "(" and 1 or char == ")" and -1 or 0)
    if char == "" or char == "," and depth == 0 then
      local word = text_of.trim(text:sub(from, i - 1))
      out[#out + 1] = word ~= "" and word or nil
      from = i + 1
    end
  end
  return #out > 0 and out or nil
end

-- The keys of a front matter that matter here: texts, and lists of "- item" lines.
local function fields_of(front)
  local fields, key = {}, nil
  for line in front:gmatch("[^\n]+") do
    local name, value = line:match("^([%a_-]+):%s*(.*)$")
    local item = line:match("^%s*%-%s+(.+)$")
    if name then
      key = name
      fields[key] = unquoted((value:gsub("%s+$", "")))
    elseif item and key then
      fields[key] = (fields[key] ~= "" and fields[key] .. "," or "") .. unquoted((item:gsub("%s+$", "")))
    end
  end
  return fields
end

---Reads an agent's file.
---@param path string
---@return skillrt.AgentFile|nil
function M.read(path)
  local text = files.read(path, MAX_FILE)
  if not text or not utf8.len(text) then
    return nil
  end
  text = text:gsub("\r\n", "\n")
  local _, stop = text:find("\n%-%-%-[ \t]*\n")
  local front = text:find("^%-%-%-[ \t]*\n") and stop and text:sub(1, stop) or nil
  if not front then
    return nil
  end
  local fields, body = fields_of(front), text:sub(stop + 1)
  local model = fields.model
  return {
    path = path,
    name = fields.name or path:match("([^/]+)%.md$"),
    description = fields.description,
    tools = fields.tools and fields.tools ~= "*" and list_of(fields.tools) or nil,
    model = model ~= "" and model ~= "inherit" and model or nil,
    system = body:find("%S") and body:match("^%s*(.*%S)") or nil,
  }
end

local function folders(skill_dir)
  local home = os.getenv("HOME")
  return { skill_dir and files.join(skill_dir, "agents"), files.join(files.current(), ".claude/agents"),
    home and home ~= "" and home .. "/.claude/agents" or nil }
end

---The agent's file of a name: the skill's, the project's, the person's.
---@param name string
---@param skill_dir string?
---@return skillrt.AgentFile|nil
function M.find(name, skill_dir)
  if not names.id(name) then
    return nil
  end
  for _, folder in pairs(folders(skill_dir)) do
    local path = ("%s/%s.md"):format(folder, name)
    local file = files.stat(path) and M.read(path)
    if file then
      return file
    end
  end
end

---An agent, or its definition, as a file says it is; one that takes no such words stays as it is.
---@param agent table
---@param file skillrt.AgentFile
---@return table
function M.applied(agent, file)
  local kind, out = agents.kind(agent.kind), {}
  if not (kind and kind.word or file.reads_only or agent.links) then
    return agent
  end
  for key, value in next, agent do
    out[key] = value
  end
  out.reads_only = file.reads_only
  for i, link in ipairs(agent.links or {}) do
    out.links = i > 1 and out.links or {}
    out.links[i] = M.applied(link, file)
  end
  if kind and kind.word then
    out.system = file.system or out.system
    out.model = rawget(agent, "model") or models.of(kind, file.model)
    out.tools = kind.program and file.tools or file.reads_only and {} or out.tools
  end
  return setmetatable(out, getmetatable(agent))
end

return M
