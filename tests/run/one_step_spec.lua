-- one_step_spec.lua: what one turn of a run does and in which order, seen by the programs it calls:
-- each looks at its own run with `skillrt status` and keeps what was printed before it began.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

-- The agent "look" keeps both under the id of its step.
local HEAD = [[
local skillrt = require "skillrt"
local function look()
  return skillrt.agent.command { "sh", "-c", %q, "{id}", idempotent = true }
end
local function sets(updates) return function() return updates end end
local function fails() return nil, "no luck" end
return skillrt.skill { name = "tested", durability = "process", agents = { look = look() },
  retry = { base = 0.001, jitter = false },
]]

-- Runs the skill with this body: what the program printed and gave, and the folder.
local function run(folder, body)
  local look = ("cd %s && %s status w --json >$0.status && cp .out $0.out"):format(
    kit.quoted(folder.path), kit.quoted(kit.program))
  folder.file("s.lua", HEAD:format(look) .. body .. "}\n")
  return kit.run(folder, { "s.lua", "--work-dir", "w" })
end

local function status_at(folder, id)
  local text = assert(folder.read(id .. ".status"), id .. " was never called")
  return json.decode(text)
end

-- The ids of what was executed, in order, as the lines say.
local function executed(text)
  local ids = {}
  for id in text:gmatch "%] Executing: ([^\n]+)" do
    ids[#ids + 1] = id
  end
  return table.concat(ids, " ")
end

local function state_of(folder)
  return json.decode(folder.read "w/state.json")
end

describe("one turn of a run", function()
  it("records a phase and announces it before its agent is called (R29)", function()
    local folder <close> = kit.folder()
    local result = run(folder, [[ mode = "sequential", phases = { { id = "one", agent = "look" }, { id = "two", agent = "look" } },]])
    assert.equal(0, result.code, result.out .. result.err)
    for number, id in ipairs { "one", "two" } do
      local seen, printed = status_at(folder, id), folder.read(id .. ".out")
      assert.equal(1, #seen.open)
      assert.same({ id, "phase" }, { seen.open[1].id, seen.open[1].kind })
      assert.equal(number - 1, #seen.phases_completed)
      assert.truthy(printed:find(("[Orchestrator] Executing: %s\n"):format(id), 1, true), printed)
      assert.falsy(printed:find(("Completed: %s\n"):format(id), 1, true), printed)
    end
    assert.falsy(folder.read("one.out"):find("Executing: two", 1, true))
  end)

  it("chooses on what the step before has changed, records the choice, performs it, applies its result, and only then chooses again (R58)",
    function()
      local folder <close> = kit.folder()
      local result = run(folder, [[
        state = { n = 0 },
        actions = {
          { id = "first", agent = "look", priority = 9 },
          { id = "count", when = "completed_actions.includes('first')", priority = 5,
            run = function(state) return { n = 1, current = state.current_action } end },
          { id = "second", when = "n === 1", agent = "look" },
        },]])
      assert.equal(0, result.code, result.out .. result.err)
      assert.equal("first count second", executed(result.out))
      local first, second = status_at(folder, "first"), status_at(folder, "second")
      assert.same({ "first", "action" }, { first.open[1].id, first.open[1].kind })
      assert.same({}, first.completed_actions)
      assert.same({ 1, "second" }, { #second.open, second.open[1].id })
      assert.same({ "first", "count" }, second.completed_actions)
      assert.same({ 1, 3 }, { first.iterations, second.iterations })
      assert.falsy(folder.read("second.out"):find("Completed: second", 1, true))
      local state = state_of(folder)
      assert.same({ 1, "count", json.null, "completed" }, { state.n, state.current, state.current_action, state.status })
    end)

  it("asks first whether the run is to end, then whether too much failed, then what may run, then whether all is done (R59, R82)",
    function()
      -- all four could be the answer after the third failure
      local body = [[
        state = { stop = false, ended = false },
        %s
        actions = {
          { id = "bad", priority = 9, when = "error_count < 3", max_runs = 9, run = fails },
          { id = "low", priority = 1, run = sets {} },
          { id = "high", priority = 2, max_runs = 3, run = sets {} }, -- between failures something else has its turn (F39)
          { id = "action-abort", run = sets {} }, { id = "action-complete", run = sets {} },
        },]]
      local folder <close> = kit.folder()
      local result = run(folder, body:format [[terminate = { { when = "error_count === 3", status = "aborted", reason = "asked" } },]])
      assert.equal(4, result.code, result.out)
      assert.equal("bad high bad high bad", executed(result.out))
      assert.truthy(result.out:find("aborted (asked)", 1, true), result.out)

      local second <close> = kit.folder()
      result = run(second, body:format "")
      assert.equal(1, result.code, result.out)
      assert.equal("bad high bad high bad action-abort", executed(result.out))
      assert.truthy(result.out:find("failed (error_limit)", 1, true), result.out)

      local third <close> = kit.folder()
      result = run(third, (body:format "":gsub("error_count < 3", "false"):gsub("max_runs = 3", "max_runs = 1")))
      assert.equal(0, result.code, result.out)
      assert.equal("high low action-complete", executed(result.out))
      assert.truthy(result.out:find("completed (task_completed)", 1, true), result.out)
    end)

  it("lets an action run when all its conditions hold, a bare name where it is true, and one without conditions at all times (R62)",
    function()
      local folder <close> = kit.folder()
      local result = run(folder, [[
        state = { ready = true, late = false, kind = "a", n = 2 },
        actions = {
          { id = "free", run = sets {} },
          { id = "bare", when = "ready", run = sets {} }, { id = "not-bare", when = "late", run = sets {} },
          { id = "missing", when = "nowhere", run = sets {} },
          { id = "equal", when = "kind === 'a'", run = sets {} }, { id = "unequal", when = "kind === 'b'", run = sets {} },
          { id = "both", when = { "ready", "kind === 'a'", "n === 2" }, run = sets {} },
          { id = "first-fails", when = { "late", "kind === 'a'", "n === 2" }, run = sets {} },
          { id = "last-fails", when = { "ready", "kind === 'a'", "n === 3" }, run = sets {} },
          { id = "function-holds", when = { "ready", function(state) return state.n == 2 end }, run = sets {} },
          { id = "function-fails", when = { "ready", function(state) return state.n == 3 end }, run = sets {} },
        },]])
      assert.equal("free bare equal both function-holds", executed(result.out))
    end)

  it("merges what a step changes into what is there, stamps it, writes it and gives it to the next one (R81)", function()
    local folder <close> = kit.folder()
    local result = run(folder, [[
      state = { deep = { kept = 1, changed = 1, gone = 1 }, list = { 1, 2 }, other = "as it was" },
      actions = {
        { id = "before", priority = 4, agent = "look" },
        { id = "change", priority = 3, run = sets { deep = { changed = 2, gone = skillrt.json.null }, list = { 3 }, new = true } },
        { id = "behind", priority = 2, agent = "look" },
        { id = "check", priority = 1, run = function(state)
          return { seen = { state.deep.kept, state.deep.changed, state.deep.gone == nil, state.list[1], #state.list, state.new } }
        end },
      },]])
    assert.equal(0, result.code, result.out .. result.err)
    local state = state_of(folder)
    assert.same({ kept = 1, changed = 2 }, state.deep)
    assert.same({ 3 }, state.list)
    assert.same({ "as it was", true }, { state.other, state.new })
    assert.same({ 1, 2, true, 3, 1, true }, state.seen)
    local before, behind = status_at(folder, "before").updated_at, status_at(folder, "behind").updated_at
    assert.is_true(before < behind and behind < state.updated_at, before .. behind .. state.updated_at)
  end)

  it("keeps empty lists lists and empty objects objects, and the keys in order, through every step and a resume (F70)", function()
    local folder <close> = kit.folder()
    local body = [[
      state = { zero = {}, many = { 1, 2 }, map = {}, b = 1, a = { z = 1, m = skillrt.json.array {}, c = 2 } },
      schema = { map = "object", told = "string[]" },
      actions = {
        { id = "empty", priority = 2, run = sets { many = {}, told = {} } },
        { id = "stop", priority = 1, run = function() return nil, "not now", "permanent" end, when = "error_count < 1" },
        { id = "after", when = "error_count > 0", run = function(state)
          return { seen = skillrt.json.encode { state.zero, state.many, state.map, state.a } }
        end },
      }, limits = { max_errors = 1 },]]
    assert.equal(1, run(folder, body).code)
    folder.file("s.lua", (folder.read "s.lua":gsub("max_errors = 1", "max_errors = 9")))
    local result = kit.run(folder, { "retry", "w", "--accept-changes" })
    local text = folder.read "w/state.json"
    assert.truthy(text:find('\n  "a": {\n    "c": 2,\n    "m": [],\n    "z": 1\n  },\n  "b": 1,\n', 1, true), text)
    for _, line in ipairs { '  "many": [],\n', '  "told": [],\n', '  "map": {},\n', '  "zero": []' } do
      assert.truthy(text:find(line, 1, true), line .. " is not in " .. text .. result.out .. result.err)
    end
    assert.equal('[[],[],{},{"c":2,"m":[],"z":1}]', state_of(folder).seen, result.out .. result.err)
  end)
end)

describe("the strategy priority", function()
  local FOUR = [[
    strategy = "priority", state = { ready = %s },
    actions = {
      { id = "action-init", run = sets {}, %s }, { id = "action-process", run = sets {}, %s },
      { id = "action-review", run = sets {}, %s }, { id = "action-complete", run = sets {}, %s },
    },]]

  it("takes the first of a fixed order that may run, whatever ran before, and none where none may (R91)", function()
    for wanted, when in pairs {
      ["action-init action-process action-review action-complete"] = { "", "", "", "" },
      ["action-review action-complete"] = { "when = 'false'", "when = 'false'", "", "" },
      ["action-process action-review action-init action-complete"] =
        { "when = \"completed_actions.includes('action-review')\"", "", "", "" },
      [""] = { "when = 'ready'", "when = 'ready'", "when = 'ready'", "when = 'ready'" },
    } do
      local folder <close> = kit.folder()
      local result = run(folder, FOUR:format("false", table.unpack(when)))
      assert.equal(wanted, executed(result.out), result.out .. result.err)
      if wanted == "" then
        assert.truthy(result.out:find("(blocked)", 1, true), result.out)
      end
    end
  end)
end)
