-- documents.lua: a generated folder, what node makes of the code in its documents, and what the runtime
-- does with it, both with the same scripted answers. Required by tests/run/generated_*_spec.lua.
local json = require "skillrt.base.json"
local runs = require "tests.support.runs"
local generate = require "skillrt.document.generate"
local skillrt = require "skillrt"

local M = {}

local BUILD = os.getenv "SKILLRT_BUILD" or ("build/" .. (os.getenv "SKILLRT_MODE" or "release"))

function M.config(name)
  return assert(json.decode(assert(runs.read(("tests/golden/configs/%s.json"):format(name)))))
end

---The folder of a config; beside it the ids of its actions by the names their documents have.
function M.generate(config, lang)
  local folder, ids = runs.folder(), {}
  for _, file in ipairs(assert(generate.generate(config, { lang = lang, templates = "templates" }))) do
    local path = folder .. "/skill/" .. file.path
    assert(os.execute(("mkdir -p '%s'"):format(path:match "^(.*)/")))
    runs.write(path, file.text)
    local id = file.path:match "^phases/actions/(.*)%.md$"
    if id then
      ids[file.text:match "# Action: ([^\n]*)"] = id
    end
  end
  require "tests.support.filled"(folder .. "/skill")
  runs.write(folder .. "/names.json", json.encode(ids))
  return folder
end

local function lines_of(text)
  local list = {}
  for line in (text or ""):gmatch "[^\n]+" do
    list[#list + 1] = line
  end
  return list
end

---What the documents' code does: node's record of it.
function M.in_node(folder, script)
  local work = folder .. "/node"
  for _, call in ipairs(script.calls) do
    for i = 2, #call do
      call[i] = call[i] == "WORK" and work or call[i]
    end
  end
  runs.write(folder .. "/script.json", json.encode(script))
  assert(os.execute(("mkdir -p '%s'"):format(work)))
  local command = "node tests/support/document_run.js '%s/skill' '%s' < '%s/script.json' > '%s/seen.json'"
  assert(os.execute(command:format(folder, work, folder, folder)))
  return runs.json(folder .. "/seen.json")
end

---What the runtime does on the same folder; `again`: what is done after the run.
function M.in_skillrt(folder, script, again)
  runs.write(folder .. "/answers.json", json.encode(script.answers))
  local here = require("skillrt.base.files").current()
  local agent = { kind = "command", idempotent = script.may_repeat, stdin = "{prompt}", parse = "json", argv = {
    "lua5.4", here .. "/tests/support/scripted_agent.lua",
    folder .. "/answers.json", folder .. "/asked", folder .. "/names.json" },
    env = { SKILLRT_CPATH = ("%s/%s/lib/?.so"):format(here, BUILD):gsub("^.*//", "/"),
      LD_PRELOAD = true, ASAN_OPTIONS = true }, -- the core of a build with ASan needs its runtime first
  }
  local skill = assert(skillrt.from_config(folder .. "/skill/skill-config.json", {
    folder = folder .. "/skill", agents = { ["*"] = agent },
  }))
  for _, one in ipairs(skill.context == "memory" and skill.actions or {}) do
    one.interaction = nil -- such a run cannot wait for a person
  end
  skill.retry = { base = 0.001, cap = 0.002, jitter = false }
  local function approved(result) -- by a person, where an action says so
    while result.question and result.question.approval do
      result = assert(skillrt.resume(folder .. "/work", { skill = skill, answer = "approve",
        question = result.questions[1].q }))
    end
    return result
  end
  local result = approved(assert(skill:run { work_dir = folder .. "/work" }))
  if again then
    result = approved(assert(again(folder .. "/work", skill)))
  end
  return { order = lines_of(runs.read(folder .. "/asked")), status = result.status, reason = result.reason,
    state = result.state }
end

return M
