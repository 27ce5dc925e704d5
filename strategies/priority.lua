-- priority: the runnable action with the highest priority; among equals the one declared first.
--
-- `available` comes in this order, so the first one is the answer, however many there are.

return {
  name = "priority",
  description = "the runnable action with the highest priority; among equals the first declared",
  select = function(_, available)
    local first = available[1]
    if first then
      return first.id
    end
    return nil, "nothing is runnable"
  end,
}
