-- types_spec.lua: docs/skillrt.d.lua, which editors read, is what the code accepts: else run make types.
require "tests.support.json_shim"
local context = require "skillrt.run.ctx"
local pages = require "tests.support.pages"

describe("docs/skillrt.d.lua", function()
  local text = pages.read "docs/skillrt.d.lua"

  it("is what docs/types.lua writes: else run make types", function()
    assert(dofile "docs/types.lua".text() == text, "docs/skillrt.d.lua is out of date: run make types and commit it")
  end)

  it("is Lua, and names every part of ctx", function()
    assert(load(text))
    local class = text:match "%-%-%-@class skillrt%.ctx\n(.-)\n\n"
    for _, list in ipairs { context.values, context.functions } do
      for name in pairs(list) do
        assert(class:find("---@field " .. name .. " ", 1, true), "says nothing of ctx." .. name)
      end
    end
  end)

  it("names the fields of an action that a skill refuses and accepts", function()
    local skillrt = require "skillrt"
    local class = text:match "%-%-%-@class skillrt%.ActionDefinition\n(.-)\n\n"
    for name in class:gmatch "%-%-%-@field ([%a_]+)" do
      local ok, message = pcall(skillrt.skill, { name = "t", actions = { { id = "a", run = function() end, [name] = -1.5 } } })
      assert(ok or not tostring(message):find("unknown field", 1, true), tostring(message))
    end
  end)
end)
