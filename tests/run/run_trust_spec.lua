-- run_trust_spec.lua: success is said, not assumed: whole runs whose agents and functions say something else,
-- and what a run's folder keeps of secrets.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local dir

-- Runs one action to its end; its folder is `dir`.
local function run(action, more)
  dir = R.folder() .. "/run"
  action.id = action.id or "a"
  local definition = { actions = { action }, limits = { max_errors = 1, max_retries = 0 } }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  return assert(R.run(definition, { work_dir = dir }))
end

local function printing(text, more)
  local definition = { "printf", "%s", text, parse = "json" }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  return skillrt.agent.command(definition)
end

describe("a run", function()
  after_each(R.clean)

  for _, text in ipairs {
    '{"error":"no credit"}', '{"is_error":true,"result":"no"}', '{"type":"error"}', '{"errors":["x"]}', '{"ok":false}',
    'I failed. The config was {"debug":true}, sorry', '{"status":"failed","n":1}', "[1]",
  } do
    it("does not complete by a program that prints " .. text .. " (F18)", function()
      local result = run { agent = printing(text) }
      assert.same({ "failed", "error_limit" }, { result.status, result.reason })
      assert.is_nil(result.state.debug)
      assert.is_nil(result.state.n)
    end)
  end

  it("takes data whose status is no word of an answer, and keeps the status the runtime's own (R64)", function()
    local result = run { agent = printing '{"status":"active","n":1}' }
    assert.same({ "completed", 1 }, { result.status, result.state.n })
    assert.not_equal("active", result.state.status)
  end)

  for name, perform in pairs {
    ["nil and a table"] = function() return nil, { n = 1 } end,
    ["nil and a number"] = function() return nil, 42 end,
    ["two tables"] = function() return { n = 1 }, { m = 2 } end,
    ["false"] = function() return false, "no" end,
  } do
    it("does not complete by a function that returns " .. name .. " (F18)", function()
      local result = run({ run = perform }, { limits = { max_errors = 1, max_retries = 3 } })
      assert.same({ "failed", "error_limit" }, { result.status, result.reason })
      assert.is_nil(result.state.n)
      local journal = R.read(dir .. "/journal/00000001.sj")
      assert.truthy(journal:find('"class":"permanent"', 1, true))
    end)
  end

  it("is aborted by a function that returns a class that nobody knows (F18)", function()
    local result = run({ run = function() return nil, "no", "wierd" end }, { limits = { max_errors = 1, max_retries = 3 } })
    assert.same({ "aborted", "fatal_error" }, { result.status, result.reason })
    assert.equal(1, #R.records(dir, "fail"))
  end)

  it("judges what a function awaits by what it expected", function()
    local heard = {}
    run {
      run = function(_, ctx)
        for i, expect in ipairs { "raw", "text", "json", { status = { "done" } } } do
          local reply, message, class = ctx.await {
            kind = "command", argv = { "printf", "%s", '{"status":"done","error":"no"}' }, expect = expect,
          }
          heard[i] = reply and "fine" or ("%s: %s"):format(class, message)
        end
      end,
    }
    local no = "permanent: the reply is an error: no"
    assert.same({ "fine", no, no, no }, heard)
  end)

  it("keeps no password and no query of a URL in its folder, and no secret of the environment", function()
    local server = R.server("/say/%7B%22status%22%3A%22done%22%7D\n")
    local url = server.url:gsub("//", "//me:pa55word@") .. "/plan?key=s3cret"
    local result = run { agent = skillrt.agent.http { url = url, headers = { ["X-Home"] = "{env.HOME}" }, idempotent = true } }
    server.stop()
    assert.equal("completed", result.status, result.message)
    local kept = R.read(dir .. "/journal/00000001.sj")
    assert.truthy(kept:find("/plan", 1, true))
    for _, secret in ipairs { "pa55word", "s3cret" } do
      assert.is_nil(kept:find(secret, 1, true), secret .. " is in the journal")
    end
  end)

  it("keeps none of a URL that a function asks, either", function()
    local server = R.server("/say/done\n")
    local url = server.url:gsub("//", "//me:pa55word@") .. "/plan?key=s3cret"
    local result = assert(R.run({ actions = { { id = "one", run = function(_, ctx)
      assert(ctx.await { kind = "http", url = url, idempotent = true })
    end } } }, { work_dir = dir }))
    server.stop()
    assert.equal("completed", result.status, result.message)
    local kept = R.read(dir .. "/journal/00000001.sj")
    assert.truthy(kept:find("/plan", 1, true))
    assert.same({}, { kept:match "pa55word", kept:match "s3cret" })
  end)
end)
