-- One function with branches two deep that wait together, in the shape that CRASH_SHAPE names. What it
-- returns is the same in whatever order replies come.
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

local function says(ctx, name)
  return function()
    return say(ctx, name)
  end
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
  within = function(ctx)
    return ctx.all {
      -- a question about a call in doubt would have to wait for the deadline: all may be repeated
      function() return must(ctx.within(1e7, function() return must(nested(ctx, 4, { "a", "b" })) end)) end,
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
      local made, message, class = SHAPES[os.getenv "CRASH_SHAPE"](ctx)
      if not made then
        return nil, message, class
      end
      return { made = made }
    end },
  },
}
