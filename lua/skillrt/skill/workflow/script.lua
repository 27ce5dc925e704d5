-- skill/workflow/script.lua: performs a workflow script: each request of the script is a call of the step in its own
-- branch, named by its place in the script, and the script gets the result as soon as it arrives.
--
-- So a resume finds each answer by the path of `parallel` and `pipeline` at which it was requested, in whatever order
-- agents answer (docs/write/workflows.md). Knows ctx, no records and no journal.

local cut = require("skillrt.base.text").cut
local fatal = require("skillrt.base.fatal")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local privileges = require("skillrt.base.privileges")
local worktree = require("skillrt.skill.workflow.worktree")

local M = {}

-- ---- its messages to and from the program that runs it ----

-- Node without files, programs and addons, whatever the script does: by the flag that this node supports (exit code 9
-- means that it does not know the flag; 18 knows neither). In a network namespace of its own, if the system allows
-- one. Code is never made from texts.
local BEGIN <const> = [[
if ! command -v node >/dev/null; then
  echo "node was not found in PATH: install nodejs, 18 or later" >&2
  exit 127
fi
for permission in --permission --experimental-permission ""; do
  node $permission --version >/dev/null 2>&1
  [ $? = 9 ] || break
done
set -- node $permission --no-warnings --experimental-vm-modules --disallow-code-generation-from-strings \
  --max-old-space-size=1024 -e "$1"
unshare -nr true 2>/dev/null && set -- unshare -nr "$@"
exec "$@"
]]

-- How often in a row the program may be restarted when it gets the messages it missed.
local MOST_BEGUN <const> = 8

-- The messages that the program may send. A script that escaped its realm may send anything: only these are accepted.
local TEXT <const>, FLAG <const> = { type = "string" }, { type = "boolean" }
local function object(properties, ...)
  return { type = "object", properties = properties, required = { ... } }
end
local SAID <const> = object({
  have = { type = "integer", minimum = 0 },
  meta = object({ name = TEXT, description = TEXT, phases = { type = "array", items = object({ title = TEXT }) } }),
  asks = { type = "array", items = object({ kind = TEXT }, "kind") },
  done = { anyOf = { { type = "null" }, object({ error = TEXT, stack = TEXT, fault = FLAG }) } },
})
local ASKED <const> = {
  log = object({ text = TEXT }, "text"),
  phase = object({ text = TEXT }, "text"),
  option = object({ text = TEXT }, "text"),
  threw = object({ at = TEXT, error = TEXT, stack = TEXT }, "at", "error", "stack"),
  agent = object({ at = TEXT, prompt = TEXT, options = object({ label = TEXT }), wrong = TEXT },
    "at", "prompt", "options"),
  question = object({ at = TEXT, question = { type = { "string", "object" } } }, "at", "question"),
  workflow = object({ at = TEXT, name = TEXT }, "at", "name"),
}

-- A message of the program; or nil and what is wrong with it.
local function heard(text)
  local said, why = json.decode(text)
  local ok = said ~= nil
  if ok then
    ok, why = json_schema.judge(SAID, said, "it")
  end
  for _, ask in ipairs(ok and said.asks or {}) do
    local schema = ASKED[ask.kind]
    if ok and schema then
      ok, why = json_schema.judge(schema, ask, ask.kind)
    elseif ok then
      ok, why = nil, ("asks for %s"):format(ask.kind)
    end
  end
  if not ok then
    return nil, "its process sent an invalid message: " .. why, "permanent"
  end
  return said
end

---@class skillrt.Talk
---@field ctx table
---@field said string[]  every message, to be sent again to a restarted program
local Talk = {}
Talk.__index = Talk

---@param ctx table
---@param timeout number  seconds within which a script must yield
---@return skillrt.Talk
local function new(ctx, timeout)
  return setmetatable({ ctx = ctx, said = {}, timeout = timeout,
    argv = { "sh", "-c", BEGIN, "sh", files.asset("lua/skillrt/skill/workflow/child.js") } }, Talk)
end

local function request(self, text)
  return {
    kind = "session",
    session = ("workflow-%s"):format(self.ctx.step),
    argv = self.argv,
    sandbox_default = "strict",
    needs = { programs = { "node" }, lifts = true },
    env = {
      HOME = false, LC_ALL = false, TMPDIR = false, TERM = false,
      TZ = "UTC",
      LANG = "C.UTF-8",
      SKILLRT_REALM = files.asset("lua/skillrt/skill/workflow/realm.js"),
    },
    declared = { argv = { "node" }, env = {} },
    message = text,
    idempotent = true,
    pure = true,
    acts = false,
    retry = { max = 2 },
    timeout = self.timeout,
    max_reply = 64 << 20,
    shown = "workflow script",
  }
end

local function exchange(self, text)
  local reply, message, class = self.ctx.await(request(self, text))
  if reply then
    return heard(reply.body)
  elseif class == "timeout" then
    message = ("it did not yield within %g s (an endless loop?)"):format(self.timeout)
  end
  return nil, message, class
end

---Sends one message to the script; returns its next requests: { asks, done, meta }.
---@param message table
---@return table|nil said
---@return string? message
---@return string? class
function Talk:say(message)
  local said = self.said
  message.n = #said + 1
  said[message.n] = assert(json.encode(message, { sorted = true }))
  local told, why, class = exchange(self, said[message.n])
  for _ = 1, MOST_BEGUN do
    if not (told and told.have) then
      break
    end -- it was restarted and lost the earlier messages
    local missing = table.concat(said, ",", told.have + 1, message.n)
    told, why, class = exchange(self, ('{"n":%d,"since":[%s]}'):format(message.n, missing))
  end
  return told, why, class
end

---@class skillrt.workflow.Performance
---@field ctx table
---@field talk skillrt.Talk
---@field begin fun(key: string, perform: function, ...)
---@field outcome table|nil   the script's result or error
---@field asked integer       agents
---@field failed string[]     agents without an answer: their names, and why
---@field skipped integer
---@field taken integer       agents whose answers came from an adopted run
---@field used table[]        usage of the agents, each with its label and phase
---@field places table<string, boolean>  places of its requests
---@field reasons table<string, string>  why something is null, with the first place that has this reason
local Performance = {}
Performance.__index = Performance

local function text_of(value)
  if value == nil then
    return ""
  end
  return assert(json.encode(value))
end

local function line_of(text, bytes)
  return cut(text:gsub("%s+", " "), bytes)
end

---The name of an agent for people.
---@param ask table
---@return string
function M.name_of(ask)
  return ask.options.label or line_of(ask.prompt, 40)
end
local name_of = M.name_of

-- Sends an answer to the script, and handles its next requests.
function Performance:tell(message)
  if self.outcome then
    return true -- it has ended, and waits for nothing
  end
  message.budget = self.budget and self.budget() or nil
  local said, why, class = self.talk:say(message)
  if not said then
    return nil, why, class
  end
  return self:take(said)
end

local SERVE = {}

function SERVE.log(self, ask)
  self.ctx.log(ask.text)
end

function SERVE.phase(self, ask)
  self.phase = ask.text
  self.ctx.phase(ask.text)
end

-- Reports an unknown option.
function SERVE.option(self, ask)
  self.warn(ask.text, "option")
end

-- Where in the script an error was thrown: the first stack line in the script.
local function place_of(stack, name)
  for line in (stack or ""):gmatch("[^\n]+") do
    local at = line:find(name .. ":", 1, true)
    if at then
      return line:sub(at):match("^[^%s)]+")
    end
  end
end

-- A reason that many share is given once; the others name the first place.
local function reason_of(self, text, at)
  local first = self.reasons[text]
  self.reasons[text] = first or at
  return first and "as " .. first or text
end

-- A branch of the script threw, so its result is null: reported, as the script itself may never do so.
function SERVE.threw(self, ask)
  local at = place_of(ask.stack, self.name) or ask.at
  self.warn(("%s: null, because it threw: %s"):format(at, reason_of(self, line_of(ask.error, 900), at)))
end

local function without_result(self, ask, message)
  self.failed[#self.failed + 1] = ("%s (%s): %s"):format(name_of(ask), ask.at, line_of(message, 600))
end

-- How the script sees an agent's failure: null, or an error.
local function refused(self, ask, message, class)
  if class ~= "skipped" and class ~= "definition" then -- a resume of the run asks it again
    privileges.of(self.ctx).mark({ t = "note", failed = true,
      text = ("agent %s failed: %s"):format(name_of(ask), line_of(message, 600)) }) -- the last words of a program, too
  end
  if class == "skipped" then
    self.skipped = self.skipped + 1
    return nil
  end
  without_result(self, ask, class == "definition" and reason_of(self, message, ask.at) or message)
  if class == "budget" or (class == "invalid_output" and ask.options.schema) or class == "definition" then
    return message
  end
end

-- An agent's answer from an adopted run: which result it is, is decided once, at the place of the agent.
local function take_recorded(self, ask)
  local recorded = self.recorded
  local taken = recorded and recorded(ask) ~= nil and self.ctx.once("adopted", function()
    return recorded(ask)
  end)
  if taken then
    recorded(ask, taken.source)
    self.taken = self.taken + 1
    self.ctx.log(("%s: its answer was taken from %s"):format(name_of(ask), taken.source))
  end
  return taken
end

local function perform_agent(self, ask)
  local options, value, message, class, kept, spent = self.options_of(ask), nil, ask.wrong, "definition", nil, {}
  options.label, options.phase = name_of(ask), ask.phase
  if options.isolation == "worktree" then
    options.isolation = self.base
  end
  local taken = not message and take_recorded(self, ask)
  if taken then
    value = taken.value
  elseif not message then
    value, message, class, kept, spent = self.ctx.agent(ask.prompt, options)
  end
  if next(spent) then
    spent.label, spent.phase = name_of(ask), ask.phase
    self.used[#self.used + 1] = spent
  end
  if kept then
    self.kept[#self.kept + 1] = ask.options.label or ask.at
  end
  local answer = { at = ask.at }
  if value ~= nil then
    answer.value = text_of(value)
  else
    answer.value, answer.error = "null", refused(self, ask, message, class)
  end
  return self:tell({ answer = answer })
end

function SERVE.agent(self, ask)
  self.asked = self.asked + 1
  local most = self.limits.max_agents
  if self.asked > most then
    local text = ("agent: %d were asked for; the limit is %d"):format(self.asked, most)
    if self.asked == most + 1 then -- as many calls may follow after it as a script can name
      without_result(self, ask, text .. "; neither it nor those after it were asked")
    end
    return self.begin("/" .. ask.at, self.tell, self, { answer = { at = ask.at, error = text } })
  end
  self.begin("/" .. ask.at, perform_agent, self, ask)
end

-- The question before so many agents are asked, with their estimated cost; false: no limit requires it.
-- limit says so.
local function price_of(self, count)
  local tokens, least, most = 0, math.huge, 0
  for _, one in ipairs(self.used) do
    local dollars = one.dollars or 0
    tokens, least, most = tokens + (one.tokens or 0), math.min(least, dollars), math.max(most, dollars)
  end
  local agents, dollars = self.limits.ask_above, self.limits.ask_above_usd or 0
  if not (agents > 0 and count > agents or dollars > 0 and count * most > dollars) then
    return false
  elseif tokens == 0 then
    return ("%d agents; no earlier agent reported its usage. Continue?"):format(count)
  end
  return ("%d agents, about %d tokens%s by the usage of the %d before them. Continue?"):format(count,
    tokens / #self.used * count // 1, most > 0 and (", $%.2f to $%.2f"):format(least * count, most * count) or "",
    #self.used)
end

-- Asks agents that the script wants at once: a person first, if a limit says so. Their estimated cost is recorded, as
-- it would differ after a resume.
local function fan_out(self, asks)
  local function begin()
    for _, ask in ipairs(asks) do
      SERVE.agent(self, ask)
    end
    return true
  end
  local limit, count = self.limits.ask_above, 0
  for _, ask in ipairs(asks) do
    count = count + (self.recorded and self.recorded(ask) and 0 or 1)
  end
  if not self.limits.ask_above_usd and (limit == 0 or count <= limit) then
    return begin()
  end
  self.begin("price/" .. asks[1].at, function()
    local question = self.ctx.once("price", function()
      return price_of(self, count)
    end)
    local answer, message, class = "yes", nil, nil
    if question then
      answer, message, class = self.ctx.ask({ header = "agents", question = question, options = { "yes", "no" } })
    end
    if answer == "no" then
      return nil, ("a person declined %d agents"):format(count), "fatal"
    elseif answer == nil then
      return nil, message, class
    end
    return begin()
  end)
end

function SERVE.question(self, ask)
  self.begin("/" .. ask.at, function()
    local ok, value, message = pcall(self.ctx.ask, ask.question)
    if not ok then -- the script's request is invalid: it gets the reason
      fatal.pass_on(value)
      value, message = nil, tostring(value):gsub("^.-ctx%.ask: its request: ", "ask: ")
    end
    return self:tell({ answer = { at = ask.at, value = value ~= nil and text_of(value) or nil, error = message } })
  end)
end

function SERVE.workflow(self, ask)
  self.begin("/" .. ask.at, function()
    local nested, message = self.find(ask.name)
    if not nested then
      return self:tell({ answer = { at = ask.at, error = message } })
    end
    return self:tell({ script = { at = ask.at, source = nested.source, name = nested.name, args = text_of(ask.args) } })
  end)
end

function Performance:take(said)
  if said.meta and not self.meta then
    self.meta = said.meta
    self.began(said.meta)
  end
  local agents = {}
  for _, ask in ipairs(said.asks or {}) do
    if ask.kind ~= "threw" and ask.at and self.places[ask.at] then
      return nil, ("its process sent an invalid message: it asks twice at %s"):format(ask.at), "permanent"
    end
    self.places[ask.kind ~= "threw" and ask.at or false] = true
    if ask.kind == "agent" then
      ask.phase = ask.options.phase or self.phase
      agents[#agents + 1] = ask
    else
      SERVE[ask.kind](self, ask)
    end
  end
  if agents[1] then
    fan_out(self, agents)
  end
  if said.done and said.done ~= json.null then
    self.outcome = said.done
  end
  return true
end

-- The base of the agents' worktrees: the commit at which the run started, whatever is committed later.
local function worktrees_from(ctx)
  local base, message = worktree.base(ctx, ".")
  if not base then
    ctx.log(message)
    return "worktree" -- each has its own log line
  elseif base.open[1] then
    ctx.log(("worktrees start at the commit %s; uncommitted, so not in them: %s"):format(base.commit:sub(1, 10),
      table.concat(base.open, ", ")))
  end
  return { repository = base.repository, commit = base.commit }
end

---@class skillrt.workflow.Wish
---@field source string
---@field name string            of the file, as it is shown
---@field args any
---@field limits table           { max_agents, max_agents_parallel, ask_above, ask_above_usd }
---@field timeout number         seconds in which the script must yield
---@field find fun(name: string): { source: string, name: string }|nil, string?  another script
---@field options_of (fun(ask: table): table)?   of an agent, instead of its own
---@field recorded (fun(ask: table, source: string?): table|false|nil)?  answers of agents in an adopted run
---@field warn (fun(text: string, what: "option"?))?  mistakes of the script; default: written to the log
---@field budget (fun(): { spent: number, total: number|nil })?
---@field began (fun(meta: table))?  it was loaded, and describes itself so

---Performs a script: returns its result, and what happened to its agents.
---@param ctx table
---@param wish skillrt.workflow.Wish
---@return table|nil performed  { value, asked, failed, skipped, used, taken, worktrees }
---@return string? message
---@return string? class
---@return boolean? fault  it is not a script that can be run
---@return boolean? thrown  the script must be fixed
function M.perform(ctx, wish)
  local talk = new(ctx, wish.timeout)
  local self = setmetatable({ ctx = ctx, talk = talk, asked = 0, failed = {}, skipped = 0, kept = {},
    taken = 0, used = {}, places = {}, reasons = {} }, Performance)
  self.began = wish.began or function() end
  self.warn, self.options_of = wish.warn or ctx.log, wish.options_of or function(ask) return ask.options end
  self.recorded = wish.recorded
  self.name, self.limits, self.find, self.budget = wish.name, wish.limits, wish.find, wish.budget
  if wish.source:find("isolation", 1, true) then
    self.base = worktrees_from(ctx)
  end
  local ok, message, class = ctx.gather(function(begin)
    self.begin = begin
    begin("start", self.tell, self, { start = { source = wish.source, name = wish.name, args = text_of(wish.args) } })
  end, { max_parallel = wish.limits.max_agents_parallel })
  local outcome = self.outcome
  if not ok then
    return nil, ("%s: %s"):format(wish.name, message), class
  elseif not outcome then
    return nil, wish.name .. ": awaits a promise that never resolves; await only agents and promises made from them",
      "permanent", false, true
  elseif outcome.error then
    local at = not outcome.fault and place_of(outcome.stack, wish.name) or nil
    local text = outcome.fault and outcome.error or ("%s: %s"):format(at or wish.name, outcome.error)
    return nil, text, "permanent", outcome.fault, true
  end
  return {
    value = outcome.value,
    asked = self.asked,
    failed = self.failed,
    skipped = self.skipped,
    used = self.used,
    taken = self.taken,
    worktrees = self.kept,
  }
end

return M
