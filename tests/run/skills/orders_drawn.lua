-- Functions whose branches lie in each other as CRASH_TREE, a number, draws it: up to seven calls in combinators of
-- all kinds, programs, HTTP and sessions. Each call sends what its branch drew, and what the branches that were ended
-- before it closed: a replay that sees anything else diverges; but for rounds of loops, which are not performed
-- again, so that what they ask for must follow from their value. The end is the same in whatever order replies come.
local skillrt = require "skillrt"

local seed = math.tointeger(tonumber(os.getenv "CRASH_TREE" or "1"))
local left, named = 7, 0 -- calls that may still be drawn; names that were

local function draw(below)
  seed = (seed * 6364136223846793005 + 1442695040888963407)
  return ((seed >> 33) % below) + 1
end

local function must(value, message, class)
  if value == nil then
    error { message = message, class = class }
  end
  return value
end

-- ---- what is drawn, once: { kind, name | parts } ----

local KINDS <const> = { "map", "all", "pipeline", "spawn", "loop", "gather", "within", "first", "sub", "settle", "once",
  "narrow", "late" }

local function leaf(may_act)
  named, left = named + 1, left - 1
  local kinds = { "command", "command", "http", "feed", "stateless" }
  return { kind = "say", by = kinds[draw(#kinds)],
    name = (may_act and draw(3) == 1 and "once-" or "") .. "n" .. named }
end

local function tree(depth, may_act)
  if depth == 0 or left <= 1 or draw(5) == 1 then
    return leaf(may_act)
  end
  local node = { kind = KINDS[draw(#KINDS)], parts = {} }
  -- a question about a call in doubt would have to wait for a deadline
  may_act = may_act and node.kind ~= "within"
  for i = 1, math.max(1, math.min(left, draw(3))) do
    node.parts[i] = tree(depth - 1, may_act)
  end
  return node
end

-- When branches begin that wait for room is not known any more where rounds are forgotten that took some of it.
local LIMITED <const> = { narrow = true, settle = true }

local function has_loop(node)
  for _, part in ipairs(node.parts or {}) do
    if part.kind == "loop" or has_loop(part) then
      return true
    end
  end
  return false
end

local function blind(node, is_blind)
  is_blind = is_blind or LIMITED[node.kind] and has_loop(node)
  node.blind = is_blind
  for _, part in ipairs(node.parts or {}) do
    blind(part, is_blind)
  end
  return node
end

-- ---- what is performed ----

local perform

local function say(ctx, node, suffix)
  local name = node.name .. (suffix or "")
  local closed = (suffix or node.blind) and "" or ctx.what_closed()
  local sent = ("%s %d %d %s"):format(name, ctx.random(1000000), ctx.now(), closed)
  local request = { idempotent = not name:find "^once", retry = { max = 3 } }
  if node.by == "command" then
    request.kind, request.argv, request.stdin = "command", { "printf", name }, sent
  elseif node.by == "http" then
    request.kind, request.method = "http", "POST"
    request.url, request.body = "http://agent.test/" .. name, sent
  else
    request.kind, request.session, request.again, request.id = "session", node.by, node.by, name
    request.argv = { "session", node.by }
    request.message = ('{"id":"%s","sent":"%s"}'):format(name, sent)
  end
  local reply = must(ctx.await(request))
  return (reply.stdout or reply.body):match "[%w.-]+=ok"
end

local function each(ctx, node, suffix)
  local fns = {}
  for i, part in ipairs(node.parts) do
    fns[i] = function()
      local _ <close> = not suffix and setmetatable({}, { __close = function() ctx.closed(i) end }) or nil
      return perform(ctx, part, suffix)
    end
  end
  return fns
end

local function one_after_the_other(ctx, node, suffix)
  local texts = {}
  for i, fn in ipairs(each(ctx, node, suffix)) do
    texts[i] = fn()
  end
  return table.concat(texts, " ")
end

local function joined(list, message, class)
  return table.concat(must(list, message, class), " ")
end

local PERFORM <const> = {
  say = say,
  all = function(ctx, node, suffix) return joined(ctx.all(each(ctx, node, suffix))) end,
  map = function(ctx, node, suffix)
    return joined(ctx.map(each(ctx, node, suffix), function(fn) return fn() end,
      { key = function(_, i) return "k" .. i end }))
  end,
  narrow = function(ctx, node, suffix)
    return joined(ctx.all(each(ctx, node, suffix), { max_parallel = 1 }))
  end,
  settle = function(ctx, node, suffix)
    local texts, failures = ctx.all(each(ctx, node, suffix), { on_error = "settle", max_parallel = 2 })
    local _, failure = next(type(failures) == "table" and failures or {})
    if failure then
      error { message = failure.message, class = failure.class, call = failure.blame }
    end
    return joined(texts, failures)
  end,
  pipeline = function(ctx, node, suffix)
    return joined(ctx.pipeline(each(ctx, node, suffix), function(fn) return fn() end, function(before, _, i)
      ctx.log(before)
      return before .. "/" .. i
    end))
  end,
  spawn = function(ctx, node, suffix)
    local handles, texts = {}, {}
    for i, fn in ipairs(each(ctx, node, suffix)) do
      handles[i] = ctx.spawn(fn)
    end
    for i = #handles, 1, -1 do
      texts[i] = must(handles[i].await())
    end
    return table.concat(texts, " ")
  end,
  loop = function(ctx, node, suffix)
    return must(ctx.loop("", function(text, round)
      return text .. one_after_the_other(ctx, node, (suffix or "") .. "-r" .. round), round == 2
    end))
  end,
  gather = function(ctx, node, suffix)
    local texts = {}
    must(ctx.gather(function(begin)
      for i, fn in ipairs(each(ctx, node, suffix)) do
        begin("g" .. i, function() texts[i] = fn() end)
      end
    end))
    return table.concat(texts, " ")
  end,
  within = function(ctx, node, suffix)
    return must(ctx.within(1e7, function() return one_after_the_other(ctx, node, suffix) end))
  end,
  first = function(ctx, node, suffix)
    must(ctx.first(each(ctx, node, suffix)))
    return "first"
  end,
  once = function(ctx, node, suffix)
    local kept = ctx.once("kept", function() return "kept" end)
    return kept .. " " .. one_after_the_other(ctx, node, suffix)
  end,
  late = function(ctx, node, suffix)
    must(ctx.sleep(0.001))
    return one_after_the_other(ctx, node, suffix)
  end,
}

function perform(ctx, node, suffix)
  return PERFORM[node.kind](ctx, node, suffix)
end

-- A ctx that knows what its branches closed.
local function noting(ctx)
  local closed = {}
  return setmetatable({
    closed = function(i) closed[#closed + 1] = i end,
    what_closed = function() return table.concat(closed, ",") end,
  }, { __index = ctx })
end

PERFORM.sub = function(ctx, node, suffix)
  local inner = skillrt.skill { name = "inner", retry = { base = 0.001, jitter = false }, actions = {
    { id = "inside", run = function(_, inside)
      return { said = one_after_the_other(noting(inside), node, suffix) }
    end },
  } }
  return must(ctx.run(inner, {})).state.said
end

local TREES <const> = { blind(tree(3, true)), left > 0 and blind(tree(2, true)) or nil }

local actions, ids = {}, {}
for i, drawn in ipairs(TREES) do
  ids[i] = "work-" .. i
  actions[i] = { id = ids[i], run = function(_, ctx)
    return { ["made_" .. i] = perform(noting(ctx), drawn) }
  end }
end

return skillrt.skill {
  name = "orders-drawn", mode = "autonomous", retry = { base = 0.001, jitter = false }, actions = actions,
  strategy = { name = "together", select = function(_, available)
    return #available == #ids and ids or available[1] and available[1].id
  end },
}
