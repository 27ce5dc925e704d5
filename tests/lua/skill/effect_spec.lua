-- effect_spec.lua: what an action promises, read once for runs and for checks (F46).
local effect = require "skillrt.skill.effect"
local json = require "skillrt.base.json"
local state = require "skillrt.skill.state"

local function one(text)
  return assert(effect.list { text })[1]
end

describe("an effect", function()
  it("says its path, whether it counts, and the value it names (F46)", function()
    for text, told in pairs {
      ["k=1"] = '["k"] 1', ["k = 1.0"] = '["k"] 1', ["k=1.5"] = '["k"] 1.5', ["k=-2"] = '["k"] -2', ["k=1e3"] = '["k"] 1000',
      ["k=0x10"] = '["k"] "0x10"', -- a word: what a run compares with, a check has to look for
      ["state.a?.b != null"] = '["a","b"] null', ["k=undefined"] = '["k"] null', ["k==='a b'"] = '["k"] "a b"',
      ["k=a b"] = '["k"] "a b"', ["k=''"] = '["k"] ""', ["k=[]"] = '["k"] []', ["k={}"] = '["k"] {}', ["k=true"] = '["k"] true',
      ["k.length>0"] = '["k","length"] 0', ["n++"] = '["n"] ++', ["n --"] = '["n"] --', ["!k"] = '["k"]', k = '["k"]',
    } do
      local read = one(text)
      local shown = json.encode(read.path)
      if read.step then shown = shown .. " " .. read.step end
      if read.compares then shown = shown .. " " .. json.encode(read.value) end
      assert.equal(told, shown, text)
    end
  end)

  it("is looked for in views of the state as in the state", function()
    local view = state.view { none = json.array(), box = { a = 1 }, list = { 1, 2 }, own = { length = 7 }, s = "abc" }
    for text, holds in pairs { ["none=[]"] = true, ["box={}"] = false, ["list.length=2"] = true, ["own.length=7"] = true,
      ["s.length==3"] = true, ["list=[]"] = false } do
      assert.equal(holds, (one(text).check(nil, view)), text)
    end
  end)

  it("of more than 500 bytes is refused without a look at it", function()
    assert.is_nil(effect.list { "k=" .. ("a"):rep(499) })
  end)
end)
