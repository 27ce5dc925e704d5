-- run_from_spec.lua: phases run again from one of them on (R35), their inputs made whole.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local ids = R.ids

describe("resume --from", function()
  after_each(R.clean)
  local counts

  local function definition()
    local function count(id, value)
      return function()
        counts[id] = (counts[id] or 0) + 1
        return value
      end
    end
    return { phases = {
      { id = "a", output = "a.md", run = count("a", "from a") },
      { id = "b", output = "b.json", run = count("b", { 1, 2 }) },
      { id = "c", input = { "a.md", "b.json" }, run = count("c", "c") },
    } }
  end

  before_each(function()
    counts = {}
  end)

  it("runs the phases from that one on again, not those before (R35, F23)", function()
    local dir = R.folder() .. "/run"
    assert(R.run(definition(), { work_dir = dir }))
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition()), from = "b" }))
    assert.equal("completed", result.status)
    assert.same({ a = 1, b = 2, c = 2 }, counts)
    assert.equal("a b c", ids(result.state.phases_completed))
  end)

  it("takes phases back, but never the counters or the journal", function()
    local dir = R.folder() .. "/run"
    local first = assert(R.run(definition(), { work_dir = dir }))
    local before = #R.records(dir)
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition()), from = "b" }))
    assert.equal(3, first.state.iteration_count)
    assert.equal(5, result.state.iteration_count)
    local starts = R.records(dir, "start")
    assert.equal(5, starts[#starts].step)
    assert.is_true(#R.records(dir) > before)
    assert.equal(first.run_id, result.run_id)
  end)

  it("writes outputs again that were deleted, so that later phases find their inputs (F23)", function()
    local dir = R.folder() .. "/run"
    assert(R.run(definition(), { work_dir = dir }))
    os.remove(dir .. "/a.md")
    os.remove(dir .. "/b.json")
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition()), from = "c" }))
    assert.equal("completed", result.status)
    assert.same({ a = 1, b = 1, c = 2 }, counts)
    assert.equal("from a", R.read(dir .. "/a.md"))
    assert.same({ 1, 2 }, R.json(dir .. "/b.json"))
    assert.matches("a%.md: was missing", R.records(dir, "note")[1].text)
  end)

  it("refuses a run that has ended well, without a phase to begin from", function()
    local dir = R.folder() .. "/run"
    assert(R.run(definition(), { work_dir = dir }))
    local result, message, code = skillrt.resume(dir, { skill = R.skill(definition()) })
    assert.is_nil(result)
    assert.equal("invalid", code)
    assert.matches("completed", message)
  end)
end)
