-- run/record/round.lua: a round of ctx.loop has finished, and its calls are not asked for again.

return {
  doc = "a round of `ctx.loop` finished; its calls are discarded",
  fields = [[
    step integer
    c string the loop's place
    n integer how many rounds have finished
    value any what it gave
    last boolean? the loop has finished
    context table? what its rounds set in the shared context
  ]],

  apply = function(_, record, whole, seq)
    whole.steps[record.step]:round(record, seq)
  end,
}
