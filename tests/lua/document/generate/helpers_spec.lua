-- generate_helpers_spec.lua: the small pieces: helpers, Markdown, the dependency graph.
local helpers = require "skillrt.document.generate.helpers"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local types = require "skillrt.skill.types"

describe("generate helpers", function()
  it("make Pascal case of hyphens (R71, F50)", function()
    assert.equal("AB", helpers.to_pascal_case "a-b")
    assert.equal("CodeReviewer2", helpers.to_pascal_case "code-reviewer2")
  end)

  it("give the default of a type (R72, F50)", function()
    local got = {}
    for i, kind in ipairs { "string[]", "Finding[]", "number", "boolean", "string", "object", "Map" } do
      got[i] = helpers.get_default_value(kind)
    end
    assert.same({ "[]", "[]", "0", "false", '""', "{}", "{}" }, got)
  end)

  for words, value in pairs {
    ["'open' | 'closed'"] = '"open"',
    ['"it\'s" | "b"'] = '"it\'s"',
    ["'a'[]"] = "[]",
    ["Array<number>"] = "[]",
    ["number | undefined"] = "0",
    ["int"] = "0",
    ["Date"] = '""',
    ["1 | 2"] = "{}",
  } do
    it("give a default that fits what a run declares: " .. words, function()
      local text = helpers.get_default_value(words)
      assert.equal(value, text)
      assert.is_true(types.fits(types.of_words(words), (json.decode(text))))
    end)
  end

  it("give the test of a termination condition (R73)", function()
    assert.equal('state.status === "user_exit"', helpers.get_termination_check "user_exit")
    assert.equal("state.error_count >= 3", helpers.get_termination_check "error_limit")
    assert.equal("state.error_count >= 5", helpers.get_termination_check("error_limit", 5))
    assert.equal('state.status === "completed"', helpers.get_termination_check "task_completed")
    assert.equal("iteration >= MAX_ITERATIONS", helpers.get_termination_check "max_iterations")
    assert.equal("state.all_done", helpers.get_termination_check "all_done")
    assert.equal("state.gate === 'fail'", helpers.get_termination_check "gate === 'fail'")
  end)

  it("join the preconditions of an action (R74, F50)", function()
    assert.equal("true", helpers.get_precondition_check {})
    assert.equal("true", helpers.get_precondition_check { preconditions = {} })
    assert.equal("state.a && state.b", helpers.get_precondition_check { preconditions = { "a", "b" } })
    assert.equal("evaluateCondition('a || b', state) && !state.c", helpers.get_precondition_check { preconditions = { "a || b", "!c" } })
  end)

  for condition, test in pairs {
    ["status === 'running'"] = "state.status === 'running'",
    ["n >= 3.5"] = "state.n >= 3.5",
    ["!done"] = "!state.done",
    ["n > limit"] = "evaluateCondition('n > limit', state)",
    ["state.done"] = "evaluateCondition('state.done', state)",
    ["files.length > 0 && !done"] = "evaluateCondition('files.length > 0 && !done', state)",
    ["completed_actions.includes('a.b')"] = "evaluateCondition('completed_actions.includes(\\'a.b\\')', state)",
  } do
    it(("test a key, and leave %s to the parser where it is more (F31)"):format(condition), function()
      assert.equal(test, helpers.test(condition))
    end)
  end

  it("quote for JavaScript", function()
    assert.equal([['it\'s\na \\']], helpers.quote "it's\na \\")
  end)
end)

describe("generate markdown", function()
  it("keeps a table cell in its cell (F9)", function()
    assert.equal("a \\| b<br>c", markdown.cell "a | b\r\n  c ")
    assert.equal("a \\| b \\\\\\| c", markdown.cell "a \\| b \\\\| c")
  end)

  it("puts code between more backticks than it holds", function()
    assert.equal("`a`", markdown.code "a")
    assert.equal("``a ` b``", markdown.code "a ` b")
    assert.equal("``` ``a ```", markdown.code "``a")
    assert.equal("`a b`", markdown.code "a\n  b")
  end)

  it("shows a list of code, or a dash for none (R45)", function()
    assert.equal("`a \\|\\| b`, `c`", markdown.code_list_cell { "a || b", "c" })
    assert.equal("-", markdown.code_list_cell {})
  end)

  it("chooses a fence that no line inside can close", function()
    assert.equal("```", markdown.fence "a `b` ``c``")
    assert.equal("`````", markdown.fence "x\n````\ny")
  end)
end)
