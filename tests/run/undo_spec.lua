-- undo_spec.lua: compensation: what a run did is undone in reverse when it is aborted, each once, killed behind
-- every record too; asked first where people take part.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function lines_of(file)
  local list = {}
  for line in (R.read(file) or ""):gmatch "[^\n]+" do
    list[#list + 1] = line
  end
  return list
end

-- Three actions that are done, then one that fails for good; each undo writes a line.
local function definition_of(file, more)
  local function writes(word)
    return { kind = "command", argv = { "sh", "-c", ("echo %s >> %s"):format(word, file) }, idempotent = true }
  end
  local function undoes(id)
    return function(_, ctx, done)
      assert(done.id == id and done.updates.n == tonumber(id:sub(2)))
      assert(ctx.await(writes("undo-" .. id)))
      return { undone = id }
    end
  end
  local definition = { strategy = "sequential", actions = {
    { id = "a1", run = R.sets { n = 1 }, undo = undoes "a1" },
    { id = "a2", run = R.sets { n = 2 }, undo = undoes "a2" },
    { id = "free", run = R.sets { n = 9 } },
    { id = "a3", run = R.sets { n = 3 }, undo = "back" },
    { id = "back", run = function(_, ctx) assert(ctx.await(writes "back")) end },
    { id = "end", run = function() return nil, { class = "fatal", message = "no more" } end },
  } }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  return definition
end

describe("compensation", function()
  after_each(R.clean)

  it("undoes what completed in reverse when the run is aborted, by function or by action (R148, R171)", function()
    local file, dir = R.folder() .. "/undone", R.folder() .. "/run"
    local result = assert(R.run(definition_of(file), { work_dir = dir }))
    assert.same({ "aborted", "fatal_error", "end: no more" }, { result.status, result.reason, result.message })
    assert.same({ "back", "undo-a2", "undo-a1" }, lines_of(file))
    assert.equal("a1 a2 free a3 end undo-a3 undo-a2 undo-a1", R.order(dir))
  end)

  it("begins with a condition that aborts, and with an action that does; not where the run fails or completes", function()
    for _, case in ipairs {
      { "aborted", { terminate = { { when = "n === 3", status = "aborted", reason = "enough" } } } },
      { "failed", { terminate = { { when = "n === 3", status = "failed", reason = "enough" } } } },
      { "completed", { terminate = { { when = "n === 3", status = "completed", reason = "enough" } } } },
    } do
      local file = R.folder() .. "/undone"
      local result = assert(R.run(definition_of(file, case[2])))
      assert.same({ case[1], "enough" }, { result.status, result.reason })
      assert.equal(case[1] == "aborted" and 3 or 0, #lines_of(file))
    end
  end)

  it("says what could not be undone, and undoes the others", function()
    local file = R.folder() .. "/undone"
    local definition = definition_of(file)
    definition.actions[2].undo = function() return nil, "it is gone" end
    local result = assert(R.run(definition))
    assert.equal("end: no more; not undone: a2", result.message)
    assert.same({ "back", "undo-a1" }, lines_of(file))
  end)

  it("is asked about first where `interaction` says so, of the skill or the action (R174)", function()
    local file, dir = R.folder() .. "/undone", R.folder() .. "/run"
    local definition = definition_of(file)
    definition.actions[2].interaction = "interactive"
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.same({ "paused", "undo a2" }, { result.status, result.question.question })
    assert.same({ "back" }, lines_of(file))
    result = assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "deny", question = 1 }))
    assert.same({ "aborted", "end: no more; not undone: a2" }, { result.status, result.message })
    assert.same({ "back", "undo-a1" }, lines_of(file))
    definition = definition_of(file, { interaction = "interactive" })
    dir = R.folder() .. "/run"
    result = assert(R.run(definition, { work_dir = dir }))
    assert.equal("undo a3", result.question.question)
  end)

  it("of phases is done just so", function()
    local seen = {}
    local result = assert(R.run { phases = {
      { id = "one", run = function() return 1 end, undo = function(_, _, done) seen[#seen + 1] = done.id end },
      { id = "two", run = function() return 2 end, undo = function(_, _, done) seen[#seen + 1] = done.id end },
      { id = "three", run = function() return nil, "no", "fatal" end },
    } })
    assert.equal("aborted", result.status)
    assert.same({ "two", "one" }, seen)
  end)

  it("is asked of a person who aborts the run; what was under way is left (R87)", function()
    local file, dir = R.folder() .. "/undone", R.folder() .. "/run"
    local definition = definition_of(file)
    definition.actions[6].run = function(_, ctx) ctx.ask "go on?" end
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.equal("waiting_for_person", result.reason)
    result = assert(skillrt.resume(dir, { skill = R.skill(definition), abort = true }))
    assert.same({ "aborted", "user_abort" }, { result.status, result.reason })
    assert.same({ "back", "undo-a2", "undo-a1" }, lines_of(file))
  end)

  it("cleans up behind a step that was under way when skillrt abort came", function()
    local dir, cleaned = R.folder() .. "/run", {}
    local function definition()
      return { actions = { { id = "open", cleanup = function(_, ctx, ended)
        cleaned[#cleaned + 1] = ("%s %s"):format(ended.status, ended.class)
        assert(ctx.await { kind = "command", argv = { "sh", "-c", "echo gone >> " .. dir .. ".log" } })
      end, run = function(_, ctx)
        ctx.await { kind = "command", argv = { "true" } }
        ctx.ask "on?"
      end } } }
    end
    assert.equal("waiting_for_person", assert(R.run(definition(), { work_dir = dir })).reason)
    local result = assert(require("skillrt").resume(dir, { skill = R.skill(definition()), abort = true }))
    assert.same({ "aborted", "user_abort", { "failed canceled" }, "gone\n" },
      { result.status, result.reason, cleaned, R.read(dir .. ".log") }, result.message)
    assert.equal("cleanup-open", R.records(dir, "start")[2].action)
  end)
end)
