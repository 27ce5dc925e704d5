-- cli/mcp/tools.lua: the tools of `skillrt mcp`: the purpose, the arguments and the action of each.
--
-- A tool gives a result at once, or names what to wait for: a run, or a short program. Knows no messages.

local core = require("skillrt.core")
local elicitation = require("skillrt.cli.mcp.elicitation")
local instant = require("skillrt.base.instant")
local json = require("skillrt.base.json")
local runs_of = require("skillrt.cli.serving.runs")

local M = {}

local WAIT <const>, LONGEST_WAIT <const> = 25, 3600 -- seconds
local QUICK <const> = 30 -- the most seconds that a status request may take
local MOST_LINES <const> = 200

local RUN <const> = { type = "string", description = "the run's name, as run and status give it" }
local WAITS <const> = { type = "number", minimum = 0, maximum = LONGEST_WAIT,
  description = "seconds to wait for it to end or to ask; default 25. The run continues all the same" }
local AMOUNTS <const> = { type = "object", additionalProperties = { type = "number", minimum = 0 } }

local function amounts(description)
  return { type = "object", additionalProperties = AMOUNTS.additionalProperties, description = description }
end

local function object(properties, ...)
  local required = { ... }
  return { type = "object", properties = properties, required = required[1] and json.array(required) or nil,
    additionalProperties = false }
end

-- The texts of a tool's result; a table becomes JSON, too.
local function result(value, is_error)
  local text = type(value) == "string" and value or assert(json.encode(value))
  return { content = json.array({ { type = "text", text = text } }), isError = is_error or nil,
    structuredContent = type(value) == "table" and value or nil }
end

local function refused(message)
  return result(tostring(message), true)
end
M.refused = refused

-- A run's status, as a result.
function M.standing(server, id, dir)
  local told, why = server.runs:stands(id, dir)
  return told and result(told) or refused(why)
end

local TASK <const> = { running = "working", completed = "completed", failed = "failed", aborted = "cancelled" }
local BY_REASON <const> = { user_exit = "cancelled", waiting_for_event = "working", waiting_for_time = "working" }

---A run as a task of MCP; one that waits for a person, or for a resume, needs input.
function M.task(server, id, dir)
  local told, why = server.runs:stands(id, dir)
  local now = instant.iso(core.wall_ms())
  if not told then
    return { taskId = id, status = "failed", statusMessage = why, createdAt = now, lastUpdatedAt = now,
      ttl = json.null }
  end
  return { taskId = id, status = TASK[told.status] or not told.questions and BY_REASON[told.reason] or "input_required",
    statusMessage = told.message or told.reason, createdAt = told.started_at or now, lastUpdatedAt = told.updated_at,
    ttl = json.null, pollInterval = 1000 }
end

-- Waits for a run.
local function await(given, id, dir, program, new)
  return nil, { follow = runs_of.follow(id, dir, program, new), seconds = given.wait or WAIT }
end

-- Runs our own program and returns what it prints.
local function ask_program(server, words, finish)
  local program, why = server.runs:start(words)
  if not program then
    return refused(why)
  end
  return nil, { program = program, seconds = QUICK, finish = finish }
end

local function goes_on(server, given, dir, words)
  local program, why = server.runs:go_on(dir, words)
  if not program and why then
    return refused(why)
  end
  return await(given, given.run, dir, program)
end

-- A tool that works on the run that its arguments name.
local function of_run(perform)
  return function(server, given)
    local dir, why = server.runs:dir(given.run)
    if not dir then
      return refused(why)
    end
    return perform(server, given, dir)
  end
end

---@type table[]  in the order in which they are listed; `perform(server, arguments)` gives a result, or nil and what is
---waited for: { follow, seconds } or { program, seconds, finish }
M.LIST = {
  {
    name = "list",
    description = "Lists the skills that can be run here: name, what each is for, and the JSON Schema of its input",
    inputSchema = object({}),
    annotations = { readOnlyHint = true },
    perform = function(server)
      return ask_program(server, server.runs:words_to_list(server.paths), function(code, text)
        local value = code == 0 and json.decode(text)
        return value and result(value) or refused(text)
      end)
    end,
  },
  {
    name = "run",
    taskSupport = "optional",
    description = "Starts a durable run of a skill, and waits a while for it. The run continues when the wait "
      .. "ends, and when this client disconnects; status, answer, resume and stop take its name",
    inputSchema = object({
      skill = { type = "string", description = "its name, as list gives it" },
      input = { type = "object", description = "as list says; a skill of instructions takes { task }" },
      args = { type = "array", items = { type = "string" }, maxItems = 100, description = "a script's ctx.args" },
      limits = amounts("limits of this run that are lower than its own: calls, usage.dollars, run_timeout ..."),
      wait = WAITS,
    }, "skill"),
    annotations = { destructiveHint = true, openWorldHint = true },
    perform = function(server, given)
      local skill = server:skill(given.skill)
      if not skill then
        return refused(("there is no skill %s here; list shows the skills"):format(
          require("skillrt.base.names").show(given.skill)))
      end
      local id, program = server.runs:begin(skill, given)
      if not id then
        return refused(program)
      end
      return await(given, id, require("skillrt.run.store").inside(server.runs.where, id), program --[[@as table]], true)
    end,
  },
  {
    name = "status",
    description = "Shows a run's status, steps, open questions and state; without a name, lists the runs.  "
      .. "With wait it waits for the run to end or to ask",
    inputSchema = object({ run = RUN, wait = WAITS }),
    annotations = { readOnlyHint = true },
    perform = function(server, given)
      if given.run == nil then
        local list, message = server.runs:list(nil, 100)
        return list and result(list) or refused(message)
      end
      local dir, why = server.runs:dir(given.run)
      if not dir then
        return refused(why)
      elseif (given.wait or 0) <= 0 then
        return M.standing(server, given.run, dir)
      end
      return await(given, given.run, dir)
    end,
  },
  {
    name = "answer",
    description = "Answers an open question of a run (an option's id or a text), or an approval (approve, deny), and "
      .. "resumes it. The questions that status shows are for a person: ask yours if you do not know the answer",
    inputSchema = object({
      run = RUN,
      value = { type = json.array({ "string", "number", "boolean" }), description = "the answer" },
      question = { type = "integer", description = "its number; needed for an approval, and where several are open" },
      approval = { type = "string", description = "of an approval: the sha256 that status shows with it" },
      wait = WAITS,
    }, "run", "value"),
    annotations = { destructiveHint = true, openWorldHint = true },
    perform = of_run(function(server, given, dir)
      local ok, why = elicitation.answer(dir, given.question, given.value, given.approval)
      if not ok then
        return refused(why)
      end
      return goes_on(server, given, dir)
    end),
  },
  {
    name = "resume",
    taskSupport = "optional",
    description = "Resumes a run that paused or was interrupted; finished calls are not repeated",
    inputSchema = object({ run = RUN, wait = WAITS,
      add = amounts("to its limits, where the operator allows it") }, "run"),
    annotations = { destructiveHint = true, openWorldHint = true },
    perform = of_run(function(server, given, dir)
      if next(given.add or {}) and not server.runs.raise then
        return refused("limits cannot be raised from here: its operator may start skillrt mcp with --raise, or type "
          .. ("skillrt resume %s --add LIMIT=NUMBER"):format(dir))
      end
      local words = {}
      for name, amount in pairs(given.add or {}) do
        words[#words + 1], words[#words + 2] = "--add", ("%s=%s"):format(name, amount)
      end
      return goes_on(server, given, dir, words)
    end),
  },
  {
    name = "stop",
    description = "Stops a run: what is under way ends, and it can be resumed",
    inputSchema = object({ run = RUN }, "run"),
    annotations = { destructiveHint = true, idempotentHint = true },
    perform = of_run(function(server, given, dir)
      local ok, why = server.runs:stop(dir)
      if not ok then
        return refused(why)
      end
      return await({ wait = QUICK }, given.run, dir)
    end),
  },
  {
    name = "log",
    description = "Shows what happened in a run, step by step: the newest lines",
    inputSchema = object({ run = RUN, lines = { type = "integer", minimum = 1, maximum = MOST_LINES } }, "run"),
    annotations = { readOnlyHint = true },
    perform = of_run(function(server, given, dir)
      return ask_program(server, { "log", dir }, function(code, text)
        local lines = {}
        for line in text:gmatch("[^\n]+") do
          lines[#lines + 1] = line
        end
        local from = math.max(1, #lines - (given.lines or 50) + 1)
        return result(table.concat(lines, "\n", from), code ~= 0)
      end)
    end),
  },
  {
    name = "explain",
    description = "Shows why actions of a run were chosen or could not run, with the values of their conditions",
    inputSchema = object({ run = RUN, action = { type = "string" } }, "run"),
    annotations = { readOnlyHint = true },
    perform = of_run(function(server, given, dir)
      if given.action and given.action:find("^%-") then
        return refused("an action's name does not begin with a dash")
      end
      return ask_program(server, { "explain", dir, given.action }, function(code, text)
        return result(text, code ~= 0)
      end)
    end),
  },
}

---By name.
M.of = {}
for _, tool in ipairs(M.LIST) do
  M.of[tool.name] = tool
end

---As clients see them.
---@return table[]
function M.shown()
  local list = json.array({})
  for i, tool in ipairs(M.LIST) do
    list[i] = { name = tool.name, description = tool.description, inputSchema = tool.inputSchema,
      annotations = tool.annotations, execution = tool.taskSupport and { taskSupport = tool.taskSupport } or nil }
  end
  return list
end

return M
