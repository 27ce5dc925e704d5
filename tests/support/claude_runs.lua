-- claude_runs.lua: workflow runs as Claude Code leaves them on the disk, made up: a session's folder with the script,
-- the journal, and a transcript for each agent; whole, or damaged as a case says. Required by specs of `skillrt adopt`.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"

local M = { ID = "wf_1f2e3d4c-5b6" }

local function lines(list)
  local out = {}
  for i, one in ipairs(list) do
    out[i] = type(one) == "string" and one or assert(json.encode(one))
  end
  return table.concat(out, "\n") .. "\n"
end

-- The lines of an agent's transcript, as its case wants them.
local function transcript(agent)
  local prompt = agent.content or agent.prompt
  local asked = { role = "user", content = prompt }
  local list = { { type = "user", agentId = agent.id, isSidechain = true, message = asked } }
  for i, part in ipairs(agent.says or { agent.answer }) do
    local is_last = i == #(agent.says or { 1 })
    local block = type(part) == "table" and { type = "tool_use", name = "StructuredOutput", input = part }
      or { type = "text", text = part }
    list[#list + 1] = { type = "assistant", agentId = agent.id, message = { role = "assistant", id = "msg_" .. agent.id,
      model = "some-model", content = json.array { block }, usage = { input_tokens = 10, output_tokens = 40 },
      stop_reason = is_last and (agent.stop or "end_turn") or json.null } }
  end
  return lines(list)
end

---Writes a session below a folder: { agents, journal, flat, script_in, args, no_journal }; gives the session's folder.
function M.write(folder, case, script)
  local session = folder .. "/projects/-repo/7777-bbbb"
  local dir = session .. "/subagents/workflows/" .. M.ID
  assert(os.execute(("mkdir -p %s %s/workflows/scripts"):format(dir, session)))
  local journal = {}
  for i, agent in ipairs(case.agents) do
    agent.id = agent.id or "a" .. i
    journal[#journal + 1] = { type = "started", key = "v2:" .. i, agentId = agent.id }
    if not agent.lost then
      R.write(("%s/agent-%s.jsonl"):format(case.flat and session .. "/subagents" or dir, agent.id), transcript(agent))
      R.write(("%s/agent-%s.meta.json"):format(dir, agent.id), '{"agentType":"workflow-subagent"}')
    end
  end
  for i, agent in ipairs(case.agents) do
    if agent.result ~= nil then
      journal[#journal + 1] = { type = "result", key = "v2:" .. (agent.key or i), agentId = agent.id,
        result = agent.result }
    end
  end
  for _, line in ipairs(case.journal or {}) do
    journal[#journal + 1] = line
  end
  if not case.no_journal then
    R.write(dir .. "/journal.jsonl", (lines(journal):gsub("\n$", case.torn or "\n")))
  end
  if case.script_in ~= "json" and case.script_in ~= "nowhere" then
    R.write(("%s/workflows/scripts/tried-%s.js"):format(session, M.ID), script)
  end
  if case.args or case.script_in == "json" then
    R.write(("%s/workflows/%s.json"):format(session, M.ID), assert(json.encode { runId = M.ID, args = case.args,
      script = case.script_in == "json" and script or nil }))
  end
  return session
end

return M
