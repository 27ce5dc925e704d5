-- mcp_oauth.lua: a server that wants a token, and those that give them, played by the test server: reply by reply.
--
-- Called by tests/run/mcp_oauth_spec.lua and mcp_login_spec.lua.
local R = require "tests.support.runs"
local base_files = require "skillrt.base.files"
local json = require "skillrt.base.json"

local M = {}

local folder, files

---A server; `stop` ends it.
function M.start()
  folder, files = R.folder(), 0
  M.web = R.server "/echo\n"
  M.url = M.web.url .. "/plan/mcp"
  return M.web, M.url
end

---A reply of the plan.
function M.http(code, body, more)
  files = files + 1
  local path = ("%s/raw%d"):format(folder, files)
  local text = body == nil and "" or type(body) == "table" and json.encode(body) or body
  local lines = { ("HTTP/1.1 %d X"):format(code), "Content-Length: " .. #text, "Connection: close" }
  lines[#lines + 1] = more or "Content-Type: application/json"
  R.write(path, table.concat(lines, "\r\n") .. "\r\n\r\n" .. text)
  return "/raw?file=" .. path
end

---A refusal for want of a token.
function M.refused(more, code)
  return M.http(code or 401, { error = "who?" }, "WWW-Authenticate: Bearer " .. (more or 'error="invalid_token"'))
end

---What the next requests are answered.
function M.plan(replies)
  M.web.plan(("/status/500\n"):rep(#M.web.log()) .. table.concat(replies, "\n") .. "\n")
end

---Where the tokens for the server lie.
function M.path() return ("build/state/skillrt/oauth/%s.json"):format(base_files.digest(M.url):sub(1, 32)) end

return M
