-- agent_decides_spec.lua: preconditions in prose that an agent judges: asked as steps, recorded with their reason.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

-- Says of the condition what a file beside it says; else it is done, and sets what its prompt asks for.
local AGENT = [[
#!/usr/bin/env lua5.4
local task = io.read "a"
local book <close> = assert(io.open("%s/asked", "a"))
if task:find("Judge whether", 1, true) then
  book:write("judge\n")
  local last <close> = assert(io.open("%s/verdict"))
  print('{"status":"completed","output":' .. last:read "a" .. ',"summary":"judged"}')
else
  book:write("work\n")
  print('{"status":"completed","summary":"ok","stateUpdates":{"read":true}}')
end
]]

local function skill(folder, decides)
  local function put(name, text)
    assert(files.make_folders(files.dirname(folder.path .. "/" .. name)))
    folder.file(name, text)
  end
  put("sorter/SKILL.md", "---\nname: sorter\ndescription: Sorts.\n---\n# Sorter\n\nSorts.\n")
  put("sorter/skill-config.json", json.encode { skill_name = "sorter", description = "Sorts.",
    execution_mode = "autonomous", x_skillrt = { agent_decides = decides, initial_state = { read = false },
      limits = { max_iterations = 12 } } })
  put("sorter/phases/actions/action-read.md", "# Action: Read\n\nRead.\n\n## Preconditions\n\n- [ ] `!read`\n")
  put("sorter/phases/actions/action-sort.md",
    "# Action: Sort\n\nSort.\n\n## Preconditions\n\n- [ ] `read`\n- [ ] the user agreed\n")
  put("agent", AGENT:format(folder.path, folder.path))
  assert(os.execute(("chmod +x '%s/agent'"):format(folder.path)))
  return function(verdict, ...)
    put("verdict", verdict)
    return kit.run(folder, { ... })
  end
end

local function state_of(folder)
  return json.decode(assert(files.read(folder.path .. "/w/state.json")))
end

local function asked(folder)
  return assert(files.read(folder.path .. "/asked")):gsub("\n", " ")
end

describe("a precondition in prose", function()
  it("is judged by an agent where the config says so: asked in its turn, recorded with the reason (R60)", function()
    local folder <close> = kit.folder()
    local run = skill(folder, true)('{"holds":true,"reason":"she wrote yes"}', "run", "sorter", "--agent",
      folder.path .. "/agent", "--work-dir", "w")
    assert.equal(0, run.code, run.err .. run.out)
    assert.equal("work judge work ", asked(folder))
    local state = state_of(folder)
    assert.same({ ["the user agreed"] = "yes: she wrote yes" }, state.judged_reasons)
    assert.truthy(run.out:find("the user agreed: yes: she wrote yes", 1, true), run.out)
  end)

  it("that does not hold is asked again only when the state changed, and blocks its action", function()
    local folder <close> = kit.folder()
    local run = skill(folder, true)('{"holds":false,"reason":"no word of her"}', "run", "sorter", "--agent",
      folder.path .. "/agent", "--work-dir", "w")
    assert.equal(5, run.code, run.err .. run.out)
    assert.equal("work judge ", asked(folder))
    assert.same({ ["the user agreed"] = "no: no word of her" }, state_of(folder).judged_reasons)
  end)

  it("is no verdict where the agent does not say one: the step fails", function()
    local folder <close> = kit.folder()
    local run = skill(folder, true)('"perhaps"', "run", "sorter", "--agent", folder.path .. "/agent", "--work-dir", "w")
    assert.not_equal(0, run.code)
    assert.truthy((run.out .. run.err):find("the agent did not say whether it holds", 1, true), run.out .. run.err)
  end)

  it("blocks its action where nobody judges, and the check says how to write it", function()
    local folder <close> = kit.folder()
    local cli = skill(folder, false)
    local run = cli("{}", "run", "sorter", "--agent", folder.path .. "/agent", "--work-dir", "w")
    assert.equal(5, run.code, run.err .. run.out)
    assert.equal("work ", asked(folder))
    local check = cli("{}", "check", "sorter")
    assert.truthy(check.out:find("its precondition cannot be read: the user agreed", 1, true), check.out)
    assert.equal(1, check.code)
    skill(folder, true)
    assert.equal(0, cli("{}", "check", "sorter").code)
  end)
end)
