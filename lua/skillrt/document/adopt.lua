-- document/adopt.lua: a run of a workflow script that Claude Code began, as it lies on the disk: its script, its
-- arguments, and what its agents answered, each with the prompt that it was asked.
--
-- All of it was written by others and may be damaged: what cannot be read or was not finished is left out and counted,
-- so that its agent is asked again. Runs nothing. Called by cli/command/adopt.lua.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local recorded = require("skillrt.skill.workflow.recorded")
local tables = require("skillrt.base.tables")

local M = {}

local MAX_FILE <const> = 64 << 20
local MAX_AGENTS <const> = 10000

---@class skillrt.Adopted
---@field id string           wf_...
---@field name string         of the script's file
---@field script string
---@field args any
---@field results { prompt: string, value: any, source: string }[]  in the order in which their agents were begun
---@field unfinished integer  agents that began and gave nothing
---@field unknown integer     results whose prompt cannot be read
---@field output_tokens integer  of those that are in `results`

-- The objects of a file of JSON lines; a torn line is none.
local function lines_of(path)
  local list = {}
  for line in (files.read(path, MAX_FILE) or ""):gmatch("[^\n]+") do
    list[#list + 1] = tables.object(json.decode(line))
  end
  return list
end

local function blocks_of(event)
  local content = tables.object(event.message).content
  return type(content) == "string" and { { type = "text", text = content } } or tables.object(content)
end

-- Behind what the harness puts in front of a prompt.
local function undecorated(text)
  while true do
    local rest, count = text:gsub("^%s*<system%-reminder>.-</system%-reminder>", "")
    if count == 0 then
      return text
    end
    text = rest
  end
end

-- The prompt that a transcript begins with; nil: it holds none.
local function prompt_of(transcript)
  for _, event in ipairs(transcript) do
    if event.type == "user" then
      local texts = {}
      for _, block in ipairs(blocks_of(event)) do
        local text = block.type == "text" and type(block.text) == "string" and undecorated(block.text) or ""
        texts[#texts + 1] = text:find("%S") and text or nil
      end
      return texts[1] and table.concat(texts, "\n") or nil
    end
  end
end

-- What an agent ended with by its transcript: a value by the tool for it, else its last text; nil: it did not end.
local function answer_of(transcript)
  local value, text, stop, id
  for _, event in ipairs(transcript) do
    local message = tables.object(event.message)
    if message.id ~= id or event.type ~= "assistant" then
      text = ""
    end
    for _, block in ipairs(event.type == "assistant" and blocks_of(event) or {}) do
      if block.type == "tool_use" and block.name == "StructuredOutput" then
        value = block.input
      elseif block.type == "text" and type(block.text) == "string" then
        text = text .. block.text
      end
    end
    id, stop = message.id, message.stop_reason
  end
  return value or stop == "end_turn" and text or nil
end

-- Output tokens of a transcript: each message counts once, however many lines it has.
local function tokens_of(transcript)
  local by_id, sum = {}, 0
  for _, event in ipairs(transcript) do
    local message = tables.object(event.message)
    by_id[message.id or event] = math.tointeger(tables.object(message.usage).output_tokens) or nil
  end
  for _, count in pairs(by_id) do
    sum = sum + count
  end
  return sum
end

-- The agents in the order in which they began, and what the journal says they gave.
local function agents_of(dir)
  local order, given = {}, {}
  local function add(id)
    if type(id) == "string" and id:find("^[%w_-]+$") and given[id] == nil and #order < MAX_AGENTS then
      order[#order + 1], given[id] = id, json.null
    end
    return given[id] ~= nil
  end
  for _, line in ipairs(lines_of(dir .. "/journal.jsonl")) do
    if add(line.agentId) and line.type == "result" and line.result ~= nil then
      given[line.agentId] = line.result
    end
  end
  for _, path in ipairs(files.glob(dir, "agent-*.jsonl") or {}) do -- a journal that is not there, or was cut
    add(path:match("^agent%-([^/]+)%.jsonl$"))
  end
  return order, given
end

local function add_results(out, dir, session)
  local order, given = agents_of(dir)
  for _, id in ipairs(order) do
    local name = ("agent-%s.jsonl"):format(id)
    local transcript = lines_of(files.join(dir, name))
    transcript = transcript[1] and transcript or lines_of(files.join(session, "subagents/" .. name))
    local value, prompt = given[id], prompt_of(transcript)
    if value == json.null then
      value = answer_of(transcript)
    end
    if value == nil then
      out.unfinished = out.unfinished + 1
    elseif not prompt then
      out.unknown = out.unknown + 1
    else
      out.output_tokens = out.output_tokens + tokens_of(transcript)
      out.results[#out.results + 1] = { prompt = recorded.key(prompt), value = value,
        source = ("%s/%s"):format(out.id, name) }
    end
  end
end

-- The session's folder and that of the run: of a path in it, or of an id below Claude Code's folder.
local function places_of(given)
  local id = given:match("wf_[%w_-]+")
  local home = os.getenv("CLAUDE_CONFIG_DIR") or files.join(os.getenv("HOME") or "/", ".claude")
  local path = files.join(files.current(), (given:gsub("/+$", "")))
  if id and files.stat(path) then
    local session = path:match("^(.*)/subagents/workflows/") or path:match("^(.*)/workflows/") or files.dirname(path)
    return id, session, files.is_folder(path) and path or files.join(session, "subagents/workflows/" .. id)
  end
  for _, project in ipairs(id == given and files.list(home .. "/projects") or {}) do
    for _, one in ipairs(files.list(("%s/projects/%s"):format(home, project.name)) or {}) do
      local session = ("%s/projects/%s/%s"):format(home, project.name, one.name)
      local dir = ("%s/subagents/workflows/%s"):format(session, id)
      if files.stat(dir) or files.stat(("%s/workflows/%s.json"):format(session, id)) then
        return id, session, dir
      end
    end
  end
end

---What is left of a run.
---@param given string        its id, its folder, its JSON file or its script
---@param script string|nil   the script's file, where it is not with the run
---@return skillrt.Adopted|nil
---@return string? message
function M.read(given, script)
  local id, session, dir = places_of(given)
  if not id then
    return nil, given .. ": is no workflow run of Claude Code; these are named wf_... and are below ~/.claude/projects"
  end
  local said = tables.object(json.decode(files.read(("%s/workflows/%s.json"):format(session, id), MAX_FILE) or ""))
  local out = { id = id, args = said.args, results = {}, unfinished = 0, unknown = 0, output_tokens = 0 }
  for _, one in ipairs(not script and files.list(session .. "/workflows/scripts") or {}) do
    script = one.name:find(id, 1, true) and ("%s/workflows/scripts/%s"):format(session, one.name) or script
  end
  out.script = script and files.read(script, MAX_FILE) or type(said.script) == "string" and said.script or nil
  if not out.script then
    return nil, ("%s: its script is not there; give it by --script FILE"):format(given)
  end
  out.name = (script or ""):match("[^/]*$"):gsub("%-?wf_[%w_-]+", "")
  out.name = out.name:find("^%w.*%.m?js$") and out.name or id .. ".js"
  add_results(out, dir, session)
  return out
end

return M
