-- mcp_kit.lua: what the specs of servers of the Model Context Protocol share: a server of ours that is well behaved or
-- not (mcp_server.lua), runs that use it, and what it was told.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"

local M = {}

---Where the server keeps what it was told; set by `begin`.
M.folder = nil

function M.begin()
  M.folder = R.folder()
end

---A server as a skill declares it.
function M.server(mode, more)
  local one = { command = { "lua5.4", "tests/support/mcp_server.lua", mode or "good", M.folder } }
  for key, value in pairs(more or {}) do one[key] = value end
  return one
end

---A skill of one function.
function M.definition(run, servers, more)
  local all = { mcp = servers or { our = M.server() }, actions = { { id = "a", run = run } },
    limits = { max_errors = 1, max_retries = 0 } }
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

---Its run: the result, and its folder.
function M.run(fn, servers, more)
  local dir = R.folder() .. "/run"
  return assert(R.run(M.definition(fn, servers, more), { work_dir = dir })), dir
end

---The lines of a file of the server's.
function M.lines(name)
  local out = {}
  for line in (R.read(M.folder .. "/" .. name) or ""):gmatch "[^\n]+" do
    out[#out + 1] = line
  end
  return out
end

---The methods it was asked for.
function M.methods()
  local out = {}
  for i, line in ipairs(M.lines "log") do
    out[i] = assert(json.decode(line)).method or "answer"
  end
  return out
end

---A server behind a URL that does what scripts say (support/http_mcp.c), until `stop`.
function M.web()
  local web, folder = R.server "/echo\n", R.folder()
  local self = { url = web.url .. "/mcp" .. folder, stop = web.stop }
  ---What it does with requests of a kind, "tools_call" or "GET.2", a line each.
  function self.script(kind, lines)
    R.write(folder .. "/" .. kind, table.concat(lines, "\n") .. "\n")
  end
  ---Kinds of all requests, in the order they came; without those that a pattern names.
  function self.order(without)
    local out = {}
    for line in (R.read(folder .. "/.order") or ""):gmatch "[^\n]+" do
      out[#out + 1] = not (without and line:find(without)) and line or nil
    end
    return table.concat(out, " ")
  end
  ---A request: head and body; nil: it has not come.
  function self.request(name)
    return (R.read(("%s/.%s"):format(folder, name)) or ""):match "^(.-\r\n\r\n)(.*)$"
  end
  ---Forgets what came.
  function self.forget()
    os.execute(("rm -f '%s'/.[a-zA-Z]*"):format(folder))
  end
  return self
end

return M
