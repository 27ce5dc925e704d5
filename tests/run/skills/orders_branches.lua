-- One function with branches two deep that wait together, in the shape that CRASH_SHAPE names. What it
-- returns is the same in whatever order replies come, but for who `decided`, which the audit asks the
-- journal for.
local skillrt = require "skillrt"

-- What a call or a combinator gave; its failure goes on with its class.
local function must(value, message, class)
  if value == nil then
    error { message = message, class = class }
  end
  return value
end

-- Calls that may be repeated and calls that may not, by their names.
local function say(ctx, name)
  return must(ctx.await {
    kind = "command", argv = { "printf", name }, idempotent = not name:find "^once",
  }).stdout
end

-- The same of an agent behind HTTP.
local function post(ctx, name, base)
  return must(ctx.await {
    kind = "http", method = "POST", url = "http://agent.test/" .. name, body = name,
    idempotent = not name:find "^once", retry = { max = 3, base = base },
  }).body
end

local function posts(ctx, name, base)
  return function()
    return post(ctx, name, base)
  end
end

-- What a deadline decided: its function's reply came first, or the time had passed.
local function decided(value, message, class)
  if value == nil and class ~= "timeout" then
    must(value, message, class)
  end
  return value and "reply" or "time"
end

local function says(ctx, name)
  return function()
    return say(ctx, name)
  end
end

-- Two that talk to one program at once, by two messages each.
local function talks(ctx, session, again, first, second, between)
  local function tell(name)
    return must(ctx.await {
      kind = "session", session = session, again = again, argv = { "session", session }, id = name, expect = "json",
      message = ('{"id":"%s"}'):format(name), idempotent = not name:find "^once", retry = { max = 3 },
    }).value.said
  end
  local function pair(name)
    return function() return tell(name .. ".1") .. (between and between(name) or " ") .. tell(name .. ".2") end
  end
  return ctx.all { pair(first), pair(second) }
end

local function nested(ctx, at_once, names)
  return ctx.map(names or { "a", "once-b" }, function(name)
    return must(ctx.map({ 1, 2 }, function(part)
      return say(ctx, name .. "-" .. part)
    end))
  end, { max_parallel = at_once })
end

local SHAPES = {
  map = function(ctx) return nested(ctx, 4) end,
  narrow = function(ctx) return nested(ctx, 2) end,
  -- skills inside the skill, two calls in each
  sub = function(ctx)
    return ctx.map({ "a", "once-b" }, function(name)
      local inner = skillrt.skill { name = "inner", actions = {
        { id = "two", priority = 1, run = function(_, inside)
          return { said = must(inside.map({ 1, 2 }, function(part) return say(inside, name .. "-" .. part) end)) }
        end },
        { id = "more", run = function(state) return { count = #state.said } end },
      } }
      local result = must(ctx.run(inner, { name = name }))
      return table.concat(result.state.said, " ") .. " " .. result.state.count
    end)
  end,
  within = function(ctx)
    return ctx.all {
      -- a question about a call in doubt would have to wait for the deadline: all may be repeated
      function() return must(ctx.within(1e7, function() return must(nested(ctx, 4, { "a", "b" })) end)) end,
    }
  end,
  http = function(ctx)
    return ctx.map({ "a", "once-b" }, function(name)
      return must(ctx.all { posts(ctx, name .. "-1"), posts(ctx, name .. "-2") })
    end)
  end,
  -- one is busy at first, one breaks off when it may have begun, beside one that may not be repeated
  broken = function(ctx)
    return ctx.all { posts(ctx, "busy-a"), posts(ctx, "lost-b"), posts(ctx, "once-c") }
  end,
  -- the next attempt comes in half a minute
  patient = function(ctx)
    return ctx.all { posts(ctx, "busy-a", 30), posts(ctx, "once-b"), posts(ctx, "c") }
  end,
  mixed = function(ctx)
    return ctx.pipeline({ "a", "once-b" },
      function(_, item) return say(ctx, item .. ".1") end,
      function(before, item) return before .. " " .. post(ctx, item .. ".2") end)
  end,
  -- what is under way when the time has passed may not be repeated: it ends by itself
  deadline = function(ctx)
    local how
    local others = must(ctx.all {
      function()
        how = decided(ctx.within(60, function() return say(ctx, "once-a.1") .. say(ctx, "once-a.2") end))
        return true
      end,
      says(ctx, "b.1"),
    })
    return others, how
  end,
  -- and here it is canceled
  canceled = function(ctx)
    local how
    local others = must(ctx.all {
      function()
        how = decided(ctx.within(60, function()
          return must(ctx.all { posts(ctx, "a-1"), says(ctx, "a-2") })
        end))
        return true
      end,
      posts(ctx, "once-b"),
    })
    return others, how
  end,
  -- a deadline in a deadline
  deadlines = function(ctx)
    local inner = ctx.map({ "a", "once-b" }, function(name)
      ctx.within(90, function()
        ctx.within(60, says(ctx, name .. "-1"))
        return say(ctx, name .. "-2")
      end)
      return name
    end)
    return inner
  end,
  -- a call's own time-out: it may have been executed, and is made again where that may be
  timeout = function(ctx)
    local function slow(name)
      return function()
        return must(ctx.await {
          kind = "command", argv = { "printf", name }, idempotent = true, timeout = 60, retry = { max = 3 },
        }).stdout
      end
    end
    return ctx.all { slow "a-1", slow "b-1", says(ctx, "once-c") }
  end,
  people = function(ctx)
    return ctx.all {
      function() return must(ctx.ask { question = "go on?", options = { "yes", "no" } }) end,
      function() return must(ctx.wait { event = "go" }) end,
      says(ctx, "once-a"),
      function() must(ctx.sleep(60)) return "slept" end,
    }
  end,
  -- leave for exactly this, which a person gives; an event that some wait for; what is late is told
  approve = function(ctx)
    return ctx.all {
      function()
        return must(ctx.approve { what = "pay", arguments = { amount = 12 } }) and say(ctx, "once-paid")
      end,
      function() return must(ctx.wait { event = "go" }) end,
      says(ctx, "once-a"),
    }
  end,
  anyone = function(ctx)
    return ctx.all {
      function()
        return ctx.first {
          function() return ctx.ask { question = "go on?", options = { "yes", "no" } } end,
          function() return ctx.wait { event = "go", timeout = 60 } end,
          says(ctx, "a"),
        } ~= nil
      end,
      says(ctx, "once-b"),
    }
  end,
  sleep = function(ctx)
    return ctx.all {
      function() must(ctx.sleep(60)) return say(ctx, "a.1") end,
      function() return say(ctx, "once-b.1") .. say(ctx, "once-b.2") end,
    }
  end,
  first = function(ctx)
    return ctx.map({ "a", "once-b" }, function(name)
      return ctx.first { says(ctx, name .. "-1"), says(ctx, name .. "-2") } ~= nil
    end)
  end,
  pipeline = function(ctx)
    return ctx.pipeline({ "a", "once-b" },
      function(_, item) return say(ctx, item .. ".1") end,
      function(before, item) return before .. " " .. say(ctx, item .. ".2") end)
  end,
  spawn = function(ctx)
    local one = ctx.spawn(function() return say(ctx, "a.1") .. say(ctx, "a.2") end)
    local two = ctx.spawn(function() return say(ctx, "once-b.1") .. say(ctx, "once-b.2") end)
    return { must(one:await()), must(two:await()) }
  end,
  -- one after the other, for tests that harm runs everywhere but not in every order
  every = function(ctx)
    local mapped = must(nested(ctx, 2))
    local first = ctx.first { says(ctx, "c-1"), says(ctx, "c-2") } ~= nil
    local within = must(ctx.within(1e7, says(ctx, "d")))
    local spawned = ctx.spawn(says(ctx, "once-e"))
    local kept = ctx.once("kept", function() return "kept" end)
    local looped = must(ctx.loop("", function(value, round) return value .. say(ctx, "f." .. round), round == 2 end))
    must(ctx.sleep(0.001))
    return { mapped, first, within, must(spawned:await()), kept, looped }
  end,
  -- what a model's replies ask for, between its exchanges: tools that are programs, at once, and one not present
  tools = function(ctx)
    local tool, loop_of = require "skillrt.tool", require "skillrt.tool.loop"
    local presence, registry = require "skillrt.tool.presence", require("skillrt.tool.registry").new()
    local names = { "a", "once-b", "once-c", "once-d", "e" }
    for _, name in ipairs(names) do
      assert(registry:add(assert(tool.check(name, { description = name, command = { "printf", name },
        idempotent = not name:find "^once" }, "orders"))))
    end
    local present = presence.new(registry, { names = { "a", "once-b", "once-c", "once-d" }, known = names })
    local loop = loop_of.new(ctx, {}, present,
      { max_parallel_tools = 8, max_tool_calls = 20, max_repeats = 1, max_tool_result = 1000 })
    local told = {}
    local function perform(...)
      local calls = {}
      for i, name in ipairs { ... } do
        calls[i] = { id = "t" .. i, name = name, input = {} }
      end
      for i, result in ipairs(must(loop:perform(calls))) do
        while result.text:find("cannot be started", 1, true) do -- the model is told so, and tries again
          result = must(loop:perform { calls[i] })[1]
        end
        told[#told + 1] = result.text
      end
    end
    post(ctx, "m.1")
    perform("a", "e", "once-b", "once-c")
    post(ctx, "m.2")
    perform("once-d", "e")
    post(ctx, "m.3")
    return told
  end,
  -- programs that one talks to: told all again, told nothing again, or asked about where it is another one
  feed = function(ctx) return talks(ctx, "feed", "feed", "a", "once-b") end,
  stateless = function(ctx) return talks(ctx, "stateless", "stateless", "a", "once-b") end,
  lost = function(ctx)
    return talks(ctx, "once-lost", "lost", "a", "once-b", function(name) return say(ctx, name:gsub("^once.", "c")) end)
  end,
  -- one that ends behind its answer to a first "bye", whatever else it was asked
  ends = function(ctx)
    return ctx.all {
      function() return must(talks(ctx, "feed", "feed", "a", "bye-b")) end,
      function() return must(talks(ctx, "stateless", "stateless", "c", "bye-d")) end,
    }
  end,
  loop = function(ctx)
    return ctx.loop(0, function(value, round)
      local texts = must(ctx.all { says(ctx, "a." .. round), says(ctx, "once-b." .. round) })
      return value + #texts, round == 2
    end)
  end,
}

return skillrt.skill {
  name = "orders-branches", mode = "autonomous", retry = { base = 0.001, jitter = false },
  actions = {
    { id = "work", run = function(_, ctx)
      local made, how, class = SHAPES[os.getenv "CRASH_SHAPE"](ctx)
      if not made then
        return nil, how, class
      end
      return { made = made, decided = how }
    end },
  },
}
