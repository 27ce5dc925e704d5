-- stall_spec.lua: a coding agent that says nothing for long: one that works is never ended, one that does not is ended,
-- reported or asked about, as its `on_stall` says.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"

local BEGIN <const> = [[#!/bin/sh
cat > /dev/null; cd "$(dirname "$0")"; echo x >> calls
echo '{"type":"system","subtype":"init","session_id":"s1"}'
]]
local ENDING <const> = [[
echo '{"type":"result","subtype":"success","session_id":"s1","result":"done"}'
]]

-- What the agent does while it says nothing; each ends when `go` is there, or somebody writes into the pipe.
local WORKS <const> = {
  ["it runs x"] = "ln -s /bin/sh x; ./x -c 'until [ -e go ]; do :; done'",
  ["it uses the processor"] = "while [ ! -e go ]; do :; done",
}
local WAITS <const> = "read line < pipe"

local function program(silence)
  local folder = R.folder()
  R.write(folder .. "/claude", BEGIN .. silence .. "\n" .. ENDING)
  assert(os.execute(("chmod +x '%s/claude' && mkfifo '%s/pipe'"):format(folder, folder)))
  return folder
end

-- Runs one phase by such an agent; `heard` is told of each record.
local function run(folder, on_stall, heard)
  local notes = {}
  local skill = R.skill { name = "s", mode = "sequential", limits = { max_errors = 1, max_retries = 0 },
    agents = { c = skillrt.agent.claude { program = folder .. "/claude", stall = 0.5, on_stall = on_stall } },
    phases = { { id = "a", agent = "c", prompt = "do it", answer = "text", output_free = true } } }
  local result = skill:run { work_dir = folder .. "/run", watcher = { flush = function() end, observe = function(record)
    if record.t == "note" and record.text:find "has been silent" then
      notes[#notes + 1] = record.text
      heard()
    end
  end } }
  return assert(result), notes, select(2, R.read(folder .. "/calls"):gsub("x", ""))
end

describe("a coding agent that says nothing for long", function()
  after_each(R.clean)

  it("and works, by itself or by a program that it started, goes on until it answers; that is reported", function()
    for words, silence in pairs(WORKS) do
      local folder = program(silence)
      local result, notes, calls = run(folder, "end", function() R.write(folder .. "/go", "") end)
      assert.same({ "completed", "done", 1 }, { result.status, result.state.outputs.a, calls }, words)
      assert.matches("^call 1 to .*claude has been silent for .*; " .. words .. "$", notes[1])
    end
  end)

  it("and does nothing is ended: what it did is not known, so it is asked about", function()
    local result, notes, calls = run(program(WAITS), "end", error)
    assert.same({ "paused", "needs_decision", 1, 0 }, { result.status, result.reason, calls, #notes })
    assert.matches("silent for 500 ms", result.message)
  end)

  it("is reported, each time, and let go on where on_stall says so", function()
    local folder = program(WAITS)
    local count = 0
    local result, notes, calls = run(folder, "report", function()
      count = count + 1
      if count == 2 then
        local pipe <close> = assert(io.open(folder .. "/pipe", "w"))
        pipe:write "go\n"
      end
    end)
    assert.same({ "completed", "done", 1 }, { result.status, result.state.outputs.a, calls })
    assert.matches("it shows no sign of work$", notes[2])
  end)
end)

-- A run in a process of its own whose agent says nothing, until it has asked what is to become of it.
local function asking(folder)
  folder.file("claude", BEGIN .. "[ -e go ] || " .. WAITS .. "\n" .. ENDING)
  os.execute(("cd '%s' && chmod +x claude && mkfifo pipe"):format(folder.path))
  folder.file("s.lua", [[return require "skillrt".skill { name = "s", mode = "sequential", limits = { max_errors = 1, max_retries = 0 },
    agents = { c = require "skillrt".agent.claude { program = "./claude", stall = 0.5, on_stall = "ask" } },
    phases = { { id = "a", agent = "c", prompt = "do it", answer = "text", output_free = true } } }]])
  local process = kit.start(folder, { "run", "s.lua", "--trust", "--work-dir", "r" })
  for _ = 1, 600 do
    local status = json.decode(kit.run(folder, { "status", "r", "--json" }).out or "") or {}
    if status.questions then
      return process, status.questions[1].question
    end
    os.execute "sleep 0.1"
  end
  error "it did not ask"
end

local function calls_of(folder)
  return select(2, folder.read "calls":gsub("x", ""))
end

describe("a coding agent whose silence a person is asked about", function()
  after_each(R.clean)

  it("is waited for, sent again or skipped, as the answer says, while the run goes on", function()
    for answer, came in pairs { wait = { 0, 1 }, retry = { 0, 2 }, skip = { 0, 1 } } do
      local folder <close> = kit.folder()
      local process, question = asking(folder)
      assert.matches("has been silent for .* End it%?$", question.question)
      folder.file("go", "")
      local seen = kit.run(folder, { "answer", "r", answer })
      assert.equal(0, seen.code, seen.err)
      if answer == "wait" then
        local pipe <close> = assert(io.open(folder.path .. "/pipe", "w"))
        pipe:write "go\n"
      end
      local ended = process.wait()
      assert.same(came, { ended.code, calls_of(folder) }, answer .. ended.out)
      local outputs = json.decode(folder.read "r/state.json").outputs or {}
      assert.equal(answer ~= "skip" and "done" or nil, outputs.a)
    end
  end)

  it("may have acted where the run is cut behind that question: another one asks whether it is sent again", function()
    local folder <close> = kit.folder()
    local process = asking(folder)
    folder.file("go", "")
    assert.equal(0, kit.run(folder, { "answer", "r", "wait" }).code)
    local pipe <close> = assert(io.open(folder.path .. "/pipe", "w"))
    pipe:write "go\n"
    pipe:flush()
    process.wait()
    for _, last in ipairs { "ask", "answer" } do
      local keep
      for i, record in ipairs(R.records(folder.path .. "/r")) do
        keep = record.t == last and i or keep
      end
      R.cut(folder.path .. "/r", folder.path .. "/" .. last, keep)
      local seen = kit.run(folder, { "resume", last })
      local question = json.decode(kit.run(folder, { "status", last, "--json" }).out).questions[1].question
      assert.matches("may have been executed", question.question, seen.out)
      assert.equal("fail", question.options[3].id)
    end
    assert.equal(1, calls_of(folder))
  end)
end)

describe("a call without a limit of its own", function()
  after_each(R.clean)

  it("may say nothing for longer than a second", function()
    local result = assert(R.run { actions = { { id = "a", run = function(_, ctx)
      return { code = assert(ctx.await { kind = "command", argv = { "sleep", "1.1" } }).code }
    end } } })
    assert.same({ "completed", 0 }, { result.status, result.state.code }, result.message)
  end)
end)
