-- skills.lua: a skill drawn from a seed. The same seed gives the same skill; a step's result depends on what
-- its calls answered alone, so that a skill whose branches do not race comes to one end in every order.

local skillrt = require "skillrt"

local M = {}

-- Numbers of one seed: below(n) is 0 <= x < n.
local function chance(seed)
  local x = seed * 2 + 1
  return function(n)
    x = x * 6364136223846793005 + 1442695040888963407
    return ((x >> 33) & 0x7fffffff) % n
  end
end

-- What came of a call, as the step's result holds it; a failure is raised or noted, as drawn.
local function heard(value, message, class, raises)
  if value ~= nil then
    return value
  elseif raises then
    error { message = tostring(message), class = class }
  end
  return "failed " .. tostring(class)
end

local draw_node

-- Each maker draws its own shape and gives function(ctx, name) -> text; `name` is unique in the run.
local MAKERS = {}

function MAKERS.command(below)
  local idempotent, raises = below(2) == 0, below(2) == 0
  return function(ctx, name)
    local label = (idempotent and "idem" or "once") .. name
    local reply, message, class = ctx.await {
      kind = "command", argv = { "act", label }, label = label, idempotent = idempotent, retry = { max = 2, base = 1 },
    }
    return heard(reply and reply.stdout, message, class, raises)
  end
end

function MAKERS.post(below)
  local idempotent, raises = below(2) == 0, below(2) == 0
  return function(ctx, name)
    local label = (idempotent and "idem" or "once") .. name
    local reply, message, class = ctx.await {
      kind = "http", method = "POST", url = "http://act.test/" .. label, label = label, idempotent = idempotent,
      retry = { max = 2, base = 1 }, body = label,
    }
    return heard(reply and reply.body, message, class, raises)
  end
end

function MAKERS.sleep(below)
  local seconds = below(3) == 0 and 3600 or below(5)
  return function(ctx)
    ctx.sleep(seconds)
    return "slept"
  end
end

function MAKERS.ask()
  return function(ctx, name)
    return "said " .. tostring(ctx.ask { question = "shall " .. name .. "?" })
  end
end

function MAKERS.once(below)
  local n = below(1000)
  return function(ctx, name)
    return tostring(ctx.once(name, function()
      return n
    end))
  end
end

function MAKERS.log()
  return function(ctx, name)
    ctx.log(name)
    return "logged"
  end
end

local function several(below, depth, least)
  local nodes = {}
  for i = 1, least + below(2) do
    nodes[i] = draw_node(below, depth + 1)
  end
  return nodes
end

function MAKERS.sequence(below, depth)
  local nodes = several(below, depth, 1)
  return function(ctx, name)
    local texts = {}
    for i, node in ipairs(nodes) do
      texts[i] = node(ctx, name .. "." .. i)
    end
    return table.concat(texts, ";")
  end
end

function MAKERS.all(below, depth)
  local nodes, raises = several(below, depth, 2), below(2) == 0
  return function(ctx, name)
    local fns = {}
    for i, node in ipairs(nodes) do
      fns[i] = function()
        return node(ctx, name .. "." .. i)
      end
    end
    local texts, message, class = ctx.all(fns)
    return texts and table.concat(texts, ",") or heard(nil, message, class, raises)
  end
end

function MAKERS.map(below, depth)
  local node, count, at_once, raises = draw_node(below, depth + 1), 2 + below(3), 1 + below(3), below(2) == 0
  return function(ctx, name)
    local items = {}
    for i = 1, count do
      items[i] = i
    end
    local texts, message, class = ctx.map(items, function(i)
      return node(ctx, name .. "." .. i)
    end, { max_parallel = at_once })
    return texts and table.concat(texts, ",") or heard(nil, message, class, raises)
  end
end

function MAKERS.spawn(below, depth)
  local first, second = draw_node(below, depth + 1), draw_node(below, depth + 1)
  return function(ctx, name)
    local handle = ctx.spawn(function()
      return first(ctx, name .. ".1")
    end)
    local other = second(ctx, name .. ".2")
    local text, message, class = handle:await()
    return heard(text, message, class, true) .. "&" .. other
  end
end

function MAKERS.loop(below, depth)
  local node, rounds = draw_node(below, depth + 1), 1 + below(3)
  return function(ctx, name)
    return ctx.loop("", function(text, round)
      return text .. node(ctx, name .. "." .. round) .. "|", round >= rounds
    end)
  end
end

function MAKERS.pipeline(below, depth)
  local one, two = draw_node(below, depth + 1), draw_node(below, depth + 1)
  return function(ctx, name)
    local texts, message, class = ctx.pipeline({ 1, 2 }, function(_, item)
      return one(ctx, name .. ".1." .. item)
    end, function(before, _, item)
      return before .. ">" .. two(ctx, name .. ".2." .. item)
    end)
    return texts and table.concat(texts, ",") or heard(nil, message, class, true)
  end
end

function MAKERS.run(below, depth)
  local inner = M.actions(below, depth + 2, 1 + below(2))
  return function(ctx, name)
    local result, message, class = ctx.run(skillrt.skill {
      name = "inner", state = inner.state, actions = inner.make(name .. ":"),
    }, {})
    return result and ("inner %s"):format(result.status) or heard(nil, message, class, true)
  end
end

-- Those whose end depends on who comes first.
local RACING <const> = {
  first = function(below, depth)
    local nodes = several(below, depth, 2)
    return function(ctx, name)
      local fns = {}
      for i, node in ipairs(nodes) do
        fns[i] = function()
          return node(ctx, name .. "." .. i)
        end
      end
      return tostring(ctx.first(fns))
    end
  end,
  within = function(below, depth)
    local node, seconds = draw_node(below, depth + 1), 1 + below(3)
    return function(ctx, name)
      return tostring(ctx.within(seconds, function()
        return node(ctx, name)
      end))
    end
  end,
}

local LEAVES <const> = { "command", "post", "command", "post", "sleep", "ask", "once", "log" }
local TREES <const> = { "sequence", "all", "map", "spawn", "loop", "pipeline", "run", "sequence" }

local racing -- whether this skill may race

function draw_node(below, depth)
  if depth >= 3 or below(3) == 0 then
    return MAKERS[LEAVES[below(#LEAVES) + 1]](below, depth)
  elseif racing and below(4) == 0 then
    return RACING[below(2) == 0 and "first" or "within"](below, depth)
  end
  return MAKERS[TREES[below(#TREES) + 1]](below, depth)
end

---Actions that run in any order, or one behind the other, and a state that counts them.
function M.actions(below, depth, count)
  local bodies, runs, after, state = {}, {}, {}, {}
  for i = 1, count do
    bodies[i], runs[i] = draw_node(below, depth), below(3) == 0 and 2 or 1
    after[i] = i > 1 and below(2) == 0
    state["n" .. i] = 0
  end
  return {
    state = state,
    make = function(prefix)
      local list = {}
      for i = 1, count do
        local id = "a" .. i
        list[i] = {
          id = id, priority = count - i, max_runs = runs[i],
          when = ("n%d < %d"):format(i, runs[i]) .. (after[i] and (" && n%d > 0"):format(i - 1) or ""),
          run = function(now, ctx)
            local n = now["n" .. i]
            local text = bodies[i](ctx, ("%s%s#%d"):format(prefix, id, n))
            return { ["n" .. i] = n + 1, ["r" .. i] = text }
          end,
        }
      end
      return list
    end,
  }
end

-- Phases, one behind the other or at once; each gives its text as its output.
local function phases(below, count)
  local list = {}
  for i = 1, count do
    local body, parallel = draw_node(below, 1), below(3) == 0
    list[i] = {
      id = "p" .. i, parallel = parallel, input = {},
      run = function(_, ctx)
        return { text = body(ctx, "p" .. i) }
      end,
    }
  end
  return list
end

-- An action that is performed for each item of a list.
local function each(below)
  local body, count, at_once = draw_node(below, 2), 1 + below(4), 1 + below(3)
  local items = {}
  for i = 1, count do
    items[i] = "item" .. i
  end
  return items, {
    id = "every", priority = 50, when = "items.length > 0", each = { items = "items", max_parallel = at_once },
    run = function(_, ctx, item)
      return { said = body(ctx, "every." .. item) }
    end,
  }
end

-- An action that acts, and what takes it back should the run be aborted.
local function undoable(below)
  local body = draw_node(below, 2)
  return {
    id = "kept", priority = 60,
    run = function(_, ctx)
      return { kept = body(ctx, "kept") }
    end,
    undo = function(_, ctx)
      ctx.await { kind = "command", argv = { "act", "onceundone" }, label = "onceundone" }
    end,
  }
end

---@param seed integer
---@param rough boolean  calls may fail for good
---@return skillrt.Skill
function M.draw(seed, rough)
  local below = chance(seed)
  racing = rough
  local shape = below(6)
  local parts = M.actions(below, 0, 1 + below(shape == 0 and 1 or 4))
  local actions, state = parts.make "", parts.state
  if shape == 1 then
    state.items, actions[#actions + 1] = each(below)
  elseif shape == 2 then
    actions[#actions + 1] = undoable(below)
  end
  return skillrt.skill {
    name = "drawn",
    state = state,
    actions = shape ~= 3 and actions or nil,
    phases = (shape == 3 or shape == 4) and phases(below, 1 + below(4)) or nil,
    durability = below(3) == 0 and "process" or "power",
    interaction = below(8) == 0 and "interactive" or nil,
    limits = {
      max_iterations = 1000,
      calls = below(5) == 0 and 3 + below(10) or nil,
      max_parallel = 1 + below(4),
    },
  }
end

return M
