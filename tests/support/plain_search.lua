-- plain_search.lua: small skills of chance, and a plain search through all their runs.
--
-- Breadth first over real states with the real conditions, a table for each: slow and easy to
-- believe. The search of the check is held against it. Called by check_reach_spec.
local skill_of = require "skillrt.skill"
local when = require "skillrt.skill.when"

local json = require "skillrt.base.json"

local M = {}

local WHEN = { "mode === 'a'", "mode !== 'b'", "ready", "!ready", "mode === 'a' || ready", "!ready && mode !== 'c'",
  "completed_actions.includes('a1')", "!completed_actions.includes('a2')", "n < 3", "n >= 2", "n === 1 && !ready",
  "n < 2 && mode === 'b'" }
local EFFECTS = { "mode=a", "mode=b", "mode='c'", "ready=true", "ready=false", "n=0", "n++", "n--" }
local WITHOUT_COUNTING = { when = 8, effects = 6 }

local function some_effects(random, most)
  local effects, used = {}, {}
  for _ = 1, random(3) - 1 do
    local effect = EFFECTS[random(most)]
    local key = effect:match "^%l+"
    if not used[key] then
      used[key] = true
      effects[#effects + 1] = effect
    end
  end
  return effects
end

---A skill of chance: actions that run once or three times, or, where nothing is counted, for ever.
---@param random fun(n: integer): integer
---@param repeats boolean
---@return table definition
function M.skill(random, repeats)
  local most = repeats and WITHOUT_COUNTING or { when = #WHEN, effects = #EFFECTS }
  local actions = {}
  for i = 1, 2 + random(4) do
    local one = { id = "a" .. i, priority = random(3), when = {}, optional = random(2) == 1 }
    for k = 1, random(3) - 1 do
      one.when[k] = WHEN[random(most.when)]
    end
    one.effects = some_effects(random, most.effects)
    one.repeatable = repeats and random(2) == 1 or nil
    one.max_runs = not one.repeatable and (random(3) == 1 and 3 or 1) or nil
    one.terminal = random(6) == 1 or nil
    actions[i] = one
  end
  -- so that every key is some effect's
  actions[#actions + 1] = { id = "keys", when = "false", optional = true, effects = { "n++", "mode=b", "ready=true" } }
  for _, one in ipairs(actions) do
    one.agent = "worker"
  end
  return { name = "chance", agents = { worker = { kind = "command", argv = { "true" } } }, actions = actions,
    state = { n = 0, mode = "z", ready = false }, terminate = {},
    strategy = random(2) == 1 and "priority" or "user_driven" }
end

local function after(node, action)
  local state = {}
  for key, value in pairs(node.state) do
    state[key] = value
  end
  state.status = "running"
  state.completed_actions = table.move(state.completed_actions, 1, #state.completed_actions, 1, json.array())
  table.insert(state.completed_actions, action.id)
  for _, effect in ipairs(action.effects) do
    local key, value = effect.text:match "^(%l+)='?(%w+)'?$"
    if key then
      state[key] = ({ ["true"] = true, ["false"] = false })[value]
      if state[key] == nil then
        state[key] = tonumber(value) or value
      end
    else
      state.n = state.n + (effect.text == "n++" and 1 or -1)
    end
  end
  local runs = setmetatable({}, getmetatable(node.runs))
  for id, times in pairs(node.runs) do
    runs[id] = times
  end
  runs[action.id] = runs[action.id] + 1
  return { state = state, runs = runs, steps = node.steps + 1 }
end

local function key_of(node, actions)
  local parts = { math.max(-9, math.min(node.state.n, 9)), node.state.mode, tostring(node.state.ready) }
  for i, one in ipairs(actions) do
    parts[i + 3] = math.min(node.runs[one.id], one.max_runs == math.huge and 1 or one.max_runs)
  end
  return table.concat(parts, " ")
end

local function open_actions(node, actions, fixed)
  local open = {}
  for _, one in ipairs(actions) do
    if node.runs[one.id] < one.max_runs and when.holds(one, node.state) and not (fixed and #open > 0) then
      open[#open + 1] = one
    end
  end
  return open
end

local function all_done(node, actions)
  for _, one in ipairs(actions) do
    if not (one.terminal or one.optional) and node.runs[one.id] == 0 then
      return false
    end
  end
  return true
end

-- After how many steps a state is reached first from which no run ends.
local function first_stuck(nodes)
  repeat
    local changed = false
    for _, node in ipairs(nodes) do
      for _, following in ipairs(node.following) do
        if following.ends and not node.ends then
          node.ends, changed = true, true
        end
      end
    end
  until not changed
  for _, node in ipairs(nodes) do
    if not node.ends then
      return node.steps
    end
  end
end

---All runs: after how many steps each action may be taken first, how a run may end first, and how
---soon it may be stuck in a round that never ends.
---@param definition table
---@return { taken: table<string, integer>, completed: integer?, blocked: integer?, stuck: integer? }
function M.search(definition)
  local checked = assert(skill_of.check(definition))
  local actions, fixed = table.move(checked.actions, 1, #checked.actions, 1, {}), checked.strategy.name == "priority"
  if fixed then
    table.sort(actions, function(a, b)
      return a.priority > b.priority or (a.priority == b.priority and a.index < b.index)
    end)
  end
  local none = setmetatable({}, { __index = function()
    return 0
  end })
  local first = { n = 0, mode = "z", ready = false, completed_actions = json.array(), status = "pending" }
  local nodes, known, result = { { state = first, runs = none, steps = 0 } }, {}, { taken = {} }
  known[key_of(nodes[1], actions)] = nodes[1]
  for _, node in ipairs(nodes) do -- grows as it goes
    node.following = {}
    local open = open_actions(node, actions, fixed)
    for _, one in ipairs(open) do
      result.taken[one.id] = result.taken[one.id] or node.steps
      if one.terminal then
        node.ends, result.completed = true, result.completed or node.steps
      else
        local following = after(node, one)
        local key = key_of(following, actions)
        if not known[key] then
          known[key], nodes[#nodes + 1] = following, following
        end
        table.insert(node.following, known[key])
      end
    end
    if #open == 0 then
      local how = all_done(node, actions) and "completed" or "blocked"
      node.ends, result[how] = true, result[how] or node.steps
    end
  end
  result.stuck = first_stuck(nodes)
  return result
end

return M
