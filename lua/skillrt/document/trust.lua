-- document/trust.lua: whether the code that lies at a path may run: a folder's Lua, what a config starts and whom it
-- sends to, a workflow script are a stranger's until a person has said once that they trust them, as they are now.
--
-- Remembered by digest in $XDG_STATE_HOME/skillrt/trusted or ~/.local/state/skillrt/trusted. A folder that skillrt
-- generated holds no code but ours; a Lua script that is named itself is its person's own command. Runs nothing and
-- asks nobody: that is the command line's.

local files = require("skillrt.base.files")

local M = {}

local MAX_FILE <const> = 4 << 20
local MAX_FILES <const> = 500
local MAX_NESTED <const> = 8
-- Of more files in a folder, and of larger ones, size and time are looked at.
local MAX_READ <const> = 4000

---Where it is remembered; nil: there is no home.
---@return string?
function M.path()
  local base = files.state_home()
  return base and base .. "/trusted"
end

local function read(dir, name)
  return files.read(files.join(dir, name), MAX_FILE) or ""
end

-- The script that generated folders have, but for what is said in its comments: it reads the config and nothing else.
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

-- What a text does beside deciding, as far as its words tell.
local SIGNS <const> = {
  { "agent%.command", "programs" }, { "kind%s*=%s*[\"']command", "programs" }, { "os%.execute", "a shell" },
  { "io%.popen", "a shell" }, { "agent%.http", "servers" }, { "kind%s*=%s*[\"']http", "servers" },
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
---@field run boolean?    it is what a run's journal names, which was begun elsewhere
---@field files { name: string, lines: integer, signs: string[] }[]
---@field calls string[]  what a config starts, and whom it sends to

local function shown(value)
  return require("skillrt.agent.url").shown(tostring(value))
end

local function line_of(list)
  local words = {}
  for _, word in ipairs(list) do
    words[#words + 1] = tostring(word)
  end
  return table.concat(words, " ")
end

-- What an agent of a config starts or sends to, as deep as chains go; skills that it names are looked at, too.
local function add_calls(code, where, agent, dir, depth)
  if type(agent) == "string" then
    agent = require("skillrt.agent.choice").of(agent)
  elseif type(agent) == "table" and agent.kind == nil and type(agent[1]) == "string" then
    agent = { kind = "command", argv = agent }
  end
  if type(agent) ~= "table" or depth > MAX_NESTED then
    return
  end
  local argv = type(agent.argv) == "table" and agent.argv or agent.kind == "command" and agent or nil
  if argv then
    code.calls[#code.calls + 1] = ("%s: starts %s"):format(where, line_of(argv))
  end
  local leave = type(agent.args) == "table" and { table.unpack(agent.args) } or {}
  table.insert(leave, 1, agent.permission)
  if leave[1] then
    code.calls[#code.calls + 1] = ("%s: %s with %s"):format(where, tostring(agent.kind), line_of(leave))
  end
  if agent.program then
    code.calls[#code.calls + 1] = ("%s: starts %s"):format(where, tostring(agent.program))
  elseif agent.url then
    code.calls[#code.calls + 1] = ("%s: sends to %s"):format(where, shown(agent.url))
  elseif agent.kind == "skill" and type(agent.skill) == "string" then
    local path = files.join(dir, agent.skill)
    local inner = path:find("%.lua$") and { digest = files.digest(files.read(path, MAX_FILE) or "") }
      or M.code(path, depth + 1)
    code.calls[#code.calls + 1] = ("%s: runs the skill %s"):format(where, agent.skill)
    code.parts[#code.parts + 1] = inner and inner.digest or nil
  end
  for i, link in ipairs(type(agent.links) == "table" and agent.links or {}) do
    add_calls(code, ("%s, %d"):format(where, i), link, dir, depth + 1)
  end
end

-- What the agents of a config start, and the strategy that it names by a path.
local function add_config(code, path, dir, depth)
  local text = files.read(path, MAX_FILE)
  local raw = text and require("skillrt.base.json").decode(text)
  local own = type(raw) == "table" and type(raw.x_skillrt) == "table" and raw.x_skillrt or nil
  if not own then
    return
  end
  local before = #code.calls
  for _, name in ipairs(require("skillrt.base.names").sorted(type(own.agents) == "table" and own.agents or {})) do
    add_calls(code, "agent " .. tostring(name), own.agents[name], dir, depth)
  end
  if own.agent ~= nil then
    add_calls(code, "agent", own.agent, dir, depth)
  end
  local strategy = type(own.strategy) == "string" and own.strategy:find("[/.]") and files.join(dir, own.strategy)
  local lua = strategy and files.read(strategy, MAX_FILE)
  if lua then
    code.files[#code.files + 1] = { name = own.strategy, lines = select(2, lua:gsub("\n", "")), signs = signs_of(lua) }
    code.parts[#code.parts + 1] = files.digest(lua)
  end
  if #code.calls > before then
    code.parts[#code.parts + 1] = files.digest(text)
  end
end

-- Kinds of files that nothing runs: documents and pictures. A change of any other is asked about.
local HARMLESS <const> = {}
for kind in ("md png jpg jpeg gif svg webp pdf"):gmatch("%a+") do
  HARMLESS[kind] = true
end

local function add_files(code, dir, list)
  for i, name in ipairs(list) do
    local text = i <= MAX_FILES and read(dir, name) or ""
    code.parts[#code.parts + 1] = ("%s %s"):format(name, files.digest(text))
    code.files[#code.files + 1] = { name = name, lines = select(2, text:gsub("\n", "")), signs = signs_of(text) }
  end
end

-- Tests are code of their own: they run where they are asked for (`skillrt test`), not with the skill.
local function without_specs(list)
  local out = {}
  for _, name in ipairs(list) do
    out[#out + 1] = not name:find("_spec%.lua$") and name or nil
  end
  return out
end

-- What of the environment a server behind a URL is sent, by name.
local function sent_along(one)
  local out, secret = {}, type(one.oauth) == "table" and one.oauth.client_secret
  local texts = { one.url, secret or nil }
  for _, text in pairs(type(one.headers) == "table" and one.headers or {}) do
    texts[#texts + 1] = text
  end
  for _, text in ipairs(texts) do
    for inner in tostring(text):gmatch("%${([^{}]*)}") do
      out[inner:match("^env:([%a_][%w_]*)$") or inner:match("^[%a_][%w_]*") or inner] = true
    end
  end
  return out
end

-- The servers that a folder's .mcp.json starts and sends to, in full.
local function add_servers(code, path)
  local text = files.read(path, MAX_FILE)
  local sorted = require("skillrt.base.names").sorted
  local servers = text and require("skillrt.tool.mcp.server").of_file(path)
  for _, name in ipairs(servers and sorted(servers) or {}) do
    local one = servers[name]
    local argv = type(one.command) == "table" and { table.unpack(one.command) } or { one.command }
    for _, word in ipairs(type(one.args) == "table" and one.args or { one.args }) do
      argv[#argv + 1] = word
    end
    local env = type(one.env) == "table" and table.concat(sorted(one.env), ", ") or ""
    local sent = one.url and table.concat(sorted(sent_along(one)), ", ") or ""
    code.calls[#code.calls + 1] = one.url
      and ("mcp %s: sends to %s%s"):format(name, shown(one.url), sent ~= "" and " (with " .. sent .. ")" or "")
      or ("mcp %s: starts %s%s"):format(name, line_of(argv), env ~= "" and " (with " .. env .. ")" or "")
  end
  code.parts[#code.parts + 1] = text and "mcp " .. files.digest(text) or nil
end

-- Whether a folder is one that a run left.
local function is_run(path)
  return files.stat(path .. "/run.lock") ~= nil and files.is_folder(path .. "/journal")
end

-- What lies below a folder and is not harmless, through links as a script would go; `seen` counts.
local function add_rest(code, dir, prefix, seen, depth)
  local list = depth <= MAX_NESTED and files.list(files.join(dir, prefix)) or {}
  table.sort(list, function(a, b)
    return a.name < b.name
  end)
  for _, entry in ipairs(list) do
    local name = prefix .. entry.name
    local path = files.join(dir, name)
    if files.is_folder(path) then
      if entry.name ~= ".git" and not is_run(path) then
        add_rest(code, dir, name .. "/", seen, depth + 1)
      end
    elseif not HARMLESS[(entry.name:match("%.(%a+)$") or ""):lower()] then
      seen.count = seen.count + 1
      local info = files.stat(path)
      local small = seen.count <= MAX_READ and info and info.size <= MAX_FILE
      local said = small and files.digest(files.read(path, MAX_FILE) or "")
        or info and ("%d %d"):format(info.size, info.mtime_ns) or ""
      code.parts[#code.parts + 1] = ("%s %s"):format(name, said)
    end
  end
end

local function code_of_folder(dir, depth)
  local code = { files = {}, calls = {}, parts = {}, loads = false }
  if not files.stat(dir .. "/skill.lua") then
    add_files(code, dir, files.glob(dir, "strategies/*.lua") or {})
  else
    local lua = files.glob(dir, "**/*.lua") or {}
    code.loads = #without_specs(lua) > 1 or not is_ours(read(dir, "skill.lua"))
    add_files(code, dir, code.loads and lua or {})
  end
  for _, name in ipairs({ "skill-config.json", "workflow.json" }) do
    add_config(code, dir .. "/" .. name, dir, depth)
  end
  add_servers(code, dir .. "/.mcp.json")
  if code.loads or #code.parts > 0 then
    add_rest(code, dir, "", { count = 0 }, 0)
  end
  return code
end

local function code_of_workflow(path)
  local text = files.read(path, MAX_FILE) or ""
  local one = { name = path:match("[^/]+$"), lines = select(2, text:gsub("\n", "")), signs = {} }
  return { script = true, loads = false, files = { one }, calls = {}, parts = { "workflow", files.digest(text) } }
end

---The code at a path that would run; nil: there is none that is not ours or its person's own.
---@param path string  a folder, a config, a workflow script
---@param depth integer?
---@param specs string[]?  tests that are to run, too
---@return skillrt.Code?
function M.code(path, depth, specs)
  depth = depth or 0
  local dir = path:gsub("(.)/+$", "%1")
  local code
  if depth > MAX_NESTED then
    return nil
  elseif files.is_folder(dir) then
    code = code_of_folder(dir, depth)
  elseif path:find("%.m?js$") then
    code = code_of_workflow(path)
  elseif path:find("/?SKILL%.md$") then
    return M.code(files.dirname(path), depth + 1)
  elseif path:find("%.json$") then
    code = { files = {}, calls = {}, parts = {}, loads = false }
    add_files(code, files.dirname(path), files.glob(files.dirname(path), "strategies/*.lua") or {})
    add_config(code, path, files.dirname(path), depth)
  end
  if specs then
    code = code or { files = {}, calls = {}, parts = {} }
    code.loads = true
    add_files(code, ".", specs)
  end
  if not code or #code.parts == 0 then
    return nil
  end
  code.digest, code.parts = files.digest(table.concat(code.parts, "\n")), nil
  return code
end

---What a run that was begun elsewhere would start.
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

---Whether this code was trusted before, as it is.
---@param code skillrt.Code
---@return boolean
function M.is_trusted(code)
  local path = M.path()
  local text = path and files.read(path, MAX_FILE) or ""
  return ("\n" .. text):find("\n" .. code.digest .. " ", 1, true) ~= nil
end

---Remembers that this code is trusted.
---@param code skillrt.Code
---@param folder string  where it lies, for people who read the file
---@return boolean|nil ok
---@return string? message
function M.remember(code, folder)
  local path = M.path()
  if not path then
    return nil, "nobody's home: HOME is not set, so that it cannot be remembered"
  end
  local ok, message = files.make_folders(files.dirname(path))
  if not ok then
    return nil, message
  end
  local line = ("%s %s\n"):format(code.digest, (files.join(files.current(), folder):gsub("%c", "?")))
  return files.write(path, (files.read(path, MAX_FILE) or "") .. line)
end

---What it is, in lines for people.
---@param code skillrt.Code
---@return string[]
function M.lines(code)
  local out = {}
  for i, one in ipairs(code.files) do
    local signs = #one.signs > 0 and "uses " .. table.concat(one.signs, ", ")
      or code.script and "runs in a node of its own without files, network or clock, and asks agents"
      or "calls nothing that its words tell"
    out[i] = ("%s: %d lines, %s"):format(one.name, one.lines, signs)
  end
  return table.move(code.calls, 1, #code.calls, #out + 1, out)
end

return M
