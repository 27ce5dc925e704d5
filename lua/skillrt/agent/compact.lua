-- agent/compact.lua: a talk that has grown too long is made shorter, by the policy that its agent declares and never
-- else: rounds left out, results of tools dropped, or what came before told in the model's own summary. It is recorded.
--
-- All of it follows from what was recorded, so that a resume makes the same of it. Knows turns, no providers.

local privileges = require("skillrt.base.privileges")
local schema = require("skillrt.skill.schema")
local data_marks = require("skillrt.base.data_marks")

local M = {}

local FIELDS <const> = {
  over = { type = "positive", required = true },
  keep = { type = "positive", default = 6 },
  how = { enum = { "drop_results", "keep", "summarise" }, default = "drop_results" },
}

---What is wrong with the field of an agent; it becomes its normal form.
---@param agent table
---@param where string
---@return string? message
function M.check(agent, where)
  if agent.compact then
    local checked, message = schema.record(agent.compact, FIELDS, where .. ": compact")
    agent.compact = checked
    return message
  end
end

-- Where the last `keep` rounds of a talk begin: a round is what the model says and what it is told then.
local function border(turns, keep)
  for i = #turns, 2, -1 do
    if turns[i].role == "model" then
      keep = keep - 1
      if keep == 0 then
        return i
      end
    end
  end
end

local LEFT_OUT <const> = 200 -- bytes of a result that is worth to be left out

local function without_results(turns, at)
  local out = {}
  for i, turn in ipairs(turns) do
    out[i] = turn
    if turn.role == "results" and i < at then
      local results = {}
      for k, one in ipairs(turn.results) do
        local text = #one.text > LEFT_OUT and ("(left out: %d bytes; call the tool again where you need it)"):format(
          #one.text) or one.text
        results[k] = { id = one.id, name = one.name, text = text, is_error = one.is_error }
      end
      out[i] = { role = "results", results = results }
    end
  end
  return out
end

-- The first turn, a word on what is missing, and the rounds that are kept.
local function without_rounds(turns, at, word)
  local out = { turns[1], { role = "user", text = word } }
  return table.move(turns, at, #turns, 3, out)
end

local ASK <const> = "Before you go on: sum up for yourself what was done in this talk so far and what is known: "
  .. "what was asked for, what was found, decided and changed, what is left to do. It takes the place of the talk. "
  .. "Call no tool."

-- What the model makes of what is to be left out; nil: it gave none.
local function summary(talk, at, ask)
  local turns = table.move(talk.turns, 1, at - 1, 1, {})
  turns[#turns + 1] = { role = "user", text = ASK }
  local text, message, class = ask(turns)
  if not text then
    return nil, message, class
  elseif not text:find("%S") then
    return nil
  end
  return "Your summary of the talk before:\n" .. data_marks.marked(text, "SUMMARY")
end

---Makes a talk shorter, where it has grown longer than its agent's policy says.
---@param agent table
---@param ctx table
---@param talk skillrt.Talk
---@param ask fun(turns: skillrt.Turn[]): string|nil, string?, string?  what the model says to these turns
---@return boolean|nil ok  nil: the summary could not be had
---@return string? message
---@return string? class
function M.look(agent, ctx, talk, ask)
  local policy = agent.compact
  if not policy or talk.bytes <= math.max(policy.over, talk.shortened or 0) then
    return true
  end
  local turns, before = talk.turns, talk.bytes
  local at = border(turns, policy.keep)
  if not at or at <= 2 then
    return true
  end
  local how, word = policy.how, nil
  if how == "summarise" then
    local message, class
    word, message, class = summary(talk, at, ask)
    if message then
      return nil, message, class
    end
    how = word and how or "keep"
  end
  if how == "drop_results" then
    talk:replace(without_results(turns, at))
  else
    word = word or ("(%d turns of this talk were left out here.)"):format(at - 2)
    talk:replace(without_rounds(turns, at, word))
  end
  talk.shortened = talk.bytes + policy.over // 2
  privileges.of(ctx).mark({ t = "compact", agent = agent:label(), how = how, before = before, after = talk.bytes,
    kept = #turns - at + 1 })
  return true
end

return M
