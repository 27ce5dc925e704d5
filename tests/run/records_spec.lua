-- records_spec.lua: what a run leaves behind for people: execution-record.md, and error-report.md where it failed,
-- in English and Chinese, as views of the journal.
local core = require "skillrt.core"
local kit = require "tests.support.cli_kit"

local SCRIPT = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "component", records = "LANG", mode = "sequential", limits = { max_retries = 0 },
  phases = {
    { id = "load", output = "loaded.md", run = function() return "x" end },
    { id = "generate", run = function(_, ctx) do CODE end return "done" end },
  } }]]

local function run(folder, lang, code, extra)
  folder.file("component.lua", (SCRIPT:gsub("LANG", lang):gsub("CODE", (code:gsub("%%", "%%%%")))))
  local words = { "component.lua", "--work-dir", "w", "--quiet", "--set", "requirement=a pond", "--set", "task=make it" }
  for _, word in ipairs(extra or {}) do words[#words + 1] = word end
  return kit.run(folder, words)
end

-- Whether a record's time, at which a step began, is within the last minute; `seconds`: of the run. The clock of a
-- record may be a second ahead of that of `os.time`, which the kernel keeps more coarsely.
local function is_now(time, seconds)
  local text = os.date "!%Y-%m-%d " .. time
  local year, month, day, hour, minute, second = text:match "^(%d+)-(%d+)-(%d+) (%d+):(%d+):(%d+)$"
  local now = os.time(os.date "!*t" --[[@as osdateparam]])
  local at = os.time { year = year, month = month, day = day, hour = hour, min = minute, sec = second }
  return (now - at + 1) % 86400 <= 61 + seconds
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
    local first, second = text:match("%*%*Steps%*%*:\n1%. %[(%d%d:%d%d:%d%d)%] load ✓\n"
      .. "2%. %[(%d%d:%d%d:%d%d)%] generate ✗ %(no \\# luck%)\n")
    assert.is_true(is_now(first, 0) and is_now(second, 0), text)
  end)

  it("has the loading of contexts as its first step, and below a step its stages by the protocol, with times (R201)", function()
    local folder <close> = kit.folder()
    folder.file("style.md", "short")
    folder.file("s.lua", [[return require "skillrt".skill { name = "staged", records = "en", context = { global = "style.md" },
      actions = { { id = "a", run = function(_, ctx) ctx.await { kind = "sleep", seconds = 1.1 } return { v = 1 } end,
        validate = function() return true end } } }]])
    assert.equal(0, kit.run(folder, { "s.lua", "--work-dir", "w", "--quiet" }).code)
    local text = folder.read "w/execution-record.md"
    local times = { text:match(("1. [T] load context ✓\n2. [T] a ✓\n   - [T] preparing\n   - [T] executing\n"
      .. "   - [T] validating\n"):gsub("[%[%]%.%-]", "%%%0"):gsub("T", "(%%d%%d:%%d%%d:%%d%%d)")) }
    assert.equal(5, #times, text)
    assert.not_equal(times[4], times[5]) -- it waited for more than a second between
  end)

  it("ends with outputs, duration and state, in the skill's language (R191)", function()
    local folder <close> = kit.folder()
    run(folder, "zh", "assert(ctx.await { kind = 'sleep', seconds = 1.1 })")
    local text = folder.read "w/execution-record.md"
    assert.truthy(text:find("## 执行日志", 1, true) and text:find("**输入**:\n- requirement: a pond\n", 1, true), text)
    assert.truthy(text:find "%*%*输出%*%*:\n%- loaded.md\n%- generate.json\n\n%*%*耗时%*%*: %d 秒\n%*%*状态%*%*: completed\n$", text)
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
  it("names skill, time and state, type, detail and place (R186), task and steps (R187)", function()
    local folder <close> = kit.folder()
    assert.equal(1, run(folder, "en", 'return nil, "cannot load *verseApiDigest*\\nat all"').code)
    local text = folder.read "w/error-report.md"
    local day, time = text:match
      "%*%*Skill%*%*: component\n%*%*Time%*%*: (%d%d%d%d%-%d%d%-%d%d) (%d%d:%d%d:%d%d) UTC\n%*%*State%*%*: failed\n"
    assert.is_true(math.abs(os.time() - os.time { year = day:sub(1, 4), month = day:sub(6, 7), day = day:sub(9) }) < 3 * 86400)
    assert.is_true(is_now(time, 0), text)
    assert.truthy(text:find("- Type: execution failed (permanent)\n- Detail: cannot load \\*verseApiDigest\\* at all\n"
      .. "- Passes by itself: no\n- Place: executing, generate\n", 1, true), text)
    assert.truthy(text:find("- Task: make it\n- Completed steps: load\n- Current step: generate\n", 1, true), text)
  end)

  it("is written when the run's time is up, which pauses it, and is gone when the resumed run ends well (R179, R202)",
    function()
      local folder <close> = kit.folder()
      local words = { "--limit", "run_timeout=0.5" }
      assert.equal(12, run(folder, "en", "assert(ctx.await { kind = 'sleep', seconds = 1 })", words).code)
      local text = folder.read "w/error-report.md"
      assert.truthy(text:find("**State**: paused\n", 1, true) and text:find("- Type: limit reached (run_timeout)\n", 1, true)
        and text:find("- Completed steps: load\n- Current step: generate\n", 1, true)
        and text:find "\n1%. See what was used: skillrt status [^\n]*w%.\n2%. Raise the limit", text)
      text = folder.read "w/execution-record.md"
      assert.truthy(text:find "2%. %[[%d:]+%] generate …\n.*%*%*State%*%*: paused\n", text)
      assert.equal(0, kit.run(folder, { "resume", "w", "--quiet", "--add", "run_timeout=60" }).code)
      assert.is_nil(folder.read "w/error-report.md")
      assert.truthy(folder.read("w/execution-record.md"):find("**State**: completed", 1, true))
    end)

  it("is written when the time is up of a run whose journal takes its time to be read (R202)", function()
    local folder <close> = kit.folder()
    local body = "for i = 1, 4000 do ctx.log(i .. '') end assert(ctx.await { kind = 'sleep', seconds = 60 })"
    assert.equal(12, run(folder, "en", body, { "--limit", "run_timeout=2" }).code)
    assert.truthy(folder.read "w/error-report.md")
    assert.truthy(folder.read("w/state.json"):find('"run_timeout"', 1, true))
  end)

  it("is gone as soon as the run is resumed, as is the record: a pause for another reason leaves none (R202)", function()
    local folder <close> = kit.folder()
    local body = "assert(ctx.await { kind = 'sleep', seconds = 1 }) ctx.ask 'which?'"
    assert.equal(12, run(folder, "en", body, { "--limit", "run_timeout=0.5" }).code)
    assert.truthy(folder.read "w/error-report.md")
    assert.equal(3, kit.run(folder, { "resume", "w", "--quiet", "--add", "run_timeout=60" }).code)
    assert.is_nil(folder.read "w/error-report.md")
    assert.is_nil(folder.read "w/execution-record.md")
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
    assert.truthy(text:find("- 错误类型: 答复无法使用 (invalid_output)\n", 1, true), text)
    assert.truthy(text:find("- 错误位置: 验证阶段", 1, true) and text:find "\n1%. 查看 Agent 的答复", text)
  end)

  it("has words and a stage for every class, in both languages", function()
    local suggested = require "skillrt.run.records.suggestions"
    for class in
      ("context missing validation invalid_output timeout transient rate_limit denied fatal execution permanent what"):gmatch "%S+" do
      for _, lang in ipairs { "en", "zh" } do
        assert.truthy(#suggested.for_class(class, nil, lang, "runs/100%") >= 2, class)
        assert.truthy(suggested.stage(class, lang) and suggested.name(class, lang))
      end
    end
    assert.truthy(suggested.for_class("call_limit", "call_limit", "en", "w")[2]:find("--add", 1, true))
  end)

  it("and the record leave the skill's own files of their names alone", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[return require "skillrt".skill { name = "s", records = "en", mode = "sequential", limits = { max_retries = 0 },
      phases = { { id = "a", output = "execution-record.md", run = function() return "mine" end },
        { id = "b", output = "error-report.md", run = function() return "mine, too" end },
        { id = "c", run = function()
          local file = io.open("ok")
          if not file then return nil, "no luck" end
          file:close()
        end } } }]])
    for i, words in ipairs { { "s.lua", "--work-dir", "w", "--quiet" }, { "retry", "w", "--quiet" } } do
      assert.equal(2 - i, kit.run(folder, words).code)
      assert.equal("mine", folder.read "w/execution-record.md")
      assert.equal("mine, too", folder.read "w/error-report.md")
      folder.file("ok", "")
    end
  end)

  it("goes when the run was tried again and ended well", function()
    local folder <close> = kit.folder()
    run(folder, "en", 'local file = io.open("ok") if not file then return nil, "not yet" end file:close()')
    assert.truthy(folder.read "w/error-report.md")
    folder.file("ok", "")
    assert.equal(0, kit.run(folder, { "retry", "w", "--quiet" }).code)
    assert.is_nil(core.files.stat(folder.path .. "/w/error-report.md"))
    assert.truthy(folder.read("w/execution-record.md"):find("✗", 1, true), "the record tells of both attempts")
  end)
end)
