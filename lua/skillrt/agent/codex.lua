-- agent/codex.lua: Codex as an agent: `codex exec --json`; what its events mean.

local coding = require("skillrt.agent.coding")
local resets = require("skillrt.agent.resets")

---@class skillrt.CodexAgent
local M = { kind = "codex", perform = coding.perform, needs_http = coding.needs_http,
  reads_prompt = coding.reads_prompt, label = coding.label, is_script = false }
M.__index = M

M.FIELDS = coding.with({
  kind = { enum = { "codex" } },
  permission = { enum = { "read-only", "workspace-write", "danger-full-access" } },
})

M.program, M.ARGS_BEHIND = "codex", 2 -- exec is its first
M.NOISE = "Reconnecting..." -- what it says of itself while nobody answers it
M.ALLOWED = { "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_HOME", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID" }
M.KEYS = { "CODEX_API_KEY", "OPENAI_API_KEY" }

function M.check(definition, where)
  local agent, message = coding.check(definition, M, where)
  return agent, message
end

local WRITING = { Edit = true, Write = true, MultiEdit = true, NotebookEdit = true, Bash = true }

-- How far it may go: as the tools say; where none are named it may write.
local function sandbox_of(agent, task)
  local tools = task.tools or agent.tools
  if agent.permission or not tools then
    return agent.permission or "workspace-write"
  end
  for _, tool in ipairs(tools) do
    if WRITING[tool:match("^[%w_]+")] then
      return "workspace-write"
    end
  end
  return "read-only"
end

---@param task skillrt.Task
---@param want { session: string?, schema: table?, declared: boolean? }
---@return string[]
function M:argv(task, want)
  local argv = { self.program, "exec", "--json", "--skip-git-repo-check", "--color", "never" }
  local function add(name, value)
    if value then
      argv[#argv + 1], argv[#argv + 2] = name, value
    end
  end
  add("--model", task.model or self.model)
  add("--sandbox", sandbox_of(self, task))
  add("--add-dir", task.work_dir)
  local base = not want.declared and os.getenv("OPENAI_BASE_URL")
  if base and base ~= "" and not base:find('["\\%c]') then
    add("-c", ('openai_base_url="%s"'):format(base)) -- it does not read the variable itself
  end
  local effort = task.effort or self.effort
  add("-c", effort and ('model_reasoning_effort="%s"'):format((effort:gsub("[^%w]", ""))))
  if want.session then
    argv[#argv + 1], argv[#argv + 2] = "resume", want.session
  end
  argv[#argv + 1] = "-"
  return argv
end

-- ---- its events ----

local TALK = { agent_message = true, reasoning = true, error = true, todo_list = true }

-- Its words tell the status only.
local function class_of(text)
  local code = tonumber(text:match("status (%d%d%d)") or text:match("HTTP (%d%d%d)"))
  local low = text:lower()
  if code == 429 or code == 503 or code == 529 or low:find("rate limit", 1, true) or low:find("usage limit", 1, true)
  then
    return "rate_limit"
  elseif code and code >= 500 or low:find("stream disconnected", 1, true) or low:find("connection failed", 1, true) then
    return "transient"
  end
  return "permanent"
end

local function used_of(usage)
  local input, output = math.tointeger(usage.input_tokens) or 0, math.tointeger(usage.output_tokens) or 0
  return { tokens = input + output, input_tokens = input, output_tokens = output }
end

---@param events table[]
---@return skillrt.CodingReply
function M.read(events)
  local out, acted, problem, completed = {}, false, nil, false
  for _, event in ipairs(events) do
    local item = type(event.item) == "table" and event.item or {}
    acted = acted or item.type ~= nil and not TALK[item.type]
    if event.type == "thread.started" then
      out.session = event.thread_id
    elseif event.type == "item.completed" and item.type == "agent_message" then
      out.text = item.text
    elseif event.type == "turn.completed" then
      completed, problem = true, nil
      out.used = used_of(event.usage or {})
    elseif event.type == "turn.failed" then
      problem = type(event.error) == "table" and event.error.message or "the turn failed"
    elseif event.type == "error" then
      problem = problem or event.message
    end
  end
  if completed then
    out.text = out.text or ""
    return out
  elseif problem then
    local class = class_of(tostring(problem))
    out.failure = { class = class, message = tostring(problem):sub(1, 1000),
      executed = class ~= "permanent" and not acted and "no" or "answered",
      retry_after_ms = class == "rate_limit" and resets.after(tostring(problem), os.time()) or nil }
  end
  out.text = nil
  return out
end

---A line for people who watch.
---@param event table
---@return string?
function M.show(event)
  local item = event.item
  if event.type == "error" then
    return event.message
  elseif event.type == "item.started" and item.type == "command_execution" then
    return item.command
  elseif event.type == "item.completed" and (item.type == "agent_message" or item.type == "reasoning") then
    return item.text
  end
end

return M
