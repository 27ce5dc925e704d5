-- run_tools_spec.lua: models that use tools, in whole runs against a server: what is performed, what is recorded, and
-- what a resume makes again.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"

local GOOD <const> = '{"status":"completed","stateUpdates":{"ok":true},"summary":"done"}'
local server, folder, asked -- asked: exchanges before a run

local function start()
  server, folder, asked = R.server "/echo\n", R.folder(), nil
  return server
end

local function raw(reply)
  return R.raw(P.bytes(reply))
end

-- A reply that calls tools: { name, input, id? } each.
local function asks(calls)
  return raw(P.uses(calls))
end

local function says(text)
  return raw(P.anthropic(text or GOOD))
end

local function definition(tools, more)
  local agent = { url = server.url .. "/plan" }
  for key, value in pairs(more or {}) do agent[key] = value end
  return { tools = tools, agents = { model = skillrt.agent.anthropic(agent) },
    actions = { { id = "a", agent = "model", prompt = "do it well" } }, limits = { max_errors = 1, max_retries = 0 } }
end

-- Runs a plan of replies: the result, the run's folder.
local function run(tools, plan, more)
  asked = #server.log()
  server.plan(("/status/500\n"):rep(asked) .. table.concat(plan, "\n") .. "\n")
  local dir = R.folder() .. "/run"
  local result = assert(R.run(definition(tools, more), { work_dir = dir }))
  return result, dir
end

-- What the model was told for its calls by the n-th request.
local function told(n)
  local messages = select(2, server.request((asked or 0) + n)).messages
  local last = messages[#messages]
  return last.role == "user" and last.content or {}
end

local ADD <const> = {
  description = "Adds two numbers",
  input = { type = "object", properties = { a = { type = "number" }, b = { type = "number" } }, required = { "a", "b" },
    additionalProperties = false },
  run = function(input) return { sum = input.a + input.b } end,
}

describe("a model with tools", function()
  before_each(start)
  after_each(function()
    require("skillrt.agent.gate").forget()
    server.stop()
    R.clean()
  end)

  it("that fail: the log says which one and why, and of no call that it was \"kept\"", function()
    local _, dir = run({ bad = { description = "b", run = function() return nil, "text not found" end },
      good = { description = "g", run = function() return "fine" end } }, { asks { { "bad", {} }, { "good", {} } }, says() })
    local here <close> = kit.folder()
    local log = kit.run(here, { "log", dir }).out
    assert.truthy(log:find("Tool bad: failed: text not found (call 2.1.1)", 1, true), log)
    assert.truthy(log:find("Tool good: 4 bytes (call 2.2.1)", 1, true), log)
    assert.is_nil(log:find("kept, ", 1, true))
    local page = kit.run(here, { "report", dir, "--html", "-" }).out
    assert.truthy(page:find("text not found", 1, true))
    assert.is_nil(page:find("kept, ", 1, true))
  end)

  it("has functions and commands of the skill as tools, each use one record and one result", function()
    local result, dir = run({
      add = ADD,
      shout = { description = "Says it loud", command = { "printf", "%s!", "{text}" },
        input = { type = "object", properties = { text = { type = "string" } }, required = { "text" } } },
    }, { asks { { "add", { a = 1, b = 2 } }, { "shout", { text = "hey" } } }, says() })
    assert.equal("completed", result.status, result.message)
    local sent = select(2, server.request(1))
    assert.equal("add", sent.tools[1].name)
    assert.equal("Adds two numbers", sent.tools[1].description)
    assert.equal("number", sent.tools[1].input_schema.properties.a.type)
    local results = told(2)
    assert.equal('{"sum":3}', results[1].content)
    assert.equal("hey!", results[2].content)
    local uses = R.records(dir, "tool")
    assert.equal(2, #uses)
    assert.equal("add", uses[1].name)
    assert.equal('{"a":1,"b":2}', uses[1].input)
    local over = 0
    for _, record in ipairs(R.records(dir, "result")) do
      over = over + (record.digest and record.digest:find "^tool " and 1 or 0)
    end
    assert.equal(2, over)
  end)

  it("is told what is wrong with its arguments, and nothing runs", function()
    local ran = 0
    local tool = { description = "x", input = ADD.input, run = function() ran = ran + 1 end }
    local result = run({ add = tool }, { asks { { "add", { a = "1", b = 2 } }, { "add", { a = 1 } },
      { "add", { a = 1, b = 2, c = 3 } }, { "ad", { a = 1, b = 2 } } }, says() })
    assert.equal("completed", result.status, result.message)
    assert.equal(0, ran)
    local results = told(2)
    assert.matches('a must be number, not "1"', results[1].content)
    assert.matches('the input has no "b"', results[2].content)
    assert.matches('the input must not have "c"', results[3].content)
    assert.matches('there is no tool "ad".*there are add, ', results[4].content)
    for i = 1, 4 do assert.is_true(results[i].is_error) end
  end)

  it("performs several calls of one reply at once, bounded, and tells each its own result", function()
    local sleep = { description = "x", command = { "sleep", "0.05" }, acts = false }
    for _, most in ipairs { 1, 3, 8 } do
      local calls = {}
      for i = 1, 6 do calls[i] = { "nap", {} } end
      local result, dir = run({ nap = sleep }, { asks(calls), says() }, { max_parallel_tools = most, max_repeats = 20 })
      assert.equal("completed", result.status, result.message)
      local open, highest = 0, 0
      for _, record in ipairs(R.records(dir)) do
        local is_command = record.t == "call" and record.kind == "command"
        open = open + (is_command and 1 or record.t == "result" and record.reply and record.c:find "%." and -1 or 0)
        highest = math.max(highest, open)
      end
      assert.equal(math.min(most, 6), highest)
      assert.equal(6, #told(2))
    end
  end)

  it("never has a tool performed that is not present: it is recorded and answered (F53)", function()
    local ran = 0
    local other = { description = "x", run = function() ran = ran + 1 end }
    local result, dir = run({ add = ADD, other = other }, { asks { { "other", {} }, { "add", { a = 1, b = 1 } } },
      asks { { "other", {} } }, says() }, { tools = { "add" } })
    assert.equal("completed", result.status, result.message)
    assert.equal(0, ran)
    for n = 1, 3 do
      for _, one in ipairs(select(2, server.request(n)).tools) do assert.not_equal("other", one.name) end
    end
    assert.matches("the tool other is in no set", told(2)[1].content)
    assert.is_true(told(2)[1].is_error)
    assert.equal('{"sum":2}', told(2)[2].content)
    local uses = R.records(dir, "tool")
    assert.same({ "other", "refused" }, { uses[1].name, uses[1].absent })
    assert.matches("in no set", uses[1].refused)
  end)

  it("may say what it likes: garbage as arguments, names, ids; each call has its result, and the talk stays valid", function()
    local function stream(calls) return raw(P.anthropic(calls, { stop_reason = "tool_use" })) end
    local function use(id, name, input) return { type = "tool_use", id = id, name = name, input = input } end
    local events = P.anthropic_events({ use("x", "add", { a = 1, b = 2 }) }, { stop_reason = "tool_use" })
    for _, event in ipairs(events) do
      if event.delta and event.delta.partial_json then event.delta.partial_json = event.delta.partial_json .. "{" end
    end
    local result = run({ add = ADD }, {
      stream { use("same", "add", { a = 1, b = 2 }), use("same", "add", { a = 3, b = 4 }), use("", "add", { a = 5, b = 6 }) },
      stream { use("same", "no such tool\0", { a = 1 }), use("x y", ("n"):rep(500), {}), use("t", "add", json.array { 1 }) },
      raw(P.as_stream(events, true)),
      says(),
    })
    assert.equal("completed", result.status, result.message)
    local seen = {}
    local messages = select(2, server.request(4)).messages
    for i, message in ipairs(messages) do
      for k, block in ipairs(message.content) do
        if block.type == "tool_use" then
          assert.is_nil(seen[block.id])
          seen[block.id] = true
          assert.matches("^[%w_-]+$", block.name)
          assert.is_true(#block.name <= 64)
          assert.is_false(json.is_array(block.input))
          assert.equal(block.id, messages[i + 1].content[k].tool_use_id)
        end
      end
    end
    assert.same({ '{"sum":3}', '{"sum":7}', '{"sum":11}' }, { messages[3].content[1].content, messages[3].content[2].content,
      messages[3].content[3].content })
    assert.matches("not a JSON object", messages[7].content[1].content)
  end)

  it("is noticed where it makes the same call again and again, and comes to an end", function()
    local ran = 0
    local result = run({ add = { description = "x", run = function() ran = ran + 1 return "as before" end } },
      { asks { { "add", {} } }, asks { { "add", {} } }, asks { { "add", {} } }, asks { { "add", {} } } }, { max_repeats = 3 })
    assert.equal("failed", result.status)
    assert.matches("made the same call of \"add\" 4 times, each with the same result", result.message)
    assert.equal(4, #server.log())
    assert.equal(4, ran)
    assert.matches("^%(You made this very call 2 times now", told(3)[1].content)
  end)

  it("is noticed, too, where the same result is so long that each lies in a file of its own", function()
    local tool = { description = "x", outside = true, run = function() return ("as before "):rep(50) end, max_result = 100 }
    local plan = {}
    for i = 1, 5 do plan[i] = asks { { "add", {} } } end
    local result = run({ add = tool }, plan, { max_repeats = 3 })
    assert.equal("failed", result.status)
    assert.matches("made the same call of \"add\" 4 times", result.message)
    assert.matches("^%(You made this very call 2 times now.*all of it is in", told(3)[1].content)
  end)

  it("comes to an end by its limits: calls of a talk, exchanges; they are taken before anything runs", function()
    local ran = 0
    local tool = { description = "x", input = { type = "object" }, run = function(input) ran = ran + 1 return input end }
    local result = run({ t = tool }, { asks { { "t", { 1 } }, { "t", { n = 2 } }, { "t", { n = 3 } } }, asks { { "t", { n = 4 } } } },
      { max_tool_calls = 2 })
    assert.equal("failed", result.status)
    assert.matches("made 2 tool calls %(max_tool_calls%)", result.message)
    assert.equal(2, ran) -- the first one's arguments were no object
    assert.equal(2, #server.log())
  end)

  it("is told a long result in part, and the rest lies in a file of the run that it can read on", function()
    local text = ("line of text\n"):rep(400000) .. "the last one"
    local result, dir = run({ long = { description = "x", run = function() return text end } }, { asks { { "long", {} } },
      asks { { "read", { path = "PATH" } } }, says() })
    assert.equal("completed", result.status, result.message)
    local said = told(2)[1].content
    assert.is_true(#said < 33500)
    local path, offset = said:match "all of it is in (%S+), continue with offset (%d+)"
    assert.equal(text, R.read(path))
    assert.equal(text:sub(1, offset), said:sub(1, offset))
    assert.truthy(path:find(dir, 1, true))
    local read = assert(require("skillrt.tool").check("read", true, "s"))
    assert.equal("the last one", (read:perform(nil, { path = path, offset = #text - 12 }, { dir = folder,
      store = require("skillrt.run.store").at(dir) })))
  end)

  it("is asked about where the skill wants a person's approval, for exactly the arguments shown", function()
    local seen = {}
    local tool = { description = "x", input = ADD.input, approval = "ask", run = function(input) seen[#seen + 1] = input.a end }
    local never = { description = "x", approval = "never", run = function() seen[#seen + 1] = "never" end }
    local free = { description = "x", input = ADD.input, approval = "input.a < 3", run = function(input) seen[#seen + 1] = -input.a end }
    local tools = { del = tool, never = never, free = free }
    server.plan(table.concat({ asks { { "del", { a = 7, b = 1 } }, { "never", {} }, { "free", { a = 2, b = 1 } },
      { "free", { a = 3, b = 1 } } }, says() }, "\n") .. "\n")
    local dir = R.folder() .. "/run"
    local skill = definition(tools)
    local result = assert(R.run(skill, { work_dir = dir }))
    assert.same({ "paused", "waiting_for_person" }, { result.status, result.reason })
    assert.same({ -2 }, seen)
    local questions = {}
    for _, record in ipairs(R.records(dir, "call")) do
      if record.question then questions[#questions + 1] = record end
    end
    assert.equal(2, #questions)
    assert.matches('"a": 7', questions[1].question.detail)
    result = assert(skillrt.resume(dir, { skill = R.skill(skill), answers = {
      { question = questions[1].q, value = "approve" }, { question = questions[2].q, value = "deny" } } }))
    assert.equal("completed", result.status, result.message)
    assert.same({ -2, 7 }, seen)
    local results = told(2)
    assert.equal("done", results[1].content)
    assert.matches("may not be used", results[2].content)
    assert.matches("did not approve", results[4].content)
  end)

  it("has its talk made shorter by the policy it declares, and that is recorded", function()
    for _, how in ipairs { "drop_results", "keep", "summarise" } do
      local plan, n = {}, 0
      for i = 1, 5 do plan[i] = asks { { "long", { i = i } } } end
      if how == "summarise" then table.insert(plan, 5, says "I called long four times.") end
      plan[#plan + 1] = says()
      local result, dir = run({ long = { description = "x", input = { type = "object" }, run = function()
        n = n + 1
        return n .. (" result"):rep(300)
      end } }, plan, { compact = { over = 8000, keep = 2, how = how } })
      assert.equal("completed", result.status, result.message)
      assert.equal(5, n)
      local records, kept = R.records(dir, "compact"), how == "drop_results" and 2 or 2
      assert.same({ how, kept * 2 }, { records[1].how, records[1].kept })
      assert.is_true(records[1].after < records[1].before)
      assert.same({}, R.records(dir, "note"))
      local last = select(2, server.request(#server.log()))
      assert.is_true(#json.encode(last.messages) < 12000)
      local open = {}
      for i, message in ipairs(last.messages) do
        assert.equal(i % 2 == 1 and "user" or "assistant", message.role)
        for _, block in ipairs(message.content) do
          if block.type == "tool_use" then open[block.id] = true end
          if block.type == "tool_result" then
            assert.is_true(open[block.tool_use_id])
            open[block.tool_use_id] = nil
          end
        end
      end
      assert.is_nil(next(open))
      if how == "summarise" then
        assert.matches("BEGIN UNTRUSTED SUMMARY.*I called long four times", last.messages[1].content[2].text)
      end
    end
  end)

  it("writes as much to the disk for a round at the end of a long loop as at its start", function()
    local path, n = folder .. "/again", 0
    R.write(path, P.bytes(P.chat("", { { id = "c1", name = "add", arguments = '{"a":1,"b":2}' } })))
    server.plan("/raw?file=" .. path .. "\n")
    local dir, sizes = R.folder() .. "/run", {}
    assert(R.run({
      tools = { add = { description = "x", input = { type = "object" }, run = function()
        n = n + 1
        sizes[n] = #(R.read(dir .. "/journal/00000001.sj") or "")
        return ("%4d"):format(n) .. ("x"):rep(200)
      end } },
      agents = { model = skillrt.agent.openai { url = server.url .. "/plan", max_turns = 600 } },
      actions = { { id = "a", agent = "model", prompt = "do it well" } },
      limits = { max_errors = 1, max_retries = 0 },
    }, { work_dir = dir, books_bytes = 1 << 30 }))
    assert.equal(600, n)
    local early, late = sizes[200] - sizes[100], sizes[600] - sizes[500]
    assert.is_true(late < early * 1.1, ("%d, then %d bytes of 100 rounds"):format(early, late))
    local sent = select(2, server.request(600))
    assert.equal(1199, #sent.messages)
  end)
end)

describe("a tool loop that is killed behind any record and resumed", function()
  before_each(start)
  after_each(function()
    require("skillrt.agent.gate").forget()
    server.stop()
    R.clean()
  end)

  it("makes no finished call again, and asks about those that may have been made", function()
    local project = R.folder()
    local ran
    local tools = {
      note = { description = "x", input = { type = "object" }, run = function(input)
        ran[input.n] = (ran[input.n] or 0) + 1
        return "noted " .. input.n
      end },
      append = { description = "x", command = { "sh", "-c", "echo once >> " .. project .. "/log; echo done" } },
      write_file = { roots = { write = { project } } },
      edit = { roots = { write = { project } } },
      read_file = { roots = { write = { project } } },
    }
    local plan = {
      asks { { "note", { n = "a" } }, { "write_file", { path = project .. "/f.txt", content = "one two" } } },
      asks { { "edit", { path = project .. "/f.txt", old = "two", new = "two two" } }, { "append", {} } },
      asks { { "note", { n = "b" } }, { "read_file", { path = project .. "/f.txt" } } },
      says(),
    }
    local skill = definition(tools)
    local dir, copy = R.folder() .. "/run", R.folder() .. "/cut"
    local function log() return select(2, (R.read(project .. "/log") or ""):gsub("once", "")) end
    local function serve(from)
      local lines = {}
      for _ = 1, #server.log() do lines[#lines + 1] = "/status/500" end
      server.plan(table.concat(table.move(plan, from, #plan, #lines + 1, lines), "\n") .. "\n/status/400\n")
    end
    serve(1)
    ran = {}
    assert.equal("completed", assert(R.run(skill, { work_dir = dir })).status)
    assert.same({ a = 1, b = 1 }, ran)
    local list = R.records(dir)
    for keep = 2, #list - 1, R.EVERY do
      R.cut(dir, copy, keep)
      local exchanges, uses, open_append = 0, {}, false
      for _, record in ipairs(R.records(copy)) do
        if record.t == "result" and record.reply and not record.c:find "%." then exchanges = exchanges + 1 end
        if record.t == "tool" then uses[record.c] = record end
        if record.t == "call" and record.kind == "command" then open_append = true end
        if record.t == "result" and record.reply and record.c:find "%." then open_append = false end
        if record.t == "result" and uses[record.c] then uses[record.c].over = true end
      end
      local done = { note = {} }
      for _, use in pairs(uses) do
        if use.over and use.name == "note" then done.note[use.input:match '"n":"(%a)"'] = true end
      end
      serve(exchanges + 1)
      ran = {}
      local appended, before = log(), #server.log()
      local result = assert(skillrt.resume(copy, { skill = R.skill(skill) }))
      local where = ("cut behind record %d of %d (%s)"):format(keep, #list, list[keep].t)
      if result.reason == "needs_decision" then
        assert.is_true(open_append or list[keep].t ~= "call", where) -- or a batch was cut in two
        assert.equal(appended, log(), where)
        result = assert(skillrt.resume(copy, { skill = R.skill(skill), decide = "skip" }))
      end
      assert.equal("completed", result.status, where .. ": " .. tostring(result.message))
      for name in pairs(done.note) do assert.is_nil(ran[name], where) end
      assert.equal(4 - exchanges, #server.log() - before, where)
      assert.equal("one two two", R.read(project .. "/f.txt"), where)
      os.execute(("rm -rf '%s'"):format(copy))
    end
  end)
end)
