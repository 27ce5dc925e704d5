-- run_on_error_spec.lua: what follows when an action or phase has failed: on_error and max_errors, in every
-- mode.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function order(dir)
  local out = {}
  for i, record in ipairs(R.records(dir, "start")) do out[i] = record.phase or record.action end
  return table.concat(out, " ")
end

-- An action that fails, with more said about it.
local function failing(id, more)
  local one = { id = id, run = R.fails "broken", max_retries = 0 }
  for key, value in pairs(more or {}) do one[key] = value end
  return one
end

local function ok(id, more)
  local one = failing(id, more)
  one.run = one.run ~= nil and function() return { [id] = true } end
  return one
end

local function phase(id, more)
  local one = ok(id, more)
  one.run = function() return id end
  return one
end

local function ends(definition)
  local result = assert(R.run(definition))
  return { result.status, result.reason, order(result.work_dir) }, result
end

describe("an action that fails", function()
  after_each(R.clean)

  it("and is optional does not end a run whose others can go on (R59)", function()
    local is, result = ends { actions = { failing("a", { priority = 9, optional = true }), ok "b" } }
    assert.same({ "completed", "task_completed", "a b a a" }, is)
    assert.equal(3, result.state.error_count)
  end)

  it("fails the run at once with on_error = \"fail\"; action-abort runs before (F27)", function()
    assert.same({ "failed", "error_limit", "a action-abort" }, (ends { actions = {
      failing("a", { priority = 9, on_error = "fail" }), ok "b", ok "action-abort" } }))
  end)

  it("fails the run after its own max_errors, and is gone on with when that is raised", function()
    local skill = R.skill { actions = { failing("a", { max_errors = 2 }), ok("b", { priority = 9 }) } }
    local dir = R.folder() .. "/run"
    local result = assert(skill:run { work_dir = dir })
    assert.same({ "failed", "error_limit", "a.max_errors", "b a a" }, { result.status, result.reason, result.limit, order(dir) })
    result = assert(skillrt.resume(dir, { skill = skill, add = { ["a.max_errors"] = 1 } }))
    assert.same({ "failed", "error_limit", "b a a a" }, { result.status, result.reason, order(dir) })
  end)

  it("is left out with on_error = \"skip\", and the run completes", function()
    local is, result = ends { actions = { failing("a", { priority = 9, on_error = "skip" }), ok "b" } }
    assert.same({ "completed", "task_completed", "a b" }, is)
    assert.equal(1, #result.state.errors)
  end)

  it("lets the others go on with on_error = \"continue\", and the run fails at its end", function()
    local is, result = ends { actions = { failing("a", { priority = 9, on_error = "continue", max_errors = 2 }), ok "b" } }
    assert.same({ "failed", "action_failed", "a b a" }, is)
    assert.equal("a: broken", result.message)
  end)

  it("is followed by the action that on_error names, which runs then only", function()
    local actions = { failing("a", { priority = 9, on_error = "mend" }), ok "b", ok("mend", { priority = 99 }) }
    local is, result = ends { actions = actions }
    assert.same({ "completed", "task_completed", "a mend b" }, is)
    assert.is_true(result.state.mend)
    assert.same({ "completed", "task_completed", "b" }, (ends { actions = { ok "b", ok("mend"), ok("c", { optional = true,
      when = "never", on_error = "mend" }) } }))
  end)

  it("is followed by it over a crash, too", function()
    local definition = { actions = { failing("a", { priority = 9, on_error = "mend" }), ok "b", ok "mend" } }
    local dir = R.folder() .. "/run"
    assert(R.run(definition, { work_dir = dir }))
    for keep = 2, #R.records(dir) - 1, R.EVERY do
      local copy = R.folder() .. "/run"
      R.cut(dir, copy, keep)
      local result = assert(skillrt.resume(copy, { skill = R.skill(definition) }))
      assert.same({ "completed", "a mend b" }, { result.status, order(copy) })
    end
  end)

  it("says which ids there are where on_error names none", function()
    local _, message = pcall(R.skill, { actions = { failing("a", { on_error = "mned" }), ok "mend" } })
    assert.matches('action "a": field "on_error" must be .* not "mned" %(did you mean "mend"%?%)', message)
  end)
end)

describe("a phase that fails", function()
  after_each(R.clean)

  it("stops the run, is skipped, or lets the others go on (F21)", function()
    local function phases(word, more)
      local first = failing("a", more)
      first.on_error = word
      return ends { phases = { first, phase "b", phase "c" } }
    end
    assert.same({ "failed", "phase_failed", "a" }, (phases(nil)))
    assert.same({ "failed", "phase_failed", "a" }, (phases "fail"))
    assert.same({ "failed", "phase_failed", "a b c" }, (phases "continue"))
    assert.same({ "completed", "all_phases_completed", "a b c" }, (phases "skip"))
    assert.same({ "completed", "all_phases_completed", "a a a b c" }, (phases("skip", { max_errors = 3 })))
    local is, result = phases "c"
    assert.same({ "completed", "all_phases_completed", "a c" }, is)
    local skipped = {}
    for i, row in ipairs(result.state.phases_skipped) do skipped[i] = row.id .. ": " .. row.reason end
    assert.same({ "a: failed: broken", "b: an earlier phase failed and continues with c" }, skipped)
  end)

  it("that comes before the loop of a hybrid run stops it only if it says so", function()
    local function hybrid(word, skill_word)
      return (ends { mode = "hybrid", on_error = skill_word, actions = { ok "x" },
        phases = { failing("a", { on_error = word }), phase "b", phase("z", { trailing = true }) } })
    end
    assert.same({ "failed", "phase_failed", "a" }, hybrid())
    assert.same({ "failed", "phase_failed", "a b x z" }, hybrid(nil, "continue"))
    assert.same({ "failed", "phase_failed", "a b x z" }, hybrid "continue")
    assert.same({ "completed", "task_completed", "a b x z" }, hybrid "skip")
    assert.same({ "failed", "phase_failed", "a" }, hybrid("fail", "continue"))
  end)

  it("goes on with a later phase only", function()
    local _, message = pcall(R.skill, { phases = { phase "a", failing("b", { on_error = "a" }) } })
    assert.matches('phase "a" does not come behind it', message)
  end)
end)
