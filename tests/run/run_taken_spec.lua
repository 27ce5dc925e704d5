-- run_taken_spec.lua: a large reply of an agent becomes the state without a copy; nobody else has what the state has
-- then, so that what is changed later is changed in the state alone.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"

local MANY <const> = 6000 -- members, some 100 KB

-- A file with a large reply, and what it is.
local function reply_file(more)
  local data = { deep = { n = 1 }, list = json.array { json.null, { n = json.null } } }
  for i = 1, MANY do
    data[("a member %05d"):format(i)] = i
  end
  local reply = more and more(data) or { data = data }
  local path = R.folder() .. "/reply.json"
  R.write(path, assert(json.encode(reply)))
  return path
end

local function agent(path)
  return { kind = "command", argv = { "cat", path }, parse = "json" }
end

local function changes(run)
  return { id = "later", when = "data", run = run or R.sets { data = { deep = { n = 2 } } } }
end

describe("a large reply", function()
  after_each(R.clean)

  it("is in the state as it was, but for nulls of objects; its record stays as it was said", function()
    local dir = R.folder() .. "/run"
    local path, told = reply_file(function(data)
      data.deep.gone = json.null
      return { data = data }
    end), nil
    local watcher = { flush = function() end, observe = function(record)
      if record.t == "done" and not told then
        told = json.encode(record.set.data.deep) .. json.encode(record.set.data.list)
      end
    end }
    local result = R.run({ actions = { { id = "get", agent = agent(path), terminal = true } } },
      { work_dir = dir, watcher = watcher })
    assert.same({ "completed", '{"n":1}', '[null,{"n":null}]', MANY }, { result.status,
      json.encode(result.state.data.deep), json.encode(result.state.data.list),
      result.state.data[("a member %05d"):format(MANY)] })
    assert.equal('{"gone":null,"n":1}[null,{"n":null}]', told)
    assert.same({ n = 1 }, R.json(dir .. "/state.json").data.deep)
    result.state.data.deep.n = 5 -- it is the caller's own
    assert.equal(1, select(2, R.records(dir)).state.root.data.deep.n)
  end)

  it("is taken over as it was decoded, not copied", function()
    local path, same = reply_file(function(data)
      return { stateUpdates = { data = data } }
    end), nil
    local watcher = { flush = function() end, observe = function(record, books)
      if record.t == "done" then
        same = rawequal(record.set.data, books.state.root.data)
      end
    end }
    R.run({ actions = { { id = "get", agent = agent(path), terminal = true } } }, { watcher = watcher })
    assert.is_true(same)
  end)

  it("is changed in the state alone: the journal, and those who look at an older state, have it as it was", function()
    local dir, seen = R.folder() .. "/run", nil
    local path = reply_file()
    local result = R.run({ actions = {
      { id = "get", agent = agent(path) },
      { id = "later", when = "data && !slow", run = function(state, ctx)
        ctx.sleep(0.01)
        seen = state.data.deep.n
        return { slow = true }
      end },
      { id = "beside", when = "data", run = R.sets { data = { deep = { n = 2 } } } },
      { id = "last", when = "slow && data.deep.n == 2", run = R.sets {}, terminal = true },
    }, limits = { max_parallel = 2 }, strategy = { concurrent = true, select = function(_, available)
      return available[1] and available[1].id
    end } }, { work_dir = dir })
    assert.same({ "completed", 1, 2 }, { result.status, seen, result.state.data.deep.n })
    assert.equal(1, R.records(dir, "done")[1].set.data.deep.n)
  end)

  it("is copied where a function of the skill has it, too", function()
    local kept
    local path = reply_file()
    local function spoils()
      kept.data.deep.n = 7
      return { spoiled = true }
    end
    for _, first in ipairs {
      { id = "get", run = function(_, ctx)
        local reply = assert(ctx.await { agent = "cat" })
        assert(reply.ours == nil)
        kept = reply.updates
        return reply.updates
      end },
      { id = "get", agent = "cat", validate = function(updates)
        kept = updates
        return true
      end },
    } do
      local result = R.run { agents = { cat = agent(path) }, actions = { first,
        { id = "spoils", when = "data", run = spoils },
        { id = "end", when = "spoiled", run = R.sets {}, terminal = true },
      } }
      assert.same({ "completed", 1, 7 }, { result.status, result.state.data.deep.n, kept.data.deep.n })
    end
  end)

  it("is what an undo is told that it was", function()
    local undone
    local result = R.run { strategy = "sequential", actions = {
      { id = "get", agent = agent(reply_file()), undo = function(_, _, done) undone = done.updates.data.deep.n end },
      changes(),
      { id = "end", run = function() return nil, { class = "fatal", message = "no more" } end },
    } }
    assert.same({ "aborted", 1, 2 }, { result.status, undone, result.state.data.deep.n })
  end)

  it("is the output of a phase", function()
    local result = R.run { phases = { { id = "one", agent = agent(reply_file()), output = "one.json" } } }
    assert.same({ "completed", MANY }, { result.status, result.state.outputs.one.data[("a member %05d"):format(MANY)] })
  end)

  it("with duplicate keys is refused, however many members it has", function()
    local path = reply_file()
    R.write(path, (R.read(path):gsub('"a member 00009":9', '"a member 05999":9')))
    local result = R.run { limits = { max_retries = 0, max_errors = 1 },
      actions = { { id = "get", agent = agent(path), terminal = true } } }
    assert.same({ "failed" }, { result.status })
  end)
end)
