-- agent/ask.lua: an agent that is asked by one call, and by a second one where only the form of its answer
-- was wrong (F25): the reply goes back, the work is not asked for again. What it asks back is a person's to
-- answer.
--
-- A kind of agent gives request(task, text), read(reply, task) and reads_prompt(). Attempts, doubt and keys
-- are the runtime's: nothing is retried here.

local answer_of = require("skillrt.agent.answer")
local prompt = require("skillrt.agent.prompt")

local M = {}

-- How often an agent may ask back in one attempt.
local MOST_QUESTIONS <const> = 5

---@class skillrt.Task  what an agent is asked: one step, or one item of it
---@field run_id string
---@field skill string
---@field step integer
---@field kind "action"|"phase"
---@field action skillrt.Action?
---@field phase skillrt.Action?
---@field attempt integer
---@field key string             the idempotency key of the next call
---@field state table            read-only
---@field state_text string      JSON, projected and bounded
---@field work_dir string        absolute
---@field dir string             the skill's folder
---@field input table            the values of --set
---@field context_strategy "file"|"memory"
---@field prompt string?         the text of the prompt file
---@field inputs string[]?       absolute paths
---@field input_text string?     phases under the memory strategy: the inputs' values
---@field output string?         absolute path
---@field specs { name: string, path: string, size: integer, text: string? }[]?  what binds every step
---@field answer "text"|nil      its last words are the result
---@field schema table?          its answer is JSON that fits this JSON Schema
---@field model string?          in place of the agent's own
---@field effort string?
---@field guide skillrt.Guide?   what SKILL.md gives to every prompt
---@field tools string[]?        that it may use, as its set or SKILL.md names them
---@field phased skillrt.Phased|false  its tool set, and what the runtime writes for it
---@field project_dir string?    where the run was begun
---@field timeout number?        seconds; wins over the agent's own
---@field idempotent boolean?    wins over the agent's own
---@field retry table?           how the runtime tries the calls again; nil: the step does
---@field item any               of `each`
---@field index integer|string|nil

---@class skillrt.Outcome
---@field status "completed"|"partial"
---@field updates table?
---@field summary string?
---@field output any
---@field context table?
---@field output_file string?  relative to the work directory
---@field concerns string?
---@field used skillrt.Usage?  what the answer says it used
---@field ours "ours"|nil     its tables were decoded for it: nobody else has them

local function pick(first, second)
  if first == nil then
    return second
  end
  return first
end

-- One call: the reply, or nil, message, class, reply.
local function call(agent, ctx, task, text)
  local request, message = agent:request(task, text)
  if not request then
    return nil, message, "permanent"
  end
  request.timeout = task.timeout or agent.timeout
  request.idempotent = pick(task.idempotent, agent.idempotent)
  request.acts = agent.acts
  request.retry = task.retry
  request.prompt = agent:reads_prompt() and text or nil
  return ctx.await(request)
end

local function labeled(agent, message, class)
  return nil, ("%s: %s"):format(agent:label(), message), class
end

-- What is said to it: the task as agents are given it; of a bare prompt, that and the form of its answer.
local function words(agent, task)
  if task.schema then
    return ("%s\n\n%s"):format(prompt.text(task), prompt.form(task.schema))
  end
  return agent:reads_prompt() and prompt.text(task) or "" -- the whole state, for those who look at it
end

local function read(agent, ctx, task, reply)
  local outcome, failure, left_out
  if task.answer == "text" then
    outcome, failure = answer_of.text(reply.body or "", task, task.schema)
  else
    outcome, failure, left_out = agent:read(reply, task)
  end
  if left_out then
    ctx.log(("%s: left out of its answer: %s"):format(agent:label(), table.concat(left_out, ", ")))
  end
  if outcome and task.phased then
    require("skillrt.agent.phase").take_report(ctx, task, { reply.body, outcome.summary,
      type(outcome.output) == "string" and outcome.output or nil })
  end
  local used = (outcome or failure).used
  if used then
    ctx.used(used)
  end
  return outcome, failure
end

-- One call, and a second one where only the form was wrong: what it means; or nil and the failure.
local function asked_once(agent, ctx, task, text)
  local reply, message, class, bad = call(agent, ctx, task, text)
  if not reply then
    if bad and agent.explain then
      message, class = agent:explain(bad, message, class)
    end
    return nil, { message = message, class = class }
  end
  local outcome, failure = read(agent, ctx, task, reply)
  if not outcome and failure.form and agent:reads_prompt() and (reply.body or ""):find("%S") then
    ctx.log(("%s: %s; asked to write its answer again"):format(agent:label(), failure.message))
    reply, message, class = call(agent, ctx, task, prompt.reformat(task, reply.body, failure.message))
    if not reply then
      return nil, { message = message, class = class }
    end
    outcome, failure = read(agent, ctx, task, reply)
  end
  return outcome, failure
end

---Performs a task. What the agent asks back is asked of a person, and the agent once more with the answer.
---@param agent table
---@param ctx table  await, ask, log
---@param task skillrt.Task
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
function M.perform(agent, ctx, task)
  local text = words(agent, task)
  for number = 1, MOST_QUESTIONS + 1 do
    local outcome, failure = asked_once(agent, ctx, task, text)
    if outcome then
      return outcome
    end
    local question = agent:reads_prompt() and failure.question
    if not question or number > MOST_QUESTIONS then
      return labeled(agent, failure.message, failure.class)
    end
    question.kind, question.header = "ask", question.header or (task.action or task.phase).id
    local answer, message, class = ctx.ask(question)
    if answer == nil then
      return labeled(agent, message, class)
    end
    text = prompt.answered(text, question.question, answer)
  end
end

return M
