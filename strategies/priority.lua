-- priority: the runnable action with the highest priority; among equals the one declared first, or the one that a
-- person chooses if the skill sets ask_on_tie.
--
-- `available` comes in this order, so the first one is the answer, however many there are.

-- Asks which of several equally good actions is next.
local function asked(available, first, ctx)
  local options = {}
  for i = 1, #available do
    local one = available[i]
    if one.priority ~= first.priority then
      break
    end
    options[i] = { id = one.id, label = one.name, description = one.description }
  end
  return ctx.ask { header = "Tie", question = "These are equally good; which one is next?", options = options }
end

return {
  name = "priority",
  description = "the runnable action with the highest priority; among equals the first declared",
  select = function(_, available, ctx)
    local first = available[1]
    if not first then
      return nil, "nothing is runnable"
    end
    local second = ctx.ask_on_tie and available[2]
    if second and second.priority == first.priority then
      return asked(available, first, ctx)
    end
    return first.id
  end,
}
