-- skill/stranger.lua: what an untrusted script that came with a folder may request of programs, servers and files:
-- the person who approved it saw its text, but its permissions only if its SKILL.md lists them, in `sandbox`.
--
-- It may start programs, which run in that sandbox, and send to what the sandbox's network lists, with variables and
-- secrets that its env lists. A sandbox of its own is refused. Knows no runs. Called by document/guest.lua.

local files = require("skillrt.base.files")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")
local url_of = require("skillrt.agent.url")

local M = {}

local REFUSED <const> = tables.words("sandbox sandbox_default needs around roots libraries ca_file config source "
  .. "isolation repository addresses url_env oauth max_redirects theirs")
local PATHS <const> = tables.words "cwd dir skill strategy path"
local PLACES <const> = tables.words "env workspaceFolder CLAUDE_PROJECT_DIR CLAUDE_PLUGIN_ROOT userHome"
local VENDORS <const> = { anthropic = { "api.anthropic.com:443", "ANTHROPIC_API_KEY" },
  openai = { "api.openai.com:443", "OPENAI_API_KEY" } }

local WAY <const> = "; grant it in its SKILL.md (sandbox: { %s }), or run it as your own with --sandbox off"

local SAYS <const> = "says %s itself" .. WAY:format("read, write, network, env")

-- An entry of a list, with its port.
local function whole(entry)
  return entry:find(":%d+$") and entry:lower() or entry:lower() .. ":443"
end

-- Whether an entry of a list grants a place, by the rules of csrc/transport/proxy_list.c for names.
local function grants(entry, place)
  entry = whole(entry)
  if not entry:find("^%*[.:]") then
    return entry == place
  end
  local is_address = place:find("^%[") or place:find("^[%d.]+:") -- it has to be listed by itself
  return not is_address and #place >= #entry and place:sub(-#entry + 1) == entry:sub(2)
end

local function no_place(granted, place)
  local network = granted.network
  if network == true then
    return nil
  elseif place:find("[{}$]") then
    return ("computes the place %s; it is written out where network is a list"):format(place)
  end
  for _, entry in ipairs(network or {}) do
    if grants(entry, place) then
      return nil
    end
  end
  return ("may not reach %s"):format(place) .. WAY:format(('network: ["%s"]'):format(place))
end

local function no_name(granted, name)
  return not tables.has(granted.env, name)
    and ("is not given %s"):format(name) .. WAY:format(('env: ["%s"]'):format(name)) or nil
end

-- A server by its URL, as the sandbox's network names it.
local function place_of(url)
  local scheme, rest = url_of.shown(url):lower():match("^(https?)://([^/]+)")
  if not rest then
    return names.show(url)
  end
  return rest:find(":%d+$") and rest or ("%s:%d"):format(rest, scheme == "https" and 443 or 80)
end

-- The rule of csrc/transport/proxy_list.c for addresses: a name leads to the public internet, or to an address that is
-- listed by itself; localhost to this machine.
---The addresses that a request may connect to (csrc/transport/http_address.h); nil: any.
---@param url string
---@param granted skillrt.Sandbox
---@return string?
function M.addresses(url, granted)
  if granted.network == true then
    return nil
  end
  local place = place_of(url)
  local port = place:match(":%d+$") or ""
  local list = { "public", place:find("^localhost:") and "127.0.0.1 ::1" or nil }
  for _, entry in ipairs(granted.network or {}) do
    entry = whole(entry)
    list[#list + 1] = entry:match("^%[([%x:.]+)%]" .. port .. "$") or entry:match("^([%d.]+)" .. port .. "$")
  end
  return table.concat(list, " ")
end

-- How a text names variables and secrets; and in a server of MCP.
local NAMES <const> = { "{env[.:]([%w_]+)}", "{secret%.([%w_.-]+)}" }
local SERVERS <const> = { NAMES[1], NAMES[2], "%${([%a_][%w_]*)%f[}:]" }

local function of_text(text, granted, patterns)
  for _, pattern in ipairs(patterns) do
    for name in text:gmatch(pattern) do
      local problem = not (pattern == SERVERS[3] and PLACES[name]) and no_name(granted, name)
      if problem then
        return problem
      end
    end
  end
end

-- What is wrong with declared tools: http_get, under any name, would ask servers that are not granted; nil: nothing.
local function of_tools(tools, granted)
  for name, tool in pairs(tools) do
    local given = type(tool) == "table" and tool or {}
    if (given.builtin or name) == "http_get" then
      for _, host in ipairs(given.hosts or { "*" }) do
        local problem = no_place(granted, tostring(host):lower() .. ":443")
        if problem then
          return "(its tool http_get) " .. problem
        end
      end
    end
  end
end

local function of_field(key, value, granted)
  if REFUSED[key] then
    return SAYS:format(key)
  elseif PATHS[key] and type(value) == "string" then
    local ok, why = files.is_confined(value)
    return not ok and ("%s %s %s"):format(key, names.show(value), why) or nil
  elseif key == "tools" and type(value) == "table" then
    return of_tools(value, granted)
  elseif key == "url" and type(value) == "string" then
    return no_place(granted, place_of(value))
  elseif key == "key_env" and type(value) == "string" then
    return no_name(granted, value)
  elseif key == "env" and type(value) == "table" then
    for name, said in pairs(value) do
      local problem = said == true and no_name(granted, name)
        or math.type(name) == "integer" and no_name(granted, said)
      if problem then
        return problem
      end
    end
  end
end

-- What is wrong with a declared agent: another program or key than its kind has, arguments, which could switch the
-- sandbox of a coding agent off, or a provider that is not granted.
local function of_agent(agent, granted)
  local own = agent.kind and (agent.key_file and "key_file" or agent.program and "program" or agent.args and "args")
  local vendor = VENDORS[agent.kind]
  if own then
    return SAYS:format(own)
  end
  return vendor and (not agent.url and no_place(granted, vendor[1])
    or not agent.key_env and no_name(granted, vendor[2])) or nil
end

---What is refused; nil: nothing.
---@param value any    from its definition, or a request
---@param granted skillrt.Sandbox
---@param depth integer?
---@param patterns string[]?  how its texts name variables and secrets
---@return string?
function M.problem(value, granted, depth, patterns)
  depth, patterns = depth or 0, patterns or NAMES
  if type(value) == "string" then
    return of_text(value, granted, patterns)
  elseif type(value) ~= "table" or depth > 100 then
    return nil
  end
  local problem = of_agent(value, granted)
  for key, inner in pairs(value) do
    problem = problem or of_field(key, inner, granted)
  end
  for key, inner in pairs(value) do
    local forms = key == "mcp" and SERVERS or patterns
    problem = problem or M.problem(key, granted, depth + 1, patterns) or M.problem(inner, granted, depth + 1, forms)
  end
  return problem or nil
end

return M
