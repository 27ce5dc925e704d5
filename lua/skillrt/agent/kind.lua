-- agent/kind.lua: the defaults that every kind of agent inherits. A kind is one file, kind/<kind>.lua, that returns
-- Agent.new of its table; nothing else lists the kinds: help, `skillrt agents`, tests, simulations and traces read
-- the folder.
--
-- Knows no kind. Required by the files in kind/.

local answer_of = require("skillrt.agent.answer")
local asking = require("skillrt.tool.ask_user")
local condition = require("skillrt.agent.condition")
local json_schema = require("skillrt.base.json_schema")
local models = require("skillrt.agent.models")
local phase = require("skillrt.agent.phase")
local plain = require("skillrt.agent.plain")
local prompt = require("skillrt.agent.prompt")
local schema = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")

-- ---- the one loop of an agent's work: it is asked, its answer is read, one in the wrong form goes back (F25) ----

-- How many questions an agent may ask a person in one attempt.
local MOST_QUESTIONS <const> = 5
-- How often, at least, it is asked to rewrite an answer that does not fit the prompt's schema.
local REPAIRS_IN_SCHEMA <const> = 5

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
---@field store skillrt.Store    of the run: it holds the files of its steps
---@field dir string             the skill's folder
---@field input table            the values of --set
---@field context_strategy "file"|"memory"
---@field prompt string?         the text of the prompt file
---@field inputs string[]?       absolute paths
---@field input_text string?     phases under the memory strategy: the inputs' values
---@field output string?         absolute path
---@field specs { name: string, path: string, size: integer, text: string? }[]?  the specifications that bind every step
---@field bare boolean?          the prompt is sent as it is: ctx.agent
---@field answer "text"|nil      its last words are the result
---@field schema table?          its answer is JSON that fits this JSON Schema
---@field model string?          instead of the agent's own
---@field effort string?
---@field guide skillrt.Guide?   what SKILL.md gives to every prompt
---@field tools string[]?        the tools it may use, as its set or SKILL.md names them
---@field phased skillrt.Phased|false  its tool set, and what the runtime adds to the prompt for it
---@field project_dir string?    where the run was started
---@field timeout number?        seconds; overrides the agent's own
---@field idempotent boolean?    overrides the agent's own
---@field retry table?           how the runtime retries the calls; nil: the step decides
---@field item any               of `each`
---@field index integer|string|nil
---@field said any[]            of a page run section by section: the results of earlier steps
---@field printed table<string, string>?  output of the page's commands, by command; it replaces them in the text

---@class skillrt.Outcome
---@field status "completed"|"partial"
---@field updates table?
---@field summary string?
---@field output any
---@field context table?
---@field output_file string?  relative to the work directory
---@field concerns string?
---@field used skillrt.Usage?  what the answer reports it used
---@field ours "ours"|nil     the tables were decoded for the task, so it may change them

---@class skillrt.Conversation  with an agent of some kind
---@field exchange fun(self): skillrt.Outcome|nil, skillrt.Failure|nil, string[]|nil  one exchange; the third value
---  names fields that were left out
---@field repair fun(self, failure: skillrt.Failure)  the next exchange asks for a better form
---@field told string?  what a person has just told it
---@field tell (fun(self, text: string))?  the next exchange says it
---@field answered fun(self, question: string, answer: string)  passes on what a person answered
---@field go_on fun(self, said: any, text: string)  gives it the next step of its page

-- ---- by prompts ----

---@class skillrt.Prompts: skillrt.Conversation  with an agent that is asked by one call for each exchange. Its kind
---  gives request(agent, task, text, talk) and outcome(agent, reply, task, talk)
---@field words string     the work so far: what was asked and answered
---@field text string      the text of the next exchange
---@field said string?     its last reply
---@field told string?     what a person tells it after its reply
---@field whole string?    the whole text, for an agent that keeps no conversation
---@field session string?  where it keeps the conversation; nil: each request repeats everything
local Prompts = {}
Prompts.__index = Prompts

---@param agent table
---@param ctx table
---@param task skillrt.Task
---@return skillrt.Prompts
local function prompts(agent, ctx, task)
  local wanted = task.schema or agent.output
  task = wanted == task.schema and task or setmetatable({ schema = wanted }, { __index = task })
  local words = agent.reads_prompt and prompt.text(task) or "" -- the whole state, for agents that want it
  if wanted and task.bare then
    words = ("%s\n\n[RETURN FORMAT]\n%s"):format(words, prompt.return_format(task))
  elseif task.bare and agent.reads_prompt then
    words = prompt.RETURNED .. words
  end
  if agent.reads_only then
    words = ("%s\n\n%s"):format(prompt.READS, words)
  end
  if agent.system and not agent.TAKES_SYSTEM then
    words = ("%s\n\n%s"):format(agent.system, words)
  end
  return setmetatable({ agent = agent, ctx = ctx, task = task, words = words, text = words }, Prompts)
end

-- A reply as its kind judges it. A text that only repeats a provider's refusal is no answer, even if the program
-- succeeded.
local function judge_of(agent, own)
  return function(reply)
    local text = reply.body or ""
    return own and own(reply) or condition.is_told(text) and condition.told(text, nil, agent.acts) or nil
  end
end

function Prompts:exchange()
  local agent, ctx, task = self.agent, self.ctx, self.task
  local request, message = agent:request(task, self.text, self)
  if not request then
    return nil, { message = message, class = "permanent" }
  end
  request.timeout, request.acts, request.theirs = task.timeout or agent.timeout, agent.acts, agent.theirs
  request.judge = agent.reads_prompt and judge_of(agent, request.judge) or request.judge
  request.idempotent = tables.first(task.idempotent, request.idempotent or agent.idempotent)
  request.retry = task.retry or request.retry
  request.prompt = agent.reads_prompt and self.text or nil
  local reply, why, class, bad = ctx.await(request)
  if not reply then
    message, class = agent:explain(bad, why, class)
    if self.session and agent:has_lost(message) then
      local text = "%s: session %s was not found on this machine; a new one gets the whole task"
      ctx.log(text:format(agent:label(), self.session))
      self.session, self.text = nil, self.whole
      return self:exchange()
    end
    return nil, { message = message, class = class }
  end
  self.said, self.told = reply.body or "", reply.told
  local outcome, failure, left_out
  if task.answer == "text" and not agent.program then
    outcome, failure = answer_of.text(self.said, task, task.schema)
  else
    outcome, failure, left_out = agent:outcome(reply, task, self)
  end
  if outcome and task.phased then
    phase.take_report(ctx, task, { self.said, outcome.summary,
      type(outcome.output) == "string" and outcome.output or nil })
  end
  local used = (outcome or failure).used
  if used then
    ctx.used(used)
  end
  if failure then
    failure.form = failure.form and agent.reads_prompt and (self.session or self.said:find("%S")) and true
    failure.question = agent.reads_prompt and failure.question or nil
  end
  return outcome, failure, left_out
end

function Prompts:repair(failure)
  self.text = prompt.reformat(self.task, self.said, failure.message)
  self.whole = self.text
end

function Prompts:answered(question, answer)
  self.words = prompt.answered(self.words, question, answer)
  self.whole = self.words
  self.text = self.session and asking.told(answer) or self.words
end

function Prompts:tell(text)
  self.words = ("%s\n\n%s"):format(self.words, text)
  self.whole = self.words
  self.text = self.session and text or self.words
end

function Prompts:go_on(said, text)
  self.words = ("%s\n\n%s"):format(self.words, prompt.gone_on(said, text))
  self.whole = self.words
  self.text = self.session and text or self.words
end

-- ---- the loop ----

-- Gives an agent the next step of a page that runs section by section; false: that was the last one. Earlier results
-- belong to the task, so the next agent of a chain begins after them.
local function go_on(ctx, task, talk, outcome)
  local steps = task.guide.steps
  local said = task.said
  if outcome then
    said[#said + 1] = outcome.output or outcome.summary or ""
  end
  local at = #said + 1
  if at > #steps then
    return false
  end
  for i = outcome and #said or 1, #said do
    talk:go_on(said[i], prompt.step(task, i + 1))
  end
  ctx.phase(("step %d of %d: %s"):format(at, #steps, steps[at].title))
  return true
end

-- A file that the page's step promises and that does not exist; nil: none is missing.
local function missing(ctx, task)
  local step = task.guide.steps[#task.said + 1]
  for _, path in ipairs(step and step.outputs or {}) do
    local is_there = false
    for _, dir in ipairs({ task.project_dir or ".", task.store:path() }) do
      is_there = is_there or #(ctx.glob(path, dir) or {}) > 0
    end
    if not is_there then
      return ("step %d promises the file %s, which does not exist"):format(#task.said + 1, path)
    end
  end
end

---Performs a task.
---@param agent table
---@param ctx table  await, ask, log
---@param task skillrt.Task
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
local function perform(agent, ctx, task)
  local function failed(message, class)
    local said = message:find(agent:label() .. ":", 1, true) == 1 -- it names itself
    return nil, said and message or ("%s: %s"):format(agent:label(), message), class
  end
  if agent.reads_prompt then
    local ok, message, class = plain.run_commands(ctx, task)
    if not ok then
      return nil, message, class
    end
  end
  local talk, problem = agent:conversation(ctx, task)
  if not talk then
    return failed(problem, "permanent")
  end
  local repairs, questions = 0, 0
  local most = math.max(agent.max_repairs, task.schema and REPAIRS_IN_SCHEMA or 0)
  local by_section = task.answer == "text" and not task.schema and task.guide and task.guide.steps and true
  if by_section then
    go_on(ctx, task, talk)
  end
  while true do
    local outcome, failure, left_out = talk:exchange()
    if left_out then
      ctx.log(("%s: ignored in its answer: %s"):format(agent:label(), table.concat(left_out, ", ")))
    end
    local told = talk.told
    local lacking = outcome and not told and by_section and missing(ctx, task)
    if outcome and not told and not lacking and not (by_section and go_on(ctx, task, talk, outcome)) then
      return outcome
    end
    local question = failure and not told and questions < MOST_QUESTIONS and asking.may(ctx, task) and failure.question
    if told then
      talk:tell(told)
    elseif lacking and repairs < most then
      ctx.log(("%s: %s; asked to do it"):format(agent:label(), lacking))
      repairs = repairs + 1
      talk:tell(("Your %s. Do what is left of this step; your last message is its result."):format(lacking))
    elseif lacking then
      return failed(lacking, "validation")
    elseif outcome then
      repairs, questions = 0, 0
    elseif question then
      local answer, message, class = asking.ask(ctx, question.header or (task.action or task.phase).id, question)
      if not answer then
        return failed(message, class)
      end
      questions = questions + 1
      talk:answered(question.question, answer)
    elseif failure.form and repairs < most then
      ctx.log(("%s: %s; asked to write its answer again"):format(agent:label(), failure.message))
      repairs = repairs + 1
      talk:repair(failure)
    else
      return failed(failure.message, failure.class)
    end
  end
end

---@class skillrt.Agent
---@field kind string               its kind's name, and that of the kind's file
---@field FIELDS table<string, skillrt.Field>  the fields of a definition besides `kind` and `name`
---@field name string?
---@field acts boolean              its calls may change something
---@field idempotent boolean?       they may be repeated when their outcome is unknown
---@field is_script boolean         a function of the script performs it
---@field word boolean?             people may choose it by its name: --agent claude, --agent claude:MODEL
---@field stub "model"|"prompt"|"own"|nil  what answers in its place in `skillrt test`: a model, or an agent that is
---  asked once, whatever the test says; its own program or server; nil: it performs the step, unless it has a stub
---@field SPANS any[][]  how reports recognize its calls: part of the address or program name, provider, operation; of
---  a model also its wire
---@field words (fun(kind: skillrt.Agent, reply: table, row: any[]): string?)|nil  what a reply says, for people
---@field reads_prompt boolean      it is asked in words, and can be asked to write its answer again
---@field max_repairs integer       how often it is asked to write its answer again
---@field request (fun(agent: table, task: skillrt.Task, text: string, talk: skillrt.Prompts): table|nil, string?)|nil
---@field outcome (fun(agent: table, reply: table, task: skillrt.Task, talk: skillrt.Prompts): skillrt.Outcome|nil,
---  skillrt.Failure|nil, string[]|nil)|nil  what a reply means
---@field here (fun(kind: skillrt.Agent): table)|nil  what `skillrt agents` prints about it
local Agent = { is_script = false, reads_prompt = true, max_repairs = 1, SPANS = {} }
Agent.__index = Agent

---A kind of agent.
---@param kind table    its own fields
---@param class table?  fields that its class adds
---@return skillrt.Agent
function Agent.new(kind, class)
  kind.FIELDS.kind, kind.FIELDS.name = { enum = { kind.kind } }, { type = "text" }
  kind.__index = kind
  return setmetatable(kind, class or Agent)
end

---The fields of several tables in one.
---@param ... table<string, skillrt.Field>
---@return table<string, skillrt.Field>
function Agent.fields(...)
  local all = {}
  for _, list in ipairs({ ... }) do
    tables.fill(all, list)
  end
  return all
end

---A definition whose items are one of its fields: { "prog", "arg", timeout = 5 } is { argv = { "prog", "arg" },
---timeout = 5 }.
---@param given any
---@param field string
---@return any definition
function Agent.gathered(given, field)
  if type(given) ~= "table" or given[field] ~= nil then
    return given
  end
  local out = { [field] = {} }
  for key, value in pairs(given) do
    if math.type(key) == "integer" then
      out[field][key] = value
    else
      out[key] = value
    end
  end
  return out
end

---What an author wrote, as a table of fields.
---@param given any
---@return any definition
function Agent.normal(given)
  return given
end

---An agent of this kind, of a table of fields.
---@param definition table
---@param where string  names it in messages
---@param check (fun(value: any, where: string): table?, string?)|nil  of other agents
---@return table? agent
---@return string? message
function Agent:check(definition, where, check) -- luacheck: no unused args
  local agent, message = schema.record(definition, self.FIELDS, where)
  if not agent then
    return nil, message
  end
  agent.kind = nil -- the class has it
  if agent.output then
    local _, why = json_schema.check(agent.output, where .. ": output")
    if why then
      return nil, why
    end
    agent.output = json_schema.normal(agent.output)
  end
  setmetatable(agent, self)
  if agent.idempotent == nil then
    agent.idempotent = not agent.acts
  end
  return agent
end

---How it is named in messages.
---@return string
function Agent:label()
  return self.name and ('agent "%s"'):format(self.name) or "agent " .. self.kind
end

---The model of a task: the one it asks for, else the agent's own.
---@param task skillrt.Task
---@return string?
function Agent:model_of(task)
  return models.of(self, task.model) or self.model
end

---The host's functions that it calls.
---@return string[]
function Agent:functions() -- luacheck: no self
  return {}
end

---Whether it can only be performed over HTTP.
---@return boolean
function Agent:needs_http() -- luacheck: no self
  return false
end

---Performs a task by a conversation with it; a kind may override this.
Agent.conversation, Agent.perform = prompts, perform

---The text of a reply that is a failure: in the agent's own words, if it has any.
---@param reply table|nil
---@param message string
---@param class skillrt.FailureClass
---@return string message
---@return skillrt.FailureClass class
function Agent:explain(reply, message, class) -- luacheck: no self, no unused args
  return message, class
end

---The most that one attempt may use: one answer, and one more to repair its form.
---@param definition table  as an author wrote it, or checked
---@param cost_of fun(agent: any): table|nil  of other agents
---@return { calls: number, tokens: number, dollars: number }|nil  nil: unknown
function Agent.cost(definition, cost_of) -- luacheck: no unused args
  return { calls = 2, tokens = 0, dollars = 0 }
end

return Agent
