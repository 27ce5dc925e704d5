-- What tests/c/test_chaos.c runs many of: functions whose calls are under way together, in the shape that the
-- input names. The program that is called keeps a book. A call in doubt is skipped, so that none is made twice.
local skillrt = require "skillrt"

local function call(ctx, name, more)
  local input = ctx.input
  local request = {
    kind = "command", argv = { input.program, "--agent", name, input.book, input.told },
    idempotent = not name:find "^once", retry = not name:find "^once" and { max = 5 } or nil,
  }
  for key, value in pairs(more or {}) do
    request[key] = value
  end
  local reply, message, class = ctx.await(request)
  if reply then
    return reply.stdout
  elseif class == "skipped" then
    return "skipped"
  end
  return nil, message, class
end

local function must(value, message, class)
  if value == nil then
    error { message = message, class = class }
  end
  return value
end

local function calls(ctx, name)
  return function()
    return call(ctx, name)
  end
end

local SHAPES = {
  function(ctx)
    return ctx.map({ "a", "once-b", "shaky-c" }, function(name)
      return must(ctx.map({ 1, 2, 3 }, function(part) return call(ctx, name .. part) end))
    end, { max_parallel = 4 })
  end,
  function(ctx)
    return ctx.pipeline({ "a", "once-b", "c" },
      function(_, item) return call(ctx, item .. "1") end,
      function(_, item) return call(ctx, item .. "2") end,
      function(_, item) return call(ctx, "shaky-" .. item .. "3") end)
  end,
  function(ctx)
    local won = ctx.first { calls(ctx, "a1"), calls(ctx, "once-b1"), calls(ctx, "c1") }
    return { must(won), ctx.within(0.02, calls(ctx, "slow-d")) or "late" }
  end,
  function(ctx)
    return ctx.loop({}, function(texts, round)
      local both = must(ctx.all { calls(ctx, "a" .. round), calls(ctx, "once-b" .. round) })
      texts[round] = both
      return texts, round == 9
    end)
  end,
  function(ctx)
    local handles = {}
    for i = 1, 4 do
      handles[i] = ctx.spawn(function()
        ctx.sleep(0.003 * i)
        return call(ctx, (i % 2 == 0 and "once-" or "") .. "s" .. i)
      end)
    end
    local texts = {}
    for i, handle in ipairs(handles) do
      texts[i] = must(handle.await())
    end
    ctx.once("large", function() return { texts = texts, large = ("x"):rep(70000) } end)
    return texts
  end,
}

-- What a step runs as a skill of its own.
local INNER <const> = skillrt.skill {
  name = "chaos-inner", retry = { base = 0.001, jitter = false }, limits = { max_errors = 1000, max_iterations = 1000 },
  actions = {
    { id = "in", run = function(_, ctx) return { one = must(call(ctx, "sub-a")) } end },
    { id = "out", when = "one", run = function(_, ctx) return { two = must(call(ctx, "once-sub-b")) } end },
  },
}

-- 6 is chaos_phases.lua's. What is posted may not be posted twice: a server keeps the book.
SHAPES[7] = function(ctx)
  local posted = ctx.map({ 1, 2, 3, 4 }, function(part)
    local reply, message, class = ctx.await {
      kind = "http", method = part % 2 == 0 and "POST" or "GET", body = part % 2 == 0 and "{}" or nil,
      url = ("%s/slow?ms=%d&run=%d&part=%d"):format(ctx.input.server, 5 * part, ctx.input.number, part),
      retry = part % 2 == 1 and { max = 5 } or nil,
    }
    return reply and reply.code or class == "skipped" and "skipped" or nil, message, class
  end)
  return must(posted)
end

SHAPES[8] = function(ctx)
  local sub, message, class = ctx.run(INNER, ctx.input)
  must(sub, message, class)
  local texts = { sub.state.one }
  for i = 1, 3 do
    texts[i + 1] = must(ctx.wait { event = "go" })
  end
  return texts
end

return skillrt.skill {
  name = "chaos-steps", mode = "autonomous", retry = { base = 0.001, jitter = false },
  limits = { max_errors = 1000, max_iterations = 1000 },
  strategy = { name = "asks", select = function(state, available, ctx)
    if state.shape == 2 and state.begun and not ctx.answer then
      return nil, { ask = { question = "go on?", options = { { id = "yes", label = "Yes" } } } }
    end
    return available[1] and available[1].id
  end },
  actions = {
    { id = "begin", run = function(_, ctx) return { begun = true, shape = ctx.input.shape } end },
    { id = "work", when = "begun", run = function(_, ctx)
      local made, message, class = SHAPES[ctx.input.shape](ctx)
      if not made then
        return nil, message, class
      end
      return { made = #made, items = { "x", "once-y", "shaky-z" } }
    end },
    { id = "each", when = "made", each = "items", run = function(_, ctx, item)
      local made, message, class = call(ctx, "each-" .. item)
      local again = made and call(ctx, "once-each-" .. item)
      if not again then
        return nil, message, class
      end
      return { [item:gsub("%-", "_")] = true }
    end },
    { id = "end", when = "x && once_y", run = function() return { ended = true } end },
  },
}
