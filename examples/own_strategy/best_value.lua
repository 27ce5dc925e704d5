-- best_value.lua: a strategy: of the actions that may run now, the one that gives the most for its
-- cost and still fits the budget.
--
-- An action says its worth in x = { value = ..., cost = ... }, which skillrt itself leaves alone;
-- the budget comes from the skill: strategy = { path = ..., options = { budget = 12 } }.

return {
  name = "best_value",
  description = "the most value for its cost, within options.budget",
  select = function(state, available, ctx)
    local left = ctx.options.budget - state.spent
    local best, best_ratio
    for i = 1, #available do
      local worth = available[i].x
      local ratio = worth.value / worth.cost
      if worth.cost <= left and (not best or ratio > best_ratio) then
        best, best_ratio = available[i], ratio
      end
    end
    if best then
      return best.id
    end
    return nil, "budget_spent"
  end,
}
