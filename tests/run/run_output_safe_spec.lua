-- run_output_safe_spec.lua: what steps write and name as their output stays inside the run, is a
-- regular file and none of the run's own, whatever an agent left there.
local kit = require "tests.support.cli_kit"
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function sh(command)
  return skillrt.agent.command { "sh", "-c", command, parse = "json" }
end

-- One phase whose agent runs `command` in the run's directory; its result and that directory.
local function phase(command)
  local dir = R.folder() .. "/run"
  local result = assert(R.run({ limits = { max_retries = 0 }, phases = { { id = "a", output = "out/a.json",
    agent = sh("cd " .. dir .. " && " .. command) } } }, { work_dir = dir }))
  return result, dir
end

describe("an output file", function()
  after_each(R.clean)

  it("is read where the agent wrote it, below the run's directory", function()
    local result = phase [[mkdir -p x && echo hello > x/b.txt && echo '{"status":"completed","output_file":"x/b.txt"}']]
    assert.equal("completed", result.status, result.message)
    assert.equal("hello\n", result.state.outputs.a)
  end)

  it("that leads through a link, is a pipe or one of the run's own files is refused, and not read (F13)", function()
    for what, case in pairs {
      ["a link out"] = { "ln -s /etc/passwd b.txt", "b.txt", "through a link" },
      ["a folder that is a link"] = { "ln -s /etc d", "d/passwd", "through a link" },
      ["the named output as a link"] = { "mkdir -p out && ln -s /etc/passwd out/a.json", "none", "through a link" },
      ["a pipe"] = { "mkfifo p", "p", "not a regular file" },
      ["a folder"] = { "mkdir f", "f", "not a regular file" },
      ["the lock"] = { "true", "run.lock", "a file of the run itself" },
      ["the journal"] = { "true", "journal/00000001.sj", "a file of the run itself" },
      ["a view"] = { "true", "./state.json", "a file of the run itself" },
      ["the inbox"] = { "mkdir -p inbox && echo x > inbox/a", "inbox/a", "a file of the run itself" },
    } do
      local result = phase(([[%s; echo '{"status":"completed","output_file":"%s"}']]):format(case[1], case[2]))
      assert.equal("failed", result.status, what)
      assert.truthy(tostring(result.message):find(case[3], 1, true), what .. ": " .. tostring(result.message))
      assert.is_nil(result.state.outputs.a)
    end
  end)

  it("and ctx.write follow no link out of the run (F13)", function()
    local outside, dir, said = R.folder(), R.folder() .. "/run", nil
    local result = assert(R.run({ limits = { max_retries = 0 }, actions = { { id = "a", run = function(_, ctx)
      os.execute(("ln -s %s %s/link"):format(outside, dir))
      said = { ctx.write("link/b.txt", "x") }
      assert.error_matches(function() ctx.write("inbox/x", "y") end, "a file of the run itself")
      return { n = 1 }
    end } } }, { work_dir = dir }))
    assert.equal("completed", result.status, result.message)
    assert.is_nil(said[1])
    assert.truthy(said[2]:find("link/b.txt: leads through a link", 1, true), said[2])
    assert.is_nil(io.popen("ls " .. outside):read "l")
  end)
end)

describe("an output file that a failed attempt left", function()
  after_each(R.clean)

  -- A phase whose agent leaves half a file and fails the first time; then `second`.
  local function tried_twice(second, limits)
    local dir = R.folder() .. "/run"
    local script = "cd " .. dir .. [[; test -e tried && { ]] .. second .. [[; exit; }; touch tried; echo half > a.json; exit 75]]
    return assert(R.run({ limits = limits, phases = { { id = "a", output = "a.json", idempotent = true,
      agent = sh(script) } } }, { work_dir = dir })), dir
  end

  it("is not taken for what the next attempt wrote: it is put aside", function()
    local result, dir = tried_twice([[echo '{"status":"completed"}']], { max_retries = 1 })
    assert.equal("failed", result.status)
    assert.truthy(result.message:find("its output a.json was neither returned nor written", 1, true), result.message)
    assert.equal("half\n", R.read(dir .. "/a.json.failed"))
  end)

  it("gives way to the one that the next attempt writes", function()
    local result, dir = tried_twice([[echo whole > a.json; echo '{"status":"completed"}']])
    assert.equal("completed", result.status, result.message)
    assert.same({ "whole\n", "half\n" }, { R.read(dir .. "/a.json"), R.read(dir .. "/a.json.failed") })
    assert.equal("whole\n", result.state.outputs.a)
  end)
end)

describe("an output file that a failed member of a chain left", function()
  after_each(R.clean)

  -- A chain whose first member leaves half a file and fails, then `second`.
  local function chain(second)
    return skillrt.agent.chain { sh "cd {work_dir}; echo half > a.json; exit 1", sh("cd {work_dir}; " .. second) }
  end

  it("is not taken for the next member's", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run({ limits = { max_retries = 0, max_errors = 1 }, phases = { { id = "a", output = "a.json",
      agent = chain [[echo '{"status":"completed"}']] } } }, { work_dir = dir }))
    assert.equal("failed", result.status)
    assert.truthy(result.message:find("its output a.json was neither returned nor written", 1, true), result.message)
    assert.equal("half\n", R.read(dir .. "/a.json.failed"))
  end)

  it("is put aside once: a resume takes what the next member wrote, wherever it was cut", function()
    local dir, copy, kept = R.folder() .. "/run", R.folder() .. "/cut", false
    local definition = { agents = { c = chain [[echo x >> asked; echo whole > a.json; echo '{"status":"completed"}']] },
      actions = { { id = "a", output = "a.json", idempotent = true, run = function(_, ctx)
        local reply, message = ctx.await { agent = "c" }
        ctx.sleep(0.05) -- what came is recorded before the step is over
        return reply and { n = 1 } or nil, message
      end } } }
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.equal("completed", result.status, result.message)
    assert.same({ "whole\n", "half\n" }, { R.read(dir .. "/a.json"), R.read(dir .. "/a.json.failed") })
    for keep = 2, #R.records(dir) - 1 do
      R.cut(dir, copy, keep)
      local again = assert(skillrt.resume(copy, { skill = R.skill(definition) }))
      assert.equal("completed", again.status, ("cut behind %d: %s"):format(keep, again.message))
      assert.equal("whole\n", R.read(copy .. "/a.json"), "cut behind " .. keep)
      kept = kept or R.read(copy .. "/asked") == "x\n"
      os.execute(("rm -rf '%s'"):format(copy))
    end
    assert.is_true(kept) -- in some it was not asked again
  end)
end)

describe("a view", function()
  it("is not written through a context folder that somebody made a link (F13)", function()
    local folder <close> = kit.folder()
    folder.file("link.lua", [[
      return require "skillrt".skill { name = "link", actions = { { id = "a", run = function(_, ctx)
        os.execute("mkdir -p outside && ln -s ../outside w/context")
        ctx.context.set("secret", "text")
        return {}
      end } } }]])
    local run = kit.run(folder, { "link.lua", "--work-dir", "w" })
    local list <close> = io.popen(("ls %s/outside"):format(folder.path))
    assert.equal("", list:read "a", run.err)
    assert.truthy(run.err:find("context/secret.json: leads through a link", 1, true), run.err)
  end)
end)

describe("a skill's specs and prompts", function()
  after_each(R.clean)

  it("are read below its folder, through no link: a link to a key outside is refused, and nobody is asked", function()
    local folder <close> = kit.folder()
    folder.file("key", "PRIVATE")
    assert(os.execute(("cd '%s' && mkdir -p skill/specs && cd skill && ln -s ../../key specs/a.md && ln -s .. up"):format(folder.path)))
    for _, field in ipairs { 'specs = { "specs/a.md" }', 'specs = { "up/key" }', 'one = "specs/a.md"', 'one = "up/key"' } do
      local prompt = field:match "one = (.*)" or '"say it"'
      folder.file("skill/s.lua", ([[local skillrt = require "skillrt"
        return skillrt.skill { name = "s", SPECS agents = { a = skillrt.agent.command { "sh", "-c",
          "cat > asked; echo '{\"status\":\"completed\",\"summary\":\"x\"}'", stdin = "{prompt}" } },
          actions = { { id = "a", agent = "a", prompt = PROMPT } } }]]):gsub("SPECS", field:find "^specs" and field .. "," or "")
        :gsub("PROMPT", prompt))
      local run = kit.run(folder, { "skill/s.lua", "--work-dir", "w" })
      assert.not_equal(0, run.code, field)
      assert.truthy((run.out .. run.err):find("leads through a link", 1, true), run.out .. run.err)
      assert.is_nil(folder.read "asked")
    end
  end)

  it("... as are its config, and a document that became a link behind the look at its folder", function()
    local folder <close> = kit.folder()
    folder.file("config.json", '{"name":"s","mode":"sequential","phases":[{"id":"a","prompt":"say it","output":"a.md"}]}')
    assert(os.execute(("cd '%s' && mkdir s && ln -s ../config.json s/skill-config.json"):format(folder.path)))
    for _, command in ipairs { "check", "run", "graph" } do
      local run = kit.run(folder, { command, "s/skill-config.json" })
      assert.truthy(run.code ~= 0 and (run.out .. run.err):find("leads through a link", 1, true), run.out .. run.err)
    end
    folder.file("key", "PRIVATE")
    folder.file("s/SKILL.md", "# S")
    local found = require("skillrt.document.findings").new()
    local tree = require("skillrt.document.load.tree").open(folder.path .. "/s", found)
    assert(os.execute(("cd '%s/s' && ln -sf ../key SKILL.md"):format(folder.path)))
    assert.is_nil(tree:read "SKILL.md")
    assert.is_nil(require("skillrt.document.load.skill_md").summary(folder.path .. "/s"))
  end)

  it("are found through a link to a folder inside it, by a run as by a check: a generated skill and a page", function()
    local folder <close> = kit.folder()
    assert.equal(0, kit.run(folder, { "new", "made", "--mode", "sequential", "--phases", "one", "--yes" }).code)
    assert(os.execute(("cd '%s' && mkdir -p page/in/phases made/in && mv made/phases made/in/ && ln -s in/phases made/phases "
      .. "&& ln -s in/phases page/phases"):format(folder.path)))
    folder.file("page/SKILL.md", "---\nname: page\ndescription: d\n---\n# P\n")
    folder.file("page/in/phases/01-one.md", "# One\nSay the word WHALE.\n")
    folder.file("made/in/phases/01-one.md", "# One\nSay the word WHALE.\n")
    local agent = folder.file("agent", '#!/bin/sh\ncat > asked\necho \'{"status":"completed","summary":"x","output":"y"}\'\n')
    assert(os.execute("chmod +x " .. agent))
    for _, name in ipairs { "made", "page" } do
      local check = kit.run(folder, { "check", name })
      assert.equal(0, check.code, check.out .. check.err)
      local run = kit.run(folder, { "run", name, "--agent", agent, "--trust" })
      assert.truthy((folder.read "asked" or ""):find("WHALE", 1, true), run.out .. run.err)
      os.remove(folder.path .. "/asked")
    end
  end)

  it("are refused with its strategy that is a link, before its code is read", function()
    local folder <close> = kit.folder()
    folder.file("own.lua", "return { select = function(_, a) io.open('ran', 'w'):close() return a[1].id end }\n")
    folder.file("s.lua", [[return require "skillrt".skill { name = "s", strategy = "strategies/own.lua",
      actions = { { id = "a", run = function() return {} end } } }]])
    assert(os.execute(("cd '%s' && mkdir strategies && ln -s ../own.lua strategies/own.lua"):format(folder.path)))
    local run = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.truthy(run.code ~= 0 and run.err:find("leads through a link", 1, true), run.out .. run.err)
    assert.is_nil(folder.read "ran")
    assert.equal(0, kit.run(folder, { "run", "s.lua", "--strategy", "strategies/own.lua", "--work-dir", "v" }).code)
    assert.truthy(folder.read "ran") -- its person typed it
  end)
end)
