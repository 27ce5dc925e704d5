-- agent/kind/claude.lua: Claude Code as an agent: `claude -p --output-format stream-json`; what its events mean.

local coding = require("skillrt.agent.coding")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local tables = require("skillrt.base.tables")
local usage = require("skillrt.agent.usage")

---@class skillrt.agent
---@field claude fun(definition: table): skillrt.Agent  { model =, permission =, tools =, args =, env =,
---  output = a JSON Schema, stall =, ... }

---@class skillrt.ClaudeAgent: skillrt.CodingAgent
local M = coding.new({ kind = "claude", FIELDS = {
  permission = { enum = { "acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan" } },
  max_budget = { type = "amount" },
} })

M.SPANS = { { "claude", "anthropic", "invoke_agent" } }
M.program, M.TAKES_SYSTEM = "claude", true

---Environment variables it gets in addition to those that every program gets.
M.ALLOWED = { "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
  "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
  "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "AWS_PROFILE", "AWS_REGION",
  "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION", "GOOGLE_APPLICATION_CREDENTIALS" }

M.FOLDER, M.URLS = { "CLAUDE_CONFIG_DIR", ".claude" }, { "ANTHROPIC_BASE_URL" }
M.NEEDS = {
  read = {},
  write = { ".credentials.json", "backups/", "cache/", "debug/", "file-history/", "plans/", "projects/", "session-env/",
    "sessions/", "shell-snapshots/", "statsig/", "tasks/", "telemetry/", "todos/" },
  network = { "*.anthropic.com", "*.claude.com", "claude.ai" },
}

---One of these variables holds its key; without a key it may still be logged in.
M.KEYS = { "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN" }

-- The tools that it may use without asking: those of the task or the agent, and writing to its output file.
local function tools_of(agent, task)
  local tools = not agent.reads_only and task.tools or agent.tools
  if not tools then
    return nil
  end
  local all = tables.append({}, tools)
  all[#all + 1] = ("Read(/%s/**)"):format(task.dir)
  all[#all + 1] = not agent.reads_only and ("Edit(/%s/**)"):format(task.store:path()) or nil
  return table.concat(all, ",")
end

---Whether the person's settings make it run commands in its own sandbox.
---@return boolean
function M:has_sandbox() -- luacheck: no self
  local settings = tables.object(json.decode(files.read(files.claude_home() .. "/settings.json") or ""))
  return tables.object(settings.sandbox).enabled == true
end

---@param task skillrt.Task
---@param want { session: string?, schema: table? }
---@return string[]
function M:argv(task, want)
  local argv = { self.program, "-p", "--output-format", "stream-json", "--verbose" }
  local add = coding.adder(argv)
  local tools = tools_of(self, task)
  add("--model", self:model_of(task))
  add("--effort", task.effort or self.effort)
  add("--permission-mode", self.reads_only and "default" or self.permission or (tools and "default" or "acceptEdits"))
  add("--allowedTools", tools)
  add("--disallowedTools", self.reads_only and "Bash,Edit,MultiEdit,NotebookEdit,Write")
  add("--append-system-prompt", self.system)
  add("--max-budget-usd", self.max_budget and ("%g"):format(self.max_budget))
  add("--json-schema", want.schema and coding.schema_text(want.schema))
  add("--add-dir", task.dir)
  add("--add-dir", task.store:path())
  add("--resume", want.session)
  return argv
end

-- ---- its events ----

local ENDS = {
  error_max_turns = "it reached its limit of turns",
  error_max_budget_usd = "it reached its budget",
  error_max_structured_output_retries = "it did not give its answer in the schema",
}

-- Whether it did more than write text.
local function has_acted(events)
  for _, event in ipairs(events) do
    local content = event.type == "assistant" and type(event.message) == "table" and event.message.content
    for _, block in ipairs(tables.object(content)) do
      if block.type == "tool_use" then
        return true
      end
    end
  end
  return false
end

-- The condition that it ends with instead of an answer.
local function fail(out, result)
  local text = type(result.result) == "string" and result.result or ""
  local known = ENDS[result.subtype]
  if known then
    out.failure = { class = "permanent", message = known .. (text ~= "" and ": " .. text or ""), executed = "answered" }
  end
  local errors = type(result.errors) == "table" and result.errors[1]
  out.problem = text ~= "" and text or type(errors) == "string" and errors or tostring(result.subtype)
  out.code = math.tointeger(result.api_error_status)
end

local function used_of(result)
  local count, said, cost = usage.count, result.usage, result.total_cost_usd
  local input = count(said, "input_tokens") + count(said, "cache_read_input_tokens")
    + count(said, "cache_creation_input_tokens")
  return usage.of_tokens(input, count(said, "output_tokens"), type(cost) == "number" and cost >= 0 and cost or nil)
end

---@param events table[]
---@return skillrt.CodingReply
function M.read(events)
  local result, session
  for _, event in ipairs(events) do
    session = type(event.session_id) == "string" and event.session_id or session
    result = event.type == "result" and event or result
  end
  if not result then
    return { session = session }
  end
  local out = { session = session, used = used_of(result), acted = has_acted(events) }
  if result.is_error == true or result.subtype ~= "success" then
    fail(out, result)
    return out
  end
  out.text, out.value = type(result.result) == "string" and result.result or "", result.structured_output
  return out
end

---A line for people who watch.
---@param event table
---@return string?
function M.show(event)
  local content = event.type == "assistant" and event.message.content
  local lines = {}
  for _, block in ipairs(content or {}) do
    if block.type == "text" then
      lines[#lines + 1] = block.text
    elseif block.type == "tool_use" then
      local input = block.input or {}
      local what = input.command or input.file_path or input.pattern or input.description or input.url or ""
      lines[#lines + 1] = ("%s %s"):format(block.name, tostring(what):match("^[^\n]*"))
    end
  end
  return lines[1] and table.concat(lines, "\n") or nil
end

return M
