-- document/generate/starter.lua: makes a first skill-config from the answers to a few questions (the requirements
-- phase); it generates, checks and runs without changes.
--
-- Pure. Called by cli/command/new.lua.
local json = require "skillrt.base.json"

local M = {}

---@class skillrt.generate.Answers
---@field name string
---@field display_name string
---@field description string
---@field mode "sequential"|"autonomous"|"hybrid"
---@field context "file"|"memory"
---@field triggers string[]
---@field phases string[]?   names; sequential and hybrid
---@field actions string[]?  names; autonomous and hybrid
---@field on_loop_failed "stop"|"run_finalize"|nil  hybrid

---"code-review" becomes "Code Review".
---@param name string
---@return string
function M.title(name)
  local words = {}
  for word in name:gmatch "[^-_%s]+" do
    words[#words + 1] = word:sub(1, 1):upper() .. word:sub(2)
  end
  return table.concat(words, " ")
end

---A name as an id: small letters, digits and hyphens. "Collect files!" becomes "collect-files".
---@param name string
---@return string  may be empty
function M.slug(name)
  local id = name:lower():gsub("[^%w]+", "-"):gsub("^%-+", ""):gsub("%-+$", "")
  return id
end

-- Ids for a list of names: "step-3" if a name has no letter that an id may contain.
local function ids_of(names)
  local ids, seen = {}, {}
  for i, name in ipairs(names) do
    local id = M.slug(name)
    id = id ~= "" and id or "step-" .. i
    while seen[id] do
      id = id .. "-" .. i
    end
    seen[id], ids[i] = true, id
  end
  return ids
end

-- Each phase reads the previous one's output.
local function phases_of(names)
  local phases, before = {}, nil
  for i, id in ipairs(ids_of(names)) do
    local phase = ("%02d-%s"):format(i, id)
    local output = phase .. ".json"
    phases[i] = {
      id = phase,
      name = names[i],
      description = names[i],
      input = json.array { before },
      output = output,
    }
    before = output
  end
  return { phases = json.array(phases) }
end

-- Each action waits for the previous one and marks itself done; the last one ends the run.
local function loop_of(names)
  local actions, keys, before = {}, {}, nil
  for i, id in ipairs(ids_of(names)) do
    local action = "action-" .. id
    local key = id:gsub("-", "_"):gsub("^%d", "step_%0") .. "_done"
    keys[i] = { name = key, type = "boolean", description = ("%s is done"):format(names[i]) }
    actions[i] = {
      id = action,
      name = names[i],
      description = names[i],
      preconditions = json.array { before and ("completed_actions.includes('%s')"):format(before) },
      effects = json.array { key .. "=true" },
    }
    before = action
  end
  actions[#actions + 1] = {
    id = "action-complete",
    name = "Complete",
    description = "Sum up what was done",
    preconditions = json.array { ("completed_actions.includes('%s')"):format(before) },
    effects = json.array { "status=completed" },
  }
  return {
    state_schema = { fields = json.array(keys) },
    actions = json.array(actions),
    termination_conditions = json.array { "user_exit", "error_limit", "task_completed", "max_iterations" },
  }
end

---@param answers skillrt.generate.Answers
---@return table config  as it is written to skill-config.json
function M.config(answers)
  local config = {
    skill_name = answers.name,
    display_name = answers.display_name,
    description = answers.description,
    triggers = json.array(table.move(answers.triggers, 1, #answers.triggers, 1, {})),
    execution_mode = answers.mode,
    context_strategy = answers.context,
    version = "1.0.0",
  }
  if answers.mode ~= "autonomous" then
    config.sequential_config = phases_of(answers.phases)
  end
  if answers.mode ~= "sequential" then
    config.autonomous_config = loop_of(answers.actions)
    config.x_skillrt = { actions = { ["action-complete"] = { terminal = "completed" } } }
  end
  if answers.mode == "hybrid" and answers.on_loop_failed then
    config.x_skillrt.hybrid = { on_loop_failed = answers.on_loop_failed }
  end
  return config
end

local SPEC <const> = [[
-- %s_spec.lua: the first tests of this skill. Stubs answer for its agents: nothing is asked, and no key is needed.
--
--   skillrt test FOLDER

local test = require %q

describe("%s", function()
  it("completes where its agents do their work", function()
    local run = test.run { agents = { ["*"] = { output = { done = true }, summary = "done" } } }
    assert.equal("completed", run.status)
    assert.same(run.steps, run.completed)
    assert.equal(#run.steps, #run.calls)
  end)

  it("fails if an agent cannot do its work, and does not continue", function()
    local run = test.run { agents = { ["*"] = { status = "failed", error = "it cannot be done" } } }
    assert.equal("failed", run.status)
    assert.same({}, run.completed)
  end)
end)
]]

---A first test of a skill, whatever its steps are.
---@param name string
---@return string
function M.spec(name)
  return SPEC:format(name, "skillrt.test", name)
end

return M
