-- report_lines_spec.lua: each record as the lines people read, in the words of R67.
local lines = require "skillrt.report.lines"

local function told(records, options)
  local formatter, out = lines.new(options), {}
  for _, record in ipairs(records) do
    for _, line in ipairs(formatter:of(record)) do out[#out + 1] = line.text end
  end
  return out, formatter
end

describe("report.lines", function()
  it("tells iterations, errors, retries and warnings of actions (R67, R83)", function()
    local out, formatter = told {
      { t = "start", step = 1, action = "a", n = 1 },
      { t = "fail", step = 1, attempt = 1, class = "timeout", message = "slow\nvery", retry = 2500 },
      { t = "done", step = 1, summary = "all \27 fine", refused = { "status" }, missed = { "x=1: x is 2" }, why = "doubts" },
      { t = "start", step = 2, action = "b", n = 2 },
      { t = "fail", step = 2, attempt = 1, class = "permanent", message = "broken" },
      { t = "stop", status = "failed", reason = "error_limit", message = "last error: broken" },
    }
    assert.same({
      "[Iteration 1] Status: running, Completed: 0",
      "[Iteration 1] Executing: a",
      "[Iteration 1] Retry: a: attempt 1 failed (timeout), again in 2.5 s: slow",
      "    very",
      "[Iteration 1] Completed: all \\x1B fine",
      "[Iteration 1] Concerns: doubts",
      "[Iteration 1] Warning: a: only the runtime writes status; the update was ignored",
      "[Iteration 1] Warning: a: its declared effect is not true: x=1: x is 2",
      "[Iteration 2] Status: running, Completed: 1",
      "[Iteration 2] Executing: b",
      "[Iteration 2] Error: broken",
    }, out)
    assert.same({ 1, 1, 1 }, { formatter.done, formatter.failed, formatter.retries })
  end)

  it("tells phases: executing, skipping, failed (R30, R33)", function()
    assert.same({
      "[Orchestrator] Executing: p",
      "[Orchestrator] Completed: p -> out.json",
      "[Orchestrator] Skipping q (condition not met): x is undefined",
      "[Orchestrator] Skipping r (condition not met)",
      "[Orchestrator] Executing: s",
      "[Orchestrator] Failed at s: no",
    }, (told {
      { t = "start", step = 1, phase = "p", n = 1 }, { t = "done", step = 1, file = "out.json" },
      { t = "skip", phase = "q", why = "condition not met: x is undefined" },
      { t = "skip", phase = "r", why = "condition not met" },
      { t = "start", step = 2, phase = "s", n = 2 }, { t = "fail", step = 2, attempt = 1, message = "no" },
    }))
  end)

  it("tells both ends of a run (R67)", function()
    local run = { t = "run", skill = "s", mode = "autonomous", run = "r", pins = { ["skill.lua"] = "1" } }
    local completed = { t = "stop", status = "completed", reason = "task_completed" }
    local blocked = { t = "stop", status = "paused", reason = "blocked", message = "a: n < 2" }
    local plain = "Skill: s ? (autonomous), run r"
    assert.same({ plain }, (told { run, completed }))
    assert.same({ plain, "Run completed (task_completed)" }, (told({ run, completed }, { detail = true })))
    assert.same({ "No action selected, terminating.", "  a: n < 2" }, (told { blocked }))
    run.pins["skill-config.json"] = "2"
    assert.same({ "=== Orchestrator Started ===", plain, "Context Strategy: file", "=== All actions completed ===",
      "=== Orchestrator Finished ===" }, (told { run, completed }))
    assert.same({ "=== Orchestrator Started ===", plain, "Context Strategy: file", "No action selected, terminating.",
      "  a: n < 2", "=== Orchestrator Paused (blocked) ===" }, (told { run, blocked }))
    local resumed = lines.new({ continuing = true }):of(completed, { pins = run.pins })
    assert.equal("=== Orchestrator Finished ===", resumed[2].text)
  end)

  it("tells what a run goes on with (R69), retries and repeats", function()
    local records = {
      { t = "start", step = 1, action = "b", n = 1 }, { t = "done", step = 1 },
      { t = "start", step = 2, action = "a", n = 2 },
    }
    local _, formatter = told(records)
    local out = {}
    for _, record in ipairs { { t = "resume" }, { t = "retry", action = "a" }, { t = "rewind", phases = { "b" } } } do
      for _, line in ipairs(formatter:of(record)) do out[#out + 1] = line.text end
    end
    assert.same({ "Resuming from: a", "Already completed: b", "Retrying: a", "Running again: b" }, out)
    assert.equal(0, formatter.completed)
  end)

  it("tells what each step that was under way goes on with", function()
    local function step(number, id, calls, more)
      local one = { number = number, id = id, calls = calls }
      for key, value in pairs(more or {}) do one[key] = value end
      return one
    end
    local books = { completed = {}, state = { root = { iteration_count = 0 } }, steps = {
      step(1, "a", { ["1"] = { kind = "ask", q = 4 }, ["2"] = { kind = "wait", event = "bell" },
        ["3"] = { kind = "run", to = "sub" }, ["4"] = { kind = "http", to = "x" } }),
      step(2, "b", { ["1"] = { kind = "http", to = "x", decision = "skip" },
        ["2"] = { kind = "http", to = "x", decision = "retry" }, ["3"] = { kind = "http", to = "x", idem = true } }),
      step(3, "c", { ["1"] = { kind = "sleep", due = 1790000000000 }, ["2"] = { kind = "command", failed = {} },
        ["3"] = { kind = "command" } }),
      step(4, "d", {}, { retry_at = 1790000000000, attempt = 2 }),
      step(5, "e", {}, { known = { ["1"] = {} } }),
      step(6, "f"),
    } }
    local out = lines.new():of({ t = "resume" }, books)
    assert.equal("Resuming: a (question 4 is open, waits for the event bell, its sub-run sub is resumed, and 1 more), "
      .. "b (http x is not repeated: skip, http x is repeated, http x is repeated), "
      .. "c (sleeps until 2026-09-21T14:13:20.000Z, command is repeated, command: outcome unknown, needs a decision), "
      .. "d (attempt 2 at 2026-09-21T14:13:20.000Z), e (from its last recorded reply), f (from its beginning)", out[3].text)
  end)

  it("tells what befell a call, and what people and the runtime decided about the run", function()
    local at = 1790000000000
    local records = {
      { t = "start", step = 1, action = "a", n = 1 },
      { t = "attempt", step = 1, c = "1", a = 1, class = "transient", message = "reset", retry = 1500 },
      { t = "doubt", step = 1, c = "2", message = "killed" },
      { t = "tool", step = 1, c = "3", name = "edit", input = "a.lua", refused = "no" },
      { t = "tool", step = 1, c = "4", name = "grep" },
      { t = "switch", step = 1, from = "look", to = "write", by = "tool", refused = "not yet" },
      { t = "switch", step = 1, from = "look", to = "write", by = "calls", advised = true },
      { t = "compact", step = 1, agent = "m", how = "keep", before = 900, after = 100, kept = 2 },
      { t = "late", step = 1, seconds = 2.5 },
      { t = "steer", step = 1, c = "1", steer = "tell", label = "x", text = "be short" },
      { t = "skip", step = 1, why = "no use" },
      { t = "edit", set = { b = 1, a = 2 } },
      { t = "fire", begins = { at }, missed = { at, at + 60000 } },
      { t = "abort", reason = "by_hand" }, { t = "abort", gone = 4 },
    }
    assert.same({
      "[Iteration 1] Status: running, Completed: 0", "[Iteration 1] Executing: a",
      "[Iteration 1] Retry: a: call 1 failed (transient), again in 1.5 s: reset",
      "[Iteration 1] Outcome unknown: a: call 2 may have been executed: killed",
      "[Iteration 1] Tool: edit a.lua: not performed: no", "[Iteration 1] Tool: grep",
      "[Iteration 1] Phase: look -> write (tool): refused: not yet",
      "[Iteration 1] Phase: look -> write (calls): suggested by the calls; the set stays",
      "[Iteration 1] m: its conversation was shortened (keep): 900 to 100 bytes, 2 turns kept",
      "Warning: a takes longer than 2.5 seconds; it continues", "[Iteration 1] Telling: x: be short",
      "[Iteration 1] Skipping a (no use)", "Accepted from the edited state.json: a, b",
      "Starts the run of 2026-09-21T14:13:20.000Z",
      "Missed 2 firings, from 2026-09-21T14:13:20.000Z to 2026-09-21T14:14:20.000Z",
      "Aborting (by_hand): undoing its steps, the newest first",
      "Step 4 is not undone: its action is no longer part of the skill",
    }, (told(records)))
    local formatter = lines.new()
    formatter:of(records[1])
    assert.same({ "warning", "info" }, { formatter:of(records[6])[1].kind, formatter:of(records[7])[1].kind })
    local log = {}
    for _, record in ipairs(records) do
      local logs = require("skillrt.run.record").types[record.t].log
      local level, message, fields = nil, nil, nil
      if logs then level, message, fields = logs(record, { id = "a" }) end
      log[record.t] = level and { level, message, fields } or nil
    end
    assert.same({
      { "warn", "Call failed", { call = "1", attempt = 1, error = "reset", class = "transient", retry_ms = 1500 } },
      { "warn", "Call outcome unknown", { call = "2", error = "killed" } },
      { "info", "Phase", { from = "look", to = "write", by = "calls", advised = true } },
      { "info", "Conversation shortened", { agent = "m", how = "keep", before = 900, after = 100, kept = 2 } },
      { "info", "Step skipped", { reason = "no use" } },
      { "warn", "Schedule fires", { begins = { at }, missed = { at, at + 60000 } } },
    }, { log.attempt, log.doubt, log.switch, log.compact, log.skip, log.fire })
  end)

  it("survives records that do not fit each other", function()
    for _, kind in ipairs { "done", "fail", "skip", "note", "send", "reply" } do
      assert.has_no.errors(function() told({ { t = kind, step = 9, x = 1, attempt = 1 } }, { detail = true }) end)
    end
    assert.same({}, (told { { t = "of a newer skillrt" } }))
  end)
end)
