-- run/record/steer.lua: a person steers one agent: skips it, asks it again, or tells it something more.

local places = require("skillrt.run.places")
local tables = require("skillrt.base.tables")

-- The message that the agent gets after its reply at the place.
local function tell(step, record)
  local told = tables.fill({}, step.told or {})
  local before = told[record.c]
  told[record.c], step.told = before and ("%s\n\n%s"):format(before, record.text) or record.text, told
end

-- The step had finished, and a resume performs it again: it finds something different.
local function change(held, record)
  local place, known = record.c, held.known[record.c]
  held.is_steered, held.blamed = true, held.blamed or {}
  if record.steer == "tell" then
    tell(held, record)
  elseif record.steer == "skip" then
    held.blamed[place] = nil
    held.known[place] = { digest = known.digest, to = known.to, label = known.label, decided = "skip",
      result = { failed = { class = "skipped", message = "skipped by decision" } } }
  else
    for at, one in pairs(held.known) do -- from its first call on
      if one.label == known.label and places.prefix_of(at) == places.prefix_of(place) then
        held.blamed[at], one.decided = true, nil
      end
    end
  end
end

local WORDS <const> = { skip = "Skipping", again = "Will ask again", tell = "Telling" }

return {
  doc = "a person steers an agent: it is skipped, asked again, or told something more",
  fields = [[
    step integer
    c string the place of its call
    steer string skip, again, tell
    label string
    text string? the message that it gets
  ]],

  apply = function(books, record, whole)
    local step = whole.steps[record.step]
    if not step then
      for _, held in pairs(books.held or {}) do
        if held.number == record.step then
          change(held, record)
        end
      end
    elseif record.steer == "tell" then
      tell(step, record)
    elseif step.calls[record.c] then
      step:note(record.c, "decision", record.steer == "skip" and "skip" or "retry")
    end
  end,

  line = function(lines, record, step)
    lines:say(step or false, "info", "%s: %s%s", WORDS[record.steer] or "Steering", record.label,
      record.text and ": " .. record.text or "")
  end,
}
