-- run/record/program.lua: a program has run for a while: a resume ends it if its process died.

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
    local step, program = whole.steps[record.step], { pid = record.pid, start = record.since }
    if record.session then
      whole.programs = whole.programs or {}
      whole.programs[record.session] = program
    elseif step and step.calls[record.c] then
      step:note(record.c, "program", program)
    end
  end,
}
