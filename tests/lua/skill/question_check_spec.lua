-- question_check_spec.lua: a question of a script that nobody could be asked is refused where it is made.
local question = require "skillrt.skill.question"

describe("a question of a script", function()
  it("needs a text, and a list of options, which are not empty", function()
    for wanted, given in pairs {
      ["its question must be a text, not nothing"] = {},
      ["its question must be a text, not 7"] = { question = 7 },
      ['its question must be a text, not " "'] = { question = " " },
      ['its options must be a list, not "yes"'] = { question = "which?", options = "yes" },
      ["its options are an empty list; leave them out to take a text"] = { question = "which?", options = {} },
    } do
      local checked, message = question.check(given)
      assert.is_nil(checked)
      assert.equal(wanted, message)
    end
    assert.equal("which?", question.check({ question = "which?" }).question)
  end)
end)
