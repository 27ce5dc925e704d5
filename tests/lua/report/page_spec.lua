-- page_spec.lua: values in the page of a run, as JSON that a browser reads within HTML.
local core = require "skillrt.core"
local page = require "skillrt.report.page"

describe("the page's JSON", function()
  it("holds no character that HTML interprets, or that hides or turns the text around it, and means the same", function()
    for _, code in ipairs { 0x3C, 0x3E, 0x26, 0x7F, 0x85, 0xAD, 0x61C, 0x180E, 0x200B, 0x200F, 0x2028, 0x202E, 0x2060, 0x206F,
      0xFEFF, 0xFFF9, 0xFFFB, 0xE0001, 0xE0041, 0xE007F } do
      local char = utf8.char(code)
      local text = page.json({ said = "a" .. char .. "b" })
      assert.is_nil(text:find(char, 1, true), ("%x"):format(code))
      assert.equal("a" .. char .. "b", core.json.decode(text).said)
    end
    assert.equal('{"said":"a\u{E9}\u{1F600}"}', page.json { said = "a\u{E9}\u{1F600}" })
  end)
end)
