-- rounds_spec.lua: a folder whose document says in the stated shape that phases repeat, or that one runs for each item.
local files = require "skillrt.base.files"
local kit = require "tests.support.cli_kit"

-- Says which phase it was asked for; the third answer to "Score" is good, and "List" names two parts.
local AGENT = [[#!/bin/sh
prompt=$(cat)
name=$(printf '%s' "$prompt" | grep -o 'Phase 0[0-9]' | head -1)
echo "$name" >> "$BOOK"
count=$(grep -c 'Phase 03' "$BOOK")
case "$name" in
  'Phase 01') echo '{"status":"completed","stateUpdates":{"parts":["a","b"]},"summary":"ok"}' ;;
  'Phase 03') echo "{\"status\":\"completed\",\"stateUpdates\":{\"score\":$((count * 3))},\"summary\":\"ok\"}" ;;
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
  put("agent", (AGENT:gsub("$BOOK", book):gsub('"%$BOOK"', book)))
  assert(os.execute(("chmod +x '%s/agent'"):format(folder.path)))
  local told = kit.run(folder, { "run", "tune", "--agent", folder.path .. "/agent", "--work-dir", "w", ... })
  local out = {}
  for id in (files.read(book) or ""):gmatch "Phase 0(%d)" do
    out[#out + 1] = id
  end
  return told, table.concat(out, " ")
end

describe("phases that a document repeats in the stated shape", function()
  it("run round by round until its condition holds, between those before and behind them (R28, F33)", function()
    local folder <close> = kit.folder()
    local told, order = run(folder, "Repeat phases 2-3 until `score >= 8`, at most 5 times.", "--strict")
    assert.equal(0, told.code, told.out .. told.err)
    assert.equal("1 2 3 2 3 2 3 4", order)
  end)

  it("run no more often than it says (F33, F61)", function()
    local folder <close> = kit.folder()
    local told, order = run(folder, "- **Loop**: Phases 2-3 repeat until `score > 100` (at most 2 times).")
    assert.equal(0, told.code, told.out .. told.err)
    assert.equal("1 2 3 2 3 4", order)
  end)

  it("are told where the shape is another, or cannot be run so", function()
    local folder <close> = kit.folder()
    local told = run(folder, "Repeat phases 2-3 until `score >= 8`.", "--strict")
    assert.equal(2, told.code, told.out .. told.err)
    assert.truthy(told.err:find("a loop is stated and not run", 1, true), told.err)
    local other <close> = kit.folder()
    told = run(other, "Repeat phases 2-3 until `score >= 8`, at most 5 times.\n\n- Phase 3: Score (optional)\n\n"
      .. "### Phase 3\n\n- **Condition**: `input.deep`", "--strict")
    assert.equal(2, told.code, told.out .. told.err)
    assert.truthy(told.err:find("has a condition", 1, true), told.err)
  end)
end)

describe("a phase that runs for each item in the stated shape", function()
  it("runs once for each of them", function()
    local folder <close> = kit.folder()
    local told, order = run(folder, "Phase 2 runs once for each of `parts`.", "--strict")
    assert.equal(0, told.code, told.out .. told.err)
    assert.equal("1 2 2 3 4", order)
  end)
end)
