-- phase_spec.lua: what phases take in from those before them, and what that costs.
local link = require("skillrt.skill.phase").link

-- So many phases in groups of so many, linked; and how many instructions that took.
local function linked(count, group)
  local phases, instructions = {}, 0
  for i = 1, count do
    phases[i] = { id = "p" .. i, index = i, output = ("p%d.json"):format(i), parallel = (i - 1) // group % 2 == 1 }
  end
  debug.sethook(function() instructions = instructions + 100 end, "", 100)
  assert(link(phases, "skill"))
  debug.sethook()
  return phases, instructions
end

describe("the phases of a skill", function()
  it("take in what the group before them makes", function()
    local phases = linked(7, 2) -- two alone, two parallel, two alone, one
    assert.same({ {}, { "p1.json" }, { "p2.json" }, { "p2.json" }, { "p3.json", "p4.json" }, { "p5.json" }, { "p6.json" } },
      { phases[1].input, phases[2].input, phases[3].input, phases[4].input, phases[5].input, phases[6].input,
        phases[7].input })
  end)

  it("are linked in time that grows with their number alone, one after the other or side by side", function()
    for _, group in ipairs { 1, 100, 4000 } do
      local _, few = linked(1000, group)
      local _, many = linked(8000, group)
      assert.is_true(many < 12 * few, ("groups of %d: %d and %d instructions"):format(group, few, many))
    end
  end)
end)
