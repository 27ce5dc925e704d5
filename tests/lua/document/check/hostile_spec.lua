-- check_hostile_spec.lua: whatever is written into a config or a definition, a check ends with
-- findings, never with an error of its own.
local check = require "skillrt.document.check"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local NAMES = { "data-import", "link-fixer", "release-notes" }
local seed = 7

local function random(n)
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return (seed >> 12) % n + 1
end

local ODD = { function() return nil end, function() return random(10) end, function() return {} end,
  function() return "x && (" end, function() return json.null end, function() return true end }

-- A copy in which some values are something else.
local function bent(value)
  if type(value) ~= "table" then
    return value
  end
  local out = json.is_array(value) and json.array {} or {}
  for key, one in pairs(value) do
    local new = one
    if random(8) == 1 then
      new = ODD[random(#ODD)]()
    elseif type(one) == "table" then
      new = bent(one)
    end
    out[type(key) == "number" and #out + 1 or key] = new
  end
  return out
end

describe("skillrt check of anything", function()
  local folder

  setup(function()
    folder = kit.folder()
  end)

  teardown(function()
    getmetatable(folder).__close(folder)
  end)

  it("ends with findings for configs with anything in any place (F2, F13)", function()
    for i = 1, 150 do
      local config = json.decode(kit.read(("tests/golden/configs/%s.json"):format(NAMES[i % 3 + 1])))
      local path = folder.file("skill-config.json", json.encode(bent(config)))
      local result = assert(check.check(folder.path .. "/skill-config.json"))
      assert.truthy(path and result.findings)
      for _, one in ipairs(result.findings) do
        assert.truthy(one.code and one.level and one.what)
      end
    end
  end)

  it("ends with findings for definitions with anything in any place (F2, F13)", function()
    for i = 1, 150 do
      local config = json.decode(kit.read(("tests/golden/configs/%s.json"):format(NAMES[i % 3 + 1])))
      local loop = bent(config.autonomous_config or { actions = {} })
      local result = assert(check.check {
        name = "odd",
        actions = loop.actions,
        terminate = loop.termination_conditions,
        state = random(3) == 1 and loop or nil,
        phases = bent(config).phases,
        agents = random(3) == 1 and loop or nil,
      })
      assert.truthy(result.findings)
    end
  end)

  it("tells an empty folder, an empty config and a text that is no JSON (F2)", function()
    local empty = folder.path .. "/nothing"
    assert(require("skillrt.base.files").make_folders(empty))
    for _, given in ipairs { empty, folder.file("a.json", "{}") and folder.path .. "/a.json",
      folder.file("b.json", "no") and folder.path .. "/b.json" } do
      assert.equal(2, check.exit_code(assert(check.check(given))), given)
    end
    local nothing, message = check.check(folder.path .. "/no-such-file")
    assert.is_nil(nothing)
    assert.truthy(message)
  end)
end)
