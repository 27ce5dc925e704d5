-- run_tools_spec.lua: models that use tools, in whole runs against a server: what is performed, what is recorded, and
-- what a resume makes again.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local GOOD <const> = '{"status":"completed","stateUpdates":{"ok":true},"summary":"done"}'
local server, folder

local function start()
  server, folder = R.server "/echo\n", R.folder()
  return server
end

local files = 0
local function raw(reply)
  files = files + 1
  local path = ("%s/raw%d"):format(folder, files)
  R.write(path, P.bytes(reply))
  return "/raw?file=" .. path
end

-- A reply that calls tools: { name, input, id? } each.
local function asks(calls)
  local blocks = {}
  for i, call in ipairs(calls) do
    blocks[i] = { type = "tool_use", id = call.id or ("t" .. files .. "_" .. i), name = call[1], input = call[2] }
  end
  return raw(P.anthropic(blocks, { stop_reason = "tool_use" }))
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
  server.plan(table.concat(plan, "\n") .. "\n")
  local dir = R.folder() .. "/run"
  local result = assert(R.run(definition(tools, more), { work_dir = dir }))
  return result, dir
end

-- What the model was told for its calls by the n-th request.
local function told(n)
  local messages = select(2, server.request(n)).messages
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
    require("skillrt.agent.pace").forget()
    server.stop()
    R.clean()
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
    assert.matches('the arguments has no "b"', results[2].content)
    assert.matches('the arguments must not have "c"', results[3].content)
    assert.matches('there is no tool "ad".*there are add, ', results[4].content)
    for i = 1, 4 do assert.is_true(results[i].is_error) end
  end)
end)
