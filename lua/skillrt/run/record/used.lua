-- run/record/used.lua: what the calls of a step used, as its function reports (ctx.used).

local consumption = require("skillrt.run.books.consumption")

local function add(to, used)
  for name, amount in pairs(used) do
    to[name] = (to[name] or 0) + amount
  end
end

return {
  doc = "what its calls used, as `ctx.used` said: `{\"tokens\":120}`",
  of_step = true,
  fields = [[
    step integer
    c string? the place that it was said at
    used table
  ]],

  apply = function(_, record, whole)
    local step = whole.steps[record.step]
    step:said(record)
    for name, amount in pairs(record.used) do
      consumption.of_call(whole, step, "usage." .. name, amount)
    end
  end,

  story = function(story, record, step)
    step.used = step.used or {}
    add(step.used, record.used)
    add(story.used, record.used)
    local call = record.c and step.by_place[record.c]
    if call then
      call.used = call.used or {}
      add(call.used, record.used)
    end
  end,
}
