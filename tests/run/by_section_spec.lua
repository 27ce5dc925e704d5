-- by_section_spec.lua: a page whose numbered steps are given to its agent one at a time, from the command line.
local R = require "tests.support.runs"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"
local stand_in = require "tests.support.stand_in"

local AGENT <const> = [[#!/bin/sh
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n > count
cat > asked.$n
[ $n = 2 ] && [ ! -f ready ] && exit 75
echo "result $n"
]]

local function page(front, body)
  return "---\nname: s\ndescription: d\n" .. front .. "---\n" .. body
end

local STEPS <const> = "# S\n\n## Step 1: Look\nLook for $ARGUMENTS.\n\n## Step 2: Mend\nMend $ARGUMENTS.\n"

local function folder_with(text)
  local folder = kit.folder()
  os.execute(("mkdir '%s/s'"):format(folder.path))
  folder.file("s/SKILL.md", text)
  folder.file("agent", AGENT)
  os.execute(("chmod +x '%s/agent'"):format(folder.path))
  return folder
end

describe("a page by section", function()
  it("is resumed at the step where it was, by the line that began it or by its front matter", function()
    for name, front in pairs { flag = "", matter = "metadata:\n  skillrt:\n    by-section: true\n" } do
      local folder <close> = folder_with(page(front, STEPS))
      local words = { "run", "s", "--agent", "./agent", "--work-dir", "w", "--limit", "max_retries=0" }
      words[#words + 1] = name == "flag" and "--by-section" or nil
      local run = kit.run(folder, table.move({ "--", "the cat" }, 1, 2, #words + 1, words))
      assert.equal(1, run.code, run.out .. run.err)
      assert.truthy(run.out:find("step 2 of 2: Step 2: Mend", 1, true), run.out)
      folder.file("ready", "")
      run = kit.run(folder, { "retry", "w" })
      assert.equal(0, run.code, run.out .. run.err)
      assert.same({ "3\n", "result 3\n" }, { folder.read "count", folder.read "w/run.md" }, name)
      assert.truthy(folder.read("asked.1"):find("[STEP 1 of 2]\n## Step 1: Look\nLook for the cat.", 1, true))
      assert.is_nil(folder.read("asked.1"):find("Mend the cat", 1, true))
      assert.equal(folder.read "asked.2", folder.read "asked.3")
      assert.truthy(folder.read("asked.3"):find("\nresult 1\n", 1, true))
      assert.truthy(folder.read("asked.3"):find("[STEP 2 of 2]\n## Step 2: Mend\nMend the cat.", 1, true))
    end
  end)

  it("has each step checked for the files that it promises: asked once more, then the run fails", function()
    local promise = STEPS:gsub("Look for %$ARGUMENTS%.", "%0\n\n- **Output**: `found.md`")
    for wrote, code in pairs { ["[ $n = 2 ] && echo x > found.md"] = 0, [":"] = 1 } do
      local folder <close> = folder_with(page("", promise))
      folder.file("agent", AGENT:gsub("%[ %$n = 2.-exit 75", function()
        return wrote
      end))
      local run = kit.run(folder, { "run", "s", "--agent", "./agent", "--work-dir", "w", "--by-section", "--limit",
        "max_retries=0", "--", "x" })
      assert.equal(code, run.code, run.out .. run.err)
      assert.truthy(run.out:find("step 1 promises the file found.md, which does not exist", 1, true), run.out)
      assert.truthy(folder.read("asked.2"):find("Your step 1 promises the file found.md, which does not exist.", 1, true))
      assert.equal(code == 0 and "3\n" or "2\n", folder.read "count")
    end
  end)

  it("is a slash command, too; a dry run names its steps", function()
    local folder <close> = kit.folder()
    folder.file("fix.md", "---\ndescription: d\n---\n1. Look at $1\n2. Mend $1\n")
    local run = kit.run(folder, { "run", "fix.md", "--by-section", "--dry-run", "--", "x" })
    assert.equal(0, run.code, run.out .. run.err)
    assert.truthy(run.out:find("would ask: step 2: Mend $1", 1, true), run.out)
    local whole = kit.run(folder, { "run", "fix.md", "--dry-run", "--", "x" })
    assert.is_nil(whole.out:find("would ask: step", 1, true))
  end)

  it("is refused where it has no such steps, or says them itself, with file and line", function()
    for text, message in pairs {
      [page("", "# S\n\nDo it.\n")] = "SKILL.md:1: error: cannot be run by section: it has no numbered steps; number its",
      [page("", "# S\n1. a\n2. b\n## T\n1. c\n2. d\n")] = "it has several lists of numbered steps: line 6, line 9",
      [page("metadata:\n  skillrt: { by-section: maybe }\n", STEPS)] = "SKILL.md:4: error: cannot be run by section: "
        .. "it has neither true nor false",
    } do
      local folder <close> = folder_with(text)
      local run = kit.run(folder, { "run", "s", "--agent", "./agent", text:find "maybe" and "--quiet" or "--by-section",
        "--work-dir", "w", "--", "x" })
      assert.equal(2, run.code, run.out)
      assert.truthy(run.err:find(message, 1, true), run.err)
      assert.same({}, { folder.read "count", folder.read "w/state.json" })
    end
    local folder <close> = folder_with(page("", "# S\n"))
    os.execute(("mkdir '%s/s/phases'"):format(folder.path))
    folder.file("s/phases/01-a.md", "# A\n")
    folder.file("a.lua", "return 1\n")
    for path, message in pairs { s = "its steps are calls of their own already", ["a.lua"] = "a.lua: a script is not run" } do
      local run = kit.run(folder, { "run", path, "--agent", "./agent", "--by-section", "--", "x" })
      assert.equal(2, run.code, run.out)
      assert.truthy(run.err:find(message, 1, true), run.err)
    end
  end)

  it("costs one call for each step: a session is sent hardly more than in one piece, others all before again", function()
    local body = { "# S\n\n", ("Background of the work. "):rep(80), "\n\n" }
    for i = 1, 5 do
      local text = ("Do this part with care, and say what you found. "):rep(20)
      body[#body + 1] = ("## Step %d: Part %d\n\n%s\n\n"):format(i, i, text)
    end
    local folder <close> = folder_with(page("", table.concat(body)))
    local good, sent, calls = assert(R.read "tests/support/streams/claude_good.jsonl"), {}, {}
    for name, agent in pairs { one = "claude", session = "claude", program = "agent" } do
      local out = agent == "claude" and good or "found\n"
      local program = stand_in.new(R, agent, { out, out, out, out, out })
      local skill = assert(skillrt.load(folder.path .. "/s", { by_section = name ~= "one",
        agent = agent == "claude" and { kind = "claude", program = program.path }
          or { kind = "command", argv = { program.path }, stdin = "{prompt}" } }))
      local result = assert(skill:run { work_dir = R.folder() .. "/w", input = { task = "x" }, sandbox = "off" })
      assert.equal("completed", result.status, result.message)
      sent[name], calls[name] = 0, program.calls()
      for call = 1, calls[name] do
        sent[name] = sent[name] + #program.of(call, "stdin")
      end
    end
    R.clean()
    assert.same({ one = 1, session = 5, program = 5 }, calls)
    local docs = assert(R.read "docs/write/pages.md"):gsub("%s+", " ")
    local said = ("sends %.2f times the bytes of the page in one piece; another program %.1f times"):format(
      sent.session / sent.one, sent.program / sent.one)
    assert.truthy(docs:find(said, 1, true), said)
  end)
end)
