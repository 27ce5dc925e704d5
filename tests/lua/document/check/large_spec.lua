-- check_large_spec.lua: a check of a folder does work in proportion to what the folder holds.
-- Counted in instructions, not in time: other programs do not change them.
local check = require "skillrt.document.check"
local generate = require "skillrt.document.generate"
local names = require "skillrt.base.names"
local skill_folder = require "tests.support.skill_folder"

-- A folder of so many actions, each waiting for the one before.
local function large(count, with_config)
  local actions = {}
  for i = 1, count do
    local needs = i > 1 and ("completed_actions.includes('action-%d')"):format(i - 1) or "files.length > 0"
    actions[i] = { id = "action-" .. i, name = "Action " .. i, description = "part " .. i, preconditions = { needs },
      effects = { ("done_%d=true"):format(i) }, priority = i % 7 }
  end
  local made = assert(generate.generate({
    skill_name = "large-skill",
    description = "Many actions",
    execution_mode = "autonomous",
    autonomous_config = { actions = actions },
  }, { templates = "templates" }))
  local folder = skill_folder.make({ ["phases/actions/a"] = "", ["specs/a"] = "" }, "large-skill")
  for _, file in ipairs(made) do
    if with_config or not file.path:find "^skill[-.]" then
      local handle <close> = assert(io.open(folder.dir .. "/" .. file.path, "wb"))
      assert(handle:write(file.text))
    end
  end
  return folder
end

-- Thousands of instructions that a check takes.
local function work_of(folder)
  local steps = 0
  debug.sethook(function()
    steps = steps + 1
  end, "", 1000)
  local result = assert(check.check(folder.dir))
  debug.sethook()
  return steps, result
end

describe("a check of a large folder", function()
  for _, one in ipairs { { "with a config", true }, { "of documents alone", false } } do
    it(("does four times the work for four times the actions, %s"):format(one[1]), function()
      local small <close> = large(30, one[2])
      local big <close> = large(120, one[2])
      local little, much = work_of(small), work_of(big)
      assert.is_true(much < 5 * little, ("%d and %d thousand instructions"):format(little, much))
    end)
  end

  it("looks once for the name nearest to one that a hundred documents send to", function()
    local folder <close> = large(100, false)
    local nearest, looks = names.nearest, 0
    finally(function()
      names.nearest = nearest
    end)
    names.nearest = function(name, ...) -- luacheck: ignore 122
      looks = looks + (name == "action-abort" and 1 or 0)
      return nearest(name, ...)
    end
    local _, result = work_of(folder)
    assert.equal(1, looks)
    local told = 0
    for _, finding in ipairs(result.findings) do
      told = told + (finding.what:find('routes to "action-abort"', 1, true) and 1 or 0)
    end
    assert.is_true(told >= 100)
  end)
end)
