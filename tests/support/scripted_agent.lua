-- scripted_agent.lua: a program that answers for every agent of a skill from a script, and notes
-- which steps it was asked for. The answers are those of document_run.js.
--
-- Run by tests/run/generated_js_spec.lua: lua5.4 scripted_agent.lua ANSWERS LOG NAMES < PROMPT. All
-- three are files: answers by step id (JSON), a line for each step asked, action ids by name (JSON).
package.cpath = os.getenv "SKILLRT_CPATH" .. ";" .. package.cpath
local json = require("skillrt.core").json

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a" or ""
end

local prompt = io.read "a"
local id = prompt:match "%[PHASE%] (%S+)" or json.decode(read(arg[3]))[prompt:match "# Action: ([^\n]*)"]
local list = json.decode(read(arg[1]))[id] or { {} }

local count = 0
for line in read(arg[2]):gmatch "[^\n]+" do
  count = count + (line == id and 1 or 0)
end
do
  local log <close> = assert(io.open(arg[2], "ab"))
  log:write(id .. "\n")
end

local answer = list[math.min(count + 1, #list)]
answer.status = answer.status or "completed"
answer.summary = answer.summary or "done"
if prompt:find("[PHASE]", 1, true) and answer.output == nil then
  answer.output = { from = id }
end
print(json.encode(answer))
