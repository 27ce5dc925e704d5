-- run/record/program.lua: a program has run for a while: a resume ends what a dead process left of it.

return {
  doc = "a program has run for 0.2 s: what a resume ends should it be left",
  fields = [[
    step integer
    c string the call's place
    pid integer
    since any when it was started, as the system counts
    session string? it runs until the run stops
  ]],

  apply = function(_, record, whole)
    local step = whole.steps[record.step]
    local call = step and step.calls[record.c]
    if record.session then
      whole.programs = whole.programs or {}
      whole.programs[record.session] = { pid = record.pid, start = record.since }
    elseif call then
      call.program = { pid = record.pid, start = record.since }
    end
  end,
}
