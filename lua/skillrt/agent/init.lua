-- agent/init.lua: who performs the steps that are not functions of the script. Makes agents, turns a
-- call into a request, and a reply into an outcome or a failure with its class.
--
-- A request is data; nothing is sent or waited for here. Knows the kinds of agents, nothing of
-- runs, journals or modes. Called by scripts (constructors), skill.lua (check) and the policy.

local command = require("skillrt.agent.command")
local http = require("skillrt.agent.http")
local lua = require("skillrt.agent.lua")
local names = require("skillrt.base.names")
local place = require("skillrt.agent.place")
local prompt = require("skillrt.agent.prompt")
local reply_of = require("skillrt.agent.reply")

local M = {}

---@class skillrt.Call  what one attempt of a step is about
---@field run_id string
---@field skill string
---@field step integer
---@field kind "action"|"phase"
---@field action skillrt.Action?
---@field phase skillrt.Action?
---@field attempt integer
---@field exchange integer?
---@field link integer?          which member of a chain is asked, from 1
---@field key string             the idempotency key
---@field state table            read-only
---@field state_text string      JSON, projected and bounded by the caller
---@field work_dir string        absolute
---@field dir string             the skill's folder
---@field input table            the values of --set
---@field context_strategy "file"|"memory"
---@field prompt string?         the text of the prompt file
---@field inputs string[]?       absolute paths
---@field input_text string?     phases under the memory strategy: the inputs' values
---@field output string?         absolute path
---@field specs { name: string, path: string, size: integer, text: string? }[]?  what binds every step
---@field timeout number?        seconds; wins over the agent's own

---@class skillrt.Outcome
---@field status "completed"|"partial"
---@field updates table?
---@field summary string?
---@field output any
---@field context table?
---@field output_file string?  relative to the work directory
---@field concerns string?

---@class skillrt.Failure
---@field class skillrt.FailureClass
---@field message string
---@field retry_after_ms integer?
---@field reformat boolean  the agent may be asked once to write its answer again

local KINDS = { http = http, command = command, lua = lua }

-- A chain: its members are asked one after the other until one succeeds (F47).
local chain = {}
KINDS.chain = chain

function chain.check(definition, where)
  local links = {}
  local idempotent = true
  for _, member in ipairs(definition.links or definition) do
    local checked, message = M.check(member, ("%s: member %d"):format(where, #links + 1))
    if not checked then
      return nil, message
    end
    for _, link in ipairs(checked.kind == "chain" and checked.links or { checked }) do
      links[#links + 1] = link
      idempotent = idempotent and (link.idempotent or link.kind == "lua")
    end
  end
  if #links == 0 then
    return nil, where .. ": needs at least one agent"
  end
  return { kind = "chain", name = definition.name, links = links, idempotent = idempotent }
end

---The normal form of an agent that came as a plain table.
---@param value any
---@param where string  names it in messages
---@return table? agent
---@return string? message
function M.check(value, where)
  if type(value) ~= "table" then
    return nil, ("%s: must be made by skillrt.agent.http, command, lua or chain, not %s"):format(
      where,
      names.show(value)
    )
  end
  local kind = KINDS[value.kind]
  if not kind then
    local hint = type(value.kind) == "string" and names.suggest(value.kind, KINDS)
      or "; make it with skillrt.agent.http, command, lua or chain"
    return nil, ('%s: field "kind" is %s%s'):format(where, names.show(value.kind), hint)
  end
  return kind.check(value, where)
end

-- A constructor raises where the script called it.
local function make(kind, definition, where)
  local agent, message = KINDS[kind].check(definition, where)
  if not agent then
    error(message, 3)
  end
  return agent
end

---A program: { "prog", "arg", stdin =, env =, cwd =, timeout =, parse =, ok_codes =, max_output = }.
---@param definition table
---@return table agent
function M.command(definition)
  local agent = make("command", definition, "agent.command")
  return agent
end

---A server: { url =, headers =, timeout =, connect_timeout =, idle_timeout =, max_reply =, ca_file =,
---max_redirects =, body =, type = }.
---@param definition table
---@return table agent
function M.http(definition)
  local agent = make("http", definition, "agent.http")
  return agent
end

---A function of the script: called as an action's run is.
---@param run function
---@return table agent
function M.lua(run)
  local agent = make("lua", type(run) == "table" and run or { run = run }, "agent.lua")
  return agent
end

---A fallback chain: the next member is asked when one has failed for good.
---@param members table[]
---@return table agent
function M.chain(members)
  if type(members) ~= "table" then
    error("agent.chain: must be a list of agents, not " .. names.show(members), 2)
  end
  local agent = make("chain", members, "agent.chain")
  return agent
end

---The member of a chain that a call is for; any other agent is itself.
---@param agent table
---@param link integer?
---@return table
function M.pick(agent, link)
  if agent.kind ~= "chain" then
    return agent
  end
  return agent.links[link or 1] or error(("agent: the chain has no member %s"):format(tostring(link)), 2)
end

---The member to ask when the one of this call has failed for good; nil: there is none.
---@param agent table
---@param call skillrt.Call
---@param failure skillrt.Failure
---@return integer? link
function M.after(agent, call, failure)
  local link = (call.link or 1) + 1
  if agent.kind == "chain" and failure.class ~= "canceled" and agent.links[link] then
    return link
  end
  return nil
end

local function label(agent)
  return agent.name and ('agent "%s"'):format(agent.name) or "agent " .. agent.kind
end

local function roots_of(agent, call, text, getenv)
  local step = call.action or call.phase or {}
  return {
    input = call.input or {},
    state = call.state or {},
    state_text = call.state_text,
    inputs = call.inputs or {},
    output = call.output,
    work_dir = call.work_dir,
    dir = call.dir,
    run_id = call.run_id,
    skill = call.skill,
    step = call.step,
    attempt = call.attempt,
    key = call.key,
    id = step.id,
    name = step.name,
    context_strategy = call.context_strategy,
    prompt = function()
      return text
    end,
    task = function()
      return (prompt.task(call, text, agent))
    end,
    env = getenv,
  }
end

local function build(agent, call, text, getenv)
  if agent.kind == "lua" then
    return lua.request(agent)
  end
  local roots = roots_of(agent, call, text, getenv)
  local request, message
  if agent.kind == "http" then
    request, message = http.request(agent, call, text, roots)
  else
    request, message = command.request(agent, call, roots, getenv)
  end
  if not request then
    return nil, ("%s: %s"):format(label(agent), message), "invalid"
  end
  return request
end

---What to send for a call. Fails where a placeholder has no value.
---@param agent table
---@param call skillrt.Call
---@param getenv (fun(name: string): string?)?  the environment; default os.getenv
---@return table? request
---@return string? message
---@return string? code
function M.request(agent, call, getenv)
  return build(M.pick(agent, call.link), call, prompt.text(call), getenv or os.getenv)
end

---Asks the agent to write its last answer again in the right form, without doing the work again.
---@param agent table
---@param call skillrt.Call
---@param reply table
---@param getenv (fun(name: string): string?)?
---@return table? request
---@return string? message
---@return string? code
function M.reformat(agent, call, reply, getenv)
  agent = M.pick(agent, call.link)
  if agent.kind == "lua" or (agent.kind == "command" and not command.reads_prompt(agent)) then
    return nil, label(agent) .. ": reads no prompt, so it cannot be asked to write its answer again", "invalid"
  end
  local again = setmetatable({ key = call.key .. "-reformat" }, { __index = call })
  return build(agent, again, prompt.reformat(call, reply.body or ""), getenv or os.getenv)
end

local CLASSES = {
  timeout = "timeout",
  canceled = "canceled",
  too_large = "invalid_output",
  broken = "transient",
  refused = "permanent",
  killed = "transient",
}

---The class of an exchange that did not end well. A program that could not be started will not
---start the next time either.
---@param kind string   of the request: "http", "command", ...
---@param reply table
---@return skillrt.FailureClass
function M.class(kind, reply)
  local why = reply.message or ""
  if reply.status == "broken" and kind == "command" then
    for _, sign in ipairs({ "No such file", "no such file", "not found", "ermission denied", "ENOENT", "EACCES" }) do
      if why:find(sign, 1, true) then
        return "permanent"
      end
    end
  end
  return CLASSES[reply.status] or "permanent"
end

-- A URL as it may be shown: what --set gave filled in, the environment not; without user,
-- password or query.
local function shown_url(url, call)
  url = url:gsub("{input[%w_.-]*}", function(name)
    return place.fill(name, { input = call.input or {} })
  end)
  return (url:gsub("^(%a+://)[^/@]*@", "%1"):gsub("[?#].*$", ""))
end

local function answered(agent, reply, call)
  local code = reply.code or 0
  if code < 200 or code > 299 then
    local text = (reply.body or ""):sub(1, 200):gsub("[%s%c]+", " "):match("^ ?(.-) ?$")
    return nil,
      {
        class = http.class(code),
        message = ("HTTP %d from %s%s"):format(code, shown_url(agent.url, call), text ~= "" and ": " .. text or ""),
        reformat = false,
      }
  end
  local find = http.content_type(reply.extra) == "text/event-stream" and reply_of.find_in_events or reply_of.find
  local object, problem = find(reply.body or "")
  if not object then
    local some = (reply.body or ""):find("%S") ~= nil
    return nil, { class = "invalid_output", message = problem, reformat = some }
  end
  return reply_of.outcome(object, call)
end

---What a reply means.
---@param agent table
---@param reply table  { status, code, body, extra, retry_after_ms, elapsed_ms, message }
---@param call skillrt.Call
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure
function M.reply(agent, reply, call)
  agent = M.pick(agent, call.link)
  local outcome, failure
  if reply.status ~= "ok" then
    local why = reply.message ~= "" and reply.message or nil
    failure = { class = M.class(agent.kind, reply), message = why or "the exchange ended: " .. tostring(reply.status) }
  elseif agent.kind == "http" then
    outcome, failure = answered(agent, reply, call)
  else
    outcome, failure = command.reply(agent, reply, call)
  end
  if not outcome then
    failure.message = ("%s: %s"):format(label(agent), failure.message)
    failure.reformat = failure.reformat == true
    local wait = reply.retry_after_ms
    failure.retry_after_ms = wait and wait >= 0 and wait or nil
  end
  return outcome, failure
end

return M
