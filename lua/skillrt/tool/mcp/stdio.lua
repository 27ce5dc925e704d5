-- tool/mcp/stdio.lua: a server that is a program: its place and environment; a message is a line.
--
-- Used by client.lua; session.lua holds the conversation.

local server_of = require("skillrt.tool.mcp.server")
local session = require("skillrt.tool.mcp.session")

local M = {}

local AROUND <const> = { "USER", "SHELL", "XDG_CACHE_HOME" } -- in addition to what every program gets

-- Its place and environment: as declared, and filled in.
local function place_of(server, cwd)
  local argv, held, places = nil, {}, server_of.places(server, cwd)
  local env, message = server_of.filled_map(server.env, held, places)
  if env then
    argv, message = server_of.filled_map(server.argv, nil, places)
  end
  local folder = server.cwd
  if folder and not message then
    folder, message = server_of.filled(folder, nil, places)
  end
  if message then
    return nil, message
  end
  return { env = env, around = AROUND, argv = argv, cwd = folder, secrets = held[1] and held or nil,
    sandbox = server.sandbox, sandbox_default = server.sandbox_default,
    declared = { argv = server.argv, env = server.env } }
end

---The result of a request, once.
---@param client skillrt.McpClient
---@param call table  { id, method, params, timeout, idempotent, acts, shown }
---@return table|nil answer
---@return string? message
---@return string? class
function M.exchange(client, call)
  local live = client.live
  if not live.place then
    local place, message = place_of(client.server, client.cwd)
    if not place then
      return nil, message, "permanent"
    end
    live.place = place
  end
  local answer, why, class, bad = session.exchange(client, call, function(follows)
    return client.ctx.await(session.request(client, call, live.place, follows))
  end)
  live.ended = live.ended or bad and (bad.status == "broken" or bad.status == "killed")
  return answer, why, class
end

return M
