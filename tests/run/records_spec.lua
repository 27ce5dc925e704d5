-- records_spec.lua: what a run leaves behind for people: execution-record.md, and error-report.md where it failed,
-- in English and Chinese, as views of the journal.
local core = require "skillrt.core"
local kit = require "tests.support.cli_kit"

local SCRIPT = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "component", records = "LANG", mode = "sequential", limits = { max_retries = 0 },
  phases = {
    { id = "load", output = "loaded.md", run = function() return "x" end },
    { id = "generate", run = function() do CODE end return "done" end },
  } }]]

local function run(folder, lang, code, extra)
  folder.file("component.lua", (SCRIPT:gsub("LANG", lang):gsub("CODE", (code:gsub("%%", "%%%%")))))
  local words = { "component.lua", "--work-dir", "w", "--quiet", "--set", "requirement=a pond", "--set", "task=make it" }
  for _, word in ipairs(extra or {}) do words[#words + 1] = word end
  return kit.run(folder, words)
end

describe("execution-record.md", function()
  it("has the date, time and skill in its title, and the inputs (R189)", function()
    local folder <close> = kit.folder()
    assert.equal(0, run(folder, "en", "").code)
    local text = folder.read "w/execution-record.md"
    assert.truthy(text:find
      "\n### %d%d%d%d%-%d%d%-%d%d %d%d:%d%d %- component\n\n%*%*Inputs%*%*:\n%- requirement: a pond\n%- task: make it\n",
      text)
    assert.is_nil(folder.read "w/error-report.md")
  end)

  it("has each step, numbered, with its time and how it ended (R190)", function()
    local folder <close> = kit.folder()
    run(folder, "en", 'return nil, "no # luck"')
    local text = folder.read "w/execution-record.md"
    assert.truthy(text:find "%*%*Steps%*%*:\n1%. %[%d%d:%d%d:%d%d%] [^\n]+ ✓\n2%. %[%d%d:%d%d:%d%d%] generate ✗ %(no \\# luck%)\n", text)
  end)

  it("ends with outputs, duration and state, in the skill's language (R191)", function()
    local folder <close> = kit.folder()
    run(folder, "zh", "")
    local text = folder.read "w/execution-record.md"
    assert.truthy(text:find("## 执行日志", 1, true) and text:find("**输入**:\n- requirement: a pond\n", 1, true), text)
    assert.truthy(text:find "%*%*输出%*%*:\n%- loaded.md\n%- generate.json\n\n%*%*耗时%*%*: [^\n]+\n%*%*状态%*%*: completed\n$", text)
  end)

  it("links to no document that is not there (R192)", function()
    local folder <close> = kit.folder()
    run(folder, "zh", 'return nil, "[a](b.md)"')
    for _, name in ipairs { "execution-record.md", "error-report.md" } do
      local text = folder.read("w/" .. name)
      assert.is_nil(text:find "[^\\]%]%(", text)
      assert.is_nil(text:find("契约", 1, true))
    end
  end)

  it("is asked for in a config by x_skillrt.records", function()
    local config = require "skillrt.base.json".decode(kit.read "tests/golden/configs/release-notes.json")
    config.x_skillrt = config.x_skillrt or {}
    config.x_skillrt.records = "zh"
    local definition, _, _, findings = require "skillrt.document.load.config".definition(config, { agents_required = false })
    for _, finding in ipairs(findings or {}) do assert.is_nil(tostring(finding.text):find("records", 1, true)) end
    assert.equal("zh", definition.records)
  end)

  it("is written by folders that were generated, in their language, with the protocol's limits; null says none", function()
    local folder <close> = kit.folder()
    for lang, title in pairs { en = "## Execution log", zh = "## 执行日志" } do
      assert.equal(0, kit.run(folder, { "new", lang .. "-demo", "--yes", "--lang", lang, "--quiet" }).code)
      local function record_of(dir)
        assert.equal(0, kit.run(folder, { lang .. "-demo", "--dry-run", "--work-dir", dir, "--quiet" }).code)
        return folder.read(dir .. "/execution-record.md")
      end
      assert.truthy(record_of("w" .. lang):find(title, 1, true))
      local limits = core.json.decode(kit.run(folder, { "status", "w" .. lang, "--json" }).out).limits
      assert.same({ "run_timeout", 1800 }, { limits[3].limit, limits[3].most })
      local config = core.json.decode(folder.read(lang .. "-demo/skill-config.json"))
      config.x_skillrt = { records = core.json.null }
      folder.file(lang .. "-demo/skill-config.json", core.json.encode(config))
      assert.is_nil(record_of("none" .. lang))
    end
  end)

  it("is written only where the skill asks, when the run is over, and never before", function()
    local folder <close> = kit.folder()
    folder.file("plain.lua", 'return require "skillrt".skill { name = "plain", actions = { { id = "a", run = function() end } } }')
    kit.run(folder, { "plain.lua", "--work-dir", "p", "--quiet" })
    assert.is_nil(folder.read "p/execution-record.md")
    assert.truthy(kit.run(folder, { "report", "p", "--record", "en" }).out:find("1. [", 1, true))
    folder.file("ask.lua", [[return require "skillrt".skill { name = "ask", records = "en", actions = { { id = "a",
      run = function(_, ctx) return { v = ctx.ask "which?" } end } } }]])
    assert.equal(3, kit.run(folder, { "ask.lua", "--work-dir", "q", "--quiet" }).code)
    assert.is_nil(folder.read "q/execution-record.md")
    assert.equal(0, kit.run(folder, { "answer", "q", "x", "--quiet" }).code)
    assert.truthy(folder.read "q/execution-record.md")
  end)
end)

describe("error-report.md", function()
  it("names skill, time and state (R185), type, detail and place (R186), task and steps (R187, F69)", function()
    local folder <close> = kit.folder()
    assert.equal(1, run(folder, "en", 'return nil, "cannot load *verseApiDigest*\\nat all"').code)
    local text = folder.read "w/error-report.md"
    assert.truthy(text:find
      "%*%*Skill%*%*: component\n%*%*Time%*%*: %d%d%d%d%-%d%d%-%d%d %d%d:%d%d:%d%d UTC\n%*%*State%*%*: failed\n", text)
    assert.truthy(text:find("- Type: execution failed (permanent)\n- Detail: cannot load \\*verseApiDigest\\* at all\n"
      .. "- Passes by itself: no\n- Place: executing, generate\n", 1, true), text)
    assert.truthy(text:find("- Task: make it\n- Completed steps: load\n- Current step: generate\n", 1, true), text)
  end)

  it("says what to do, numbered, as fits the failure's class, in both languages (R188)", function()
    local folder <close> = kit.folder()
    run(folder, "en", 'return nil, "too slow", "timeout"')
    local text = folder.read "w/error-report.md"
    assert.truthy(text:find("- Type: timeout (timeout)", 1, true) and text:find("- Passes by itself: it may\n", 1, true), text)
    assert.truthy(text:find
      "\n1%. Check whether the agent[^\n]+\n2%. Raise the action's timeout%.\n3%. Then try it again: skillrt retry ", text)
    os.execute("rm -r " .. folder.path .. "/w")
    run(folder, "zh", 'return nil, "half an answer", "invalid_output"')
    text = folder.read "w/error-report.md"
    assert.truthy(text:find("- 错误类型: 回复无法使用 (invalid_output)\n", 1, true), text)
    assert.truthy(text:find("- 错误位置: 验证阶段", 1, true) and text:find "\n1%. 查看代理的回复", text)
  end)

  it("has words and a stage for every class, in both languages", function()
    local suggested = require "skillrt.run.records.suggested"
    for class in
      ("context missing validation invalid_output timeout transient rate_limit denied fatal execution permanent what"):gmatch "%S+" do
      for _, lang in ipairs { "en", "zh" } do
        assert.truthy(#suggested.for_class(class, nil, lang, "runs/100%") >= 2, class)
        assert.truthy(suggested.stage(class, lang) and suggested.name(class, lang))
      end
    end
    assert.truthy(suggested.for_class("call_limit", "call_limit", "en", "w")[2]:find("--add", 1, true))
  end)

  it("goes when the run was tried again and ended well, and a file of the skill's own stays", function()
    local folder <close> = kit.folder()
    run(folder, "en", 'local file = io.open("ok") if not file then return nil, "not yet" end file:close()')
    assert.truthy(folder.read "w/error-report.md")
    folder.file("ok", "")
    assert.equal(0, kit.run(folder, { "retry", "w", "--quiet" }).code)
    assert.is_nil(core.files.stat(folder.path .. "/w/error-report.md"))
    assert.truthy(folder.read("w/execution-record.md"):find("✗", 1, true), "the record tells of both attempts")
  end)
end)
