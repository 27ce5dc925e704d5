-- loader_spec.lua: a skill from a path: scripts that are wrong say where.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function script(text)
  local path = R.folder() .. "/script.lua"
  R.write(path, text)
  return path
end

describe("a script", function()
  after_each(R.clean)

  it("gives the skill it returns; a first line for the shell is left out", function()
    local skill = assert(skillrt.load(script [[#!/usr/bin/env skillrt
      return require "skillrt".skill { name = "x", actions = { { id = "a", run = print } } }]]))
    assert.equal("x", skill.name)
    assert.matches("script.lua$", skill.source)
  end)

  it("that is missing, broken or raises is told with its line", function()
    local skill, message = skillrt.load "/no/such/script.lua"
    assert.is_nil(skill)
    assert.equal("/no/such/script.lua: No such file or directory", message)
    skill, message = skillrt.load(script "return {\n  x = = 1 }")
    assert.is_nil(skill)
    assert.matches("script.lua:2: unexpected symbol near '='", message)
    local traceback, code
    skill, message, code, traceback = skillrt.load(script "local x = nil\nreturn x.y")
    assert.is_nil(skill)
    assert.equal("script", code)
    assert.matches("script.lua:2: attempt to index", message)
    assert.matches("traceback", traceback)
    for _, raised in ipairs { "error { message = 'told', code = 'invalid' }", "error()", "error(setmetatable({}, {}))" } do
      assert.is_nil((skillrt.load(script(raised))))
    end
    skill, message = skillrt.load(script "error {}")
    assert.is_nil(skill)
    assert.matches("script.lua: raised a table without a message", message)
  end)

  it("that returns something else, nothing, or a message is told so", function()
    for text, wanted in pairs {
      ["return 5"] = "returned a number", [""] = "returned nothing", ["return nil, 'no luck'"] = "no luck",
    } do
      local skill, message = skillrt.load(script(text))
      assert.is_nil(skill)
      assert.matches(wanted, message)
    end
  end)

  it("is text: a binary chunk is refused", function()
    local skill, message = skillrt.load(script(string.dump(function() return 1 end)))
    assert.is_nil(skill)
    assert.matches("binary", message)
  end)

  it("that is too large is refused before it is read", function()
    local skill, message = skillrt.load(script(("-"):rep(4 * 1024 * 1024 + 1)))
    assert.is_nil(skill)
    assert.matches("script.lua: ", message)
  end)

  it("is named by a text: anything else is the caller's fault, told at the caller's line", function()
    for _, path in ipairs { false, 5, {} } do
      local ok, message = pcall(skillrt.load, path or nil)
      assert.is_false(ok)
      assert.matches("skillrt%.load: the path must be a text", message)
    end
  end)
end)
