-- attempts_spec.lua: how often a step that fails is attempted, counted where it counts: in the file
-- to which the program that the step calls writes. And the retry that a person asks for.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

-- The agent "fails" writes a line, and succeeds once the file "good" is there, or the line of that
-- number is its own.
local HEAD = [[
local skillrt = require "skillrt"
local here = %q
local function agent(name, good_at)
  return skillrt.agent.command { "sh", "-c", "cd " .. here .. " && date +%%s%%N >>" .. name .. ".calls && "
    .. "{ [ -e good ] || expr $(wc -l <" .. name .. ".calls) : '" .. good_at .. "$'; } >/dev/null || exit 75",
    idempotent = true }
end
local function sets(updates) return function() return updates end end
return skillrt.skill { name = "tested", durability = "process",
]]

local function run(folder, body, words)
  folder.file("s.lua", HEAD:format(folder.path) .. body .. "}\n")
  return kit.run(folder, words or { "s.lua", "--work-dir", "w" })
end

local function calls(folder, name)
  local times = {}
  for time in (folder.read(name .. ".calls") or ""):gmatch "%d+" do
    times[#times + 1] = tonumber(time) // 1000000
  end
  return times
end

local function state_of(folder)
  return json.decode(folder.read "w/state.json")
end

describe("the attempts of a step", function()
  it("begin at one again with each step, and wait longer each time (F39)", function()
    local folder <close> = kit.folder()
    -- calls 3 and 6 are good: with three attempts a step both steps succeed, if each has its own
    local result = run(folder, [[
      agents = { flaky = agent("flaky", "[36]") }, limits = { max_retries = 2 },
      retry = { base = 0.05, factor = 3, jitter = false },
      actions = { { id = "twice", agent = "flaky", max_runs = 2, when = "iteration_count < 3" } },]])
    assert.equal(0, result.code, result.out .. result.err)
    local times = calls(folder, "flaky")
    assert.equal(6, #times)
    assert.is_true(times[2] - times[1] >= 50 and times[3] - times[2] >= 150, json.encode(times))
    assert.is_true(times[5] - times[4] >= 50 and times[6] - times[5] >= 150, json.encode(times))
    assert.equal(0, state_of(folder).error_count)
  end)

  it("are bounded for all steps together by the errors that a run may have (F39)", function()
    local folder <close> = kit.folder()
    local result = run(folder, [[
      agents = { a = agent("a", "x"), b = agent("b", "x"), c = agent("c", "x") },
      limits = { max_retries = 1, max_errors = 2 }, retry = { base = 0.001, jitter = false },
      actions = { { id = "a", agent = "a", when = "error_count === 0" }, { id = "b", agent = "b", when = "error_count === 1" },
        { id = "c", agent = "c" } },]])
    assert.equal(1, result.code, result.out .. result.err)
    assert.truthy(result.out:find("failed (error_limit)", 1, true), result.out)
    assert.same({ 2, 2, 0 }, { #calls(folder, "a"), #calls(folder, "b"), #calls(folder, "c") })
  end)
end)

describe("the repairs of an agent.yml", function()
  it("are as many as it allows, also where the agent counts none and the run is killed between them (F51)", function()
    local folder <close> = kit.folder()
    folder.file("agent.yml", "workflow:\n  max-retries: 3\nskills:\n  - {name: analysis, tools: [A]}\n  - {name: generation, tools: [B]}\n"
      .. "  - {name: verification, tools: [C]}\n  - {name: repair, tools: [D]}\n")
    -- it kills the run at its second repair, which the run may not make again unasked
    folder.file("agent.sh", ([[cd %s; text=$(cat); updates='{}'
      case $text in
        *'verification: '*) updates='{"verified": true, "success": false}' ;;
        *'repair: '*) echo x >>repairs; updates='{"verified": false}'
          if [ $(wc -l <repairs) = 2 ] && [ ! -e killed ]; then echo >killed; kill -9 $PPID; exit 1; fi ;;
      esac
      echo '{"status": "completed", "summary": "ok", "stateUpdates": '"$updates"'}']]):format(folder.path))
    local agent = json.encode { "sh", folder.path .. "/agent.sh" }
    local run_once = kit.run(folder, { "run", "agent.yml", "--agent", agent, "--work-dir", "w" })
    assert.equal(137, run_once.code, run_once.out .. run_once.err)
    local resumed = kit.run(folder, { "resume", "w", "--decide", "skip" })
    local _, repairs = folder.read "repairs":gsub("x", "")
    assert.equal(2, repairs, resumed.out .. resumed.err) -- skip binds the action: it is not chosen a third time
    assert.not_equal(0, resumed.code, resumed.out)
  end)
end)
