-- skills.lua: generates a skill from a seed. The same seed gives the same skill; a step's result depends only on the
-- answers to its calls, so that a skill whose branches do not race ends the same way in every order.
--
-- Everything is drawn by its name (its path from the skill down), so that leaving out one thing changes no other:
-- `sim.leaves_out` says whether a failing seed is being tried without it. Knows what scripts may use, nothing of a
-- run.

-- luacheck: read globals sim

local skillrt = require "skillrt"

local M = {}

-- Numbers of one seed and one name: below(n) is 0 <= x < n.
local function chance(seed, name)
  local x = seed * 2 + 1
  for i = 1, #name do
    x = (x ~ name:byte(i)) * 6364136223846793005 + 1442695040888963407
    x = x ~ (x >> 29)
  end
  return function(n)
    x = x * 6364136223846793005 + 1442695040888963407
    return ((x >> 33) & 0x7fffffff) % n
  end
end

-- A call's outcome as the step's result holds it; a failure is raised or noted, as drawn.
local function heard(value, message, class, raises)
  if value ~= nil then
    return value
  elseif raises then
    error { message = tostring(message), class = class }
  end
  return "failed " .. tostring(class)
end

local draw_node

-- A node that is performed several times, each time its parent is.
local function draw_repeated(times, depth, path, d)
  local before = d.times
  d.times = before * times
  local node = draw_node(depth, path, d)
  d.times = before
  return node
end

-- Whether a person is asked here; a node that is performed often asks seldom, as each question is a process more.
local function asks(d)
  local often, seed = d.times > 1, d.seed
  return function(name)
    return not often or chance(seed, name)(4) == 0
  end
end

---@class sim.Drawing  the settings with which a node is drawn
---@field seed integer
---@field rough boolean  whether branches may race, and calls may fail for good
---@field times integer  how often what is drawn now is performed
---@field sub boolean?   it is for a sub-run
---@field small boolean?  it is for several workers, whose points are many
---@field changed boolean?  somebody has changed an action since the run started

-- Each maker draws its own shape and returns function(ctx, name) -> text; `name` is unique in the run. `path` is the
-- node's path in the skill.
local MAKERS = {}

-- A call that acts, labelled for the world: the label begins with "idem" if it may be repeated, and ends with ".r" if
-- it is retried automatically, so that a refusal makes no difference. Calls of a repeatable action ("b1") may be
-- repeated, too.
local function label_of(idempotent, name, retried)
  return ((idempotent or name:find "%f[%w]b%d") and "idem" or "once") .. name .. (retried and ".r" or "")
end

local RETRY <const> = { max = 2, base = 1 }

function MAKERS.command(below)
  local idempotent, raises, is_judged = below(2) == 0, below(2) == 0, below(4) == 0
  raises = raises or is_judged
  return function(ctx, name)
    local label = label_of(idempotent, name, not is_judged)
    local reply, message, class = ctx.await {
      kind = "command", argv = { "act", label }, label = label, idempotent = idempotent,
      retry = not is_judged and RETRY or nil,
      judge = is_judged and function(reply) -- it was executed, and another attempt of its step may help
        return (reply.code ~= 0 or reply.body ~= "did " .. label) and "invalid_output" or nil, "no answer to it"
      end or nil,
    }
    return heard(reply and reply.stdout, message, class, raises)
  end
end

function MAKERS.post(below)
  local idempotent, raises, usage = below(2) == 0, below(2) == 0, below(3) == 0
  return function(ctx, name)
    local label = label_of(idempotent, name, true)
    local reply, message, class = ctx.await {
      kind = "http", method = "POST", url = "http://act.test/" .. label, label = label, idempotent = idempotent,
      retry = RETRY, body = label, usage = usage and { tokens = 3 } or nil,
    }
    if usage and reply then
      ctx.used { tokens = 2 }
    end
    return heard(reply and reply.body, message, class, raises)
  end
end

function MAKERS.session(below)
  local idempotent, raises, which = below(2) == 0, below(2) == 0, below(2)
  return function(ctx, name)
    local label = label_of(idempotent, name, true)
    local reply, message, class = ctx.await {
      kind = "session", session = "talk" .. which, argv = { "talker" }, id = label, label = label,
      message = ('{"id":"%s","method":"do"}'):format(label), idempotent = idempotent, retry = RETRY,
      withdraw = ('{"id":"%s","method":"stop"}'):format(label),
    }
    return heard(reply and reply.body, message, class, raises)
  end
end

-- A function of this process that changes something: a call like any other.
MAKERS["local"] = function(below)
  local idempotent, raises = below(2) == 0, below(2) == 0
  return function(ctx, name)
    local label = label_of(idempotent, name)
    local reply, message, class = ctx.await {
      kind = "local", name = label, label = label, idempotent = idempotent, run = function()
        return sim.performed(label)
      end,
    }
    return heard(reply and reply.value, message, class, raises)
  end
end

-- An agent that answers with text; its call is named by its program.
function MAKERS.agent(below)
  local idempotent, raises = below(2) == 0, below(2) == 0
  return function(ctx, name)
    local label = label_of(idempotent, name)
    local reply, message, class = ctx.await {
      agent = skillrt.agent.command { label, label, parse = "text", idempotent = idempotent }, prompt = "do " .. name,
    }
    return heard(reply and tostring(reply.summary or reply.output), message, class, raises)
  end
end

-- A tool of the skill, which waits itself.
function MAKERS.tool(below)
  local raises = below(2) == 0
  return function(ctx, name)
    local text, message, class = ctx.tool("work", { name = name })
    return heard(text, message, class, raises)
  end
end

M.TOOLS = {
  work = {
    description = "works",
    input = { type = "object", properties = { name = { type = "string" } }, required = { "name" } },
    run = function(input, ctx)
      local label = "idem" .. input.name
      local reply, message = ctx.await { kind = "command", argv = { "act", label }, label = label, idempotent = true }
      if not reply then
        return nil, message
      end
      return reply.stdout
    end,
  },
}

function MAKERS.sleep(below)
  local seconds = below(3) == 0 and 3600 or below(5)
  return function(ctx)
    ctx.sleep(seconds)
    return "slept"
  end
end

function MAKERS.ask(below, _, _, d)
  local options = below(2) == 0 and { "yes", "no" } or nil
  local timeout = d.rough and below(3) == 0 and 1 + below(7200) or nil
  local is_asked = asks(d)
  return function(ctx, name)
    if not is_asked(name) then
      return "not asked"
    end
    local answer, message, class = ctx.ask { question = "shall " .. name .. "?", options = options, timeout = timeout,
      default = timeout and "no" or nil }
    return heard(answer and "said " .. tostring(answer), message, class)
  end
end

function MAKERS.approve(below, _, _, d)
  local raises, is_asked = below(3) == 0, asks(d)
  return function(ctx, name)
    if not is_asked(name) then
      return "not asked"
    end
    local ok, message, class = ctx.approve { header = "leave", what = "do " .. name, arguments = { name = name } }
    return heard(ok and "approved", message, class, raises)
  end
end

function MAKERS.wait(below, _, _, d)
  local is_shared = below(3) == 0 -- others wait for the same event
  local timeout = d.rough and below(3) == 0 and 1 + below(7200) or nil
  return function(ctx, name)
    local value, message, class = ctx.wait { event = is_shared and "shared" or "e" .. name, timeout = timeout }
    return heard(value and "came " .. tostring(value), message, class)
  end
end

function MAKERS.once(below)
  local n, long = below(1000), below(8) == 0
  return function(ctx, name)
    local value = ctx.once(name, function()
      return long and ("x"):rep(70000 + n) or n
    end)
    return long and "long " .. #value or tostring(value)
  end
end

function MAKERS.log()
  return function(ctx, name)
    ctx.log(name)
    return "logged"
  end
end

function MAKERS.checkpoint()
  return function(ctx, name)
    ctx.checkpoint(name)
    return "marked"
  end
end

function MAKERS.context(below)
  local n = below(100)
  return function(ctx, name)
    ctx.context.set("k" .. name:gsub("[^%w]", "_"), n)
    return "shared"
  end
end

local function several(below, depth, least, path, d)
  local nodes = {}
  for i = 1, least + below(2) do
    nodes[i] = draw_node(depth + 1, path .. "." .. i, d)
  end
  return nodes
end

function MAKERS.sequence(below, depth, path, d)
  local nodes = several(below, depth, 1, path, d)
  return function(ctx, name)
    local texts = {}
    for i, node in ipairs(nodes) do
      texts[i] = node(ctx, name .. "." .. i)
    end
    return table.concat(texts, ";")
  end
end

local ON_ERROR <const> = { "finish", "stop", "settle" }

-- The result of a combinator, with the failures of `settle` in their places.
local function joined(texts, failures)
  local list = {}
  for i, text in ipairs(texts) do
    list[i] = text or "failed " .. tostring(failures and failures[i] and failures[i].class)
  end
  return table.concat(list, ",")
end

function MAKERS.all(below, depth, path, d)
  local nodes, raises = several(below, depth, 2, path, d), below(2) == 0
  local on_error = d.rough and ON_ERROR[below(3) + 1] or nil
  return function(ctx, name)
    local fns = {}
    for i, node in ipairs(nodes) do
      fns[i] = function()
        return node(ctx, name .. "." .. i)
      end
    end
    local texts, message, class = ctx.all(fns, { on_error = on_error })
    return texts and joined(texts, message) or heard(nil, message, class, raises)
  end
end

function MAKERS.map(below, depth, path, d)
  local count, at_once = 2 + below(3), 1 + below(3)
  local node = draw_repeated(count, depth + 1, path .. ".1", d)
  local raises, keyed = below(2) == 0, below(3) == 0
  return function(ctx, name)
    local items = {}
    for i = 1, count do
      items[i] = "i" .. i
    end
    local texts, message, class = ctx.map(items, function(item)
      return node(ctx, ("%s-%d.%s"):format(name, at_once, item)) -- the model reads its max_parallel
    end, { max_parallel = at_once, key = keyed and function(item) return "of-" .. item end or nil })
    return texts and table.concat(texts, ",") or heard(nil, message, class, raises)
  end
end

function MAKERS.spawn(below, depth, path, d)
  local first, second = draw_node(depth + 1, path .. ".1", d), draw_node(depth + 1, path .. ".2", d)
  local gives_up = d.rough and below(4) == 0
  return function(ctx, name)
    local handle = ctx.spawn(function()
      return first(ctx, name .. ".1")
    end)
    local other = second(ctx, name .. ".2")
    if gives_up then
      handle:cancel()
      return other
    end
    local text, message, class = handle:await()
    return heard(text, message, class, true) .. "&" .. other
  end
end

function MAKERS.loop(below, depth, path, d)
  local rounds = 1 + below(3)
  local node = draw_repeated(rounds, depth + 1, path .. ".1", d)
  return function(ctx, name)
    return ctx.loop("", function(text, round)
      return text .. node(ctx, name .. "." .. round) .. "|", round >= rounds
    end)
  end
end

function MAKERS.pipeline(_, depth, path, d)
  local one, two = draw_repeated(2, depth + 1, path .. ".1", d), draw_repeated(2, depth + 1, path .. ".2", d)
  return function(ctx, name)
    local texts, message, class = ctx.pipeline({ 1, 2 }, function(_, item)
      return one(ctx, name .. ".1." .. item)
    end, function(before, _, item)
      return before .. ">" .. two(ctx, name .. ".2." .. item)
    end)
    return texts and table.concat(texts, ",") or heard(nil, message, class, true)
  end
end

function MAKERS.run(below, depth, path, d)
  local within = { seed = d.seed, rough = d.rough, sub = true, times = 2 * d.times }
  local inner = M.actions(within, path .. "/", depth + 1, 1 + below(2))
  local calls = d.rough and below(4) == 0 and 2 + below(6) or nil
  local version = "1.0.0" .. (calls and " calls=" .. calls or "") .. inner.limits -- the model reads them from it
  return function(ctx, name)
    local result, message, class = ctx.run(skillrt.skill {
      name = "inner", version = version, state = inner.state, actions = inner.make(name .. ":"), tools = M.TOOLS,
      limits = calls and { calls = calls } or nil,
    }, {})
    return result and ("inner %s"):format(result.status) or heard(nil, message, class, true)
  end
end

-- Nodes whose end depends on which branch is first.
local RACING <const> = {
  first = function(below, depth, path, d)
    local nodes = several(below, depth, 2, path, d)
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
  within = function(below, depth, path, d)
    local node, seconds = draw_node(depth + 1, path .. ".1", d), 1 + below(3)
    return function(ctx, name)
      return tostring(ctx.within(seconds, function()
        return node(ctx, name)
      end))
    end
  end,
}

-- What the run loaded at its start: a file that is changed later; and what it keeps for the next run of its session.
-- Branches set the same name, and the last one wins: if the end is compared, all set the same value.
function MAKERS.known(below, _, _, d)
  local keeps = below(2) == 0
  return function(ctx, name)
    local text = "knows " .. tostring(ctx.context.get "known")
    if keeps then
      ctx.context.set("notes", d.rough and name or "noted")
    end
    return text
  end
end

local LEAVES <const> = { "command", "post", "command", "post", "session", "local", "agent", "tool", "sleep", "ask",
  "approve", "wait", "once", "log", "checkpoint", "context", "known" }
local TREES <const> = { "sequence", "all", "map", "spawn", "loop", "pipeline", "run", "sequence" }
local DEEPEST <const>, MOST_TIMES <const> = 3, 4

function draw_node(depth, path, d)
  local below = chance(d.seed, path)
  if sim.leaves_out("node:" .. path) then
    return MAKERS.log(below)
  elseif depth >= (d.small and DEEPEST - 1 or DEEPEST) or below(3) == 0 or d.times > MOST_TIMES then
    return MAKERS[LEAVES[below(#LEAVES) + 1]](below, depth, path, d)
  elseif d.rough and below(4) == 0 then
    return RACING[below(2) == 0 and "first" or "within"](below, depth, path, d)
  end
  return MAKERS[TREES[below(#TREES) + 1]](below, depth, path, d)
end

-- The stages around an action's work: preparation, validation with a repair, cleanup.
local function with_lifecycle(action, below, name)
  local work, refuses = action.run, below(2) == 0
  action.prepare = function(_, ctx)
    ctx.log "prepared"
    return true
  end
  action.run = function(now, ctx)
    local updates = work(now, ctx, ctx.repair and "again" or "")
    updates.repaired = ctx.repair and true or nil
    return updates
  end
  action.validate = function(result)
    return not refuses or result.repaired == true, "not repaired"
  end
  action.cleanup = function(_, ctx)
    local label = ("idem%s.cleaned"):format(name)
    ctx.await { kind = "command", argv = { "act", label }, label = label, idempotent = true }
  end
end

-- A condition in one of its forms: text, a function, a list of both.
local function condition(below, text, holds)
  local form = below(3)
  return form == 0 and holds or form == 1 and { text, holds } or text
end

---Actions that run in any order, or one behind the other, and a state that counts them.
---@param d sim.Drawing
---@param path string
---@param depth integer
---@param count integer
function M.actions(d, path, depth, count)
  local drawn, state, limits = {}, {}, ""
  for i = 1, count do
    local id = "a" .. i
    local below = chance(d.seed, path .. id)
    local body = draw_node(depth, path .. id, d)
    local rewritten = d.changed and not d.sub and chance(d.seed, path .. id .. " rewritten")(2) == 0
    if rewritten then
      body = draw_node(depth, path .. id .. "x", d)
    end
    drawn[i] = {
      id = id, body = body, below = below,
      runs = below(3) == 0 and 2 or 1,
      after = i > 1 and below(2) == 0, out = sim.leaves_out("action:" .. path .. id),
      long = below(16) == 0, effects = below(3) == 0, lifecycle = not d.sub and below(6) == 0, undo = below(3) == 0,
      checkpoint = below(6) == 0, calls = d.rough and below(8) == 0 and 2 + below(4) or nil, form = below(1000),
      on_error = d.rough and below(6) == 0 and ({ "skip", "continue", "fail" })[below(3) + 1] or nil,
      repeatable = d.rough and not d.sub and below(8) == 0 or nil,
    }
    drawn[i].name = (drawn[i].repeatable and "b" or "a") .. i .. (rewritten and "x" or "") -- see label_of
    state["n" .. i] = 0
    limits = limits .. (drawn[i].calls and (" %s.calls=%d"):format(id, drawn[i].calls) or "")
  end
  local function make(prefix)
    local list = {}
    for i, one in ipairs(drawn) do
      local n, after = "n" .. i, one.after and not drawn[i - 1].out and "n" .. i - 1 or nil
      local action = {
        id = one.id, priority = count - i, max_runs = one.runs, on_error = one.on_error,
        repeatable = one.repeatable, x = { needs = after, counts = n },
        when = condition(chance(d.seed, path .. one.id .. "?"),
          ("%s < %d"):format(n, one.runs) .. (after and (" && %s > 0"):format(after) or ""),
          function(now) return now[n] < one.runs and (not after or now[after] > 0) end),
        effects = one.effects and { n .. "++" } or nil, checkpoint = one.checkpoint or nil,
        limits = one.calls and { calls = one.calls } or nil,
        run = function(now, ctx, more)
          local name = ("%s%s_%d%s"):format(prefix, one.name, now[n], more or "")
          local text = one.body(ctx, name)
          return { [n] = now[n] + 1, ["r" .. i] = one.long and text .. " " .. ("y"):rep(66000) or text }
        end,
      }
      if one.lifecycle then
        with_lifecycle(action, chance(d.seed, path .. one.id .. "!"), prefix .. one.id)
      end
      if one.undo and not d.sub then
        local label = ("once%s.undone"):format(one.id)
        action.undo = function(_, ctx, done)
          label = ("once%s.%d.undone"):format(one.id, done.step)
          ctx.await { kind = "command", argv = { "act", label }, label = label }
        end
      end
      list[#list + 1] = not one.out and action or nil
    end
    if #list == 0 then
      list[1] = { id = "nothing", run = function() return {} end }
    end
    return list
  end
  return { state = state, make = make, limits = limits }
end

-- Phases, one after the other or in parallel; each returns its text as its output. Names in a repeated round are its
-- own.
local function phases(d, count)
  local list, state = {}, {}
  for i = 1, count do
    local id = "p" .. i
    local below = chance(d.seed, id)
    local body, parallel, skips = draw_node(1, id, d), below(3) == 0, below(6) == 0
    state["n" .. id] = 0
    if not sim.leaves_out("phase:" .. id) then
      list[#list + 1] = {
        id = id, parallel = parallel, input = {}, when = skips and "np1 > 5" or nil,
        checkpoint = below(6) == 0 or nil,
        run = function(now, ctx)
          local n = now["n" .. id]
          return { text = body(ctx, ("%s_%d"):format(id, n)) }, { ["n" .. id] = n + 1 }
        end,
      }
    end
  end
  if #list == 0 then
    list[1] = { id = "p0", run = function() return { text = "nothing" } end }
  end
  return list, state
end

-- An action that is performed for each item of a list.
local function each(d)
  local below = chance(d.seed, "every")
  local count, at_once = 1 + below(4), 1 + below(3)
  local body = draw_repeated(count, 2, "every", d)
  local items = {}
  for i = 1, count do
    items[i] = "item" .. i
  end
  return items, {
    id = "every", priority = 50, when = "items.length > 0", each = { items = "items", max_parallel = at_once },
    run = function(_, ctx, item)
      return { said = body(ctx, ("every-%d.%s"):format(at_once, item)) }
    end,
  }
end

-- A row of states; each action's edge leads to the next, and one edge returns once.
local function machine(d, definition)
  local below = chance(d.seed, "machine")
  local count = 2 + below(3)
  local parts = M.actions(d, "m/", 1, count)
  local states, edges, actions = { "completed", "failed" }, {}, parts.make ""
  for i, action in ipairs(actions) do
    action.when, action.max_runs, action.on_error, action.priority = nil, 5, nil, nil
    states[#states + 1] = "s" .. i
    if i > 1 and below(3) == 0 then
      edges[#edges + 1] = { action = action.id, from = "s" .. i, to = "s" .. i - 1, max_runs = 1 }
    end
    edges[#edges + 1] = { action = action.id, from = "s" .. i, to = actions[i + 1] and "s" .. i + 1 or "completed" }
  end
  if below(2) == 0 then
    actions[#actions + 1] = { id = "handle_error" }
    edges[#edges + 1] = { action = "handle_error", from = "*", to = "failed" }
  end
  definition.mode, definition.actions, definition.state = "machine", actions, parts.state
  definition.machine = { initial = "s1", states = states, edges = edges }
end

local SHAPES <const> = { "actions", "actions", "actions", "each", "phases", "hybrid", "rounds", "machine", "workflow" }
local STRATEGIES <const> = { "priority", "priority", "priority", "sequential", "state_driven" }

-- The limits of a run, each drawn by its name.
local function limits(d)
  local function drawn(name, one_in, least, span)
    local below = chance(d.seed, "limit." .. name)
    return below(one_in) == 0 and not sim.leaves_out("limit:" .. name) and least + below(span) or nil
  end
  local tokens = drawn("usage", 5, 4, 12)
  return {
    max_iterations = 1000, no_progress = 0,
    calls = drawn("calls", 5, 3, 10),
    usage = tokens and { tokens = tokens } or nil,
    run_timeout = d.rough and drawn("run_timeout", 6, 1, 600) or nil,
    step_timeout = d.rough and drawn("step_timeout", 6, 1, 60) or nil,
    max_errors = d.rough and drawn("max_errors", 4, 1, 3) or nil,
    max_retries = d.rough and drawn("max_retries", 4, 0, 3) or nil,
    same_failures = d.rough and drawn("same_failures", 6, 1, 3) or nil,
    max_parallel = drawn("max_parallel", 1, 1, 4),
  }
end

---@param seed integer
---@param rough boolean  calls may fail for good
---@param changed boolean|nil  somebody has changed some of its actions
---@param small boolean|nil  of few steps
---@return skillrt.Skill skill
---@return string shape
function M.draw(seed, rough, changed, small)
  local below = chance(seed, "skill")
  local d = { seed = seed, rough = rough, changed = changed, small = small, times = 1 }
  local shape = SHAPES[below(small and 3 or #SHAPES) + 1]
  local definition = {
    name = "drawn", limits = limits(d), tools = M.TOOLS,
    durability = below(3) == 0 and "process" or "power",
    interaction = below(8) == 0 and not sim.leaves_out "interaction" and "interactive" or nil,
    on_error = rough and (shape == "phases" or shape == "rounds") and below(3) == 0 and "continue" or nil,
    retry = { base = 1, jitter = below(2) == 0 },
    context = below(3) == 0 and { project = { "known.md" }, session = { "notes" } } or nil,
  }
  if shape == "machine" then
    machine(d, definition)
  elseif shape == "workflow" then -- all in one function
    local body = draw_node(0, "w", d)
    function definition.run(ctx)
      ctx.phase "all of it"
      return body(ctx, "w")
    end
    local skill = skillrt.workflow(definition)
    skill.source, skill.dir = nil, "." -- the functions of a script without a file seem to be the module's
    return skill, shape
  elseif shape == "phases" or shape == "rounds" then
    definition.phases, definition.state = phases(d, 1 + below(4))
    if shape == "rounds" then
      local list = definition.phases
      definition.rounds = { { first = list[1].id, last = list[#list].id, max_rounds = 1 + below(3),
        over = { ("n%s >= %d"):format(list[1].id, 1 + below(3)) } } }
    end
  else
    local count = 1 + below(small and 2 or 4)
    local parts = M.actions(d, "", small and 1 or 0, count)
    definition.actions, definition.state = parts.make "", parts.state
    definition.terminate = rough and chance(seed, "terminate")(8) == 0
      and { { when = ("n%d > 0"):format(count), status = "aborted", reason = "enough" } } or nil
    definition.strategy = STRATEGIES[below(#STRATEGIES) + 1]
    if shape == "each" then
      local items, action = each(d)
      definition.state.items = items
      table.insert(definition.actions, action)
    elseif shape == "hybrid" then
      local more
      definition.phases, more = phases(d, 1 + below(2))
      for key, value in pairs(more) do
        definition.state[key] = value
      end
    end
  end
  local skill = skillrt.skill(definition)
  skill.is_changed = changed
  return skill, shape
end

return M
