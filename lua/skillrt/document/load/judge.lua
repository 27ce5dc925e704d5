-- document/load/judge.lua: an agent judges preconditions in prose (x_skillrt.agent_decides): for each there is an
-- action that asks it, as a step of the run; its answer is in the state with its reason.
--
-- It asks when all other needs of the waiting action are met, and again when the state changed. Called by load.
local condition = require "skillrt.document.load.condition"
local expr = require "skillrt.expr"
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"
local tables = require "skillrt.base.tables"

local M = {}

local JUDGED <const> = condition.JUDGED
local REASONS <const>, ASKED <const> = JUDGED .. "_reasons", JUDGED .. "_asked"

-- What changes with every step, or by a judgement itself: no reason to ask again.
local PASSING = { [JUDGED] = true, [REASONS] = true, [ASKED] = true, iteration_count = true, current_action = true,
  updated_at = true, completed_actions = true }

-- By judgement: the actions that wait for it, and their other conditions.
local function collect(actions)
  local order, by_words = {}, {}
  for _, action in ipairs(actions) do
    local others, asked = {}, {}
    for _, text in ipairs(action.when or {}) do
      local words = text:match "^judged%.includes%('(.*)'%)$"
      asked[#asked + 1] = words
      others[#others + 1] = not words and expr.compile(text) or nil
    end
    for _, words in ipairs(asked) do
      order[#order + 1] = not by_words[words] and words or nil
      by_words[words] = by_words[words] or {}
      table.insert(by_words[words], { action = action, others = others })
    end
  end
  return order, by_words
end

-- A digest of everything that a judgement may depend on.
local function looks(state, own)
  local seen, done = {}, json.array {}
  for key, value in pairs(state) do
    seen[key] = not PASSING[key] and value or nil
  end
  for _, id in ipairs(state.completed_actions or {}) do
    done[#done + 1] = not own[id] and id or nil
  end
  seen.done = done
  return files.digest(assert(json.encode(seen, { sorted = true })))
end

local function is_waited_for(waiting, state)
  for _, one in ipairs(waiting) do
    local action, ready = one.action, true
    local once = not action.repeatable and (action.max_runs or 1) == 1
    for _, other in ipairs(one.others) do
      ready = ready and other(state) == true
    end
    if ready and not (once and tables.has(tables.object(state.completed_actions), action.id)) then
      return true
    end
  end
  return false
end

local PROMPT <const> = [[Judge whether a condition holds now. Do nothing else, and change nothing.

The condition: %s

It decides whether this may be done: %s

Return exactly one JSON object:
{ "status": "completed", "output": { "holds": true or false, "reason": "in one sentence" }, "summary": "..." }]]

-- The answer, wherever an agent writes it.
local function answer_of(reply)
  for _, one in ipairs { reply.output or false, reply.updates or false } do
    if type(one) == "table" and type(one.holds) == "boolean" then
      return one.holds, type(one.reason) == "string" and one.reason or reply.summary
    end
  end
end

local function ask(words, waiting, agent, own)
  local purpose = waiting[1].action
  local text = PROMPT:format(words, purpose.description or purpose.purpose or purpose.name or purpose.id)
  return function(state, ctx)
    local reply, message = ctx.await { agent = agent, prompt = text }
    if not reply then
      return nil, message
    end
    local holds, reason = answer_of(reply)
    if holds == nil then
      return nil, 'the agent did not say whether it holds ({ "holds": true or false, "reason": "..." })'
    end
    local judged = tables.append(json.array {}, state[JUDGED] or {})
    local reasons, asked = tables.fill({}, state[REASONS]), tables.fill({}, state[ASKED])
    judged[#judged + 1] = holds and words or nil
    reasons[words] = ("%s: %s"):format(holds and "yes" or "no", reason or "no reason given")
    asked[words] = looks(state, own)
    ctx.log(("%s: %s"):format(words, reasons[words]))
    return { [JUDGED] = judged, [REASONS] = reasons, [ASKED] = asked }
  end
end

---Adds the actions that ask; a definition without prose preconditions is unchanged.
---@param definition table  what skillrt.skill takes
function M.add(definition)
  local order, by_words = collect(definition.actions or {})
  local agent, own = names.sorted(definition.agents or {})[1], {}
  local top = 0
  for _, action in ipairs(definition.actions or {}) do
    top = math.max(top, (tonumber(action.priority) or 0) + 1)
    agent = action.agent or agent
  end
  for i, words in ipairs(agent and order or {}) do
    local waiting, id = by_words[words], "judge-" .. i
    own[id] = true
    definition.actions[#definition.actions + 1] = {
      id = id, name = "Judge: " .. words, optional = true, repeatable = true, priority = top,
      when = { function(state)
        return not tables.has(tables.object(state[JUDGED]), words) and is_waited_for(waiting, state)
          and (state[ASKED] or {})[words] ~= looks(state, own)
      end },
      run = ask(words, waiting, agent, own),
    }
  end
end

return M
