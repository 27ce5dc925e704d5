-- skill.lua: packs the most useful things that fit: a strategy of one's own decides what is next.
--
--   skillrt examples/own_strategy/skill.lua

local skillrt = require "skillrt"

-- An action that may be left out (optional), with what it is worth and what it costs.
local function pack(id, value, cost)
  return {
    id = "pack-" .. id,
    optional = true,
    x = { value = value, cost = cost },
    run = function(state, ctx)
      ctx.log(("%s, %d of the budget left"):format(id, 12 - state.spent - cost))
      local packed = table.move(state.packed, 1, #state.packed, 1, {})
      packed[#packed + 1] = id
      return { packed = packed, spent = state.spent + cost }
    end,
  }
end

return skillrt.skill {
  name = "pack",
  state = { packed = {}, spent = 0 },
  strategy = { path = "best_value.lua", options = { budget = 12 } },
  actions = {
    pack("tent", 10, 7),
    pack("stove", 6, 3),
    pack("chair", 3, 6),
    pack("book", 2, 1),
    pack("lamp", 5, 2),
  },
}
