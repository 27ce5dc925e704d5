-- agent/kind/gemini.lua: Gemini CLI as an agent: `gemini --output-format stream-json`; what its events mean.

local coding = require("skillrt.agent.coding")
local tables = require("skillrt.base.tables")
local text_of = require("skillrt.base.text")
local usage = require("skillrt.agent.usage")

---@class skillrt.agent
---@field gemini fun(definition: table): skillrt.Agent  { model =, permission =, tools =, args =, env =,
---  output =, ... }

---@class skillrt.GeminiAgent: skillrt.CodingAgent
local M = coding.new({ kind = "gemini", FIELDS = {
  permission = { enum = { "default", "auto_edit", "yolo", "plan" } },
} })

M.SPANS = { { "gemini", "gcp.gemini", "invoke_agent" } }
M.program = "gemini"
M.ALLOWED = { "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT",
  "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_GEMINI_BASE_URL", "GEMINI_MODEL",
  "GEMINI_CLI_HOME", "GEMINI_CLI_TRUST_WORKSPACE", "GOOGLE_GENAI_USE_GCA" }
M.KEYS = { "GEMINI_API_KEY", "GOOGLE_API_KEY" }
M.FOLDER, M.URLS = { "GEMINI_CLI_HOME", ".gemini" }, { "GOOGLE_GEMINI_BASE_URL" }
M.NEEDS = {
  read = { "google_accounts.json" },
  write = { "oauth_creds.json", "history/", "tmp/" },
  network = { "*.googleapis.com", "accounts.google.com" },
}

---Whether its arguments make it run commands in its own sandbox.
---@return boolean
function M:has_sandbox()
  return tables.has(self.args, "--sandbox") or tables.has(self.args, "-s")
end

---@param task skillrt.Task
---@param want { session: string?, schema: table? }
---@return string[]
function M:argv(task, want)
  local argv = { self.program, "--output-format", "stream-json" }
  local add = coding.adder(argv)
  add("--model", self:model_of(task))
  add("--approval-mode", self.reads_only and "default" or self.permission or "auto_edit")
  add("--include-directories", task.dir)
  add("--include-directories", task.store:path())
  add("--resume", want.session)
  return argv
end

local function used_of(stats)
  local used = usage.of_tokens(usage.count(stats, "input_tokens"), usage.count(stats, "output_tokens"))
  used.tokens = math.tointeger(stats.total_tokens) or used.tokens
  return used
end

-- The exit codes it uses when it prints nothing.
local EXIT = { [41] = "it is not logged in, and has no key", [42] = "it does not take its input",
  [44] = "its sandbox does not work", [52] = "its configuration is wrong", [53] = "it reached its limit of turns",
  [55] = "it does not trust this folder: say so once in gemini itself, or set GEMINI_CLI_TRUST_WORKSPACE=true" }

-- The last line that it wrote for people; earlier ones are warnings about its environment.
local function last_line(errors)
  local plain = errors:gsub("\27%[[%d;]*m", "")
  local last = text_of.behind_last(text_of.trim_end(plain), "\n")
  return last ~= "" and last or nil
end

---@param events table[]
---@param errors string
---@param code integer
---@return skillrt.CodingReply
function M.read(events, errors, code)
  local out, parts, result = {}, {}, nil
  for _, event in ipairs(events) do
    if event.type == "init" then
      out.session = event.session_id
    elseif event.type == "message" and event.role == "assistant" then
      parts = event.delta and parts or {}
      parts[#parts + 1] = event.content
    elseif event.type == "tool_use" then
      out.acted, parts = true, {} -- what it says after its last tool is its answer
    elseif event.type == "result" then
      result = event
    end
  end
  if result and type(result.stats) == "table" then
    out.used = used_of(result.stats)
  end
  if result and result.status == "success" then
    out.text = table.concat(parts)
  elseif result or EXIT[code] then
    local problem = result and type(result.error) == "table" and result.error or {}
    local text = tostring(problem.message or EXIT[code] or "it failed")
    if not result and errors:find("%S") then
      text = ("%s: %s"):format(text, last_line(errors))
    end
    out.problem = text
    out.code = tonumber((text .. " " .. tostring(problem.type)):match("%f[%d]([45]%d%d)%f[%D]"))
  end
  return out
end

---A line for people who watch.
---@param event table
---@return string?
function M.show(event)
  if event.type == "message" and event.role == "assistant" then
    return event.content
  elseif event.type == "tool_use" then
    return event.tool_name
  end
end

return M
