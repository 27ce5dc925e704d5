-- fuzz_serve.lua: mutates requests to `skillrt serve` as its HTTP library hands them over: each gets one reply or a
-- stream, none is an internal error, and without the token nothing is started and nothing of a run is shown.
--
-- Run from the tree after make: lua5.4 tests/fuzz/fuzz_serve.lua [SECONDS [SEED]] (or FUZZ_SECONDS).
-- luacheck: no max line length
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("%s/lib/?.so;"):format(os.getenv "SKILLRT_BUILD" or "build/release") .. package.cpath
local fuzz = require "tests.support.fuzz_texts"
local runs_of = require "skillrt.cli.serving.runs"

local TOKEN <const> = ("t"):rep(40)
local folder = os.tmpname()
os.remove(folder)
os.execute(("mkdir -p %s"):format(folder))
assert(require("skillrt.run.runner").perform("r", function() return true end))
local made = require("skillrt.skill").check { name = "ask", actions = { { id = "a", run = function(_, ctx)
  return { said = ctx.ask { question = "SECRET?" } }
end } } }
assert(require("skillrt.run.runner").run(assert(made), { work_dir = folder .. "/r" }))

local http = { fd = 1 }
local request, replies, started
function http.turn() end
function http.take() local one = request request = nil return one end
function http.reply(_, _, status, _, body) replies[#replies + 1] = { status = status, body = body } return true end
function http.stream() replies[#replies + 1] = { status = 200, body = "", streams = true } return true end
function http.push(_, _, text)
  replies[#replies].body = replies[#replies].body .. text
  return true
end
function http.finish() end
function http.behind() return 0 end
function http.patience() return 0 end

local runs = runs_of.new { folder = folder, at_once = 1, words = {}, agent = {} }
function runs:start() started = true return nil, "busy" end -- luacheck: no self
local server = require("skillrt.cli.serve.server").new { http = http, runs = runs, skills = { hello = { name = "hello", path = "/x" } },
  paths = {}, agent = {}, token = TOKEN, key = ("k"):rep(32) }
server.hosts["x"] = true

local words = { "GET", "POST", "DELETE", "HEAD", "/", "//", "..", "%2e", "?", "&", "=", ",", "\n", "\n\n", "{", "}", "[", "]", '"', "\\u0000",
  "null", "true", "-1", "1e999", "9999999999999999999", "runs", "hooks", "answer", "mcp", "openapi.json", "data", "events", "\0", "\255", ":",
  "origin: http://x", "origin: null", "last-event-id: ", "webhook-id: ", "mcp-session-id: ", '"method":"tasks/get"', '"method":"initialize"',
  '"method":"tasks/result"', '"method":"ping"', '"id":2', '"params":{"taskId":"r"}', "%", "+", "value=" }

-- A text as a request: method, path, headers, an empty line, body.
local function read(text)
  local head, body = text:match "^(.-)\n\n(.*)$"
  head = head or text
  local lines = {}
  for line in (head .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  local path, query_text = (lines[2] or ""):match "^([^?]*)%??(.*)$"
  local query, headers = {}, { host = "x", ["content-type"] = "application/json" }
  for name, value in query_text:gmatch "([^&=]+)=([^&]*)" do query[name] = query[name] or value end
  for i = 3, #lines do
    local name, value = lines[i]:match "^([%w-]+): ?(.*)$"
    if name then headers[name] = value end
  end
  return { id = 1, method = lines[1] or "", path = path, query = query, headers = headers, body = body or "" }
end

local function fault_of(text, has_token)
  request, replies, started = read(text), {}, false
  local path = request.path
  request.headers.authorization = has_token and "Bearer " .. TOKEN or nil
  server:advance()
  local first = replies[1]
  if not first or replies[2] then
    return (first and "more than one reply" or "no reply") .. (" (%d wait)"):format(#server.waiting)
  elseif first.status == 500 then
    return "an internal error: " .. tostring(first.body)
  elseif not has_token and (started or type(first.body) == "string" and first.body:find("SECRET", 1, true)
    or first.status < 300 and path ~= "/") then
    return ("status %d without the token"):format(first.status)
  end
  return nil, first.status < 300
end

local function check(text)
  local good
  for _, has_token in ipairs { true, false } do
    server.waiting, server.keys, server.events.feeds = {}, {}, {}
    local ok, fault, fine = xpcall(fault_of, debug.traceback, text, has_token)
    if not ok or fault then fuzz.complain("%s\n%q", fault, text) end
    good = good or fine
  end
  return good
end

local corpus = fuzz.corpus "serve"
for _, text in ipairs(corpus) do check(text) end
local tried, good = fuzz.loop(corpus, { texts = 500, bytes = 2000, bad = 20 }, function(known)
  local text = fuzz.mutate(fuzz.pick(known), words)
  for _ = 1, math.random(0, 2) do text = fuzz.mutate(text, words) end
  return text
end, check)
os.execute("rm -rf " .. folder)
print(("%d requests, %d of them good, seed %d"):format(tried, good, fuzz.seed))
