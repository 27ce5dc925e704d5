-- limits_spec.lua: the one table of limits, and all that is made from it.
local exit_codes = require "skillrt.cli.exit_codes"
local help = require "skillrt.cli.help"
local json = require "skillrt.base.json"
local limits = require "skillrt.skill.limits"
local load_config = require "skillrt.document.load.config"
local pages = require "tests.support.pages"
local skill = require "skillrt.skill"

local VALUES <const> = { positive = 7, count = 7, seconds = 7.5, amount = 7.5 }

-- All limits, each with a value of its kind that is not its default.
local function all()
  local given = {}
  for _, row in ipairs(limits.TABLE) do
    local value = assert(VALUES[row.type], row.type)
    given[row.name] = row.map and { tokens = value } or value
  end
  return given
end

describe("the table of limits", function()
  it("is what docs/reference/ends.md says: else run make limits", function()
    for path, text in pairs(require("docs.limits").pages(pages.read)) do
      assert(text == pages.read(path), path .. ": its limits are not those of the table: run make limits")
    end
  end)

  it("has all that a skill takes, with its defaults", function()
    local one = assert(skill.check { name = "a", limits = all(), actions = { { id = "a", run = function() end } } })
    assert.same(all(), one.limits)
    local plain = assert(skill.check { name = "a", actions = { { id = "a", run = function() end } } })
    for _, row in ipairs(limits.TABLE) do
      assert.equal(row.default, plain.limits[row.name], row.name)
    end
  end)

  it("has all that a config may say: none is dropped in silence", function()
    local config = {
      skill_name = "demo", description = "d", execution_mode = "autonomous", x_skillrt = { limits = all() },
      autonomous_config = {
        state_schema = { fields = json.array {} },
        actions = json.array { { id = "a", preconditions = json.array {}, effects = json.array {}, priority = 1 } },
      },
    }
    local definition = assert(load_config.definition(config, { agents_required = false }))
    assert.same(all(), definition.limits)
  end)

  it("is shown by skillrt run --help, with the defaults", function()
    local text = help.text(require "skillrt.cli.command.run")
    for _, row in ipairs(limits.TABLE) do
      assert(text:find("\n  " .. row.name, 1, true), row.name)
    end
    assert.matches("max_errors +failed steps before the run fails %(3%)", text)
  end)

  it("takes for one run only numbers that fit, and leaves what else the skill says of the same", function()
    local own = { calls = 5, usage = { tokens = 100, dollars = 1 } }
    assert.same({ calls = 9, usage = { tokens = 100, dollars = 2.5 } },
      limits.with(own, { calls = 9.0, ["usage.dollars"] = 2.5 }))
    assert.equal("integer", math.type(assert(limits.with(own, { calls = 9.0 })).calls))
    assert.same({ calls = 5, usage = { tokens = 100, dollars = 1 } }, own)
    for said, given in pairs {
      ['limit calls must be a whole number, 1 or more, not 0'] = { calls = 0 },
      ['limit calls must be a whole number, 1 or more, not 1.5'] = { calls = 1.5 },
      ['limit max_retries must be a whole number, 0 or more, not -1'] = { max_retries = -1 },
      ['limit run_timeout must be a number, 0 or more, not inf'] = { run_timeout = math.huge },
      ['there is no limit "callz" (did you mean "calls"?)'] = { callz = 1 },
      ['there is no limit "calls.x"'] = { ["calls.x"] = 1 },
      ["limit usage: write what is counted, as in usage.tokens"] = { usage = 1 },
      ['there is no limit "edges" (there are: '] = { edges = 1 }, -- they are what a machine says
      ['there is no limit "poison" (there are: '] = { poison = 1 },
    } do
      local all_of, message = limits.with(own, given)
      assert.is_nil(all_of)
      assert.equal(said, message:sub(1, #said))
    end
  end)

  it("can be raised by its full name where there is one, also of an action and of what is counted", function()
    local made = assert(require("skillrt.skill").new { name = "s", limits = { calls = 5, no_progress = 0, usage = { tokens = 9 } },
      actions = { { id = "a", limits = { usage = { dollars = 1 } }, run = function() end },
        { id = "b", max_errors = 2, run = function() end } } })
    local found = limits.of_skill(made)
    for _, name in ipairs { "calls", "usage.tokens", "a.usage.dollars", "b.max_errors" } do
      assert.truthy(found[name], name)
    end
    for _, name in ipairs { "usage", "no_progress", "a.calls", "a.max_errors" } do
      assert.is_nil(found[name], name)
    end
  end)

  it("takes of what may only lower a limit the smaller number, also of one amount of several", function()
    local own = { calls = 5, no_progress = 0, usage = { tokens = 100 } }
    assert.same({ calls = 3, max_errors = 2, no_progress = 4, ["usage.tokens"] = 100, ["usage.dollars"] = 1 },
      limits.lowered(own, { max_errors = 2 },
        { calls = 3, no_progress = 4, ["usage.tokens"] = 200, ["usage.dollars"] = 1 }))
    assert.same({ calls = 7 }, limits.lowered(own, { calls = 7 }, { calls = 8 }))
  end)

  it("has for each end a reason of its own, and for each pause an exit code of its own", function()
    local reasons, codes = {}, {}
    for _, row in ipairs(limits.TABLE) do
      if row.status then
        assert.is_nil(reasons[row.reason], row.name)
        reasons[row.reason] = true
        local code = exit_codes.of_result { status = row.status, reason = row.reason }
        assert.equal(row.status == "failed" and 1 or row.code, code, row.name)
        assert(row.status == "failed" or not codes[code], row.name)
        codes[code] = true
      end
    end
    assert.equal(5, exit_codes.of_result { status = "paused", reason = "blocked" })
  end)
end)
