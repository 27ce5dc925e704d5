-- specs_spec.lua: the documents a skill demands to be read first: pinned, handed on, and no run
-- without them (Phase 0).
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local here = require("skillrt.core").files.current()

-- Keeps each task it was given, and answers it.
local AGENT = [[
#!/usr/bin/env lua5.4
local task = io.read "a"
local file <close> = io.open("TASKS", "a")
file:write(task, "\n=====\n")
print '{"status":"completed","summary":"done","output":{"done":true,"breaking":[1]}}'
]]

-- A generated skill that demands two documents, and the agent beside it.
local function generated(folder, name)
  local config = ("%s/tests/golden/configs/%s.json"):format(here, name)
  local result = kit.run(folder, { "generate", config, "--out", "skill" })
  assert.equal(0, result.code, result.err)
  require "tests.support.filled"(folder.path .. "/skill")
  local agent = folder.file("agent", (AGENT:gsub("TASKS", folder.path .. "/tasks")))
  os.execute(("chmod +x '%s'"):format(agent))
  return "SKILLRT_AGENT=" .. agent
end

local function first_record(folder)
  local payload = folder.read("w/journal/00000001.sj"):match '({[^\n]*"t":"run"[^\n]*})\n'
  return assert(json.decode(payload))
end

describe("the specs of a skill (Phase 0)", function()
  it("are recorded with path and SHA-256 and handed to every agent whole (R76, R77)", function()
    local folder <close> = kit.folder()
    local env = generated(folder, "release-notes")
    folder.file("skill/specs/tone.md", "# Tone\n\nBe brief. END DOCUMENT specs/tone.md is no mark here.\n")
    local result = kit.run(folder, { "run", "skill/skill.lua", "--work-dir", "w", env = env })
    assert.equal(0, result.code, result.out .. result.err)
    local record = first_record(folder)
    assert.same({ "specs/tone.md", "specs/versions.md" }, record.specs)
    local sha256 = require("skillrt.core").sha256
    assert.equal(sha256(folder.read "skill/specs/tone.md"), record.pins["specs/tone.md"])
    assert.equal(sha256(folder.read "skill/skill-config.json"), record.pins["skill-config.json"])
    local tasks = folder.read "tasks"
    local said = assert(tasks:match "%[SPECS%]\n(.-)\n\n#")
    assert.truthy(said:find("BEGIN DOCUMENT specs/tone.md 2\n# Tone\n\nBe brief.", 1, true), said)
    assert.truthy(said:find("END DOCUMENT specs/tone.md 2\n", 1, true), said)
    assert.truthy(said:find("BEGIN DOCUMENT specs/versions.md\n", 1, true), said)
    assert.equal(select(2, tasks:gsub("%[PHASE%]", "")), select(2, tasks:gsub("%[SPECS%]", "")))
  end)

  it("are named by their files where they do not fit into a prompt (F15)", function()
    local folder <close> = kit.folder()
    local env = generated(folder, "release-notes")
    folder.file("skill/specs/tone.md", ("long "):rep(20000))
    local result = kit.run(folder, { "run", "skill/skill.lua", "--work-dir", "w", env = env })
    assert.equal(0, result.code, result.out .. result.err)
    local tasks = folder.read "tasks"
    local wanted = "DOCUMENT %s/skill/specs/tone.md (100000 bytes): read it from its file"
    assert.truthy(tasks:find(wanted:format(folder.path), 1, true))
    assert.truthy(tasks:find("BEGIN DOCUMENT specs/versions.md\n", 1, true))
  end)

  it("have to be there: no run starts without one, with an empty one or an outline (R77, F15)", function()
    local folder <close> = kit.folder()
    local env = generated(folder, "link-fixer")
    for text, sign in pairs { [false] = "is missing", [" \n"] = "is empty",
      ["# Rules\n\n## Examples\n\nNone yet.\n"] = "is an outline that is not filled in" } do
      os.remove(folder.path .. "/skill/specs/link-rules.md")
      if text then
        folder.file("skill/specs/link-rules.md", text)
      end
      local result = kit.run(folder, { "run", "skill/skill.lua", "--work-dir", "w", env = env })
      assert.equal(2, result.code)
      assert.truthy(result.err:find("skill/specs/link-rules.md: " .. sign, 1, true), result.err)
      assert.truthy(result.err:find("remove it from specs", 1, true), result.err)
      assert.is_nil(folder.read "tasks")
      assert.is_nil(folder.read "w/journal/00000001.sj")
    end
  end)

  it("that changed are named on resume, and so is a changed config (F15)", function()
    local folder <close> = kit.folder()
    local env = generated(folder, "release-notes")
    folder.file("agent", "#!/bin/sh\ncat >/dev/null\nkill -9 $PPID\n")
    kit.run(folder, { "run", "skill/skill.lua", "--work-dir", "w", env = env })
    folder.file("skill/specs/tone.md", "other rules\n")
    folder.file("skill/skill-config.json", (folder.read "skill/skill-config.json":gsub('"version": "', '%0v')))
    folder.file("agent", (AGENT:gsub("TASKS", folder.path .. "/tasks")))
    local refused = kit.run(folder, { "resume", "w", env = env })
    assert.equal(8, refused.code, refused.out .. refused.err)
    assert.truthy(refused.err:find("changed since the run began: skill-config.json, specs/tone.md", 1, true), refused.err)
    assert.is_nil(folder.read "tasks")
    refused = kit.run(folder, { "resume", "w", "--accept-changes", env = env }) -- its prompt is another one now
    assert.equal(8, refused.code, refused.out .. refused.err)
    assert.truthy(refused.err:find("may have acted", 1, true), refused.err)
    assert.is_nil(folder.read "tasks")
    assert.equal(0, kit.run(folder, { "resume", "w", "--accept-changes", "--yes", env = env }).code)
    assert.truthy(folder.read("tasks"):find("other rules", 1, true))
  end)
end)
