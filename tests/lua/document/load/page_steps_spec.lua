-- page_steps_spec.lua: which numbered steps a page has, whatever language it is in, and what is left without them.
local page_steps = require "skillrt.document.load.page_steps"

local function titles(body)
  local steps, rest, at = page_steps.read(body)
  local list = {}
  for i, one in ipairs(steps or {}) do
    list[i] = one.title
  end
  return steps and list, rest, at
end

describe("the numbered steps of a page", function()
  it("are its numbered headings of the highest level, with all that stands between them", function()
    local steps, rest = page_steps.read [[
# Fix 3 bugs

Be kind.

1. a list
2. of rules

## 2-Step Plan
## Step 1: Look
Look.
### 1. deeper
### 2. deeper
## Step 1.5: Also
Also.
```
## Step 2: code
```
## Step 2 - Mend
Mend.
## Notes
Be brief.
]]
    assert.equal(2, #steps)
    assert.same({ "Step 1: Look", 9 }, { steps[1].title, steps[1].line })
    assert.matches("^## Step 1: Look\nLook%.\n### 1%. deeper\n.*\nAlso%.\n```\n## Step 2: code\n```$", steps[1].text)
    assert.equal("## Step 2 - Mend\nMend.", steps[2].text)
    assert.equal("# Fix 3 bugs\n\nBe kind.\n\n1. a list\n2. of rules\n\n## 2-Step Plan\n"
      .. "(step 1 of 2, which you are given later: Step 1: Look)\n(step 2 of 2, which you are given later: Step 2 - Mend)\n"
      .. "\n## Notes\nBe brief.", rest)
  end)

  it("are found by their form in any language", function()
    for _, page in ipairs { "## 0. A\n## 1. B\n", "### Schritt 1: A\n### Schritt 2: B\n",
      "## \u{7B2C}1\u{6B65} A\n## \u{7B2C}2\u{6B65} B\n",
      "## \u{30B9}\u{30C6}\u{30C3}\u{30D7} 1\n## \u{30B9}\u{30C6}\u{30C3}\u{30D7} 2\n", "## 1\u{B2E8}\u{ACC4}\n## 2\u{B2E8}\u{ACC4}\n",
      "## **Paso 1** A\n\ntext\n\n## **Paso 2** B\n", "1. A\n2. B\n", "1) A\n\n   more\n\n2) B\n" } do
      assert.equal(2, #assert(titles(page), page), page)
    end
  end)

  it("are the items of a list where no headings are numbered; what is indented belongs to them", function()
    local steps, rest = page_steps.read "Do:\n\n1. **Look** at it\n   ```\nx\n   ```\n2. Mend it\n\n   - so\n\nBe brief.\n"
    assert.same({ "Look at it", "1. **Look** at it\n   ```\nx\n   ```" }, { steps[1].title, steps[1].text })
    assert.equal("2. Mend it\n\n   - so", steps[2].text)
    assert.matches("\nBe brief%.$", rest)
  end)

  it("promise the files that they say they put out, and no other", function()
    local steps = page_steps.read("1. A\n\n   **Output**: `a/b.md`\n2. B, as in `c.md`\n\n   - Output: `../d.md`\n"
      .. "3. C\n\n   \u{8F93}\u{51FA}\u{FF1A}`e.json`\n")
    assert.same({ { "a/b.md" }, nil, { "e.json" } }, { steps[1].outputs, steps[2].outputs, steps[3].outputs })
  end)

  it("are not guessed", function()
    for _, page in ipairs { "# A\n\nDo it.\n", "## P0 Rules\n## P1 Rules\n", "## Phase 2b\n## Phase 3b\n", "## 2. A\n## 3. B\n",
      "## 1.1 A\n## 1.2 B\n", "1. alone\n", "## Example 1: A\n## Example 2: B\n", "```\n## 1. A\n## 2. B\n```\n" } do
      local steps, problem = titles(page)
      assert.same({ nil, "has no numbered steps" }, { steps, problem }, page)
    end
    local steps, problem, at = titles "## A\n### 1. a\n### 2. b\n## B\n### 1. c\n### 2. d\n"
    assert.same({ nil, "has several lists of numbered steps", { 2, 5 } }, { steps, problem, at })
  end)
end)
