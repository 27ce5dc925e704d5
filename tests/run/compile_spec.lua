-- compile_spec.lua: `skillrt compile`: prose about phases becomes a workflow.json that a person saw, with recorded
-- answers of three qualities: right, wrong, rubbish.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local skill_folder = require "tests.support.skill_folder"
local skillrt = require "skillrt"
local open = require "skillrt.document.open"
local shapes = require "tests.support.compile_shapes"

local HEAD <const> = "---\nname: s\ndescription: Writes.\n---\n# S\n\n"

local function folder_of(shape)
  local documents = { ["SKILL.md"] = HEAD .. shape.text }
  for i, id in ipairs(shape.ids or { "01-plan", "02-write", "03-review", "04-publish" }) do
    documents[("phases/%s.md"):format(id)] = ("# Phase %d\nDo it.\n"):format(i)
  end
  for path, text in pairs(shape.more or {}) do
    documents[path] = text
  end
  return skill_folder.make(documents, "s")
end

-- Compiles by an agent that gives these answers one after the other; gives the result and how often it was asked.
local function compile(folder, answers)
  local asked = { 0 }
  local agent = { kind = "lua", run = function(_, _, prompt)
    asked[1], asked.prompt = asked[1] + 1, prompt
    return answers[math.min(asked[1], #answers)]
  end }
  local made, message, code = open.load(folder.dir, { agent = agent, compiles = true }, false)
  if not made then
    return nil, message, code
  end
  local work_dir = folder.base .. "/w" .. files.random_name()
  local result = assert(made:run { work_dir = work_dir, durability = "process", limits = { max_retries = 0 } })
  return result, asked, made, work_dir
end

local function workflow_of(folder)
  return files.read(folder.dir .. "/workflow.json")
end

-- The phases that an agent is asked for in a run of the folder.
local function phases_of(folder, given)
  local ran, count, loaded = {}, {}, nil
  loaded = assert(skillrt.load(folder.dir, { agent = { kind = "lua", run = function(_, ctx)
    local id = ctx.id
    count[id] = (count[id] or 0) + 1
    ran[#ran + 1] = id
    local updates = given.updates and given.updates[id] and given.updates[id][count[id]]
    if loaded.mode == "autonomous" then
      return updates or {}
    end
    return { done = true }, updates
  end } }))
  local work_dir = folder.base .. "/r" .. files.random_name()
  local result = assert(loaded:run { work_dir = work_dir, durability = "process", input = given.input })
  for _, answer in ipairs(given.answers or {}) do
    assert.equal("waiting_for_person", result.reason)
    result = assert(skillrt.resume(work_dir, { skill = loaded, answer = answer }))
  end
  assert.equal("completed", result.status, result.message)
  return table.concat(ran, " ")
end

describe("compile, of a shape", function()
  for _, shape in ipairs(shapes) do
    it(shape.name .. ": what is right runs as a person would", function()
      local folder <close> = folder_of(shape)
      local result, _, made, work_dir = compile(folder, { { statements = shape.right } })
      assert.equal("waiting_for_person", result.reason, result.message)
      for _, place in ipairs(shape.places or {}) do assert.matches(place, result.questions[1].question.detail) end
      assert.is_nil(workflow_of(folder))
      assert.equal("completed", assert(skillrt.resume(work_dir, { skill = made, answer = "write" })).status)
      assert.truthy(workflow_of(folder))
      for _, given in ipairs(shape.runs) do
        assert.equal(given.ran, phases_of(folder, given))
      end
      assert.same({ nil, "nothing" }, { (function() local a, _, c = compile(folder, {}) return a, c end)() })
    end)

    it(shape.name .. ": what is wrong is refused, or shown", function()
      local folder <close> = folder_of(shape)
      local result, asked = compile(folder, { { statements = shape.wrong } })
      if shape.refused then
        assert.equal("failed", result.status)
        assert.truthy(result.message:find(shape.refused, 1, true), result.message)
        assert.equal(3, asked[1])
      else
        assert.equal("waiting_for_person", result.reason, result.message)
        local detail = result.questions[1].question.detail
        assert.truthy(detail:find(shape.shown, 1, true), detail)
      end
      assert.is_nil(workflow_of(folder))
    end)

    it(shape.name .. ": rubbish changes nothing", function()
      local folder <close> = folder_of(shape)
      for _, rubbish in ipairs { {}, { statements = "all of them" }, { statements = { { says = "repeat" } } },
        { statements = {} }, "I would do Phase 2 first." } do
        local result = compile(folder, { rubbish })
        assert.not_equal("completed", result.status)
        assert.not_equal("waiting_for_person", result.reason)
        assert.is_nil(workflow_of(folder))
      end
    end)
  end

  it("is proven on at least 20 of them", function()
    assert.truthy(#shapes >= 20)
  end)
end)

local LOOP <const> = { { lines = { 1 }, says = "repeat", phases = { "02-write", "03-review" }, ["while"] = "score < 8",
  at_most = 3 } }

-- A folder with the first of the shapes, for the command line, and the right answer.
local function folder_on_disk()
  local folder = kit.folder()
  assert(files.make_folders(folder.path .. "/s/phases"))
  folder.file("s/SKILL.md", HEAD .. shapes[1].text)
  for i, id in ipairs { "01-plan", "02-write", "03-review", "04-publish" } do
    folder.file(("s/phases/%s.md"):format(id), ("# Phase %d\nDo it.\n"):format(i))
  end
  folder.file("answer", assert(json.encode({ statements = LOOP })))
  return folder
end

describe("compile", function()
  it("asks back with what is wrong, and takes the answer that is right (F80)", function()
    local folder <close> = folder_of(shapes[1])
    local result, asked = compile(folder, { { statements = shapes[1].wrong }, { statements = LOOP } })
    assert.equal("waiting_for_person", result.reason, result.message)
    assert.equal(2, asked[1])
    assert.truthy(asked.prompt:find("do not follow each other", 1, true), asked.prompt)
  end)

  it("shows of a document that is too long the lines around those it asks about, and says what it leaves out", function()
    local filler = ("Some other words.\n"):rep(5000)
    local folder <close> = folder_of { text = filler .. "Just above.\n\nRun phase 2 only if it is wanted.\n\n" .. filler }
    local _, asked = compile(folder, { { statements = json.array {} } })
    assert.truthy(#asked.prompt < 32 << 10, #asked.prompt)
    assert.truthy(asked.prompt:find("Just above.", 1, true))
    assert.matches("%(99%d%d of its 10%d%d%d lines are not shown%)", asked.prompt)
  end)

  it("asks again only about lines of documents that changed, and a run says that they did", function()
    local folder <close> = folder_of { text = shapes[1].text,
      more = { ["phases/04-publish.md"] = "# Phase 4\nAfter it Phase 1 follows.\n" } }
    local both = { LOOP[1], { lines = { 2 }, says = "nothing" } }
    local _, asked, made, work_dir = compile(folder, { { statements = both } })
    assert.truthy(asked.prompt:find("\n2. phases/04-publish.md:2: After it", 1, true), asked.prompt)
    assert.equal("completed", assert(skillrt.resume(work_dir, { skill = made, answer = "write" })).status)
    folder:write("phases/04-publish.md", "# Phase 4\nThen Phase 1 follows.\n")
    local _, _, _, found = skillrt.load(folder.dir, { agent = "x" })
    assert.equal("load.compiled-changed", found[1].code)
    assert.truthy(found[1].what:find("phases/04-publish.md", 1, true))
    local result
    result, asked = compile(folder, { { statements = { { lines = { 2 }, says = "nothing" } } } })
    assert.equal("waiting_for_person", result.reason, result.message)
    assert.is_nil(asked.prompt:find("\n1. SKILL.md", 1, true), asked.prompt)
    assert.truthy(asked.prompt:find("\n2. phases/04-publish.md:2: Then", 1, true), asked.prompt)
    assert.equal("", result.questions[1].question.detail)
  end)

  it("asks again about lines whose statements a person has spoilt", function()
    local both = { LOOP[1], { lines = { 2 }, says = "nothing" } }
    for _, change in ipairs { { "says", "perhaps" }, { "at", 7 }, { "at", json.array {} }, { "texts", 7 },
      { "phases", "all" } } do
      local folder <close> = folder_of { text = shapes[1].text,
        more = { ["phases/04-publish.md"] = "# Phase 4\nAfter it Phase 1 follows.\n" } }
      local _, _, made, work_dir = compile(folder, { { statements = both } })
      assert.equal("completed", assert(skillrt.resume(work_dir, { skill = made, answer = "write" })).status)
      local there = assert(json.decode(workflow_of(folder)))
      for _, one in ipairs(there.compiled.statements) do
        one[change[1]] = one.says == LOOP[1].says and change[2] or one[change[1]]
      end
      folder:write("workflow.json", assert(json.encode(there)))
      folder:write("phases/04-publish.md", "# Phase 4\nThen Phase 1 follows.\n")
      local result, asked = compile(folder, { { statements = both } })
      assert.equal("waiting_for_person", result.reason, change[1] .. ": " .. tostring(result.message))
      assert.truthy(asked.prompt:find("\n1. SKILL.md", 1, true), asked.prompt)
    end
  end)

  it("leaves what is dropped as it was, and refuses a workflow.json that a person wrote", function()
    local folder <close> = folder_of(shapes[1])
    local _, _, made, work_dir = compile(folder, { { statements = LOOP } })
    assert.equal("completed", assert(skillrt.resume(work_dir, { skill = made, answer = "drop" })).status)
    assert.is_nil(workflow_of(folder))
    folder:write("workflow.json", '{"phases":[{"id":"01-plan"}]}')
    local result, message = compile(folder, { { statements = LOOP } })
    assert.is_nil(result)
    assert.truthy(message:find("is a person's own", 1, true), message)
  end)

  it("is refused for a folder with actions and phases, which a run shows what it did not read of", function()
    local folder <close> = folder_of { text = "Phase 3 comes before phase 1.\n", more = {
      ["phases/actions/scan.md"] = "# Action: Scan\n\nScans.\n\n## Preconditions\n\n- [ ] the plan is good\n" } }
    local result, message, code = compile(folder, { { statements = {} } })
    assert.same({ nil, "invalid" }, { result, code })
    assert.truthy(message:find("has actions and phases, which are not compiled together", 1, true), message)
    local run = kit.run({ path = folder.base }, { "run", "s", "--agent", "/bin/true", "--work-dir", "w" })
    for _, told in ipairs { "load.quote", "load.hybrid-order", "load.condition-unread", "Phase 3 comes before phase 1" } do
      assert.truthy(run.err:find(told, 1, true) or run.out:find(told, 1, true), run.err .. run.out)
    end
  end)

  it("makes of a line another skill of the tree, which is a run of its own; what is not there is refused (F80)", function()
    local folder <close> = folder_on_disk()
    folder.file("s/SKILL.md", HEAD .. "After Phase 1 use the skill `sorter`.\n")
    assert(files.make_folders(folder.path .. "/sorter"))
    folder.file("sorter/SKILL.md", "---\nname: sorter\ndescription: Sorts.\nallowed-tools: Bash\n---\n# Sort\n\nSort it.\n")
    folder.file("agent", "#!/bin/sh\ncat > /dev/null\ncat answer\n")
    os.execute(("chmod +x '%s/agent'"):format(folder.path))
    for i, name in ipairs { "../nobody", "../sorter" } do
      folder.file("answer", assert(json.encode { statements = { { lines = { 1 }, says = "skill", phases = { "01-plan" },
        name = name } } }))
      local run = kit.run(folder, { "compile", "s", "--agent", "./agent", "--work-dir", "w" .. i })
      assert.equal(({ 1, 3 })[i], run.code, run.out .. run.err)
      assert.truthy(run.out:find(({ "there is no skill ../nobody", '"skill": "../sorter" +SKILL.md:7' })[i]),
        run.out .. run.err)
    end
    assert.equal(0, kit.run(folder, { "answer", "w2", "write" }).code)
    local run = kit.run(folder, { "run", "s", "--agent", "./agent", "--work-dir", "r", "--trust",
      env = "XDG_STATE_HOME=" .. folder.path })
    assert.equal(0, run.code, run.out .. run.err)
    assert.truthy(run.out:find("01%-plan%.json\n.*%[Sub%-run 2%.1%] sorter 1%.0%.0.*Executing: 02%-write"), run.out)
    -- what the other skill permits an agent that takes permissions is shown and asked about, too
    run = kit.run(folder, { "run", "s", "--agent", "claude", "--work-dir", "c", env = "XDG_STATE_HOME=" .. folder.path })
    assert.equal(8, run.code, run.out .. run.err)
    assert.truthy(run.err:find("agent ../sorter: runs the skill ../sorter\n  allowed-tools: its agent may use Bash", 1, true),
      run.err)
  end)

  it("is needed by no folder without such lines, nor by a page", function()
    for _, shape in ipairs { { text = "Do it.\n" }, { text = "1. a\n2. b\n", ids = {} } } do
      local folder <close> = folder_of(shape)
      local result, _, code = compile(folder, {})
      assert.same({ nil, "nothing" }, { result, code })
    end
  end)

  it("is a run as others are: from the command line, asked once, answered later by a person (F80)", function()
    local folder <close> = folder_on_disk()
    folder.file("agent", "#!/bin/sh\ncat > /dev/null\necho >> asked\necho Here it is:; cat answer\n")
    os.execute(("chmod +x '%s/agent'"):format(folder.path))
    local before = kit.run(folder, { "run", "s", "--dry-run", "--work-dir", "d" })
    assert.truthy(before.err:find("SKILL.md: note: runs 01-plan, 02-write, 03-review, 04-publish once each, in this order; "
      .. "nothing else was read", 1, true), before.err)
    assert.truthy(before.err:find('names a phase and was not read: "If the score of Phase 3 is below 8', 1, true), before.err)
    local run = kit.run(folder, { "compile", "s", "--agent", "./agent", "--work-dir", "w" })
    assert.equal(3, run.code, run.out .. run.err)
    assert.truthy(run.out:find('+%s+"while": "score < 8"%s+SKILL.md:7\n'), run.out)
    assert.truthy(run.out:find('+%s+"id": "01%-plan"%s+phases/01%-plan.md:1\n'), run.out)
    run = kit.run(folder, { "answer", "w", "write" })
    assert.equal(0, run.code, run.out .. run.err)
    assert.equal("\n", folder.read "asked")
    local after = kit.run(folder, { "run", "s", "--dry-run", "--work-dir", "e" })
    assert.is_nil(after.err:find("was not read", 1, true), after.err)
    assert.truthy(after.out:find("[Rounds] 02-write .. 03-review", 1, true), after.out)
    run = kit.run(folder, { "compile", "s" })
    assert.equal(0, run.code, run.out .. run.err)
    assert.truthy(run.err:find("is up to date", 1, true), run.err)
  end)

  it("is resumed where its process was killed while the agent was asked: nothing is written before a person saw it", function()
    local folder <close> = folder_on_disk()
    folder.file("agent", "#!/bin/sh\ncat > /dev/null\necho >> asked\n[ -e go ] || exec sleep 60\ncat answer\n")
    os.execute(("chmod +x '%s/agent'"):format(folder.path))
    local run = kit.start(folder, { "compile", "s", "--agent", "./agent", "--work-dir", "w" })
    for _ = 1, 2000 do
      if folder.read "asked" then
        break
      end
      os.execute "sleep 0.01"
    end
    os.execute("kill -9 " .. folder.read "w/run.lock":match "^%d+")
    run.wait()
    folder.file("go", "")
    local again = kit.run(folder, { "resume", "w" })
    assert.equal(3, again.code, again.out .. again.err) -- whether the agent acted is not known
    again = kit.run(folder, { "answer", "w", "retry" })
    assert.equal(3, again.code, again.out .. again.err)
    assert.is_nil(folder.read "s/workflow.json")
    again = kit.run(folder, { "answer", "w", "write" })
    assert.equal(0, again.code, again.out .. again.err)
    assert.truthy(folder.read "s/workflow.json":find('"while": "score < 8"', 1, true))
    assert.equal("\n\n", folder.read "asked")
  end)

  it("changes nothing where the agent writes no JSON, or none is chosen", function()
    local folder <close> = folder_of(shapes[1])
    local work = setmetatable({ path = folder.base }, { __index = { file = kit.folder } })
    function work.file(name, text) folder:write("../" .. name, text) return folder.base .. "/" .. name end
    work.file("agent", "#!/bin/sh\ncat > /dev/null\necho 'Sure! Phase 2 comes first.'\n")
    os.execute(("chmod +x '%s/agent'"):format(folder.base))
    for _, words in ipairs { { "compile", "s", "--agent", "./agent" }, { "compile", "s" } } do
      words.env = "HOME=" .. folder.base
      local run = kit.run(work, words)
      assert.not_equal(0, run.code)
      assert.is_nil(workflow_of(folder))
    end
  end)
end)
