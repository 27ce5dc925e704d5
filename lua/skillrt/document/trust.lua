-- document/trust.lua: what of a folder, a document, a workflow script or a run would be executed, started or
-- permitted, to show to the person who is asked; and what they trusted, by digest.
--
-- Remembered in $XDG_STATE_HOME/skillrt/trusted or ~/.local/state/skillrt/trusted. A folder that skillrt generated
-- contains only our code. Runs nothing and asks no one; document/gate decides what may run.

local agent_file = require("skillrt.agent.file")
local files = require("skillrt.base.files")
local kind_of = require("skillrt.document.kind").of
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

local MAX_FILE <const> = 16 << 20
local MAX_NESTED <const> = 8 -- skills in skills: no run nests them deeper
-- With more or larger files in a folder, size and time are compared instead of content.
local MAX_READ <const> = 4000
-- Files in more folders, or deeper, are in no digest; the person is shown that.
local MAX_FOLDERS <const> = 20000
local MAX_DEPTH <const> = 64

---Where it is remembered; nil: there is no home folder.
---@return string?
function M.path()
  local base = files.state_home()
  return base and base .. "/trusted"
end

local function read(dir, name)
  return files.read(files.join(dir, name), MAX_FILE) or ""
end

-- The script of generated folders, without its comments: it reads the config and does nothing else.
local OURS <const> = "local skillrt = require " .. '"skillrt" '
  .. 'local folder = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "." '
  .. 'return skillrt.from_config(folder .. "/skill-config.json", { folder = folder })'

local function is_ours(text)
  local code = {}
  if text:find("\r", 1, true) then
    return false -- where Lua ends a comment, and a line of ours does not
  end
  for line in text:gmatch("[^\n]+") do
    if not line:find("^%s*%-%-") then
      code[#code + 1] = line
    elseif line:find("^%s*%-%-%[=*%[") then
      return false -- a comment over lines, which ours has not
    end
  end
  return (table.concat(code, " "):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) == OURS
end

-- What a text does besides deciding, judged by its words.
local SIGNS <const> = {
  { "agent%.command", "programs" }, { "kind%s*=%s*[\"']command", "programs" }, { "os%.execute", "a shell" },
  { "io%.popen", "a shell" }, { "agent%.http", "servers" }, { "kind%s*=%s*[\"']http", "servers" },
  { "libraries%s*=", "a library outside its folder" },
  { "io%.open", "files" }, { "os%.remove", "files" }, { "ctx%.write", "files" }, { "os%.getenv", "the environment" },
  { "loadlib", "libraries in C" },
}

local function signs_of(text)
  local list, seen = {}, {}
  for _, sign in ipairs(SIGNS) do
    if not seen[sign[2]] and text:find(sign[1]) then
      list[#list + 1], seen[sign[2]] = sign[2], true
    end
  end
  return list
end

---@class skillrt.Code  of a folder, a config or a workflow script
---@field digest string
---@field loads boolean   some of it runs when the skill is only looked at
---@field script boolean? it is a workflow script
---@field run boolean?    named by a run's journal that was started elsewhere
---@field files { name: string, lines: integer, signs: string[] }[]
---@field calls string[]  what a config starts, and where it sends to
---@field sandbox any      for its programs without one of their own, as its documents say

local function shown(value)
  return require("skillrt.agent.url").shown(tostring(value))
end

local function line_of(list)
  local words = {}
  for i, word in ipairs(list) do
    words[i] = tostring(word)
  end
  return table.concat(words, " ")
end

local function count_lines(text)
  return select(2, text:gsub("\n", "")) + (text:find("[^\n]$") and 1 or 0)
end

-- Coding agents: programs that get permissions.
local TAKES <const> = tables.words "claude codex gemini"

-- Read-only tools: an agent gets them without asking its person.
local READING <const> = tables.words "Read Grep Glob LS NotebookRead TodoWrite"

-- The tools of a list that do more than read.
local function beyond_reading(tools)
  local out = {}
  for _, tool in ipairs(tables.object(tools)) do
    if type(tool) == "string" and not READING[tool:match("^[%w_]+") or ""] then
      out[#out + 1] = tool
    end
  end
  return out
end

-- A file that a command line names is what runs, wherever it is.
local function add_named(code, argv, dir)
  for _, text in ipairs(argv) do
    for word in tostring(text):gsub("{skill_dir}", "."):gmatch("[^%s\"'`=;|&<>()]+") do
      local path = files.join(dir, word)
      local info = word:find("[%w]") and files.stat(path .. (word:sub(-1) == "/" and "." or ""))
      if info and not files.is_folder(path) then
        local content = info.size <= MAX_FILE and files.read(path, MAX_FILE)
        code.parts[#code.parts + 1] = ("%s %s"):format(word, content and files.digest(content)
          or ("%d %d"):format(info.size, info.mtime_ns))
      end
    end
  end
end

-- What a started program may reach.
local function sandbox_shown(given)
  local sandbox = require("skillrt.skill.sandbox").read(given)
  return sandbox and require("skillrt.skill.sandbox").shown(sandbox) or "none that can be read"
end

-- A program with its arguments, its folder, its environment, and what it may reach: its own sandbox, else the skill's
-- (code.sandbox), else the default for a document's program.
local function add_program(code, where, argv, one, dir)
  local env = {}
  for key, value in pairs(tables.object(one.env)) do
    env[type(key) == "string" and key or tostring(value)] = true
  end
  local list = names.sorted(env)
  code.calls[#code.calls + 1] = ("%s: starts %s%s%s, sandbox: %s"):format(where, line_of(argv),
    one.cwd and " in " .. tostring(one.cwd) or "", list[1] and " (with " .. table.concat(list, ", ") .. ")" or "",
    sandbox_shown(one.sandbox or code.sandbox or (TAKES[one.kind] and "work" or "strict")))
  add_named(code, argv, one.cwd and files.join(dir, tostring(one.cwd)) or dir)
end

-- The environment variables that are sent to a server behind a URL, by name.
local function sent_along(one)
  local out, secret = {}, type(one.oauth) == "table" and one.oauth.client_secret
  local texts = { one.url, secret or nil }
  local vendor = one.kind == "anthropic" or one.kind == "openai"
  texts[#texts + 1] = vendor and ("{env.%s}"):format(one.key_env or one.kind:upper() .. "_API_KEY") or nil
  for _, text in pairs(tables.object(one.headers)) do
    texts[#texts + 1] = text
  end
  for _, text in pairs(texts) do
    for inner in tostring(text):gmatch("{([^{}]*)}") do
      out[inner:match("^env[:.]([%a_][%w_]*)$") or inner:match("^[%a_][%w_]*") or inner] = true
    end
  end
  local list = names.sorted(out)
  return list[1] and " (with " .. table.concat(list, ", ") .. ")" or ""
end

-- What an agent of a config starts, sends to and may do, as deep as chains go; skills that it names are examined,
-- too.
local function add_agent(code, where, agent, dir, depth)
  if type(agent) == "string" then
    agent = require("skillrt.agent.choice").of(agent)
  elseif type(agent) == "table" and agent.kind == nil and type(agent[1]) == "string" then
    agent = { kind = "command", argv = agent }
  end
  if type(agent) ~= "table" then
    return
  end
  local argv = type(agent.argv) == "table" and agent.argv or agent.kind == "command" and agent or nil
  if argv then
    add_program(code, where, argv, agent, dir)
  elseif agent.program or agent.cwd or type(agent.env) == "table" and next(agent.env) then
    add_program(code, where, { agent.program or agent.kind }, agent, dir)
  end
  local may = type(agent.args) == "table" and { table.unpack(agent.args) } or {}
  table.insert(may, 1, agent.permission)
  table.move(beyond_reading(agent.tools), 1, #beyond_reading(agent.tools), #may + 1, may)
  if may[1] then
    code.calls[#code.calls + 1] = ("%s: %s with %s"):format(where, tostring(agent.kind), line_of(may))
  end
  if agent.url or agent.key_env then
    local to = agent.url and shown(agent.url) or tostring(agent.kind)
    code.calls[#code.calls + 1] = ("%s: sends to %s%s"):format(where, to, sent_along(agent))
  elseif agent.kind == "skill" and type(agent.skill) == "string" then
    local path = files.join(dir, agent.skill)
    local inner = kind_of(path) == "script" and { digest = files.digest(files.read(path, MAX_FILE) or "") }
      or M.code(path, nil, nil, depth + 1, code.agent)
    code.calls[#code.calls + 1] = ("%s: runs the skill %s"):format(where, agent.skill)
    code.parts[#code.parts + 1] = inner and inner.digest or nil
    tables.append(code.calls, inner and inner.calls or {})
  end
  for i, link in ipairs(tables.object(agent.links)) do
    add_agent(code, ("%s, %d"):format(where, i), link, dir, depth)
  end
end

-- What the agents of a config start, and the strategy that it names by a path.
local function add_config(code, raw, dir, depth)
  local own = type(raw) == "table" and type(raw.x_skillrt) == "table" and raw.x_skillrt or nil
  if not own then
    return
  end
  local before = #code.calls
  for _, name in ipairs(names.sorted(tables.object(own.agents))) do
    add_agent(code, "agent " .. tostring(name), own.agents[name], dir, depth)
  end
  if own.agent ~= nil then
    add_agent(code, "agent", own.agent, dir, depth)
  end
  local strategy = type(own.strategy) == "string" and own.strategy:find("[/.]") and files.join(dir, own.strategy)
  local lua = strategy and files.read(strategy, MAX_FILE)
  if lua then
    code.files[#code.files + 1] = { name = own.strategy, lines = count_lines(lua), signs = signs_of(lua) }
    code.parts[#code.parts + 1] = files.digest(lua)
  end
  if #code.calls > before then
    code.parts[#code.parts + 1] = require("skillrt.base.json").encode(own, { sorted = true })
  end
end

-- `name`: the place's name in the digest, which is the same wherever the folder is.
local function add_tools(code, where, tools, name)
  local list = beyond_reading(tools)
  if list[1] then
    code.calls[#code.calls + 1] = ("%s: its agent may use %s without asking"):format(where, table.concat(list, ", "))
    code.parts[#code.parts + 1] = ("%s %s"):format(name or where, table.concat(list, ", "))
  end
end

-- Whether an agent is a program that may use what it is permitted without asking.
local function takes_permissions(agent)
  agent = type(agent) == "string" and require("skillrt.agent.choice").of(agent) or agent
  if type(agent) ~= "table" then
    return false
  end
  for _, link in ipairs(tables.object(agent.links)) do
    if takes_permissions(link) then
      return true
    end
  end
  return TAKES[agent.kind] == true
end

-- The tools that documents give to the agent of their steps.
local function add_permissions(code, definition)
  local seen = {}
  local function add(where, tools)
    if tools and not seen[tools] then
      seen[tools] = true
      add_tools(code, where, tools)
    end
  end
  for _, field in ipairs({ "phases", "actions" }) do
    for _, one in ipairs(definition[field] or {}) do
      add(("%s %s"):format(field:sub(1, -2), tostring(one.id)), one.tools)
    end
  end
  for _, one in ipairs(tables.object(definition.tool_sets)) do
    add("tool set " .. tostring(one.name), one.tools)
  end
  add("allowed-tools", type(definition.guide) == "table" and definition.guide.tools or nil)
end

-- The commands of a page, which run before its agent is asked.
local function add_page_commands(code, definition, dir)
  local page = tables.object(tables.object(definition.guide).placeholders)
  for _, command in ipairs(page.commands or {}) do
    add_program(code, "the page", { "sh", "-c", command }, {}, dir)
    code.parts[#code.parts + 1] = "command " .. command
  end
end

-- Agents in files of the skill, its plugin and the project: the agent of a step with such a name gets its tools.
local function add_agent_files(code, dir)
  local of_project, plugin = files.join(files.current(), ".claude/agents"), agent_file.plugin(dir)
  local folders = { of_project, dir and files.join(dir, "agents") }
  if plugin and plugin .. "/agents" ~= folders[2] then
    folders[#folders + 1] = plugin .. "/agents"
  end
  for _, folder in ipairs(folders) do
    local list = files.list(folder) or {}
    table.sort(list, function(a, b)
      return a.name < b.name
    end)
    for _, entry in ipairs(list) do
      local name = entry.name:match("^(.*)%.md$")
      if name then
        local one = agent_file.read(files.join(folder, entry.name))
        local name_of = folder == of_project and ".claude/agents/" or "agents/"
        add_tools(code, files.join(folder, entry.name), one and one.tools, name_of .. entry.name)
      end
    end
  end
end

-- Kinds of files that nothing executes: documents and pictures. A change of any other needs an approval.
local HARMLESS <const> = tables.words "md png jpg jpeg gif svg webp pdf"

local function add_files(code, dir, list)
  for _, name in ipairs(list) do
    local text = read(dir, name)
    code.parts[#code.parts + 1] = ("%s %s"):format(name, files.digest(text))
    code.files[#code.files + 1] = { name = name, lines = count_lines(text), signs = signs_of(text) }
  end
end

-- Tests are code of their own: they run only when asked for (`skillrt test`), not with the skill.
local function without_specs(list)
  local out = {}
  for _, name in ipairs(list) do
    out[#out + 1] = not name:find("_spec%.lua$") and name or nil
  end
  return out
end

---Whether the script of a folder is more than what skillrt generates.
---@param dir string
---@return boolean
function M.has_own_script(dir)
  return files.stat(dir .. "/skill.lua") ~= nil
    and (#without_specs(files.glob(dir, "**/*.lua") or {}) > 1 or not is_ours(read(dir, "skill.lua")))
end

-- The servers that a folder's .mcp.json starts and sends to, in full.
local function add_servers(code, path)
  local text = files.read(path, MAX_FILE)
  local servers = text and require("skillrt.tool.mcp.server").of_file(path)
  for _, name in ipairs(servers and names.sorted(servers) or {}) do
    local one = servers[name]
    local argv = type(one.command) == "table" and { table.unpack(one.command) } or { one.command }
    for _, word in ipairs(type(one.args) == "table" and one.args or { one.args }) do
      argv[#argv + 1] = word
    end
    if one.url then
      code.calls[#code.calls + 1] = ("mcp %s: sends to %s%s"):format(name, shown(one.url), sent_along(one))
    elseif argv[1] then
      add_program(code, "mcp " .. name, argv, one, files.dirname(path))
    end
  end
  code.parts[#code.parts + 1] = text and "mcp " .. files.digest(text) or nil
end

-- Whether a folder is a run's directory that this user started here: it changes all the time.
local function is_own_run(path)
  local first = require("skillrt.run.store").at(path):exists() and require("skillrt.run.look").first(path)
  return first and require("skillrt.base.seal").is_ours(first)
end

-- Everything below a folder that is not harmless, following links as a script would, each folder once.
local function add_rest(code, dir, prefix, seen, depth)
  local here = files.stat(files.join(dir, prefix) .. "/.")
  if not here or seen[here.id] then
    return
  end
  seen[here.id], seen.folders = true, seen.folders + 1
  if seen.folders > MAX_FOLDERS or depth > MAX_DEPTH then
    seen.left_out = true
    return
  end
  local list = files.list(files.join(dir, prefix)) or {}
  table.sort(list, function(a, b)
    return a.name < b.name
  end)
  for _, entry in ipairs(list) do
    local name = prefix .. entry.name
    local path = files.join(dir, name)
    if files.is_folder(path) then
      if entry.name ~= ".git" and not is_own_run(path) then
        add_rest(code, dir, name .. "/", seen, depth + 1)
      end
    elseif not HARMLESS[(entry.name:match("%.(%a+)$") or ""):lower()] then
      seen.count = seen.count + 1
      local info = files.stat(path)
      local small = seen.count <= MAX_READ and info and info.size <= MAX_FILE
      local text = small and files.read(path, MAX_FILE)
      local said = text and files.digest(text) or info and ("%d %d"):format(info.size, info.mtime_ns) or ""
      code.parts[#code.parts + 1] = ("%s %s"):format(name, said)
    end
  end
end

-- Everything of a folder that is not harmless, if anything of it is executed, started or permitted.
local function close_folder(code, dir)
  if code.loads or #code.parts > 0 then
    local seen = { count = 0, folders = 0 }
    add_rest(code, dir, "", seen, 0)
    code.calls[#code.calls + 1] = seen.left_out and ("it has more than %d folders, or some %d deep: a change in those "
      .. "behind is not noticed"):format(MAX_FOLDERS, MAX_DEPTH) or nil
  end
  return code
end

-- What documents grant to the programs they start.
local function add_sandbox(code)
  local shown_sandbox = code.sandbox ~= nil and sandbox_shown(code.sandbox)
  if shown_sandbox and shown_sandbox ~= "strict" then -- which grants nothing
    code.calls[1] = "sandbox of its programs: " .. shown_sandbox
    code.parts[1] = code.calls[1]
  end
end

-- A folder whose own script defines its skill. Only its SKILL.md says what the script is granted.
local function code_of_script(dir)
  local document = require("skillrt.document.load").read(dir, { workflow = false })
  local code = { files = {}, calls = {}, parts = {}, loads = true,
    sandbox = document and document.definition and document.definition.sandbox }
  add_sandbox(code)
  add_files(code, dir, files.glob(dir, "**/*.lua") or {})
  add_servers(code, dir .. "/.mcp.json")
  return close_folder(code, dir)
end

-- A document that was read, with what is next to it if it belongs to a folder.
local function code_of_document(dir, document, depth)
  local definition = document.definition or {}
  local code = { files = {}, calls = {}, parts = {}, loads = false, sandbox = definition.sandbox }
  local is_folder = document.kind == "folder"
  add_sandbox(code)
  if document.kind ~= "agent" then
    add_files(code, dir, files.glob(dir, "strategies/*.lua") or {})
  end
  for _, agent in pairs(definition.agents or {}) do
    code.agent = code.agent or takes_permissions(agent) and agent or nil
  end
  add_config(code, document.config, dir, depth)
  add_page_commands(code, definition, dir)
  if code.agent then
    add_permissions(code, definition)
    add_agent_files(code, is_folder and dir or nil)
  end
  if is_folder then
    add_servers(code, dir .. "/.mcp.json")
    close_folder(code, dir)
  end
  return code
end

local function code_of_workflow(path)
  local text = files.read(path, MAX_FILE) or ""
  local one = { name = path:match("[^/]+$"), lines = count_lines(text), signs = {} }
  local code = { script = true, loads = false, files = { one }, calls = {}, parts = { "workflow", files.digest(text) } }
  add_agent_files(code, files.dirname(path))
  return code
end

---The code at a path that would run, and what it starts and permits; nil: it contains only ours or the person's own.
---@param path string  a folder, a document, a workflow script
---@param document skillrt.load.Document?  if it was read; nil: it is read now
---@param specs string[]?  tests that are to run, too
---@param depth integer?
---@param agent any  the agent of its steps, if it is read now
---@return skillrt.Code?
function M.code(path, document, specs, depth, agent)
  depth = depth or 0
  local dir, kind, code = files.bare(path), kind_of(path), nil
  if depth > MAX_NESTED then
    return nil
  elseif kind == "workflow" then
    code = code_of_workflow(path)
  elseif kind == "document" and files.is_folder(dir) and M.has_own_script(dir) then
    code = code_of_script(dir)
  elseif kind == "document" then
    document = document or require("skillrt.document.load").read(path, { agent = agent })
    code = document and code_of_document(files.is_folder(dir) and dir or files.dirname(path), document, depth)
  end
  if specs then
    code = code or { files = {}, calls = {}, parts = {} }
    code.loads = true
    add_files(code, ".", specs)
  end
  if not code or #code.parts == 0 then
    return nil
  end
  code.digest, code.parts, code.agent = files.digest(table.concat(code.parts, "\n")), nil, nil
  return code
end

---What a run that was started elsewhere would start.
---@param first table  the run's first record
---@return skillrt.Code
function M.code_of_run(first)
  local json = require("skillrt.base.json")
  local calls = {}
  for _, field in ipairs({ "script", "folder", "agent", "strategy" }) do
    local value = first[field]
    if value ~= nil then
      local text = type(value) == "string" and value or json.encode(value)
      calls[#calls + 1] = ("its journal names the %s %s"):format(field, text)
    end
  end
  local said = table.concat(calls, "\n")
  local script = type(first.script) == "string" and files.read(first.script, MAX_FILE) or ""
  return { run = true, files = {}, calls = calls, loads = true,
    digest = files.digest("run\n" .. said .. files.digest(script)) }
end

---Whether this code was trusted before in exactly this form.
---@param code skillrt.Code
---@return boolean
function M.is_trusted(code)
  local path = M.path()
  local text = path and files.read(path, MAX_FILE) or ""
  return ("\n" .. text):find("\n" .. code.digest .. " ", 1, true) ~= nil
end

---Remembers that this code is trusted.
---@param code skillrt.Code
---@param folder string  its folder, for people who read the file
---@return boolean|nil ok
---@return string? message
function M.remember(code, folder)
  local path = M.path()
  if not path then
    return nil, "HOME is not set, so the approval cannot be saved"
  end
  local ok, message = files.make_folders(files.dirname(path))
  if not ok then
    return nil, message
  end
  local before, why, cause = files.read(path, MAX_FILE)
  if not before and cause ~= "missing" then
    return nil, why
  end
  local line = ("%s %s\n"):format(code.digest, (files.join(files.current(), folder):gsub("%c", "?")))
  return files.write(path, (before or "") .. line)
end

---Describes it, in lines for people.
---@param code skillrt.Code
---@return string[]
function M.lines(code)
  local out = {}
  for i, one in ipairs(code.files) do
    local signs = #one.signs > 0 and "uses " .. table.concat(one.signs, ", ")
      or code.script and "runs in a node of its own without files, network or clock, and asks agents"
      or "calls nothing that its words tell"
    out[i] = ("%s: %d %s, %s"):format(one.name, one.lines, one.lines == 1 and "line" or "lines", signs)
  end
  return table.move(code.calls, 1, #code.calls, #out + 1, out)
end

return M
