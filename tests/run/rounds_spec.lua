-- rounds_spec.lua: a folder whose tables or diagrams say that phases repeat, or that one runs for each item.
local files = require "skillrt.base.files"
local kit = require "tests.support.cli_kit"

-- Says which phase it was asked for; the third answer to "Score" is good, and "List" names two parts.
local AGENT = [[#!/bin/sh
prompt=$(cat)
name=$(printf '%s' "$prompt" | grep -o 'Phase 0[0-9]' | head -1)
echo "$name" >> "$BOOK"
printf '%s' "$prompt" > "$BOOK.${name#Phase 0}"
dir=$(printf '%s' "$prompt" | sed -n 's/^\[WORK_DIR\] //p')
count=$(grep -c 'Phase 03' "$BOOK")
case "$name" in
  'Phase 01') echo '{"status":"completed","stateUpdates":{"parts":["a","b"]},"summary":"ok"}' ;;
  'Phase 03') echo "{\"status\":\"completed\",\"stateUpdates\":{\"score\":$((count * 3))},\"summary\":\"ok\"}"
    echo "score $((count * 3))" > "$dir/notes.md" ;;
  *) echo '{"status":"completed","summary":"ok"}' ;;
esac
]]

local function run(folder, sentence, ...)
  local function put(name, text)
    assert(files.make_folders(files.dirname(folder.path .. "/" .. name)))
    folder.file(name, text)
  end
  put("tune/SKILL.md", "---\nname: tune\ndescription: Tunes.\n---\n# Tune\n\n" .. sentence .. "\n")
  for i, name in ipairs { "list", "try", "score", "tell" } do
    put(("tune/phases/0%d-%s.md"):format(i, name), ("# %s\n\nPhase 0%d: do it.\n"):format(name, i))
  end
  local book = folder.path .. "/book"
  put("agent", (AGENT:gsub('%$BOOK', book)))
  assert(os.execute(("chmod +x '%s/agent'"):format(folder.path)))
  local told = kit.run(folder, { "run", "tune", "--agent", folder.path .. "/agent", "--work-dir", "w", ... })
  local out = {}
  for id in (files.read(book) or ""):gmatch "Phase 0(%d)" do
    out[#out + 1] = id
  end
  return told, table.concat(out, " ")
end

-- A document whose phases are performed in this order.
local function goes(order, document)
  local folder <close> = kit.folder()
  local told, went = run(folder, document, "--strict")
  assert.equal(0, told.code, document .. told.out .. told.err)
  assert.equal(order, went, document)
end

-- A table of the phases that repeat.
local function repeats(...)
  return "| Repeat | Until | While | At most |\n|---|---|---|---|\n| " .. table.concat({ ... }, " |\n| ") .. " |\n"
end

describe("phases that a table repeats", function()
  it("run round by round until its condition holds, between those before and behind them (R28, F33)", function()
    local folder <close> = kit.folder()
    local told, order = run(folder, repeats "2-3 | `score >= 8` | | 5", "--strict")
    assert.equal(0, told.code, told.out .. told.err)
    assert.equal("1 2 3 2 3 2 3 4", order)
  end)

  it("run no more often than it says (F33, F61)", function()
    local folder <close> = kit.folder()
    local told, order = run(folder, repeats "Phases 2-3 | `score > 100` | - | 2")
    assert.equal(0, told.code, told.out .. told.err)
    assert.equal("1 2 3 2 3 4", order)
  end)

  it("run until the condition holds where it does not say how often, while it holds, and so many times", function()
    for sentence, wanted in pairs {
      ["2-3 | `score >= 5` | | "] = "1 2 3 2 3 4",
      ["2-3 | | `score < 5` | "] = "1 2 3 2 3 4",
      ["2-3 | | | 2"] = "1 2 3 2 3 4",
    } do
      goes(wanted, repeats(sentence))
    end
  end)

  it("run as several rounds of one folder, one inside the other or apart", function()
    goes("1 2 1 2 3 4 3 4 3 4", repeats("1-2 | | | 2", "3-4 | `score >= 7` | | 4"))
    goes("1 2 3 2 3 4 1 2 3 2 3 4", repeats("1-4 | | | 2", "2-3 | | | 2"))
  end)

  it("leave out a phase whose condition does not hold in a round", function()
    goes("1 3 2 3 4", repeats "2-3 | `score >= 5` | | 5" .. "\n"
      .. "### Phase 2\n\n- **Condition**: `score >= 3`")
  end)

  it("run where an edge of a diagram leads back under a condition, in Mermaid and dot (F33)", function()
    for _, drawing in ipairs {
      "```mermaid\ngraph TD\n  A[Phase 1] --> B[Phase 2] --> C[Phase 3]\n  C -->|score < 8| B\n  C --> D[Phase 4]\n```",
      "```mermaid\nflowchart TD\n  A[Phase 1] --> B[Phase 2]\n  B --> C[Phase 3]\n  C --> Q{score >= 8?}\n"
        .. "  Q -->|No| B\n  Q -->|Yes| D[Phase 4]\n```",
      "```dot\ndigraph g {\n  a [label=\"Phase 2\"];\n  q [label=\"score >= 8?\", shape=diamond];\n  b [label=\"Phase 3\"];\n"
        .. "  a -> b;\n  b -> q;\n  q -> a [label=\"no\"];\n}\n```",
    } do
      goes("1 2 3 2 3 2 3 4", drawing)
    end
  end)

  it("leave out what a rhombus of a diagram leads past (F33)", function()
    goes("1 2 4", "```mermaid\ngraph TD\n  A[Phase 1] --> B[Phase 2] --> Q{parts.length > 5?}\n"
      .. "  Q -->|yes| C[Phase 3] --> D[Phase 4]\n  Q -->|no| D\n```")
  end)

  it("hand their files on to those behind them, and an agent is told its own (R20, R31)", function()
    local folder <close> = kit.folder()
    local told = run(folder, repeats "2-3 | `score >= 8` | | 5" .. "\n| Phase | Document | Output |\n"
      .. "|---|---|---|\n| 1 | phases/01-list.md | |\n| 2 | phases/02-try.md | |\n| 3 | phases/03-score.md | `notes.md` |\n"
      .. "| 4 | phases/04-tell.md | |\n", "--strict")
    assert.equal(0, told.code, told.out .. told.err)
    assert.equal("score 9\n", files.read(folder.path .. "/w/notes.md"))
    local score, tell = files.read(folder.path .. "/book.3"), files.read(folder.path .. "/book.4")
    assert.truthy(score:find("[OUTPUT] " .. folder.path .. "/w/notes.md\n[ROUND] 3 of at most 5\n", 1, true), score)
    assert.truthy(score:find("what this step promises: score!=null", 1, true), score)
    assert.truthy(tell:find("[INPUT] " .. folder.path .. "/w/notes.md\n[OUTPUT] None\n\n", 1, true), tell)
  end)

  it("are told where the shape is another, or they cross each other", function()
    local folder <close> = kit.folder()
    local told = run(folder, repeats "2-3 | all is well | |", "--strict")
    assert.equal(2, told.code, told.out .. told.err)
    assert.truthy(told.err:find('"2-3 | all is well |', 1, true), told.err)
    local other <close> = kit.folder()
    told = run(other, repeats("1-3 | | | 2", "2-4 | | | 2"), "--strict")
    assert.equal(2, told.code, told.out .. told.err)
    assert.truthy(told.err:find("cross each other", 1, true), told.err)
  end)
end)

describe("a phase that runs for each item, by its row", function()
  it("runs once for each of them", function()
    local folder <close> = kit.folder()
    local told, order = run(folder, "| Phase | Document | For each |\n|---|---|---|\n| 2 | phases/02-try.md | `parts` |\n",
      "--strict")
    assert.equal(0, told.code, told.out .. told.err)
    assert.equal("1 2 2 3 4", order)
    local list = files.read(folder.path .. "/book.1")
    assert.truthy(list:find("what this step promises: parts!=null", 1, true), list)
  end)
end)
