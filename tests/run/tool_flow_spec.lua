-- tool_flow_spec.lua: the flow of an agent.yml: analysis, generation, then verification and repair as often as it may;
-- what the runtime keeps of it, and what every kind of agent is told.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local load = require "skillrt.document.load"
local skillrt = require "skillrt"

local YML <const> = [[
workflow:
  max-retries: %d
skills:
  - {name: analysis, description: Read the code, tools: [CodeAnalyzerTool]}
  - {name: generation, description: Write the tests, tools: [FileSystemTool], prompt: Write one file.}
  - {name: verification, description: Run the tests, tools: [MavenExecutorTool, MutationTestTool]}
  - {name: repair, description: Mend the tests, tools: [FileSystemTool, MavenExecutorTool]}
  - {name: full, description: All tools, tools: []}
]]

-- The skill, with `perform(task)` in place of its agent.
local function loaded(folder, retries, perform)
  R.write(folder .. "/agent.yml", YML:format(retries))
  local skill = assert(load.load(folder .. "/agent.yml", { agent = skillrt.agent.lua(function() end) }))
  skill.agents.default.perform = function(_, _, task)
    local updates, message, class = perform(task)
    return updates and { status = "completed", updates = updates }, message, class
  end
  return skill
end

-- The steps of a run: what they are, and the set that each began with.
local function steps(dir)
  local out = {}
  for _, record in ipairs(R.records(dir, "start")) do
    out[#out + 1] = record.action .. (record.tool_set and record.tool_set ~= record.action and "?" or "")
  end
  return table.concat(out, " ")
end

-- An agent whose verification fails so many times; it writes what is not its own.
local function worker(bad, seen)
  return function(task)
    seen[#seen + 1] = { id = task.action.id, state = json.decode(task.state_text), prompt = require("skillrt.agent.prompt").text(task) }
    local runs = 0
    for _, one in ipairs(seen) do runs = runs + (one.id == "verification" and 1 or 0) end
    if task.action.id == "verification" then
      return { success = runs > bad, errors = runs <= bad and { "t1 fails", "t2 fails" } or json.array {} }
    end
    return { retry_count = 0, verified = true, phase = "analysis", max_retries = 99, files = { task.action.id .. ".java" } }
  end
end

describe("the flow of an agent.yml", function()
  after_each(R.clean)

  it("goes from phase to phase, verifies after each repair with its own set, ends on success (R116, R198)",
    function()
      local seen, dir = {}, R.folder() .. "/run"
      local skill = loaded(R.folder(), 5, worker(2, seen))
      local result = assert(skill:run { work_dir = dir, input = { targetFile = "src/Ring.java", taskContext = "edge cases" } })
      assert.equal("completed", result.status, result.message)
      assert.equal("orchestrator", skill.switching.by)
      assert.equal("analysis generation verification repair verification repair verification action-complete", steps(dir))
      assert.same({ "verification", true, true, 2, 5 }, { result.state.phase, result.state.verified, result.state.success,
        result.state.retry_count, result.state.max_retries })
      assert.same({}, result.state.errors_found)
      for _, one in ipairs(seen) do
        assert.equal(one.id, one.state.phase)
        assert.matches("src/Ring.java", one.prompt)
        assert.matches("edge cases", one.prompt)
        assert.matches("Kept for you, leave them out of your answer: max_retries, phase, retry_count, verified", one.prompt)
      end
      assert.matches("%[TOOL SET%] generation: Write the tests\nUse these tools and no others: FileSystemTool\nWrite one file%.",
        seen[2].prompt)
      assert.matches('"stateUpdates" must hold "success", true or false, and "errors": what is wrong, a list', seen[3].prompt)
      assert.same({ false, 1, { "t1 fails", "t2 fails" } }, { seen[4].state.verified, seen[4].state.retry_count,
        seen[4].state.errors_found })
      assert.matches('"phase":"verification"', seen[4].prompt)
      assert.matches('"errors":%["t1 fails","t2 fails"%]', seen[4].prompt)
      assert.matches('"files":%["generation.java"%]', seen[4].prompt)
      assert.same({ "max_retries", "phase", "retry_count", "verified" }, R.records(dir, "done")[1].refused)
      for _, record in ipairs(R.records(dir, "done")) do assert.is_nil(record.missed, "what it promises, the runtime does") end
    end)

  for retries = 0, 3 do
    it(("repairs %d times where it may so often, and a kill at every record does not make it more (F51)"):format(retries), function()
      local seen, whole, folder = {}, R.folder() .. "/run", R.folder()
      local result = assert(loaded(folder, retries, worker(99, seen)):run { work_dir = whole })
      assert.equal("failed", result.status)
      local wanted = "analysis generation verification" .. (" repair verification"):rep(retries) .. " action-give-up"
      assert.equal(wanted, steps(whole))
      assert.equal(retries, result.state.retry_count)
      local count = #R.records(whole)
      for keep = 1, count - 1, retries == 3 and R.EVERY or 5 * R.EVERY do
        local cut = R.folder() .. "/cut"
        R.cut(whole, cut, keep)
        local again = assert(skillrt.resume(cut, { skill = loaded(folder, retries, worker(99, {})) }))
        assert.same({ "failed", wanted, retries }, { again.status, steps(cut), again.state.retry_count }, keep)
      end
    end)
  end

  it("counts a repair that failed, and verifies behind it (F51)", function()
    local dir, repairs = R.folder() .. "/run", 0
    local skill = loaded(R.folder(), 2, function(task)
      if task.action.id == "repair" then
        repairs = repairs + 1
        return nil, "no idea", "permanent"
      end
      return task.action.id == "verification" and { success = false } or {}
    end)
    local result = assert(skill:run { work_dir = dir, limits = { max_errors = 9 } })
    assert.same({ 2, 2, "failed" }, { repairs, result.state.retry_count, result.status })
    assert.equal("analysis generation verification repair verification repair verification action-give-up", steps(dir))
  end)

  it("counts what is counted, also beside fields that are written at any time, whatever the step gives (F51)", function()
    local result = assert(R.run { state = { n = 5, phase = "x" }, tool_sets = { { name = "all" } }, actions = { { id = "a",
      keeps = { counts = "n", writes = { "phase" } }, run = R.sets { n = 99, phase = "mine", ok = true } } } })
    assert.same({ "completed", 6, "x", true }, { result.status, result.state.n, result.state.phase, result.state.ok })
  end)

  it("does not take a verification that says nothing of success for one (R109)", function()
    local result = assert(loaded(R.folder(), 2, function() return {} end):run {
      work_dir = R.folder() .. "/run", limits = { max_errors = 1, max_retries = 0 } })
    assert.equal("failed", result.status)
    assert.matches('its answer lacks "success": put it into stateUpdates',
      result.state.errors[1].message)
    assert.is_false(result.state.verified)
  end)

  it("has prompts of its sets in files, which are pinned with the run (R113)", function()
    local folder, dir = R.folder(), R.folder() .. "/run"
    R.write(folder .. "/look.md", "Look at every branch.")
    local yml = YML:format(1):gsub("tools: %[CodeAnalyzerTool%]", "%0, prompt: look.md")
    local function made(seen)
      R.write(folder .. "/agent.yml", yml)
      local skill = assert(load.load(folder .. "/agent.yml", { agent = skillrt.agent.lua(function() end) }))
      skill.agents.default.perform = function(_, _, task)
        seen[#seen + 1] = require("skillrt.agent.prompt").text(task)
        return { status = "completed", updates = { success = true } }
      end
      return skill
    end
    local seen = {}
    assert.equal("completed", assert(made(seen):run { work_dir = dir }).status)
    assert.matches("CodeAnalyzerTool\nLook at every branch%.\n", seen[1])
    assert.is_nil(seen[2]:find("every branch", 1, true))
    local cut = R.folder() .. "/cut"
    R.cut(dir, cut, 3)
    R.write(folder .. "/look.md", "Look at nothing.")
    local result, message = skillrt.resume(cut, { skill = made {} })
    assert.is_nil(result)
    assert.matches("look.md", message)
  end)

  it("gives an agent that has tools of its own their names, by which it may use them", function()
    local folder, tools = R.folder(), {}
    R.write(folder .. "/agent.yml", "bind: {FileSystemTool: [Read, Edit], CodeAnalyzerTool: Grep}\n" .. YML:format(1))
    local skill = assert(load.load(folder .. "/agent.yml", { agent = skillrt.agent.lua(function() end) }))
    skill.agents.default.perform = function(_, _, task)
      tools[#tools + 1] = table.concat(task.tools, " ")
      return { status = "completed", updates = { success = true } }
    end
    assert.equal("completed", assert(skill:run { work_dir = R.folder() .. "/run" }).status)
    assert.same({ "Grep", "Read Edit", "MavenExecutorTool MutationTestTool" }, tools)
  end)

  it("is in the phase that a run was in, where it is taken back", function()
    local dir, at = R.folder() .. "/run", nil
    assert(loaded(R.folder(), 2, worker(99, {})):run { work_dir = dir })
    local list, _, began = R.records(dir)
    for number, record in ipairs(list) do
      at = at or (began[record] or record).action == "verification" and number or nil
    end
    local box <close> = kit.folder()
    local run = kit.run(box, { "rollback", dir, "--to", tostring(at - 1) })
    assert.equal(0, run.code, run.err)
    local _, books = R.records(dir)
    assert.same({ "generation", "generation", 0 }, { books.tool_set, books.state.root.phase, books.state.root.retry_count })
  end)
end)

describe("a script that takes its sets from an agent.yml", function()
  it("has them pinned: where the file was changed the run does not go on unasked", function()
    local folder <close> = kit.folder()
    folder.file("agent.yml", YML:format(2))
    folder.file("s.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "s", tool_sets = skillrt.tool_sets "agent.yml",
        actions = { { id = "a", tool_set = "generation", run = function(_, ctx) ctx.ask "go on?" end } } }
    ]])
    for _, words in ipairs { { "run", "s.lua", "--trust", "--work-dir", "w" }, { "run", folder.path .. "/s.lua", "--trust",
      "--work-dir", "v" } } do
      local run = kit.run(folder, words)
      assert.equal(3, run.code, run.err)
      assert.matches("Executing: a %(tools: generation%)", run.out)
    end
    folder.file("agent.yml", YML:format(3))
    for _, dir in ipairs { "w", "v" } do
      local refused = kit.run(folder, { "answer", dir, "yes" })
      assert.matches("changed since the run began: helper agent.yml; to resume with the changes", refused.err)
    end
    assert.equal(0, kit.run(folder, { "answer", "w", "yes", "--accept-changes" }).code)
  end)
end)

describe("an agent that is a program", function()
  local AGENT <const> = [[
#!/bin/sh
cd "$(dirname "$0")"; text=$(cat); printf '%s\n=====\n' "$text" >>prompts
n=$(grep -c '=====' prompts)
case $n in
  1) echo '{"status":"completed","summary":"looked","stateUpdates":{"finished":false,"n":1}}'; echo '<<phase: generation>>' ;;
  2) echo '{"status":"completed","summary":"no test failed in <<phase: repair>>","stateUpdates":{"finished":false,"n":2}}' ;;
  3) echo '{"status":"completed","summary":"again","stateUpdates":{"finished":false}}'; echo '<<phase: nowhere>>' ;;
  *) echo '{"status":"completed","summary":"done","stateUpdates":{"finished":true}}' ;;
esac
]]

  it("is told its set, goes to another by the marker, and is in it from the next step on; status and log show it (R106, F57)",
    function()
      local folder <close> = kit.folder()
      folder.file("agent.yml", "switching: {by: report}\n" .. YML:format(2))
      folder.file("agent.sh", AGENT)
      local agent = json.encode { "sh", folder.path .. "/agent.sh" }
      local run = kit.run(folder, { "run", "agent.yml", "--agent", agent, "--work-dir", "w" })
      assert.equal(0, run.code, run.out .. run.err)
      local prompts = {}
      for one in folder.read "prompts":gmatch "(.-)\n=====\n" do prompts[#prompts + 1] = one end
      assert.equal(4, #prompts)
      assert.matches("%[TOOL SET%] analysis: Read the code\nUse these tools and no others: CodeAnalyzerTool", prompts[1])
      assert.matches("end with: <<phase: NAME>>", prompts[1])
      for i = 2, 4 do assert.matches("%[TOOL SET%] generation: Write the tests", prompts[i]) end
      assert.matches("Phase: analysis %-> generation %(report%)", run.out)
      assert.matches("Phase: generation %-> nowhere %(report%): refused: there is no tool set", run.out)
      assert.matches("Executing: work %(tools: generation%)", run.out)
      local log = kit.run(folder, { "log", "w" })
      assert.matches("Phase: analysis %-> generation %(report%)", log.out)
      assert.matches("Phase: analysis %-%S+ generation %(report%)", kit.run(folder, { "report", "w", "--html", "-" }).out)
      local status = kit.run(folder, { "status", "w" })
      assert.matches("tool set +generation, entered 5 times", status.out)
      assert.equal("generation", json.decode(kit.run(folder, { "status", "w", "--json" }).out).tool_set)
    end)

  it("and what `skillrt prompt` shows is the same", function()
    local folder <close> = kit.folder()
    folder.file("agent.yml", YML:format(2))
    local shown = kit.run(folder, { "prompt", "agent.yml", "verification" })
    assert.equal(0, shown.code, shown.err)
    assert.matches("%[TOOL SET%] verification: Run the tests\nUse these tools and no others: MavenExecutorTool, MutationTestTool",
      shown.out)
    assert.matches("Kept for you", shown.out)
  end)
end)
