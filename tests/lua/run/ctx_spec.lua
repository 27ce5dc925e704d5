-- ctx_spec.lua: a function finds in its ctx what docs/write/skills.md and steps.md say, and nothing else.
local R = require "tests.support.runs"
local context = require "skillrt.run.ctx"
local shared = require "skillrt.run.ctx.context"
local privileges = require "skillrt.base.privileges"

local INTERNAL <const> = { "mark", "use", "place", "drawn", "say", "servers" }

-- The names in the first column of the tables of a page that say what a ctx has.
local function documented(path)
  local names, in_table = {}, false
  for line in R.read(path):gmatch "[^\n]*" do
    in_table = line:find("^| `ctx%.` |") ~= nil or in_table and line:sub(1, 1) == "|"
    for code in (in_table and line:match "^| (.-) |" or ""):gmatch "`([^`]+)`" do
      names[code:match "^[%a_]+" or ""] = true
    end
  end
  names.ctx = nil
  return names
end

describe("the ctx of a step", function()
  after_each(R.clean)

  it("has each part that the pages name, and none that they do not", function()
    local said, missing, parts = documented "docs/write/skills.md", {}, {}
    for name in pairs(documented "docs/write/steps.md") do
      said[name] = true
    end
    for _, list in ipairs { context.values, context.functions } do
      for name in pairs(list) do
        parts[name] = true
      end
    end
    for name in pairs(parts) do
      missing[#missing + 1] = not said[name] and name or nil
    end
    assert.same({}, missing)
    for name in pairs(said) do
      assert.truthy(parts[name], name)
    end
  end)

  it("has one entry for each value of its context that the rounds of a loop have set, beside what others set", function()
    local step = { live = {} }
    shared.restore(step, "2.", { b = 1 })
    shared.restore(step, "1.1.", { a = 1 })
    shared.restore(step, "1.2.", { a = 2 })
    assert.same({ a = 2 }, shared.below(step, "1"))
    assert.equal(2, shared.count(step))
    assert.same({ { a = 2, b = 1 }, { a = 2 } }, { shared.since(step, 0), shared.since(step, 1) })
  end)

  it("gives a script nothing by which it changes the records of its run", function()
    local seen, keys, meta = {}, {}, nil
    local result = R.run { actions = { { id = "a", run = function(_, ctx)
      ctx.log "first"
      for _, name in ipairs(INTERNAL) do
        seen[#seen + 1] = ctx[name] ~= nil and name or nil
      end
      for key in next, ctx do
        keys[#keys + 1] = type(key) == "string" and key ~= "log" and key or type(key) ~= "string" and "a key" or nil
      end
      meta = getmetatable(ctx)
      return { n = 1 }
    end } } }
    assert.equal("completed", result.status, result.message)
    assert.same({ {}, {}, "ctx" }, { seen, keys, meta })
  end)

  it("keeps the work of our own agents and tools behind a key, also where another ctx stands before it", function()
    local drawn
    local result = R.run { actions = { { id = "a", run = function(_, ctx)
      drawn = privileges.of(setmetatable({}, { __index = ctx })).drawn(function() return 7 end)
      return { n = drawn }
    end } } }
    assert.same({ "completed", 7, 7 }, { result.status, result.state.n, drawn }, result.message)
  end)
end)
