-- plan: the next step of the cheapest known way to the skill's goal, by the effects that the actions declare.
--
-- The runtime computes the plan (ctx.plan) and records it; it is computed again when the outcome differs from the
-- declarations.

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
