-- plain_spec.lua: whatever a script gives or raises, with whatever metatable, is copied or refused and
-- shown, and nothing of it runs away with the runtime.
local fatal = require "skillrt.base.fatal"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"
local plain = require "skillrt.base.plain"
local record = require "skillrt.base.record"
local render = require "skillrt.base.template"
local state = require "skillrt.skill.state"
local when = require "skillrt.skill.when"

local function raise() error("gotcha", 0) end

-- Metatables that raise, loop or lie wherever they can.
local function hostiles()
  local endless = setmetatable({}, {})
  getmetatable(endless).__index = endless
  local lying = { __len = function() return 1000000 end, __index = function() return "made up" end }
  return {
    ["raises everywhere"] = { __tostring = raise, __index = raise, __newindex = raise, __len = raise, __eq = raise,
      __concat = raise, __call = raise, __lt = raise, __name = 7 },
    ["gives no text"] = { __tostring = function() return {} end },
    ["has a name that is no text"] = { __name = {} },
    ["loops"] = { __index = endless, __metatable = endless },
    ["lies about what it holds"] = lying,
    ["hides behind a number"] = { __metatable = 7, __tostring = raise },
    ["hides behind false"] = { __metatable = false },
    ["hides behind one that raises"] = { __metatable = setmetatable({}, { __index = raise }) },
  }
end

for name, meta in pairs(hostiles()) do
  describe("a table whose metatable " .. name, function()
    it("is copied as what it holds itself", function()
      local copy, problem = plain.copy({ box = setmetatable({ a = 1, list = setmetatable({ 1, 2 }, meta) }, meta) })
      assert.is_nil(problem)
      assert.equal('{"box":{"a":1,"list":[1,2]}}', json.encode(copy))
    end)

    it("is shown and told as an error's value", function()
      local value = setmetatable({}, meta)
      assert.equal("a table", names.show(value))
      assert.equal("string", type(names.said(value)))
      assert.equal("it", names.said(setmetatable({ message = "it" }, meta)))
      assert.equal("string", type(record.printable(value)))
      assert.is_false(fatal.is(value))
      assert.is_true(fatal.is(setmetatable({ code = "stopped" }, meta)))
    end)

    it("raised by a condition only makes that false", function()
      local holds, why = when.test(function() error(setmetatable({}, meta)) end, {})
      assert.is_false(holds)
      assert.matches("^the function at .* failed: ", why)
    end)

    it("raised by a template's function only fails that template", function()
      local text, message = render.render("{{#f}}x{{/f}}", { f = function() error(setmetatable({}, meta)) end })
      assert.is_nil(text)
      assert.equal("string", type(message))
    end)
  end)
end

describe("a copy of what a script gave", function()
  it("is refused for a table that hides what it holds, and taken from a view", function()
    local copy, problem = plain.copy({ a = { setmetatable({}, { __pairs = raise }) } }, "state")
    assert.is_nil(copy)
    assert.equal("state.a[1] is a table with __pairs, which hides what it holds; give a plain one", problem)
    local view = state.view { list = { 1 }, none = json.array(), box = {} }
    assert.equal('{"v":{"box":{},"list":[1],"none":[]}}', json.encode(plain.copy { v = view }))
    local books = state.new { n = { 1 } }
    local held = books:hold()
    books:patch { n = { 2 } }
    assert.equal('{"n":[1]}', json.encode(plain.copy(held)))
  end)

  it("costs no text per value, only per problem", function()
    local wide, count = {}, 0
    for i = 1, 20000 do wide[i] = { a = i } end
    debug.sethook(function() count = count + 1 end, "", 1)
    plain.copy(wide)
    debug.sethook()
    assert.is_true(count / 20000 < 90, count / 20000)
    wide[19999].a = { b = print }
    assert.matches("^it%[19999%]%.a%.b is a function", select(2, plain.copy(wide, "it")))
  end)
end)
