-- hunt.lua: a creature of a game: hunts down berries and eats them until it is full.
--
-- It decides; the game moves. What it asks the game for takes as many frames as the game needs, and
-- is in its journal once the game has answered: it goes on where it was, also in another session.
local skillrt = require "skillrt"

local function ask(ctx, name, input)
  return assert(ctx.await { kind = "host", name = name, input = input }).value
end

return skillrt.skill {
  name = "hunt",
  mode = "autonomous",
  durability = "process",
  state = { eaten = 0, x = 0, y = 0 },
  actions = {
    {
      id = "eat",
      when = "eaten < 3",
      max_runs = 20,
      run = function(state, ctx)
        local berry = ask(ctx, "nearest-berry", { x = state.x, y = state.y })
        local place = ask(ctx, "walk", { x = berry.x, y = berry.y })
        local picked = ask(ctx, "pick", { berry = berry.id })
        return { eaten = state.eaten + (picked and 1 or 0), x = place.x, y = place.y }
      end,
    },
    { id = "rest", when = "eaten === 3", agent = "story" },
  },
  agents = { story = skillrt.agent.host { "tell", acts = false } },
}
