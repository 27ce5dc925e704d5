-- corpus_spec.lua: how often the check is right, over folders that are labelled line by line.
local corpus = require "tests.support.corpus"
local golden = require "tests.support.golden"
local kit = require "tests.support.cli_kit"

describe("the labelled folders", function()
  local rows, wrong

  setup(function()
    local scratch <close> = kit.folder()
    rows, wrong = corpus.run(scratch.path)
  end)

  it("are more than sixty, and plant more than sixty faults", function()
    local all = rows[#rows]
    assert.truthy(all.folders >= 60 and all.planted >= 60, all.folders .. " " .. all.planted)
  end)

  it("are told apart with a precision of 95% and a recall of 90% (R127, F28)", function()
    local precision, recall = corpus.rates(rows[#rows])
    assert.truthy(precision >= 0.95, table.concat(wrong, "\n"))
    assert.truthy(recall >= 0.90, table.concat(wrong, "\n"))
  end)

  it("give the table that stands in docs/reference/checks.md", function()
    local page = kit.read "docs/reference/checks.md"
    assert.equal(corpus.placed(page, rows), page)
  end)

  it("say, run and look as in tests/golden/corpus.txt", function()
    local scratch <close> = kit.folder()
    assert.is_nil(golden.difference(corpus.GOLDEN, corpus.golden(scratch.path)))
  end)

  it("count a false alarm and a miss as what they are", function()
    local scratch <close> = kit.folder()
    local case = corpus.parse([[
##### twice: a fault that is not labelled, a label that is no fault
=== SKILL.md
---
name: other
description: Does a thing.
---
# Demo

Reads. @@ prompt.todo
]], "test")[1]
    local got = corpus.judge(case, scratch.path)
    assert.equal("load.skill-folder", got.false_alarms[1].code)
    assert.equal(1, #got.false_alarms)
    assert.equal("prompt.todo", got.missed[1].codes[1])
    assert.equal(0, got.right)
  end)
end)
