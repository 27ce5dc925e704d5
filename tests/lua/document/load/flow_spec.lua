-- flow_spec.lua: what documents state of the order of phases: read where it has a stated shape, quoted
-- where it has none.
local folder_of = require "tests.support.skill_folder"
local of_folder = require "skillrt.document.load.folder"

-- A folder with phases of these names, beside a SKILL.md with this text.
local function folder(text, names, more)
  local files = { ["SKILL.md"] = folder_of.SKILL .. text }
  for i, name in ipairs(names or { "01-plan", "02-write", "03-check" }) do
    files[("phases/%s.md"):format(name)] = ("# %s\n\nDoes %d.\n"):format(name:gsub("^[%d-]+", ""), i)
  end
  for path, other in pairs(more or {}) do
    files[path] = other
  end
  return folder_of.make(files)
end

local function read(text, names, more)
  local made <close> = folder(text, names, more)
  local document = assert(of_folder.read(made.dir, {}))
  return document.definition, document.findings
end

local function conditions(phases)
  local out = {}
  for i, one in ipairs(phases) do
    out[i] = one.when or false
  end
  return out
end

local function told(found, code)
  local out = {}
  for _, one in ipairs(found) do
    out[#out + 1] = one.code == "load." .. code and one.what or nil
  end
  return table.concat(out, "\n")
end

describe("the order of phases", function()
  it("takes 01-5 as 1.5, before 02 (R28)", function()
    local skill = read("", { "02-write", "01-5-clarify", "01-plan", "10-end" })
    assert.same({ "01-plan", "01-5-clarify", "02-write", "10-end" }, folder_of.ids(skill.phases))
  end)

  it("takes 15 as 1.5 and 05 as 0.5 where the titles say so", function()
    local skill, found = read("", { "02-write", "15-clarify", "05-look", "1-plan", "10-end" }, {
      ["phases/15-clarify.md"] = "# Phase 1.5: Clarify\n", ["phases/05-look.md"] = "# 0.5 Look\n" })
    assert.same({ "05-look", "1-plan", "15-clarify", "02-write", "10-end" }, folder_of.ids(skill.phases))
    assert.equal("", told(found, "phase-order"))
  end)

  it("is none of documents without numbers that SKILL.md does not name: SKILL.md runs, and that is no warning", function()
    local levels = {}
    for _, text in ipairs { "Do it.\n", "Read phases/a.md.\n" } do
      local skill, found = read(text, { "a", "b" })
      for _, one in ipairs(found) do
        levels[#levels + 1] = one.code == "load.phase-order" and one.file:find "%.md$" and one.level .. " " .. one.file or nil
      end
      assert.equal(1, #skill.phases)
    end
    assert.same({ "note phases/a.md", "note phases/b.md", "warning phases/b.md" }, levels)
  end)

  it("takes a phase whose name only holds the word orchestrator as a phase", function()
    local skill = read("", { "01-plan", "02-orchestrator-design", "02-orchestrator" })
    assert.same({ "01-plan", "02-orchestrator-design" }, folder_of.ids(skill.phases))
  end)

  it("is the order of SKILL.md's table where that differs from the names, which is told (R28)", function()
    local skill, found = read([[
| Phase | Document |
|---|---|
| 1 | phases/02-write.md |
| 2 | phases/01-plan.md |
| 3 | phases/03-check.md |
]])
    assert.same({ "02-write", "01-plan", "03-check" }, folder_of.ids(skill.phases))
    assert.same({ "SKILL.md:8" }, folder_of.places(found, "load.phase-order"))
  end)
end)

describe("a table of phases", function()
  it("gives modes, with which a condition of the phase's own document holds, too (R13, F20)", function()
    local skill, found = read([[
| Phase | Document | Mode | Condition |
|---|---|---|---|
| 1 | [plan](phases/01-plan.md) | all | - |
| 2 | [write](phases/02-write.md) | full (default) | always |
| 3 | [check](phases/03-check.md) | full, quick | always |
]], nil, { ["phases/02-write.md"] = "# Write\n\n## Input\n\n- Condition: `outputs['01-plan'].ok`\n" })
    assert.same({ false, "(outputs['01-plan'].ok) && (!input.mode || input.mode === 'full')", false },
      conditions(skill.phases))
    assert.equal("", told(found, "flow-mode"))
  end)

  it("leaves outputs to the documents of phases, which name the first file that no other makes (R24)", function()
    local skill = read([[
| Phase | Document | Output |
|---|---|---|
| 1 | phases/01-plan.md | `plan.json` |
| 2 | phases/02-write.md | an updated text.md |
| 3 | phases/03-check.md | other.md |
]], nil, { ["phases/02-write.md"] = "# Write\n\n## Output\n\n- `parts/`\n  - `_index.md`\n- `more.md`\n",
      ["phases/03-check.md"] = "# Check\n\nChecks.\n\n## Output\n\n| File |\n|---|\n| `checks.md` |\n" })
    local out = {}
    for i, one in ipairs(skill.phases) do
      out[i] = one.output_free and "" or one.output
    end
    assert.same({ "", "parts/_index.md", "checks.md" }, out)
  end)

  it("quotes conditions and what runs at once, and leaves the phases running (F31)", function()
    local skill, found = read([[
| Phase | Document | Condition | Parallel |
|---|---|---|---|
| 2 | phases/02-write.md | the plan is large | yes |
| 3 | phases/03-check.md | `size > 2` | yes |
]])
    assert.same({ false, false, false }, conditions(skill.phases))
    assert.same({ "SKILL.md:6", "SKILL.md:8", "SKILL.md:9" }, folder_of.places(found, "load.quote"))
    assert.truthy(told(found, "quote"):find('column "Parallel"', 1, true), told(found, "quote"))
  end)

  it("of modes says which phases run in which; without a default the mode has to be given", function()
    local skill, found = read("| Mode | Phases |\n|---|---|\n| quick | 1, 3 |\n| full | 1-3 |\n")
    assert.same({ "!input.mode", false, "(input.mode === 'full' || outputs['choose-mode'] === 'full')", false },
      conditions(skill.phases))
    assert.truthy(told(found, "flow-mode"):find("quick, full", 1, true))
    assert.same({ {}, nil, nil }, { skill.phases[2].input, skill.phases[3].input, skill.phases[4].input })
  end)

  it("may give a mode as a condition, and takes one that it calls the default", function()
    local skill = read("| # | Phase | File | Condition |\n|---|---|---|---|\n| 1 | Plan | phases/01-plan.md | Always |\n"
      .. "| 2 | Write | phases/02-write.md | mode==parallel |\n| 3 | Check | phases/03-check.md | Always |\n")
    assert.same({ "!input.mode", false, "(input.mode === 'parallel' || outputs['choose-mode'] === 'parallel')",
      false }, conditions(skill.phases))
    skill = read("| Mode | Phases | Trigger |\n|---|---|---|\n| full | 1 -> 2 -> 3 | Default: a page |\n"
      .. "| short | 1 -> 3 | --short |\n| none | 1 | never |\n")
    assert.same({ false, false, false }, conditions(skill.phases)) -- "1 -> 3" may mean two or three of them
    skill = read("| Mode | Phases | Trigger |\n|---|---|---|\n| full | 1 -> 2 -> 3 | Default: a page |\n"
      .. "| short | 1, 3 | --short |\n")
    assert.same({ false, "!input.mode || input.mode === 'full'", false }, conditions(skill.phases))
  end)

  it("names a phase by its number or its name where it names no document", function()
    for _, cell in ipairs { "2", "Phase 2", "02-write", "`02-write`", "Write" } do
      local skill = read("| Phase | Mode |\n|---|---|\n| " .. cell .. " | full |\n| 1 | quick, full |\n")
      assert.same({ "!input.mode", false, "(input.mode === 'full' || outputs['choose-mode'] === 'full')", false },
        conditions(skill.phases), cell)
    end
  end)

  it("is one of phases by a document in its first row, whatever its columns are called", function()
    local skill = read("| File | Mode |\n|---|---|\n| phases/02-write.md | full |\n| | quick, full |\n")
    assert.same({ "!input.mode", false, "(input.mode === 'full' || outputs['choose-mode'] === 'full')", false },
      conditions(skill.phases))
  end)

  it("that names a document which is not there is told with the nearest one", function()
    local _, found = read("| Phase | Document |\n|---|---|\n| 1 | phases/01-plan.md |\n| 2 | phases/02-writ.md |\n")
    assert.truthy(told(found, "reference-missing"):find('did you mean "phases/02-write.md"?', 1, true))
  end)
end)

describe("a phase that only a section of SKILL.md describes", function()
  local TEXT <const> = "### Phase 0: Study of specs\n\nReads them.\n\n### Phase 1: Find\n\nFinds.\n\n"
    .. "### Phase 2: Write\n\nRef: phases/02-write.md\n"

  it("does not run by itself where most have a document, and is told", function()
    local skill, found = read(TEXT, { "02-write", "03-check" })
    assert.same({ "02-write", "03-check" }, folder_of.ids(skill.phases))
    assert.same({ "SKILL.md:10" }, folder_of.places(found, "load.phase-section"))
    assert.equal("phase 1 has no document", told(found, "phase-section"))
  end)

  it("makes the folder a page where fewer have a document: SKILL.md is what runs, and says when to read them", function()
    local skill, found = read(TEXT .. "\n### Phase 3: Check\n\nChecks.\n", { "02-write" })
    assert.same({ "run" }, folder_of.ids(skill.phases))
    assert.same({ "SKILL.md", true }, { skill.phases[1].prompt, skill.guide.is_plain })
    assert.same({ "SKILL.md:10", "SKILL.md:18" }, folder_of.places(found, "load.phase-section"))
    assert.equal("", told(found, "quote"))
  end)
end)


-- A phase's documents in a language, and how it says ten kinds of control flow: a loop, a choice, a condition, to skip,
-- at once, where to begin, for each, to ask a person, to go back, to stop.
local LANGUAGES = {
  en = { "Phase %d: Part", "Repeat phases 2-3 until the score is good.", "Run either Phase 2 or Phase 3.",
    "Run Phase 3 only if the plan is large.", "When nothing changed, skip Phase 2.", "Phases 2 and 3 run in parallel.",
    "If a draft exists, begin with Phase 3.", "Perform Phase 2 for each module.",
    "Before Phase 3 ask the user whether to go on.", "If a test fails, return to Phase 1.",
    "Stop after Phase 2 when nothing is left." },
  zh = { "阶段 %d：部分", "重复阶段 2 到 3，直到评分达标。", "阶段 2 与阶段 3 只执行一个。", "仅当计划较大时执行阶段 3。",
    "没有变化时跳过阶段 2。", "阶段 2 和阶段 3 并行执行。", "已有草稿时从第三阶段开始。", "对每个模块执行阶段 2。",
    "阶段 3 之前询问用户是否继续。", "测试失败时返回阶段 1。", "若无剩余工作，阶段 2 之后结束。" },
  de = { "Phase %d: Teil", "Die Phasen 2 bis 3 wiederholen, bis die Note stimmt.", "Entweder Phase 2 oder Phase 3.",
    "Phase 3 nur bei einem großen Plan.", "Ohne Änderungen entfällt Phase 2.", "Phase 2 und Phase 3 laufen gleichzeitig.",
    "Liegt ein Entwurf vor, beginnt es mit Phase 3.", "Phase 2 läuft für jedes Modul.",
    "Vor Phase 3 den Benutzer fragen.", "Schlägt ein Test fehl, zurück zu Phase 1.",
    "Nach Phase 2 ist Schluss, wenn nichts übrig ist." },
  ja = { "フェーズ %d: 部分", "評価が良くなるまでフェーズ2と3を繰り返す。", "フェーズ2かフェーズ3のどちらかを実行する。",
    "計画が大きい場合のみフェーズ3を実行する。", "変更がなければフェーズ 2 を飛ばす。", "フェーズ2とフェーズ3は並行して実行する。",
    "下書きがあれば第3フェーズから始める。", "モジュールごとにフェーズ2を実行する。", "フェーズ3の前に利用者に確認する。",
    "テストが失敗したらフェーズ1に戻る。", "残りがなければフェーズ2の後で終了する。" },
  ko = { "%d단계: 부분", "점수가 좋아질 때까지 2단계와 3단계를 반복한다.", "2단계 또는 3단계 중 하나만 실행한다.",
    "계획이 큰 경우에만 3단계를 실행한다.", "변경이 없으면 2단계를 건너뛴다.", "2단계와 3단계는 동시에 실행한다.",
    "초안이 있으면 3단계부터 시작한다.", "각 모듈마다 2단계를 실행한다.", "3단계 전에 사용자에게 묻는다.",
    "테스트가 실패하면 1단계로 돌아간다.", "남은 일이 없으면 2단계 후에 끝낸다." },
  es = { "Fase %d: Parte", "Repite las fases 2 y 3 hasta que la nota sea buena.", "Ejecuta la fase 2 o la fase 3.",
    "La fase 3 solo si el plan es grande.", "Sin cambios, salta la fase 2.", "Las fases 2 y 3 corren en paralelo.",
    "Si hay un borrador, empieza en la fase 3.", "La fase 2 corre por cada módulo.",
    "Antes de la fase 3 pregunta al usuario.", "Si falla una prueba, vuelve a la fase 1.",
    "Termina tras la fase 2 si no queda nada." },
}

describe("a sentence about phases", function()
  local function quotes(text, names, more)
    local _, found = read(text, names, more)
    return table.concat(folder_of.places(found, "load.quote"), ", "), found
  end

  for _, language in ipairs { "en", "zh", "de", "ja", "ko", "es" } do
    it("is quoted and never guessed, of ten kinds, in sentences, items, headings and cells, in " .. language, function()
      local said = LANGUAGES[language]
      local names, documents = { "01-a", "02-b", "03-c" }, {}
      for i, name in ipairs(names) do
        documents[("phases/%s.md"):format(name)] = ("# %s\n\n%s\n"):format(said[1]:format(i), name)
      end
      for _, form in ipairs { "%s\n\n", "- %s\n", "### %s\n\n", "| Note |\n|---|\n| %s |\n\n" } do
        local lines = {}
        for i = 2, #said do
          lines[#lines + 1] = form:format(said[i])
        end
        local half = #lines // 2 -- a document is quoted as far as eight lines
        local skill, found = read(table.concat(lines, "", 1, half), names, documents)
        local _, more = read(table.concat(lines, "", half + 1), names, documents)
        local all = told(found, "quote") .. told(more, "quote")
        for i = 2, #said do
          assert.truthy(all:find(said[i], 1, true), said[i] .. "\n" .. all)
        end
        assert.same({ false, false, false }, conditions(skill.phases))
        assert.is_nil(skill.rounds or skill.inputs or skill.phases[2].each or skill.phases[2].parallel or nil)
      end
      assert.equal(11, #said)
    end)
  end

  it("is quoted by the file or the id that it names, in whatever document it stands", function()
    assert.equal("SKILL.md:6", quotes "First what `02-write` needs.\n")
    assert.equal("SKILL.md:6", quotes "Read phases/02-write.md where the plan is large.\n")
    assert.equal("phases/04-end.md:3", quotes("", nil, { ["phases/04-end.md"] = "# End\n\nIf it is bad, see Phase 2.\n" }))
    assert.equal("steps/step-01-a.md:2", (quotes("", {}, {
      ["steps/step-01-a.md"] = "---\nnextStepFile: './step-03-c.md'\n---\n# Step 1: A\n\nStep 2 is its own.\n",
      ["steps/step-02-b.md"] = "# Step 2: B\n", ["steps/step-03-c.md"] = "# Step 3: C\n" })))
  end)

  it("is quoted where it names the folder of the phases as a whole, but not where it names one in it or draws it", function()
    assert.equal("SKILL.md:6, SKILL.md:7", (quotes "只读 `phases/` 中的一个文件。\n1. One file of phases/*.md is enough.\n"))
    assert.equal("", (quotes "`phases/01-plan.md`\n`my-phases/` and `phases/x/` of others\n\n```\nphases/\n└── 01-plan.md\n```\n"))
  end)

  it("is quoted where the title of a phase says more than its name", function()
    assert.equal("phases/04-end.md:1, phases/05-out.md:1", (quotes("", nil, { ["phases/04-end.md"] = "# Phase 4: End (opcional)\n",
      ["phases/05-out.md"] = "# Out\u{FF08}\u{53EF}\u{9009}\u{FF09}\n\n## Notes (long)\n" })))
  end)

  it("is quoted in a phase's code where it names another phase than the next one by its document", function()
    assert.equal("phases/03-check.md:4", (quotes("", nil, { ["phases/03-check.md"] = "# Check\n\n```yaml\ngoto: 01-plan\n"
      .. "then: 04-end\nself: 03-check\nfile: x-01-plan\n```\n", ["phases/04-end.md"] = "# End\n" })))
  end)

  it("is quoted in a step's document by a number that no part of the document has", function()
    assert.equal("steps/step-01-a.md:5", (quotes("", {}, {
      ["steps/step-01-a.md"] = "# Step 1: A\n\nIf it is bad, see step 2 or step 3.\n\nIf empty, step 4.\n\n### 3. Look\n",
      ["steps/step-02-b.md"] = "# Step 2: B\n", ["steps/step-03-c.md"] = "# Step 3: C\n",
      ["steps/step-04-d.md"] = "# Step 4: D\n\n1. Do.\n\nStep 1 of 1.\n" })))
  end)

  it("takes P1 in a phase's document for a priority, but where documents are called so", function()
    local notes = { ["phases/03-check.md"] = "# Check\n\nSort by P0, P1 and P2.\n" }
    assert.equal("", (quotes("", nil, notes)))
    assert.equal("SKILL.md:6", (quotes("P2 and P3 alternate.\nGate QG-P1 is another's.\nFrom P0 to P2.\n", nil, notes)))
    assert.equal("phases/P3-end.md:3", (quotes("", { "P1-plan", "P2-write" }, {
      ["phases/P3-end.md"] = "# End\n\nIf it is bad, P1 again.\n" })))
  end)

  it("names a phase by a cell, or by what an item begins with in bold, that is its name", function()
    assert.equal("SKILL.md:8, SKILL.md:11", (quotes("| Node | Use |\n|---|---|\n| Write | only for long texts |\n| `write` | a tool |\n\n"
      .. "- **Check** when it matters\n- **Checks** of others\n- Plan well\n")))
  end)

  it("of a number that several documents have means the one that it stands in", function()
    local text, found = quotes("", { "01-plan" }, { ["phases/02-here.md"] = "# Phase 2\n\nPhase 2 is this.\n",
      ["phases/02-there.md"] = "# Phase 2\n\n## Phase 2 steps\n\nPhase 2 is that.\n" })
    assert.equal("phases/02-here.md:3, phases/02-there.md:5", text)
    assert.equal("02-here, 02-there have one number", told(found, "phase-order"))
    assert.same({ "phases/02-here.md" }, folder_of.places(found, "load.phase-order"))
  end)

  it("is said of documents with one number and letters, but not where a table has the order", function()
    local levels, names = {}, { "01-plan", "02-write", "02b-check" }
    local table_of = "| Phase | Document |\n|---|---|\n| 1 | phases/01-plan.md |\n| 2 | phases/02b-check.md |\n"
      .. "| 3 | phases/02-write.md |\n"
    for _, text in ipairs { "", table_of } do
      local _, found = read(text, names)
      for _, one in ipairs(found) do
        levels[#levels + 1] = one.code == "load.phase-order" and one.level .. " " .. one.what or nil
      end
    end
    assert.same({ "note 02-write, 02b-check have one number",
      "warning the table runs phases/02b-check.md where the names of the files have phases/02-write.md" }, levels)
  end)

  it("is a name and no more where it gives a phase's number, title and document", function()
    assert.equal("", quotes("### Phase 2: Write\n\nRef: phases/02-write.md\n\n1. **Phase 1: plan** - phases/01-plan.md\n"
      .. "2. [Phase 2: write](phases/02-write.md)\n\n```\nPhase 1\n  |\n  └─ Ref: phases/01-plan.md\n```\n", nil,
      { ["phases/01-plan.md"] = "# Phase 1: plan\n\n## Phase 1 output\n\n[Phase 2: write](02-write.md)\n" }))
    assert.equal("SKILL.md:6", quotes "### Phase 2: Write (per iteration)\n")
  end)

  it("is a warning where it stands between others, a note where it begins with the one it describes", function()
    local _, found = quotes "1. Phase 1: looks at all files\n2. Then Phase 2 where it has to be\n"
    local levels = {}
    for _, one in ipairs(found) do
      levels[one.line or 0] = one.level
    end
    assert.same({ [0] = "note", [6] = "note", [7] = "warning" }, levels)
    assert.equal("runs 01-plan, 02-write, 03-check once each, in this order; nothing else was read", told(found, "flow"))
  end)

  it("is a note in a phase's own document where it names only earlier ones, and once where many have it", function()
    local _, found = read("", nil, { ["phases/01-plan.md"] = "# Plan\n\nLeave the words to Phase 3.\n",
      ["phases/02-write.md"] = "# Write\n\nLeave the words to Phase 3.\nTakes what Phase 1 found.\n",
      ["phases/03-check.md"] = "# Check\n\nGo back to Phase 2 if it is wrong.\n" })
    local out = {}
    for _, one in ipairs(found) do
      out[#out + 1] = one.code == "load.quote" and ("%s %s:%d"):format(one.level, one.file, one.line) or nil
    end
    table.sort(out)
    assert.same({ "note phases/02-write.md:4", "note phases/03-check.md:3", "warning phases/01-plan.md:3" }, out)
  end)

  it("is quoted with every character, and a document of many with the number of the rest", function()
    local _, found = quotes("## Flow\n\n```\n│ Phase 2: 解决 (conditional: risk ≥ medium)\n```\n"
      .. ("Phase 2 at times.\n"):rep(20))
    assert.truthy(told(found, "quote"):find("解决 (conditional: risk ≥ medium)", 1, true))
    assert.truthy(told(found, "quote"):find("and 13 more lines name", 1, true), told(found, "quote"))
  end)

  it("is a condition in code below a phase's heading, whatever its label; tables keep their facts", function()
    local skill, found = read("| Mode | Phases |\n|---|---|\n| quick | 1, 3 |\n\n### Phase 2\n\n"
      .. "- **Bedingung**: `size > 3`\n- **Tool**: `size`\n")
    assert.is_nil(skill.phases[3].when)
    assert.same({ "SKILL.md:12" }, folder_of.places(found, "load.quote"))
    assert.truthy(told(found, "flow"):find("in this order, with 1 facts", 1, true), told(found, "flow"))
  end)

  it("is a diagram as a whole, by its first line, and each row that says where runs begin or what repeats", function()
    for _, drawing in ipairs {
      "```mermaid\ngraph TD\n  A[Phase 1] --> B[Phase 2] --> C[Phase 3]\n  C -->|score < 8| B\n```\n",
      "```\n┌──────┐\n│ Plan │◀─┐\n│ DONE │──┘\n└──────┘\n```\n",
      "```dot\ndigraph g {\n  a [label=\"Phase 2\"];\n  b [label=\"Phase 3\"];\n  a -> b;\n  b -> a;\n}\n```\n" } do
      local text, found = quotes(drawing)
      assert.equal("SKILL.md:8", text)
      assert.truthy(told(found, "quote"):find("a diagram names phases and was not read", 1, true))
    end
    assert.equal("SKILL.md:8, SKILL.md:9", (quotes("| Repeat | Until | At most |\n|---|---|---|\n| 2-3 | `score >= 8` | 5 |\n"
      .. "| 1-3 | | 2 |\n")))
    assert.equal("SKILL.md:8, SKILL.md:9", (quotes "| Situation | Start at |\n|---|---|\n| new | 1 |\n| draft | 3 |\n"))
    assert.equal("SKILL.md:6", (quotes "| Phase | Document | For each |\n|---|---|---|\n| 2 | phases/02-write.md | `parts` |\n"))
  end)
end)
