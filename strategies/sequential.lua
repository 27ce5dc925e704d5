-- sequential: the runnable action declared first, whatever its priority.
--
-- `order` asks for `available` in order of declaration; where it comes ordered by priority all
-- the same, the smallest index is looked for.

return {
  name = "sequential",
  description = "the runnable action declared first, whatever its priority",
  order = "declaration",
  repeatable = true,
  select = function(_, available)
    local best = available[1]
    if not best then
      return nil, "nothing is runnable"
    elseif available.order ~= "declaration" then
      for i = 2, #available do
        local action = available[i]
        if action.index < best.index then
          best = action
        end
      end
    end
    return best.id
  end,
}
