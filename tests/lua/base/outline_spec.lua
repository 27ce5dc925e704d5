-- outline_spec.lua: outlines told from what they say.
local files = require "skillrt.base.files"
local outline = require "skillrt.base.outline"

local MADE = files.read "templates/en/document-skeleton.mustache"

describe("an outline", function()
  it("says nothing but headings, comments, what is to come, and its purpose twice", function()
    for _, text in ipairs {
      "# Rules\n", "# Rules\n\n## Examples\n\nNone yet.\n", "# Rules\n\nTODO: write them\n",
      "# Rules\n\n- [describe]\n- ...\n",
      "---\nname: a\n---\n# Rules\n\n<!-- long\nwords -->\n\nHow to write\n\n- How to write\n",
      "# \u{89C4}\u{5219}\n\n\u{6682}\u{65E0}\u{3002}\n",
      MADE:gsub("{{purpose[|a-z]*}}", "Terms and tone"), (MADE:gsub("{{purpose[|a-z]*}}", "Terms: and tone")),
    } do
      assert.is_true(outline.is(text), text)
    end
  end)

  it("is none once a line of its own stands there", function()
    for _, text in ipairs {
      "# Rules\n\nBe brief.\n", "Be brief.", MADE:gsub("None yet%.", "Write `foo`, not `bar`."),
      "# Rules\n\n| a | b |\n|---|---|\n| one | two |\n", "# Todo lists\n\nWrite each TODO as one line.\n",
    } do
      assert.is_false(outline.is(text), text)
    end
  end)

  it("is told in proportion to the text", function()
    assert.is_true(outline.is(("<!-- a -->\n"):rep(50000)))
    assert.is_true(outline.is(("<!-- "):rep(50000)))
  end)
end)
