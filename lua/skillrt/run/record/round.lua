-- run/record/round.lua: a round of ctx.loop is over, and what it awaited is not asked for again.

return {
  doc = "a round of `ctx.loop` is over; what it awaited is forgotten",
  fields = [[
    step integer
    c string the loop's place
    n integer how many rounds are over
    value any what it gave
    last boolean? the loop is over
    context table? what its rounds set in the shared context
  ]],

  apply = function(_, record, whole, seq)
    whole.steps[record.step]:round(record, seq)
  end,
}
