-- tool/mcp/pin.lua: what a server offered when it was first used: shown then, remembered by its person, and a change
-- of it asked about before any model is sent it.
--
-- Kept in $XDG_STATE_HOME/skillrt/mcp or ~/.local/state/skillrt/mcp, a file for each declaration of a server. What
-- was found there is recorded, so that a resume sees the same. Called by tools.lua.

local files = require("skillrt.base.files")
local privileges = require("skillrt.base.privileges")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")

local M = {}

local MAX_FILE <const>, MAX_SHOWN <const> = 4 << 20, 20

local function path_of(server)
  local base = files.state_home()
  return base and ("%s/mcp/%s.json"):format(base, server.digest), base and base .. "/mcp"
end

-- What is remembered of a list: for each tool what it says, and the digest of all that a model is sent of it.
local function summary(list)
  local out = {}
  for _, one in ipairs(list) do
    local sent = { one.description or json.null, one.inputSchema or json.null, one.annotations or json.null }
    local text = json.encode(sent, { sorted = true })
    local said = type(one.description) == "string" and one.description or ""
    out[one.name] = out[one.name] or { digest = files.digest(text or ""), description = said:sub(1, 500) }
  end
  return out
end

local function put(server, tools)
  local path, folder = path_of(server)
  local text = json.encode({ server = server.name, tools = tools }, { sorted = true })
  return path and text and files.make_folders(folder) and files.write(path, text) and true or false
end

local function shown(text)
  return names.show(record.printable(text))
end

-- What is another than it was, in words; "": nothing.
local function changes(old, new)
  local out, more = {}, 0
  local all = {}
  for _, list in ipairs({ old, new }) do
    for name in pairs(list) do
      all[name] = true
    end
  end
  for _, name in ipairs(names.sorted(all)) do
    local before, now = old[name], new[name]
    local text = not before and "%s is new, and says %s" or not now and "%s is gone"
      or before.description ~= now.description and "%s says %s, and said %s"
      or before.digest ~= now.digest and "the schema of %s is another" or nil
    if text and #out < MAX_SHOWN then
      out[#out + 1] = text:format(shown(name), now and shown(now.description), before and shown(before.description))
    elseif text then
      more = more + 1
    end
  end
  out[#out + 1] = more > 0 and ("%d more"):format(more) or nil
  return table.concat(out, "; ")
end

-- How the list stands to what is remembered: "first", "" or what is another.
local function compared(server, new)
  local path = path_of(server)
  local text = path and files.read(path, MAX_FILE)
  local known = text and json.decode(text)
  if type(known) ~= "table" or type(known.tools) ~= "table" then
    put(server, new)
    return "first"
  end
  return changes(known.tools, new)
end

local function started(server)
  local url = server.url and server.url:gsub("[?#].*$", ""):gsub("^(%w+://)[^/@]*@", "%1") -- what may be secret is not
  return url or table.concat(server.argv, " ")
end

---Whether the tools that a server lists may be used: they are those of the first time, or a person says so.
---@param client skillrt.McpClient
---@param list table[]
---@return boolean|nil ok
---@return string? message
---@return string? class
function M.check(client, list)
  local server, ctx = client.server, client.ctx
  local new = summary(list)
  local found = privileges.of(ctx).drawn(function() return compared(server, new) end)
  if found == "" or server.trusted and found ~= "first" then
    return true
  elseif found == "first" then
    ctx.log(("mcp %s is used for the first time: %s; its tools: %s"):format(server.name, started(server),
      table.concat(names.sorted(new), ", ")))
    return true
  end
  local answer, message, class = ctx.ask({
    header = "mcp " .. server.name,
    question = ("The server %s (%s) offers other tools than when it was first used: %s. Use them as they are now?")
      :format(server.name, started(server), found),
    options = { { id = "yes", description = "use them, and remember them so" }, { id = "no", description = "fail" } },
  })
  if answer == "yes" then
    return privileges.of(ctx).drawn(function() return put(server, new) and 1 or 0 end) and true
  end
  return nil, message or ("mcp %s: its tools are others than they were, and a person did not take them"):format(
    server.name), class or "denied"
end

return M
