-- statements_spec.lua: what a person or an agent states about a folder's phases: each statement that does not fit is
-- refused, with its place and the reason; what fits becomes workflow.json.
require "tests.support.json_shim"
local load = require "skillrt.document.load"
local json = require "skillrt.base.json"
local skill_folder = require "tests.support.skill_folder"
local statements = require "skillrt.document.compile.statements"

local P1 <const>, P2 <const>, P3 <const>, P4 <const> = "01-plan", "02-write", "03-review", "04-publish"

-- A document with four phases; `text` is SKILL.md's below its head.
local function document_of(text)
  local files = { ["SKILL.md"] = skill_folder.SKILL .. (text or "Then the next one.\n") }
  for i, id in ipairs { P1, P2, P3, P4 } do
    files[("phases/%s.md"):format(id)] = ("# Phase %d\nDo it.\n"):format(i)
  end
  local folder <close> = skill_folder.make(files)
  return assert((load.read(folder.dir, { workflow = false })))
end

local function state(document, says, fields)
  fields.says, fields.at, fields.texts = says, { "SKILL.md:9" }, { "Then the next one." }
  local made, problems = statements.document(document, fields.first and { fields.first, fields } or { fields })
  return made and made.workflow, problems
end

-- What is stated, its fields, why it is refused.
local REFUSED <const> = {
  { "order", {}, "needs phases" },
  { "order", { phases = { P1, "05-sell" } }, '"05-sell" is no phase' },
  { "order", { phases = { P1, P2, P1 } }, "names 01-plan twice" },
  { "order", { phases = { P1, P2, P3 } }, "does not name 04-publish; leave_out says that a phase never runs" },
  { "leave_out", { phases = { P1, P2, P3, P4 } }, "leaves no phase that runs" },
  { "only_if", { phases = { P2 } }, "needs condition" },
  { "only_if", { phases = { P2 }, condition = " " }, "needs condition" },
  { "only_if", { phases = { P2 }, condition = "n ===" }, "condition `n ===` cannot be read: " },
  { "only_if", { phases = { P2 }, condition = "n > 1" }, "needs set_by: who sets what `n > 1` reads" },
  { "repeat", { phases = { P1, P3 }, at_most = 2 }, "01-plan, 03-review do not follow each other in the order in which they run" },
  { "repeat", { phases = { P1, P2 } }, "needs until, while or at_most" },
  { "repeat", { phases = { P2, P3 }, at_most = 2, first = { says = "repeat", phases = { P1, P2 }, at_most = 2, at = { "SKILL.md:8" },
    texts = { "Again." } } }, "cannot go round: 02-write to 03-review and 01-plan to 02-write cross each other" },
  { "each", { phases = { P1, P2 }, list = "n" }, "needs one phase, not 2" },
  { "each", { phases = { P2 }, list = "a b" }, 'list must be a key of the state such as files, not "a b"' },
  { "choice", { name = "a mode" }, 'name must be a word such as mode, not "a mode"' },
  { "choice", { name = "mode", choices = { ["a b"] = { P1 } } }, 'a choice must be a word such as quick, not "a b"' },
  { "choice", { name = "mode", choices = { all = { P1 } } }, "needs choices, two or more" },
  { "choice", { name = "mode", choices = { all = { P1, P2, P3, P4 }, few = { P1 } }, default = "al" },
    'default must be one of its choices, not "al"' },
  { "choice", { name = "mode", choices = { all = { P1, P2, P3 }, few = { P1 } } }, "no choice runs 04-publish" },
  { "ask", { phases = { P2 }, name = P1, question = "Go on?" }, 'name "01-plan" is a phase\'s already' },
  { "ask", { phases = { P2 }, name = "may", question = "" }, "needs question" },
  { "ask", { phases = { P2 }, name = "may", question = "Go on?", first = { says = "ask", phases = { P3 }, name = "may",
    question = "Publish?", at = { "SKILL.md:8" }, texts = { "Ask." } } }, 'name "may" is a phase\'s already' },
  { "needs", { condition = "n > 1" }, "applies only to an action's preconditions" },
}

describe("a statement about phases", function()
  local document
  setup(function() document = document_of() end)

  for _, row in ipairs(REFUSED) do
    it(("is refused: %s: %s"):format(row[1], row[3]), function()
      local made, problems = state(document, row[1], row[2])
      assert.is_nil(made)
      assert.equal(("%s (SKILL.md:9): %s"):format(row[1], row[3]), problems:sub(1, #row[1] + 15 + #row[3]))
    end)
  end

  it("becomes a phase's or a round's in workflow.json", function()
    local first = { says = "repeat", at = { "SKILL.md:8" }, phases = { P2, P3 }, ["while"] = "n < 8" }
    assert.same({ { first = P2, last = P3, ["while"] = "n < 8", at_most = 3 } },
      state(document, "repeat", { first = first, phases = { P3, P2 }, at_most = 3 }).rounds)
    local made, problems = state(document, "repeat", { first = first, phases = { P2, P3 }, ["while"] = "n < 9" })
    assert.same({ nil, 'repeat (SKILL.md:9): contradicts what SKILL.md:8 says: while is "n < 8"' }, { made, problems })
    local made_of = state(document, "choice", { name = "mode", default = "all",
      choices = { all = { P1, P2, P3, P4 }, few = { P1, P4 } } })
    assert.same({ mode = { one_of = json.array { "all", "few" }, default = "all" } }, made_of.inputs)
    local conditions = {}
    for i, phase in ipairs(made_of.phases) do conditions[i] = phase.condition or "" end
    assert.same({ "", "!input.mode || input.mode === 'all'", "!input.mode || input.mode === 'all'", "" }, conditions)
    made_of = state(document, "ask", { phases = { P4 }, name = "may", question = "Publish?", options = { "yes", "no" } })
    assert.same({ id = "may", question = "Publish?", options = json.array { "yes", "no" } }, made_of.phases[4])
    made_of = state(document, "only_if", { phases = { P3 }, condition = "n > 1", set_by = P1 })
    assert.same({ json.array { "n!=null" }, "n > 1" }, { made_of.phases[1].effects, made_of.phases[3].condition })
    made_of = state(document, "together", { phases = { P2, P3 } })
    assert.same({ P1, true, true }, { made_of.phases[1].parallel or P1, made_of.phases[2].parallel, made_of.phases[3].parallel })
    assert.equal("files", state(document, "each", { phases = { P2 }, list = "files" }).phases[2].each)
    made_of = state(document, "leave_out", { phases = { P2, P4 } })
    assert.same({ P1, P3 }, { made_of.phases[1].id, made_of.phases[2].id, made_of.phases[3] })
  end)
end)
