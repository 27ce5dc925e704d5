-- sequential: the runnable action declared first, whatever its priority.
--
-- It asks for `available` in order of declaration, so the first one is the answer, however many there are.

return {
  name = "sequential",
  description = "the runnable action declared first, whatever its priority",
  order = "declaration",
  select = function(_, available)
    local first = available[1]
    if first then
      return first.id
    end
    return nil, "nothing is runnable"
  end,
}
