-- rounds_spec.lua: a folder whose workflow.json says that phases repeat, or that one runs for each item.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
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

local function run(folder, workflow, ...)
  local function put(name, text)
    assert(files.make_folders(files.dirname(folder.path .. "/" .. name)))
    folder.file(name, text)
  end
  put("tune/SKILL.md", "---\nname: tune\ndescription: Tunes.\n---\n# Tune\n")
  workflow.phases = {}
  for i, name in ipairs { "list", "try", "score", "tell" } do
    local id = ("0%d-%s"):format(i, name)
    workflow.phases[i] = { id = id }
    for key, value in pairs(workflow[id] or {}) do
      workflow.phases[i][key] = value
    end
    workflow[id] = nil
    put(("tune/phases/0%d-%s.md"):format(i, name), ("# %s\n\nPhase 0%d: do it.\n"):format(name, i))
  end
  put("tune/workflow.json", assert(json.encode(workflow)))
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

-- A round of the phases from one to another.
local function round(first, last, more)
  local ids = { "01-list", "02-try", "03-score", "04-tell" }
  more.first, more.last = ids[first], ids[last]
  return more
end

-- The phases of a folder with these rounds, or this workflow.json, are performed in this order.
local function goes(order, ...)
  local folder <close> = kit.folder()
  local first = ...
  local told, went = run(folder, first.rounds and first or { rounds = { ... } }, "--strict")
  assert.equal(0, told.code, told.out .. told.err)
  assert.equal(order, went)
  return told
end

describe("phases that repeat", function()
  it("run round by round until its condition holds, between those before and behind them (R28, F33)", function()
    goes("1 2 3 2 3 2 3 4", round(2, 3, { ["until"] = "score >= 8", at_most = 5 }))
  end)

  it("run no more often than it says (F33, F61)", function()
    goes("1 2 3 2 3 4", round(2, 3, { ["until"] = "score > 100", at_most = 2 }))
  end)

  it("run until the condition holds where it does not say how often, while it holds, and so many times", function()
    for _, one in ipairs { { ["until"] = "score >= 5" }, { ["while"] = "score < 5" }, { at_most = 2 } } do
      goes("1 2 3 2 3 4", round(2, 3, one))
    end
  end)

  it("run as several rounds of one folder, one inside the other or apart", function()
    goes("1 2 1 2 3 4 3 4 3 4", round(1, 2, { at_most = 2 }), round(3, 4, { ["until"] = "score >= 7", at_most = 4 }))
    goes("1 2 3 2 3 4 1 2 3 2 3 4", round(1, 4, { at_most = 2 }), round(2, 3, { at_most = 2 }))
  end)

  it("leave out a phase whose condition does not hold in a round", function()
    goes("1 3 2 3 4", { rounds = { round(2, 3, { ["until"] = "score >= 5", at_most = 5 }) },
      ["02-try"] = { condition = "score >= 3" } })
  end)

  it("hand their files on to those behind them, and an agent is told its own (R20, R31)", function()
    local folder <close> = kit.folder()
    local told = run(folder, { rounds = { round(2, 3, { ["until"] = "score >= 8", at_most = 5 }) },
      ["03-score"] = { output = "notes.md" } }, "--strict")
    assert.equal(0, told.code, told.out .. told.err)
    assert.equal("score 9\n", files.read(folder.path .. "/w/notes.md"))
    local score, tell = files.read(folder.path .. "/book.3"), files.read(folder.path .. "/book.4")
    assert.truthy(score:find("[OUTPUT] " .. folder.path .. "/w/notes.md\n[ROUND] 3 of at most 5\n", 1, true), score)
    assert.truthy(score:find("what this step promises: score!=null", 1, true), score)
    assert.truthy(tell:find("[INPUT] " .. folder.path .. "/w/notes.md\n[OUTPUT] None\n\n", 1, true), tell)
  end)

  it("are refused where they cross each other, or nothing says when they end", function()
    for what, rounds in pairs { ["cross each other"] = { round(1, 3, { at_most = 2 }), round(2, 4, { at_most = 2 }) },
      ["until, while or at_most"] = { round(2, 3, {}) } } do
      local folder <close> = kit.folder()
      local told = run(folder, { rounds = rounds })
      assert.equal(2, told.code, told.out .. told.err)
      assert.truthy(told.err:find(what, 1, true), told.err)
    end
  end)
end)

describe("a phase that runs for each item", function()
  it("runs once for each of them", function()
    local folder <close> = kit.folder()
    local told, order = run(folder, { ["02-try"] = { each = "parts" } }, "--strict")
    assert.equal(0, told.code, told.out .. told.err)
    assert.equal("1 2 2 3 4", order)
    local list = files.read(folder.path .. "/book.1")
    assert.truthy(list:find("what this step promises: parts!=null", 1, true), list)
  end)
end)
