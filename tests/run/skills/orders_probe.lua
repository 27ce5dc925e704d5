-- Whether functions have branches: what tests/c/test_crash_orders.c asks before it runs those that need them.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "orders-probe",
  actions = { { id = "look", run = function(_, ctx) return { branches = ctx.map ~= nil and ctx.first ~= nil } end } },
}
