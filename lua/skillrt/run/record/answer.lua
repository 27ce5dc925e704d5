-- run/record/answer.lua: what a person answered to an `ask`.

local question = require("skillrt.skill.question")
local questions = require("skillrt.run.books.questions")

return {
  doc = "... and its answer; about a call: retry, skip or fail",
  fields = [[
    q integer the question's number
    value any
    sub string?
    step integer?
    c string?
    also list?
    arrival string? the id under which it came
  ]],

  apply = function(books, record, whole)
    questions.answer(books, record, whole)
  end,

  line = function(lines, record)
    lines:say(false, "info", "Answer: %s", question.in_words(record.value))
  end,

  story = function(story, record)
    for i = #story.questions, 1, -1 do
      local one = story.questions[i]
      if not one.ended and one.q == record.q then
        one.value, one.ended = record.value, record.at
        return
      end
    end
  end,
}
