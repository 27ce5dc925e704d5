-- schemas_spec.lua: docs/schema has a schema for each kind of document, listed in catalog.json; examples fit, planted
-- faults do not, by our own validator and, where it is installed, by python3-jsonschema.
local files = require "skillrt.base.files"
local findings = require "skillrt.document.findings"
local front_matter = require "skillrt.document.load.front_matter"
local json = require "skillrt.base.json"
local json_schema = require "tests.support.json_schema"
local scratch = require "tests.support.cli_kit"
local yaml = require "skillrt.document.load.yaml"

local FOLDER = "docs/schema/"

local function decoded(path)
  return assert(json.decode(assert(files.read(path))))
end

local function front(text)
  return front_matter.read(text, "SKILL.md", findings.new()).fields
end

local AGENT_YML = [[
name: tester
llm:
  model-name: "${env:MODEL}"
workflow:
  max-retries: 5
skills:
  - name: analysis
    description: reads
    tools: [ReadTool]
  - name: full
    tools: []
]]
local COMMAND = "---\ndescription: Commits.\nallowed-tools: Bash(git:*), Read\nargument-hint: '[message]'\n---\nCommit.\n"
local AGENT = "---\nname: reader\ndescription: Reads.\ntools: [Read, Grep]\nmodel: inherit\n---\nYou read.\n"

-- Documents of each kind, by the name of its schema.
local function good()
  local out = { ["skill-config"] = {}, workflow = {}, ["skill-md"] = {}, command = { front(COMMAND) },
    agent = { front(AGENT) }, ["agent-yml"] = { (assert(yaml.parse(AGENT_YML))) } }
  local function add(kind, value)
    table.insert(out[kind], value)
  end
  for _, path in ipairs(files.glob("tests/golden", "configs/*.json")) do
    add("skill-config", decoded("tests/golden/" .. path))
  end
  for _, path in ipairs(files.glob("tests/golden", "*/*/*")) do
    path = "tests/golden/" .. path
    if path:find "/skill%-config%.json$" then
      add("skill-config", decoded(path))
    elseif path:find "/workflow%.json$" then
      add("workflow", decoded(path))
    elseif path:find "/SKILL%.md$" then
      add("skill-md", front(assert(files.read(path))))
    end
  end
  add("skill-md", front(assert(files.read "examples/plain/SKILL.md")))
  return out
end

local FAULTS = {
  ["skill-config"] = { {}, { skill_name = "Demo", description = "d" }, { skill_name = "demo", description = "d",
    execution_mode = "serial" }, { skill_name = "demo", description = "d", triggers = "now" } },
  workflow = { { phases_to_run = 3 }, { skill_name = "demo", phases_to_run = json.array {}, phases = {} } },
  ["skill-md"] = { { description = "d" }, { name = "Bad Name", description = "d" }, { name = "a--b", description = "d" },
    { name = "demo", description = ("x"):rep(1025) }, { name = "demo", description = "d", ["allowed-tools"] = 3 } },
  command = { { description = 3 }, { ["allowed-tools"] = true } },
  agent = { { description = "d" }, { name = "a", tools = json.array { 1 } } },
  ["agent-yml"] = { {}, { skills = json.array {} }, { skills = json.array { { tools = json.array {} } } },
    { skills = json.array { { name = "a" } }, workflow = { ["max-retries"] = -1 } } },
}

local function schema_of(kind)
  return decoded(("%s%s.schema.json"):format(FOLDER, kind))
end

describe("the schemas of documents", function()
  it("are what their table says: else run make schemas", function()
    for path, text in pairs(dofile("docs/schemas.lua").pages()) do
      assert.equal(text, files.read(path), path)
    end
  end)

  it("stand in a catalog in SchemaStore's form, each once, with the files they are for", function()
    local catalog, listed = decoded(FOLDER .. "catalog.json"), {}
    assert.equal(1, catalog.version)
    assert.equal("https://json.schemastore.org/schema-catalog.json", catalog["$schema"])
    for _, one in ipairs(catalog.schemas) do
      assert.truthy(#one.name > 0 and #one.description > 0 and json.is_array(one.fileMatch) and #one.fileMatch > 0)
      assert.is_nil(listed[one.url])
      listed[one.url] = true
      assert.equal("object", decoded(FOLDER .. one.url).type)
    end
    for _, path in ipairs(files.glob("docs/schema", "*.schema.json")) do
      assert.is_true(listed[path], path)
    end
  end)

  for kind, faults in pairs(FAULTS) do
    it(("of %s fits what is right, and nothing that is not"):format(kind), function()
      local schema, documents = schema_of(kind), good()[kind]
      assert.truthy(#documents > 0)
      for i, one in ipairs(documents) do
        assert.is_nil(json_schema.check(one, schema), ("%s %d"):format(kind, i))
      end
      for i, one in ipairs(faults) do
        assert.is_string(json_schema.check(one, schema), ("%s fault %d"):format(kind, i))
      end
    end)
  end

  it("mean the same to another program, where one is installed", function()
    if not os.execute "python3 -c 'import jsonschema' 2>/dev/null" then
      return -- Debian: python3-jsonschema
    end
    local folder <close> = scratch.folder()
    local cases, known = json.array {}, good()
    for kind, faults in pairs(FAULTS) do
      local path = ("%s%s.schema.json"):format(FOLDER, kind)
      cases[#cases + 1] = { schema = path, good = json.array(known[kind]), bad = json.array(faults) }
    end
    folder.file("cases.json", json.encode(cases))
    folder.file("look.py", [[
import json, sys, jsonschema
for case in json.load(open(sys.argv[1])):
    schema = json.load(open(case["schema"]))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for i, one in enumerate(case["good"]):
        for error in validator.iter_errors(one):
            print(case["schema"], "good", i, error.message)
    for i, one in enumerate(case["bad"]):
        if validator.is_valid(one):
            print(case["schema"], "bad", i, "fits")
]])
    local said <close> = assert(io.popen(("python3 '%s/look.py' '%s/cases.json' 2>&1"):format(folder.path, folder.path)))
    assert.equal("", said:read "a")
  end)
end)
