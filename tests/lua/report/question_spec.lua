-- question_spec.lua: the open questions of a run as lines: whole where they are few, one line each where they are many.
local question = require "skillrt.report.question"

describe("more open questions than are shown whole", function()
  it("are one line each, with what answers them; an approval is always whole", function()
    local open = {}
    for q = 1, 6 do
      open[q] = { q = q, question = { question = "Which?\nmore", options = { { id = "a" }, { id = "b" } } } }
    end
    local lines = question.all(open)
    assert.same({ 6, "1) Which? [a|b]", "6) Which? [a|b]" }, { #lines, lines[1], lines[6] })
    open[2].question.approval = "digest"
    assert.is_true(#question.all(open) > 6)
  end)
end)
