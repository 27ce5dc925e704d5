-- postgres.lua: a PostgreSQL server for one spec: started by postgres.sh, gone when it is closed or the spec dies.
--
-- Called by tests/run/fleet_*spec.lua. Where there is none, `start` gives nil and why.

local core = require "skillrt.core"

local M = {}

local function read(path)
  local file <close> = io.open(path)
  return file and file:read "l"
end

---@param settings string?  as postgres.sh takes them
---@return table|nil server  { url, dir, run(name), restart(), act(words), query(text, url) }; a to-be-closed value
---@return string? why
function M.start(settings)
  local build = os.getenv "SKILLRT_BUILD" or "build/release"
  if not core.files.stat(build .. "/lib/skillrt/postgres.so") then
    return nil, "built without libpq"
  end
  local dir = "/tmp/skillrt-pg-" .. core.uuid():sub(1, 8)
  local script = assert(io.popen(("exec sh tests/support/postgres.sh %s %s"):format(dir, settings or ""), "w"))
  local server = { dir = dir }
  for _ = 1, 1200 do
    server.url = read(dir .. "/url")
    local why = read(dir .. "/none")
    if why then
      script:close()
      return nil, why
    elseif server.url then
      break
    end
    os.execute "sleep 0.05"
  end
  ---The URL of a run.
  function server.run(name) return (server.url:gsub("%?", function() return "/" .. name .. "?" end)) end
  ---Starts it anew as after a crash.
  function server.restart() return os.execute(dir .. "/restart") end
  ---Executes one of its programs, as the server's user.
  function server.act(words) return os.execute(("%s/do %s"):format(dir, words)) end
  ---What a statement prints, by psql.
  ---@param text string
  ---@param url string?  of another server
  function server.query(text, url)
    local command = ("%s/psql -X -q -A -t '%s' -c \"%s\" 2>&1"):format(dir, url or server.url, text)
    local pipe <close> = assert(io.popen(command))
    return (pipe:read "a":gsub("%s+$", ""))
  end
  return setmetatable(server, { __close = function() script:close() end })
end

return M
