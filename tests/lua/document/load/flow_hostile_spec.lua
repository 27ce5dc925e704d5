-- flow_hostile_spec.lua: the readers of flow, references and prompts take long lines in time that grows with them.
local check = require "skillrt.document.check"
local folder_of = require "tests.support.skill_folder"

-- Thousands of instructions and seconds that a check of this text takes.
local function cost(text)
  local folder <close> = folder_of.make {
    ["SKILL.md"] = folder_of.SKILL .. text, ["phases/01-a.md"] = "# A\n\n" .. text, ["phases/02-b.md"] = "# B\n\nB.\n",
    ["scripts/x.py"] = "1\n",
  }
  local before = os.clock()
  assert(check.check(folder.dir))
  return os.clock() - before
end

describe("a document of hostile lines", function()
  local LINES = {
    ("a"):rep(50000), (" "):rep(50000) .. "x", ("`"):rep(25000), ("` "):rep(25000), ("phase 1 "):rep(5000),
    "{{" .. (" "):rep(50000), ("a/"):rep(25000), ("if a, "):rep(7500) .. "phase 2", ("skip to "):rep(7500),
    "```js\n" .. ("/* "):rep(15000) .. "\nSkill('x')\n```", "| Phase | Document |\n|---|---|\n| 1 | " .. ("x"):rep(50000) .. " |",
    "| Mode | Phases |\n|---|---|\n| " .. ("a "):rep(25000) .. " | 1 |", "# " .. ("Phase 1, "):rep(5000),
    "```\n" .. ("Phase 1 -> "):rep(5000) .. "\n```", "```dot\n" .. ("a -> "):rep(7500) .. "b\n```",
    ("Phases 1, 2 and "):rep(60), ("repeat "):rep(140), "phases 1 and 2 " .. ("in "):rep(300),
  }

  for i, line in ipairs(LINES) do
    it(("number %d is read in less than two seconds"):format(i), function()
      local took = cost(line .. "\n")
      assert.is_true(took < 2, took)
    end)
  end
end)
