-- fuzz_reply.lua: mutates answers of agents and outputs of programs: reading them never raises, never takes
-- long, gives an outcome or a failure of a known class, and never a success where an error is said.
--
-- Run from the tree after make: lua5.4 tests/fuzz/fuzz_reply.lua [SECONDS [SEED]] (or FUZZ_SECONDS).
-- luacheck: no max line length
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("%s/lib/?.so;"):format(os.getenv "SKILLRT_BUILD" or "build/release") .. package.cpath
local fuzz = require "tests.support.fuzz_texts"
local agent = require "skillrt.agent"
local expect = require "skillrt.agent.expect"
local failure = require "skillrt.agent.failure"
local fake = require "tests.support.fake_ctx"
local json = require "skillrt.base.json"

local SLOW <const> = 2 -- CPU seconds

local words = {
  "{", "}", "[", "]", '"', "\\", "\\u0000", ",", ":", "null", "true", "false", "0", "-1e9", "\n", "\r\n", " ", "```json\n", "```",
  '"status":', '"completed"', '"failed"', '"done"', '"stateUpdates":{"n":1}', '"output":', '"error":"x"', '"is_error":true', '"errors":[1]',
  '"retryable":true', '"class":"weird"', '"summary":"s"', '"output_file":"../x"', "data: ", "event: error\n", "\n\n", ": \n", "\239\187\191", "\0", "\255",
}

local AGENTS = {
  agent.http { url = "http://x/" }, agent.command { "x", parse = "json" }, agent.command { "x", "{prompt}", parse = "json" },
  agent.command { "x", parse = "lines" },
}
local EXPECTED = { "raw", "text", "json", { status = { "done" }, schema = { n = "integer?" } } }
local HEADERS = { "content-type: application/json\n", "content-type: text/event-stream\n", "" }

-- What must never happen; nil: all is well.
local function fault_of(text, extra, kind)
  local good = false
  for _, one in ipairs(AGENTS) do
    local reply = { body = text, extra = extra }
    local outcome, message, class = fake.perform(one, { reply, reply }, { kind = kind })
    good = good or (outcome ~= nil and one.parse ~= "lines") -- any text has lines
    if not outcome and not (failure.CLAIMED[class] and type(message) == "string") then
      return ("%s: a failure of class %s"):format(one.kind, tostring(class))
    elseif outcome and outcome.updates ~= nil and (type(outcome.updates) ~= "table" or json.is_array(outcome.updates)) then
      return one.kind .. ": updates that are no object"
    end
  end
  for _, wanted in ipairs(EXPECTED) do
    for _, request in ipairs { "http", "command" } do
      local code = request == "http" and 200 or 0
      local fine, value = expect.judge(wanted, request, { status = "ok", code = code, body = text, extra = extra })
      if fine and wanted ~= "raw" and failure.in_value(value) then
        return request .. ": an error counts as a success"
      end
    end
  end
  return nil, good
end

local function check(text)
  local started = os.clock()
  local extra, kind = fuzz.pick(HEADERS), fuzz.pick { "action", "phase" }
  local ok, fault, good = xpcall(fault_of, debug.traceback, text, extra, kind)
  local spent = os.clock() - started
  if ok and not fault and spent <= SLOW then return good end
  local name = os.tmpname()
  local file = assert(io.open(name, "wb"))
  file:write(text)
  file:close()
  fuzz.complain("%s\n%d bytes of a reply are in %s", fault or ("took %.3f s"):format(spent), #text, name)
end

local corpus = fuzz.corpus "reply"
for _, text in ipairs(corpus) do check(text) end
local tried, good = fuzz.loop(corpus, { texts = 500, bytes = 4000, bad = 20 }, function(known)
  local text = fuzz.mutate(fuzz.pick(known), words)
  for _ = 1, math.random(0, 3) do text = fuzz.mutate(text, words) end
  return text
end, check)
print(("%d replies, %d of them good, seed %d"):format(tried, good, fuzz.seed))
