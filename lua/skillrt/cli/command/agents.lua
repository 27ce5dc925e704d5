-- cli/command/agents.lua: `skillrt agents`: which agents are on this machine, and whether one of them answers.

local core = require("skillrt.core")

local M = {
  name = "agents",
  summary = "Lists the agents found on this machine, and node: path, version, whether an API key is set",
  description = "Keys are never shown. --try sends one agent a question of one line, which may cost a little.",
  arguments = {},
  options = {
    { name = "try", value = "NAME", help = function()
      return ("sends it a question: %s (each may have :MODEL), a URL or a program"):format(
        require("skillrt.cli.agent").words())
    end },
    require("skillrt.cli.agent").ENV_OPTION,
    { name = "json", help = "prints one JSON object" },
  },
}

local QUESTION <const> = "Answer with the one word: ready"

local function first_set(list)
  for _, name in ipairs(list) do
    local value = os.getenv(name)
    if value and value ~= "" then
      return name
    end
  end
end

-- The line that a program prints about its version.
local function version_of(path)
  local said = require("skillrt.run.runner").perform("version", function(ctx)
    local reply = ctx.await({ kind = "command", argv = { path, "--version" }, timeout = 10, expect = "text" })
    return reply and reply.body:match("[^\n]+")
  end)
  return said
end

-- The runtime of workflow scripts.
local function of_node()
  local path = require("skillrt.base.files").program("node")
  return { name = "node", kind = "runtime", found = path ~= nil, path = path }
end

-- The sandbox that programs run in.
local function of_sandbox()
  local works, why, landlock = core.jail()
  return { works = works, landlock = landlock, why = not works and why or nil }
end

local function all()
  local list = {}
  for _, kind in ipairs(require("skillrt.agent").all()) do
    list[#list + 1] = kind.here and kind:here() or nil
  end
  list[#list + 1] = of_node()
  for _, one in ipairs(list) do
    one.version, one.key = one.path and version_of(one.path) or one.version, first_set(one.keys or {})
  end
  return list
end

local function line_of(one)
  local key = one.kind == "runtime" and "runs workflow scripts" or one.key and one.key .. " is set"
    or one.kind == "program" and "no key set: it may be logged in" or ("no key: set %s"):format(one.keys[1])
  if not one.found and one.kind == "runtime" then
    return ("%-10s not found on this machine: workflow scripts need it; install nodejs, 18 or later"):format(one.name)
  elseif not one.found then
    return ("%-10s not found on this machine"):format(one.name)
  end
  return ("%-10s %-28s %s (%s)"):format(one.name, one.version or "?", one.path or one.url, key)
end

local function line_of_sandbox(one)
  if one.works then
    return ("works (%s)"):format(one.landlock > 0 and "Landlock " .. one.landlock or "without Landlock")
  end
  return ("does not work here: cannot %s. It needs user namespaces, which a container, AppArmor "
    .. "(kernel.apparmor_restrict_unprivileged_userns) or user.max_user_namespaces may refuse"):format(one.why)
end

local function show(list)
  local output, escape = require("skillrt.report.output"), require("skillrt.base.terminal_text").escape
  for _, one in ipairs(list) do
    output.write(escape(line_of(one)) .. "\n")
  end
  output.write(escape("sandbox    " .. line_of_sandbox(of_sandbox())) .. "\n")
  local agent, where = require("skillrt.agent.choice").in_force()
  if agent then
    output.write(escape(("chosen: %s (%s)"):format(tostring(agent), where)) .. "\n")
  else
    output.write("chosen: none; --agent NAME, SKILLRT_AGENT=NAME, or { \"agent\": \"NAME\" } in "
      .. escape(require("skillrt.agent.person").path() or "~/.config/skillrt/config.json") .. "\n")
    if where then
      output.say("error", "skillrt: " .. escape(where))
    end
  end
end

-- Asks one agent the question; returns its answer, or why there is none.
local function try(args)
  local output = require("skillrt.report.output")
  local agent, problem = require("skillrt.cli.agent").read(args.try, args.agent_env)
  if not agent then
    return nil, problem, "invalid"
  end
  local skill, message = require("skillrt.skill").check({
    name = "try", mode = "sequential", context = "memory", guide = { body = QUESTION, is_plain = true },
    agents = { tried = require("skillrt.agent.choice").of(agent) }, limits = { max_retries = 0, max_errors = 1 },
    phases = { { id = "ask", agent = "tried", prompt = QUESTION .. "\n", answer = "text", output_free = true } },
  })
  if not skill then
    return nil, message, "invalid"
  end
  local started = core.mono_ns()
  local result, why, code = require("skillrt.run.runner").run(skill, { input = { task = QUESTION } })
  if not result then
    return nil, why, code
  elseif result.status ~= "completed" then
    local failed = result.message and result.message:gsub('^last error: ask: agent "[^"]*": ', "")
    return nil, failed or ("%s: %s"):format(args.try, result.reason), "invalid"
  end
  local first = require("skillrt.base.text").cut((result.answer or ""):match("^%s*([^\n]*)"), 200)
  local text = require("skillrt.base.terminal_text").escape(first)
  output.write(("%s answers: %s (%.1f s)\n"):format(require("skillrt.agent.url").shown(args.try), text,
    (core.mono_ns() - started) / 1e9))
  return 0
end

---@param args table
---@return integer|nil code
function M.run(args)
  if args.try then
    return try(args)
  end
  local list = all()
  if args.json then
    local chosen = require("skillrt.agent.choice").in_force()
    require("skillrt.report.output").write_json({ agents = core.json.array(list), chosen = chosen,
      sandbox = of_sandbox() })
  else
    show(list)
  end
  return 0
end

return M
