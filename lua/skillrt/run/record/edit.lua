-- run/record/edit.lua: a state.json that a person edited was accepted.

return {
  doc = "an edited `state.json` was taken over",
  beyond = "its state.json was edited",
  fields = [[
    set table what changes in the state
    ignored list? fields that only the runtime writes
  ]],

  apply = function(books, record)
    books.state:patch(record.set)
  end,

  line = function(lines, record)
    lines:say(false, "warning", "Accepted from the edited state.json: %s", lines.joined(lines.sorted(record.set), 20))
  end,

  story = function(story, record)
    story.edits[#story.edits + 1] = { at = record.at, set = record.set, after = #story.steps + story.left_out.steps }
  end,
}
