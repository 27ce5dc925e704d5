-- run_inputs_spec.lua: declared inputs are checked before the first step and shown by --help; what a script
-- was given as arguments it is given again on resume.
local R = require "tests.support.runs"
local kit = require "tests.support.cli_kit"

local function skill(inputs)
  return { inputs = inputs, actions = { { id = "a", run = function(_, ctx) return { got = ctx.input } end } } }
end

local function given(inputs, input)
  local dir = R.folder() .. "/run"
  local result, message, code = R.run(skill(inputs), { work_dir = dir, input = input })
  if not result then
    assert(not R.exists(dir .. "/journal/00000001.sj"), "a run was begun")
    return nil, message, code
  end
  return result.state.got
end

describe("declared inputs", function()
  after_each(R.clean)

  it("are checked before the first step, and say what to give", function()
    local inputs = { agent = { required = true, type = "string", about = "who does it" }, n = { type = "integer", default = 3 },
      list = { type = "string[]" } }
    local _, message, code = given(inputs, {})
    assert.equal("invalid", code)
    assert.equal("tested: needs the input agent (who does it); give it by --set agent=TEXT", message)
    _, message = given(inputs, { agent = "x", n = "many" })
    assert.equal('tested: input n must be integer, not "many"; give it by --set n:=INTEGER', message)
    _, message = given(inputs, { agent = "x", nn = 1, dir = "." })
    assert.matches('has no input "nn" %(did you mean "n"%?%)', message)
  end)

  it("have their defaults and types; texts of a command line become what is declared", function()
    assert.same({ n = 3, loud = true, list = { "a" }, dir = "." }, given({ n = { type = "integer", default = 3 },
      loud = { type = "boolean" }, list = { type = "string[]" } }, { loud = "true", list = '["a"]', dir = "." }))
    assert.same({ anything = 1 }, given(nil, { anything = 1 }))
  end)

  it("of a skill that a step runs are checked, too", function()
    local inner = R.skill { name = "inner", inputs = { n = { type = "integer", default = 3 }, who = { required = true } },
      actions = { { id = "b", run = function(_, ctx) return { n = ctx.input.n } end } } }
    local result = assert(R.run { actions = { { id = "a", run = function(_, ctx)
      local _, message = ctx.run(inner, {})
      return { told = message, n = ctx.run(inner, { who = "x" }).state.n }
    end } } })
    assert.matches("needs the input who", result.state.told)
    assert.equal(3, result.state.n)
  end)

  it("are refused where they cannot be", function()
    for told, inputs in pairs {
      ["its default must be integer, not \"x\""] = { n = { type = "integer", default = "x" } },
      ["is required and has a default"] = { n = { required = true, default = 1 } },
      ["type"] = { n = { type = "strnig" } },
      ["unknown field \"abuot\" (did you mean \"about\"?)"] = { n = { abuot = "x" } },
    } do
      local ok, message = pcall(R.skill, skill(inputs))
      assert.is_false(ok)
      assert.truthy(message:find(told, 1, true), message)
    end
  end)

  it("are shown by --help of the script", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "shown", description = "Does it.", inputs = {
  agent = { required = true, about = "who does it" }, n = { type = "integer", default = 3 } },
  actions = { { id = "a", run = function() end } } }
]])
    local done = kit.run(folder, { "s.lua", "--help" })
    assert.equal(0, done.code)
    assert.matches("^shown 1.0.0\nDoes it.\n\nInputs:\n", done.out)
    assert.matches("\n  %-%-set agent=TEXT +who does it; needed\n  %-%-set n:=INTEGER +default 3\n", done.out)
    assert.matches("\nUsage: skillrt run", done.out)
    done = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.equal(2, done.code)
    assert.matches("needs the input agent", done.err)
  end)
end)

describe("the arguments of a script", function()
  it("are on resume what they were when the run began", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
local skillrt = require "skillrt"
local word, count = arg[1], #arg
return skillrt.skill { name = "args", limits = { calls = 1 }, actions = { { id = "a", run = function(_, ctx)
  for _ = 1, 2 do assert(ctx.await { kind = "command", argv = { "true" }, acts = false }) end
  return { word = word, count = count }
end } } }
]])
    assert.equal(10, kit.run(folder, { "s.lua", "--work-dir", "w", "--", "one", "two" }).code)
    local done = kit.run(folder, { "resume", "w", "--add", "calls=1" })
    assert.equal(0, done.code, done.err)
    assert.matches('"count": 2', folder.read "w/state.json")
    assert.matches('"word": "one"', folder.read "w/state.json")
  end)
end)
