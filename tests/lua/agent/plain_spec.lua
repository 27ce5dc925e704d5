-- plain_spec.lua: the whole text that an agent reads of a page of instructions.
require "tests.support.json_shim"
local plain = require "skillrt.agent.plain"

local function quoted(text, what)
  return ("<%s>%s</%s>"):format(what, text, what)
end

local function task_of(guide, input)
  return { skill = "fix-links", dir = "/skills/fix", project_dir = "/home/me/site", tools = { "read", "grep" }, input = input,
    guide = guide, store = { path = function() return "/runs/r1" end } }
end

describe("the text of a page of instructions", function()
  it("has each part once, in this order; the person's task comes last", function()
    local guide = { body = "Look at {workDir} first.\n\n", resources = { { path = "references/rules.md", size = 120 } }, more = 3 }
    assert.equal([==[
[SKILL] fix-links
[SKILL_DIR] /skills/fix
[PROJECT_DIR] /home/me/site
[TOOLS] read, grep
[WORK_DIR] /runs/r1 (for files that have no other place)

[INSTRUCTIONS]
Look at /runs/r1 first.

[RESOURCES]
Files of the skill, below [SKILL_DIR]. Read one when the instructions call for it, not before.
- references/rules.md (120 bytes)
- and 3 more

[INPUT]
<INPUT>{"deep":true}</INPUT>

[TASK]
only the dead ones

[ANSWER]
Do the task by these instructions. Your last message is the result, as text.
If you cannot continue without a person's answer, end with one line: NEEDS_CONTEXT: your question]==],
      plain.text(task_of(guide, { task = "only the dead ones" }), quoted, '{"deep":true}'))
  end)

  it("gives a page with steps its first one, and no other", function()
    local text = plain.text(task_of({ body = "Two steps.", steps = { { text = "Find." }, { text = "Mend." } } }), quoted)
    assert.equal(([==[
(nothing more was asked for: do what the instructions say)

[ANSWER]
The instructions have 2 steps, which you are given one at a time. %s
If you cannot continue without a person's answer, end with one line: NEEDS_CONTEXT: your question

[STEP 1 of 2]
Find.]==]):format "Do the step that you are given, and no other; your last message is its result, as text.",
      text:match "%[TASK%]\n(.*)$")
    assert.equal("[STEP 2 of 2]\nMend.\n\nThis is the last step: your last message is the result of the whole task.",
      plain.step(task_of { steps = { {}, { text = "Mend." } } }, 2))
  end)

  it("names the page's file where the page is too long to be sent", function()
    local text = plain.text(task_of { body = ("x"):rep(256 * 1024 + 1) }, quoted)
    assert.truthy(text:find("[INSTRUCTIONS]\n(read /skills/fix/SKILL.md)\n", 1, true))
  end)

  describe("fills placeholders of other hosts", function()
    local function filled(body, placeholders, task, dir)
      return plain.filled(body, { dir = dir or "/skills/fix", input = { task = task }, guide = { placeholders = placeholders },
        store = { path = function() return "/runs/r1" end } })
    end

    it("by the numbers of words, where the page counts them", function()
      assert.equal("a is not b c", filled("$0 is not $1 $2", { first = 0 }, "a b c"))
      assert.equal("$0, a and b", filled("$0, $1 and $2", { first = 1 }, "a b c"))
      assert.equal("awk '{print $1}'", filled("awk '{print $1}'", {}, "a b"))
      assert.equal("$12", filled("$12", { first = 0 }, "a b"))
    end)

    it("by the names that its front matter gives to the words", function()
      local names = { first = 0, arguments = { "issue", "on-branch" } }
      assert.equal("42 goes to hot fix, not $branch", filled("$issue goes to $on-branch, not $branch", names, '42 "hot fix"'))
      assert.equal("42-draft", filled("$issue-draft", names, "42"))
      assert.equal("'42' and ''", filled("'$issue' and '$on-branch'", names, "42"))
      assert.equal("/skills/fix", filled("$SKILL_DIR", { arguments = { "SKILL_DIR" } }, "other"))
    end)

    it("by the folder of the plugin", function()
      local root = os.tmpname()
      os.remove(root)
      os.execute(("mkdir -p %s/.claude-plugin %s/skills/fix %s/plain/commands"):format(root, root, root))
      assert.equal(root .. "/lib", filled("${CLAUDE_PLUGIN_ROOT}/lib", nil, nil, root .. "/skills/fix"))
      assert.equal(root, filled("${CLAUDE_PLUGIN_ROOT}", nil, nil, root .. "/plain/commands"))
      os.remove(root .. "/.claude-plugin")
      assert.equal(root .. "/plain", filled("${CLAUDE_PLUGIN_ROOT}", nil, nil, root .. "/plain/commands"))
      assert.equal("/elsewhere/page", filled("${CLAUDE_PLUGIN_ROOT}", nil, nil, "/elsewhere/page"))
      os.execute("rm -r " .. root)
    end)
  end)
end)
