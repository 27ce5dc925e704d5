-- run/record/ask.lua: a person is asked: about a call whose outcome is unknown or that has been silent, or by a mode.

local questions = require("skillrt.run.books.questions")

return {
  doc = "a question to a person: about a call whose outcome is unknown, or of a strategy",
  fields = [[
    q integer its number
    question table
    nonce string
    sub string? of a sub-run's strategy
    step integer? about a call
    c string? ... at this place
    also list? calls that the same interruption left
    silent boolean? it is under way, and has said nothing for long
  ]],

  apply = function(books, record, whole)
    questions.ask(books, record, whole)
  end,

  line = function(lines, record) -- whoever watches the run sees the whole question when it has paused
    if lines.detail or record.silent then
      lines:block(false, "warning", tostring(record.question.question or record.question.header or "?"), "Question: ")
    end
  end,

  story = function(story, record)
    story.questions[#story.questions + 1] = { q = record.q, question = record.question, at = record.at,
      step = record.step, c = record.c }
  end,
}
