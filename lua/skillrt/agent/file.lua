-- agent/file.lua: reads agents in the files that coding agents use: agents/NAME.md of the skill,
-- .claude/agents/NAME.md of the project or of the person; PLUGIN:NAME is agents/NAME.md of a plugin. A file describes
-- the agent, its tools and its model; its body is the beginning of its prompts.
--
-- Such a file does not name a program: the chosen agent takes this role under that name. Knows no runs.

local agents = require("skillrt.agent")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local models = require("skillrt.agent.models")
local tables = require("skillrt.base.tables")
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

-- "Read, Grep, Bash(git:*)" as a list; commas inside brackets belong to a tool.
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

local function object_in(path)
  return tables.object(json.decode(files.read(path, MAX_FILE) or ""))
end

---The plugin of a folder: the nearest folder upwards that has .claude-plugin/.
---@param dir string?
---@return string|nil folder
---@return string? name  from its manifest, else the folder's name
function M.plugin(dir)
  local folder = dir and files.plugin_folder(files.join(files.current(), dir == "." and "" or dir))
  if folder and files.is_folder(folder .. "/.claude-plugin") then
    return folder, object_in(folder .. "/.claude-plugin/plugin.json").name or folder:match("[^/]*$")
  end
end

-- Whether an installation applies here: a project's own applies in that project only.
local function is_of_here(one)
  local project = one.projectPath
  return type(one.installPath) == "string"
    and (type(project) ~= "string" or (files.current() .. "/"):sub(1, #project + 1) == project .. "/")
end

-- The folders of a plugin: the one around the skill, those that Claude Code has installed, its marketplace's copy.
local function plugin_folders(plugin, dir)
  local own, name = M.plugin(dir)
  local out, home = { name == plugin and own or nil }, files.claude_home() .. "/plugins"
  local installed = tables.object(object_in(home .. "/installed_plugins.json").plugins)
  for _, id in ipairs(names.sorted(installed)) do
    local is, market = id:match("^(.-)@(.+)$")
    if is == plugin then
      local all = tables.object(installed[id])
      for _, one in ipairs(all.installPath and { all } or all) do
        out[#out + 1] = is_of_here(tables.object(one)) and one.installPath or nil
      end
      out[#out + 1] = ("%s/marketplaces/%s/plugins/%s"):format(home, market, plugin)
    end
  end
  return out, home
end

-- Where an agent's file may be.
local function paths_of(name, dir)
  local plugin, rest = name:match("^([^:]+):(.+)$")
  local out, folders, home = {}, {}, nil
  if plugin then
    folders, home = plugin_folders(plugin, dir)
    out[1] = dir and ("%s/agents/%s.md"):format(dir, name) -- the copy in the run's folder
  else
    folders[1] = dir
    tables.append(folders, { files.join(files.current(), ".claude"), files.claude_home() })
  end
  for _, folder in ipairs(folders) do
    out[#out + 1] = ("%s/agents/%s.md"):format(folder, ((rest or name):gsub(":", "/")))
  end
  return out, home and ("the plugin %s in %s/installed_plugins.json"):format(plugin, home)
end

---Finds an agent's file: the skill's, the project's, the person's; for PLUGIN:NAME the plugin's.
---@param name string
---@param skill_dir string?
---@return skillrt.AgentFile|nil
---@return string[]? looked  where there is none
---@return table<string, true>? there  the names of the files in these folders
function M.find(name, skill_dir)
  for part in (name .. ":"):gmatch("([^:]*):") do
    if not names.id(part) then
      return nil, {}, {}
    end
  end
  local paths, plugins = paths_of(name, skill_dir)
  local there, plugin = {}, name:match("^[^:]+:") or ""
  for _, path in ipairs(paths) do
    local file = files.stat(path) and M.read(path)
    if file then
      return file
    end
    for _, entry in ipairs(files.list(files.dirname(path)) or {}) do
      local other = entry.name:match("^([^:]+)%.md$")
      there[other and plugin .. other or false] = true
    end
  end
  there[false], paths[#paths + 1] = nil, plugins
  return nil, paths, there
end

---Applies the model and the effort of a page's front matter to the agents chosen for it.
---@param chosen table<string, table>|nil
---@param fields table
function M.with_front(chosen, fields)
  local page = {}
  for _, name in ipairs({ "model", "effort" }) do
    local value = fields[name]
    page[name] = type(value) == "string" and value:find("%S") and value ~= "inherit" and value or nil
  end
  for name, agent in pairs(chosen or {}) do
    chosen[name] = M.applied(agent, page)
  end
end

---An agent, or its definition, with what its file says; an agent that takes no such fields is unchanged.
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
    out.effort = rawget(agent, "effort") or kind.FIELDS.effort and file.effort or nil
    out.tools = kind.program and file.tools or file.reads_only and {} or out.tools
  end
  return setmetatable(out, getmetatable(agent))
end

return M
