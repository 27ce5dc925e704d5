-- path_spec.lua: the path of one step of a command agent through the modules: how many of them a reader of it meets, and
-- how often it comes back to one that it had left. Fewer are better; docs/inside/architecture.md tells the path.
local R = require "tests.support.runs"
local plain = require "skillrt.report.plain"
local turn_of = require "skillrt.run.turn"
local watchers = require "skillrt.run.watchers"

-- At most so many; both only go down.
local ENTERED <const>, RETURNS <const> = 51, 135
local MOST <const> = 100 -- runs, of which one meets the limits

local QUESTIONS <const> = { "load", "choose", "request", "accept", "durable", "event", "save", "progress" }

-- What is called while `count.on` is counted, in all coroutines; the core clears the hook of its own with each question.
local function trace(count)
  local create, new, watchers_of = coroutine.create, turn_of.new, watchers.of
  watchers.of = dofile(package.searchpath("skillrt.run.watchers", package.path)).of -- without those of tests
  local function hook()
    local info = count.on and debug.getinfo(2, "S")
    local name = info and info.what == "Lua" and info.source:match "lua/(skillrt/.*)%.lua$"
    if not name or name == count.last then
      return
    end
    count.returns = count.returns + (count.seen[name] and 1 or 0)
    count.entered = count.entered + (count.seen[name] and 0 or 1)
    count.seen[name], count.last = true, name
  end
  rawset(coroutine, "create", function(fn)
    local thread = create(fn)
    debug.sethook(thread, hook, "c")
    return thread
  end)
  function turn_of.new(...)
    local policy = new(...)
    for _, name in ipairs(QUESTIONS) do
      local method = policy[name]
      policy[name] = function(...)
        debug.sethook(hook, "c")
        return method(...)
      end
    end
    return policy
  end
  return setmetatable({}, { __close = function()
    rawset(coroutine, "create", create)
    turn_of.new, watchers.of = new, watchers_of
    debug.sethook()
  end })
end

describe("one step of a command", function()
  after_each(R.clean)

  it("enters few modules, and seldom comes back to one", function()
    local best
    for _ = 1, MOST do -- on a busy machine the engine asks more often, as less comes at once
      local count = { seen = {}, entered = 0, returns = 0 }
      local own, lines = { observe = function(record)
        if record.t == "start" then
          count.on = record.step == 2 -- those before it have loaded what is loaded once
        end
      end }, plain.new {}
      lines.flush = lines.forget
      do
        local _ <close> = trace(count)
        local tell = { kind = "command", argv = { "printf", '{"status":"completed"}' } }
        assert(R.run({ agents = { tell = tell }, actions = { { id = "a", agent = "tell" }, { id = "b", agent = "tell" },
          { id = "c", agent = "tell" } } }, { watcher = { own, lines } }))
      end
      best = best and best.returns <= count.returns and best or count
      if best.returns <= RETURNS then
        break
      end
    end
    if os.getenv "SHOW" then
      local names = {}
      for name in pairs(best.seen) do
        names[#names + 1] = name
      end
      table.sort(names)
      print(best.entered, best.returns, "\n" .. table.concat(names, "\n"))
    end
    assert.is_true(best.entered > 10 and best.entered <= ENTERED, best.entered)
    assert.is_true(best.returns > 10 and best.returns <= RETURNS, best.returns)
  end)

  it("leaves nothing in the Lua state, however many runs a program makes", function()
    local function run()
      assert(R.run({ actions = { { id = "a", run = function() end } } }, {}))
    end
    run()
    local before = #debug.getregistry()
    for _ = 1, 10 do
      run()
    end
    assert.equal(before, #debug.getregistry())
  end)
end)
