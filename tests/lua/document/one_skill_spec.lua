-- one_skill_spec.lua: run, check, graph and simulate judge one and the same skill, whatever lies at a path.
local corpus = require "tests.support.corpus"
local files = require "skillrt.base.files"
local found_of = require "skillrt.document.findings"
local open = require "skillrt.document.open"
local skill_folder = require "tests.support.skill_folder"
local skill_of = require "skillrt.skill"
local subject_of = require "skillrt.document.check.subject"

-- What a value says, where functions say that they are there.
local function plain(value, seen)
  if type(value) ~= "table" then
    return type(value) == "function" and "a function" or tostring(value)
  end
  seen = seen or {}
  if seen[value] then
    return "above"
  end
  seen[value] = true
  local keys, out = {}, {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    out[#out + 1] = tostring(key) .. "=" .. plain(value[key], seen)
  end
  seen[value] = nil
  return "{" .. table.concat(out, ";") .. "}"
end

-- Where it lies is not what it is.
local function digest(definition)
  local checked = definition and skill_of.check(definition)
  local parts = {}
  for _, field in ipairs { "name", "mode", "actions", "phases", "machine", "state", "schema", "terminate", "rounds",
    "strategy", "limits", "inputs", "goal" } do
    parts[#parts + 1] = checked and field .. plain(checked[field]) or nil
  end
  return checked and files.digest(table.concat(parts, "\n"))
end

-- The digests of what is run and of what is judged; nil: refused.
local function both(path)
  local run = open.load(path, { agents = {} })
  local subject = subject_of.of(path, found_of.new())
  return skill_of.is(run) and digest(run) or nil, subject and digest(subject.definition)
end

local CONFIG <const> = [[{ "phases_to_run": ["a"], "phases": [{ "id": "a" }, { "id": "b" }] }]]
local SCRIPT <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "three", phases = { { id = "a", run = print }, { id = "b", run = print },
  { id = "c", run = print } } }
]]

describe("what lies at a path", function()
  it("is the script of a folder for a check, too, where a workflow.json lies beside it", function()
    for _, name in ipairs { "workflow.json", "skill-config.json" } do
      local folder <close> = skill_folder.make { ["skill.lua"] = SCRIPT, [name] = CONFIG,
        ["SKILL.md"] = skill_folder.SKILL, ["phases/a.md"] = "# A\n" }
      local subject = assert(subject_of.of(folder.dir, found_of.new()))
      assert.same({ "three", 3 }, { subject.definition.name, #subject.definition.phases }, name)
      local run, judged = both(folder.dir)
      assert.equal(run, judged, name)
    end
  end)

  it("is a script whatever its name, and what asks or judges in a run is checked with the rest", function()
    local folder <close> = skill_folder.make { skill = SCRIPT, ["deep.lua/SKILL.md"] = skill_folder.SKILL,
      ["deep.lua/phases/01-a.md"] = "# A\n" }
    for _, path in ipairs { "/skill", "/deep.lua" } do
      local run, judged = both(folder.dir .. path)
      assert.truthy(run, path)
      assert.equal(run, judged, path)
    end
  end)

  it("is the same skill for a run and a check: what is generated", function()
    for _, name in ipairs(files.glob("tests/golden/configs", "*.json")) do
      local raw, texts = require("skillrt.base.json").decode(assert(files.read("tests/golden/configs/" .. name))), {}
      for _, file in ipairs(assert(require("skillrt.document.generate").generate(raw, { templates = "templates" }))) do
        texts[file.path] = file.text
      end
      local folder <close> = skill_folder.make(texts, "made")
      local run, judged = both(folder.dir)
      assert.truthy(run, name)
      assert.equal(run, judged, name)
    end
  end)

  it("is the same skill for a run and a check: examples, skills of the tests", function()
    local paths, count = {}, 0
    for _, pattern in ipairs { "examples/*", "examples/*/*.lua", "examples/*/SKILL.md", "tests/run/skills/*.lua" } do
      table.move(files.glob(".", pattern), 1, 1000, #paths + 1, paths)
    end
    for _, path in ipairs(paths) do
      if files.is_folder(path) or path:find "%.lua$" and not path:find "_test%.lua$" or path:find "%.md$" then
        local run, judged = both(path)
        assert.equal(run, judged, path)
        count = count + (run and 1 or 0)
      end
    end
    assert.truthy(count >= 15, count)
  end)

  it("is the same skill for a run and a check in the folders of others", function()
    local base, count = os.tmpname(), 0
    os.remove(base)
    for _, case in ipairs(corpus.cases()) do
      local dir = corpus.write(case, base)
      local run, judged = both(case.target and case.target ~= "." and dir .. "/" .. case.target or dir)
      if run then -- a check looks at what is refused, too
        assert.equal(run, judged, case.family .. "/" .. case.name)
        count = count + 1
      end
    end
    os.execute("rm -rf '" .. base .. "'")
    assert.truthy(count >= 60, count)
  end)
end)
