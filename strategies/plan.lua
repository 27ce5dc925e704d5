-- plan: the next step of the cheapest way that was found to the skill's goal, by what the actions declare to change.
--
-- The plan is worked out by the runtime (ctx.plan) and recorded; it is made anew when what happened differs from what
-- was declared.

return {
  name = "plan",
  description = "the next step of a plan that leads to the skill's goal",
  decides_end = true,
  select = function(_, _, ctx)
    if not ctx.plan then
      return nil, { stop = "no_plan", message = "the skill names no goal; give it one: goal = \"condition\"" }
    end
    return ctx.plan()
  end,
}
