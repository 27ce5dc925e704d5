-- serve_client.lua: `skillrt serve` for tests: the real program, asked by curl over its socket or its port.
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

local M = {}

local Client = {}
Client.__index = Client

---Starts the server in a folder; `words` go to it; words.runs: where the runs are.
function M.start(folder, words)
  local all = { "serve", "--runs", words.runs or "runs", table.unpack(words) }
  all.env = ("HOME=%s XDG_STATE_HOME=%s/.state"):format(folder.path, folder.path)
  local self = setmetatable({ folder = folder, process = K.start(folder, all), files = 0 }, Client)
  if not self.process.says "listening at " then error("the server did not start: " .. self.process.wait(1).err) end
  self.url = self.process.output():match "listening at (http://[^/]+)/"
  local token = self.process.output():match "token in ([^\n]+)"
  self.token = token and K.read(token):match "%S+"
  self.socket = self.process.output():match "listening at (/[^\n]+)"
  return self
end

---The words of a shell for curl: what is asked, and how.
function Client:words(path, options)
  options = options or {}
  local words = { "curl", "-sS", "-g", "-m", tostring(options.seconds or 20) }
  local function add(...) for _, word in ipairs { ... } do words[#words + 1] = K.quoted(word) end end
  if self.socket then add("--unix-socket", self.socket) end
  if self.token and options.token ~= false then add("-H", "Authorization: Bearer " .. (options.token or self.token)) end
  for name, value in pairs(options.headers or {}) do add("-H", name .. ": " .. value) end
  if options.method then add("-X", options.method) end
  if options.body ~= nil then
    add("--data-binary", type(options.body) == "string" and options.body or json.encode(options.body))
    if not (options.headers or {})["Content-Type"] then add("-H", "Content-Type: application/json") end
  end
  for _, word in ipairs(options.more or {}) do add(word) end
  add((self.url or "http://localhost") .. path)
  return table.concat(words, " ")
end

---Asks: status, the value of the JSON that came (or the text), headers.
function Client:ask(path, options)
  self.files = self.files + 1
  local name = ("%s/.reply%d"):format(self.folder.path, self.files)
  os.execute(("%s -D %s.head -o %s.body -w '%%{http_code}' >%s.status 2>%s.err"):format(self:words(path, options), name,
    name, name, name))
  local text = K.read(name .. ".body") or ""
  return tonumber(K.read(name .. ".status")) or 0, json.decode(text) or text, K.read(name .. ".head") or ""
end

function Client:post(path, body, headers) return self:ask(path, { body = body, headers = headers }) end

---Until a run is as it should be.
function Client:until_it(run, status)
  local value
  for _ = 1, 300 do
    value = select(2, self:ask("/runs/" .. run))
    if type(value) == "table" and value.status == status then return value end
    os.execute "sleep 0.03"
  end
  error(("the run never was %s: %s"):format(status, json.encode(value)))
end

---Follows a run for some seconds: the numbers of the records that came, and all that was said.
function Client:follow(run, seconds, last)
  local name = self.folder.path .. "/.events"
  os.execute(self:words("/runs/" .. run .. "/events", { seconds = seconds, headers = { ["Last-Event-ID"] = last },
    more = { "-N" } }) .. (" >%s 2>/dev/null"):format(name))
  local text, ids = K.read(name), {}
  for id in text:gmatch "id: (%d+)\n" do ids[#ids + 1] = tonumber(id) end
  return ids, text
end

---Ends the server by a signal; gives how it ended. A test that fails ends it, too: it holds the database open.
function Client:close(signal)
  if not self.ended then
    self.process.signal(signal or "TERM")
    self.ended = self.process.wait()
  end
  return self.ended
end
Client.__close = function(self) self:close() end

return M
