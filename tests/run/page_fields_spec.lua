-- page_fields_spec.lua: the table of front matter in docs/write/pages.md, row by row: what it says of each field of a skill,
-- a command and an agent is tried by a run of a page that has it.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local PATHS <const> = { skill = "page/SKILL.md", command = "page.md", agent = "page.md" }
local NEEDED <const> = { skill = { "name", "description" }, command = { "description" }, agent = { "name", "description" } }
local VALUES <const> = { name = "page", description = "Looks at things", metadata = "{ a: b }", ["allowed-tools"] = "Read, Grep",
  tools = "Read, Grep", ["argument-hint"] = '"[issue]"', arguments = "[issue]", hooks = "{}", maxTurns = "3", background = "true",
  ["user-invocable"] = "true", ["disable-model-invocation"] = "true", version = "2.0.0", model = "opus", effort = "high" }

-- As Claude Code: keeps its arguments and what it is asked.
local CLAUDE <const> = [[#!/bin/sh
echo "$@" >args; cat >asked
printf '{"type":"result","subtype":"success","session_id":"s","result":"done"}\n']]

-- A page of some kind with this field, run; the folder, and what the run said.
local function run(kind, field, agent)
  local folder = kit.folder()
  os.execute(("mkdir '%s/page'"):format(folder.path))
  folder.file("claude", CLAUDE)
  os.execute(("chmod +x '%s/claude'"):format(folder.path))
  local lines = { "---" }
  for _, name in ipairs(NEEDED[kind]) do
    lines[#lines + 1] = name ~= field and ("%s: %s"):format(name, VALUES[name]) or nil
  end
  if kind == "command" and field ~= "allowed-tools" and field ~= "tools" then lines[#lines + 1] = "allowed-tools: Read" end
  lines[#lines + 1] = ("%s: %s"):format(field, VALUES[field] or "other")
  folder.file(PATHS[kind], table.concat(lines, "\n") .. "\n---\nFix $issue as $0.\n")
  local seen = kit.run(folder, { "run", (PATHS[kind]:gsub("/SKILL.md", "")), "--agent", agent or "claude", "--trust", "--work-dir", "w",
    "--sandbox", "off", "--", "seven", env = ("PATH='%s':$PATH"):format(folder.path) })
  assert.equal(0, seen.code, seen.out .. seen.err)
  return folder, seen.out .. seen.err
end

-- What shows that a field does what the table says.
local WORKS <const> = {
  name = function(_, said) return said:find("Skill: page ", 1, true) end,
  description = function(folder)
    local path = folder.read "page/SKILL.md" and "page" or "page.md"
    local list = json.decode(kit.run(folder, { "mcp", "--list", path }).out)
    return json.encode(list):find("Looks at things", 1, true)
  end,
  ["allowed-tools"] = function(folder) return folder.read("asked"):find("[TOOLS] Read, Grep", 1, true) end,
  tools = function(folder) return folder.read("asked"):find("[TOOLS] Read, Grep", 1, true) end,
  ["argument-hint"] = function(folder) return folder.read("asked"):find("as seven.", 1, true) end,
  arguments = function(folder) return folder.read("asked"):find("Fix seven as seven.", 1, true) end,
  model = function(folder) return folder.read("args"):find("--model opus", 1, true) end,
  effort = function(folder) return folder.read("args"):find("--effort high", 1, true) end,
}

-- The rows: { field, kind, mark }.
local ROWS = {}
do
  local table_of = kit.read("docs/write/pages.md"):match "\n### Front matter\n(.-)\n## "
  for fields, kinds, mark in table_of:gmatch "\n| (`[^|]+) | ([^|]+) | ([YPH-]) |" do
    for field in fields:gmatch "`([^`]+)`" do
      for kind in kinds:gmatch "%a+" do
        ROWS[#ROWS + 1] = { field, kind, mark }
      end
    end
  end
end

describe("the table of front matter", function()
  it("has every field that skillrt knows of these pages", function()
    local form = require "skillrt.document.form"
    local there = {}
    for _, row in ipairs(ROWS) do there[row[2] .. " " .. row[1]] = true end
    local missing = {}
    for kind, name in pairs { skill = "skill_md", command = "command", agent = "agent_md" } do
      for _, key in ipairs(form.KINDS[name]) do
        if key.type == "unread" and not there[kind .. " " .. key.key] and key.key:find "^%l" and not (kind == "agent"
          and (key.key == "disallowed-tools" or key.key == "shell")) then
          missing[#missing + 1] = kind .. " " .. key.key
        end
      end
    end
    assert.same({}, missing)
    assert.is_true(#ROWS > 50, #ROWS)
  end)

  for _, row in ipairs(ROWS) do
    local field, kind, mark = table.unpack(row)
    it(("is true of %s in %s (%s)"):format(field, kind, mark), function()
      local folder <close>, said = run(kind, field)
      local is_reported = said:find(field .. ": is not obeyed", 1, true) ~= nil
      assert.equal(mark == "-", is_reported, said)
      if mark == "Y" or mark == "P" then
        assert.truthy(WORKS[field](folder, said), said .. (folder.read "asked" or "") .. (folder.read "args" or ""))
      elseif mark == "H" then
        assert.falsy(said:find(field, 1, true), said)
      end
    end)
  end

  it("leaves a model alone that its person chose", function()
    for word, wanted in pairs { ["claude:haiku"] = "--model haiku", claude = "--model opus" } do
      local folder <close> = run("agent", "model", word)
      assert.truthy(folder.read("args"):find(wanted, 1, true), folder.read "args")
    end
  end)
end)

describe("a tool that a page allows", function()
  it("is said to be missing where the agent is a model that has it not, before the run; others have their own", function()
    local folder <close> = kit.folder()
    folder.file("claude", CLAUDE)
    os.execute(("chmod +x '%s/claude'"):format(folder.path))
    folder.file("page.md", "---\ndescription: d\nallowed-tools: Read, Bash(git:*), mcp__hub__get, AskUserQuestion\n---\nDo it.\n")
    local env = ("PATH='%s':$PATH OPENAI_API_KEY=k OPENAI_BASE_URL=http://127.0.0.1:9"):format(folder.path)
    local function said(agent)
      return kit.run(folder, { "run", "page.md", "--trust", "--agent", agent, "--limit", "run_timeout=0.1", "--sandbox", "off", "--",
        "x", env = env }).err
    end
    for _, agent in ipairs { "openai", "claude,openai" } do
      assert.truthy(said(agent):find("has no Read, Bash, mcp__hub__get, which the page allows", 1, true), said(agent))
    end
    assert.falsy(said("claude"):find("which the page allows", 1, true))
  end)
end)
