-- agent/kind/codex.lua: Codex as an agent: `codex exec --json`; what its events mean.

local coding = require("skillrt.agent.coding")
local tables = require("skillrt.base.tables")
local usage = require("skillrt.agent.usage")

---@class skillrt.agent
---@field codex fun(definition: table): skillrt.Agent  { model =, permission = a sandbox, tools =, args =,
---  env =, output =, ... }

---@class skillrt.CodexAgent: skillrt.CodingAgent
local M = coding.new({ kind = "codex", FIELDS = {
  permission = { enum = { "read-only", "workspace-write", "danger-full-access" } },
} })

M.SPANS = { { "codex", "openai", "invoke_agent" } }
M.program, M.ARGS_BEHIND = "codex", 2 -- exec is its first
M.NOISE = "Reconnecting..." -- what it prints while its server does not answer
M.ALLOWED = { "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_HOME", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID" }
M.KEYS = { "CODEX_API_KEY" }

local WRITING = { Edit = true, Write = true, MultiEdit = true, NotebookEdit = true, Bash = true }

-- Its own sandbox mode, derived from the tools; where none are named it may write.
local function sandbox_of(agent, task)
  local tools = not agent.reads_only and task.tools or agent.tools
  if not agent.reads_only and (agent.permission or not tools) then
    return agent.permission or "workspace-write"
  end
  for _, tool in ipairs(tools) do
    if WRITING[tool:match("^[%w_]+")] then
      return "workspace-write"
    end
  end
  return "read-only"
end

---Whether a call changes nothing outside of its program; then it may be repeated.
---@param task skillrt.Task
---@return boolean
function M:only_reads(task)
  return sandbox_of(self, task) == "read-only"
end

M.FOLDER, M.URLS = { "CODEX_HOME", ".codex" }, { "OPENAI_BASE_URL" }
M.NEEDS = {
  -- its own makes namespaces, which programs in a sandbox cannot
  instead = { ["--sandbox"] = "danger-full-access" },
  read = {},
  write = { "auth.json", "cache/", "history.jsonl", "log/", "sessions/", "shell_snapshots/", "tmp/" },
  network = { "api.openai.com", "auth.openai.com", "chatgpt.com", "*.chatgpt.com" },
}

---Whether its own sandbox is on: always, unless it is turned off explicitly.
---@param task skillrt.Task
---@return boolean
function M:has_sandbox(task)
  return sandbox_of(self, task) ~= "danger-full-access"
    and not tables.has(self.args, "--dangerously-bypass-approvals-and-sandbox")
end

---@param task skillrt.Task
---@param want { session: string?, schema: table?, declared: boolean? }
---@return string[]
function M:argv(task, want)
  local argv = { self.program, "exec", "--json", "--skip-git-repo-check", "--color", "never" }
  local add = coding.adder(argv)
  add("--model", self:model_of(task))
  add("--sandbox", sandbox_of(self, task))
  add("--add-dir", task.store:path())
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

---@param events table[]
---@return skillrt.CodingReply
function M.read(events)
  local out, problem, completed = {}, nil, false
  for _, event in ipairs(events) do
    local item = tables.object(event.item)
    out.acted = out.acted or item.type ~= nil and not TALK[item.type]
    if event.type == "thread.started" then
      out.session = event.thread_id
    elseif event.type == "item.completed" and item.type == "agent_message" then
      out.text = item.text
    elseif event.type == "turn.completed" then
      completed, problem = true, nil
      out.used = usage.of_tokens(usage.count(event.usage, "input_tokens"), usage.count(event.usage, "output_tokens"))
    elseif event.type == "turn.failed" then
      problem = type(event.error) == "table" and event.error.message or "the turn failed"
    elseif event.type == "error" then
      problem = problem or event.message
    end
  end
  if completed then
    out.text = out.text or ""
    return out
  end
  out.problem = problem and tostring(problem)
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
