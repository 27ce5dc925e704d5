-- report_page_spec.lua: `skillrt report`: one page that loads nothing and runs nothing of what it shows, also for
-- a run of 10,000 steps; looked at in a browser where one is installed.
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local skillrt = require "skillrt"
local target_machine = require "tests.support.target_machine"

local page_of = function(text) return json.decode((text:match('id="data">(.-)</script>'))) end

-- What must never be read as HTML, as a script or as an attribute, whatever of a run it is.
local HOSTILE = {
  '</script><script>document[`title`]="OWNED"</script>', '<img src=x onerror="document[`title`]=\'OWNED\'">',
  '"><svg onload=document[`title`]="OWNED">', "<!--<script>", "]]><script>document[`title`]='OWNED'</script>",
  "javascript:document[`title`]='OWNED'", "{{skill}}{{{data}}}&lt;b&gt;", "\u{202E}txt-exe\u{2066}", "\u{2028}alert(1)\u{FEFF}",
  "\u{200B}\u{200F}\u{2060}\u{206F}\u{AD}\u{85}\u{61C}\u{180E}\u{FFF9}\u{FFFB}\u{E0041}\u{E007F}\u{7F}hidden",
  "constructor", "</style><style>*{display:none}</style>", "<iframe srcdoc='<script>parent[`document`][`title`]=1</script>'>",
}

local SCRIPT = [==[
local skillrt = require "skillrt"
local bad = %s
local all = table.concat(bad, "\n")
local state = { n = 0, nest = { ["__proto__"] = { polluted = 1 } }, huge = ("%s"):rep(3000000) }
for i, text in ipairs(bad) do state[text] = i end
return skillrt.skill { name = "hostile", version = bad[1], state = state, limits = { max_errors = 9, max_retries = 0 }, actions = {
  { id = "speaks", priority = 9, run = function(_, ctx)
    ctx.log(all)
    ctx.await { kind = "command", argv = { "echo", all }, label = bad[2] }
    local set = { said = bad }
    for i, text in ipairs(bad) do set[text] = text end
    return set
  end },
  { id = "fails", priority = 8, optional = true, run = function() return nil, all end },
  { id = "asks", priority = 7, run = function(_, ctx)
    return { [bad[3]] = ctx.ask { question = all, header = bad[2], options = { { id = "yes", label = bad[1] } } } }
  end },
} }]==]

local function hostile_run(folder)
  local quoted = {}
  for i, text in ipairs(HOSTILE) do quoted[i] = ("%q"):format(text) end
  folder.file("hostile.lua", SCRIPT:format("{" .. table.concat(quoted, ",") .. "}", "x"))
  local run = kit.run(folder, { "hostile.lua", "--work-dir", "w", "--quiet" })
  assert.equal(3, run.code, run.err)
  local made = kit.run(folder, { "report", "w", "--html", "page.html" })
  assert.equal("page.html\n", made.out, made.err)
  return folder.read "page.html"
end

local function has_browser() return os.execute "command -v chromium >/dev/null 2>&1" end

-- What a browser makes of a page, and what its console says. A sanitizer that is preloaded is for us, not for it.
local function looked_at(folder, name)
  local out, err = folder.path .. "/dom", folder.path .. "/console"
  os.execute(("env -u LD_PRELOAD timeout -s KILL 60 chromium --headless=new --no-sandbox --disable-gpu --enable-logging=stderr --v=0 "
    .. "--user-data-dir=%s/profile --virtual-time-budget=3000 --dump-dom 'file://%s/%s' >%s 2>%s"):format(folder.path,
    folder.path, name, out, err))
  local said = {}
  for line in (kit.read(err) or ""):gmatch "[^\n]+" do
    said[#said + 1] = line:find("CONSOLE", 1, true) and line or nil
  end
  return kit.read(out) or "", table.concat(said, "\n")
end

describe("skillrt report", function()
  it("writes a page whose policy allows its own script and style alone, and that refers to nothing", function()
    local folder <close> = kit.folder()
    local page = hostile_run(folder)
    local policy = page:match 'http%-equiv="Content%-Security%-Policy" content="(.-)">'
    assert.truthy(policy:find "^default%-src &#39;none&#39;; style%-src &#39;sha256%-%S+=&#39;; script%-src &#39;sha256%-%S+=&#39;; "
      or policy:find "^default%-src 'none'; style%-src 'sha256%-%S+='; script%-src 'sha256%-%S+='; ", policy)
    local script, count = nil, 0
    for one in page:gmatch "<script>(.-)</script>" do script, count = one, count + 1 end
    assert.equal(1, count)
    local hex = core.sha256(script)
    folder.file("digest", (hex:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end)))
    local shell <close> = io.popen("base64 -w0 " .. folder.path .. "/digest")
    assert.truthy(policy:find("sha256-" .. shell:read "a", 1, true), "the digest of the script is not the policy's")
    assert.is_nil(page:gsub('<script type="application/json".-</script>', ""):find "<%a[^<>]-[%s\"']%a*[sh]re?[cf]=")
    local own = page:match "<style>(.-)</style>" .. script
    for _, word in ipairs { "@import", "url(http", "fetch(", "innerHTML", "eval(", "document.write", "http-equiv" } do
      assert.is_nil(own:find(word, 1, true), word)
    end
  end)

  it("holds no text of a run as HTML: no character of it that HTML knows, none that turns or hides text", function()
    local folder <close> = kit.folder()
    local page = hostile_run(folder)
    for _, text in ipairs(HOSTILE) do
      if text:find "[<>\xE2\xEF]" then assert.is_nil(page:find(text, 1, true), text) end
    end
    local data = page:match 'id="data">(.-)</script>'
    assert.is_nil(data:find "[<>&]")
    for _, hidden in ipairs { 0x202E, 0x2066, 0x2028, 0xFEFF, 0x200B, 0x200F, 0x2060, 0x206F, 0xAD, 0x85, 0x61C, 0x180E, 0xFFF9,
      0xFFFB, 0xE0041, 0xE007F, 0x7F } do
      assert.is_nil(page:find(utf8.char(hidden), 1, true), ("%x"):format(hidden))
    end
    local read = page_of(page)
    assert.equal(HOSTILE[1], read.version)
    assert.equal(HOSTILE[9], read.state[HOSTILE[9]])
    assert.equal(table.concat(HOSTILE, "\n") .. "\n", read.steps[1].calls[1].reply)
    assert.truthy(#page < 1000000, "a huge text is told by its size")
    assert.truthy(tostring(read.state.huge):find("left out: 3000002 bytes", 1, true))
  end)

  it("cuts long texts where all of them are more than a browser opens at once: short ones are whole, long ones share", function()
    local folder <close> = kit.folder()
    folder.file("long.lua", [[return require("skillrt").skill { name = "long", limits = { calls = 300 },
      agents = { cat = require("skillrt").agent.command { "true", stdin = "{prompt}", idempotent = true } },
      actions = { { id = "a", run = function(_, ctx)
        for i = 1, 180 do ctx.agent(("%d "):format(i) .. ("x"):rep(i % 3 == 0 and 30000 or 60000), { agent = "cat" }) end
      end } } }]])
    local run = kit.run(folder, { "long.lua", "--work-dir", "w", "--quiet" })
    assert.equal(0, run.code, run.err)
    local calls, sum = page_of(kit.run(folder, { "report", "w", "--html", "-" }).out).steps[1].calls, 0
    assert.equal(180, #calls)
    for i, call in ipairs(calls) do
      local kept, more = call.prompt:match "(%d+ x+)(.*)$"
      assert.equal(i, tonumber(kept:match "%d+"))
      assert.equal(i % 3 == 0 and "" or ("\n… %d more bytes; skillrt log DIR --json has them"):format(60001 + #tostring(i) - #kept), more)
      sum = sum + #call.prompt - #more
    end
    assert.truthy(sum <= 6 << 20 and sum > (6 << 20) - 2 * 180, tostring(sum))
  end)

  it("shows false as false, where it was set and at the end", function()
    local folder <close> = kit.folder()
    folder.file("no.lua", [[return require("skillrt").skill { name = "no", state = { first = true }, actions = {
      { id = "a", run = function() return { first = false, second = false } end } } }]])
    assert.equal(0, kit.run(folder, { "no.lua", "--work-dir", "w" }).code)
    local read = page_of(kit.run(folder, { "report", "w", "--html", "-" }).out)
    assert.is_false(read.state.first)
    assert.is_false(read.state.second)
    assert.is_false(read.steps[1].set.first)
  end)

  it("shows what a browser must not run: no script of the payload runs, nothing is wrong on the console", function()
    if not has_browser() then return pending "no chromium here" end
    local folder <close> = kit.folder()
    hostile_run(folder)
    local dom, console = looked_at(folder, "page.html#all")
    assert.equal("", console)
    assert.truthy(dom:find("<title>hostile: paused</title>", 1, true), dom:sub(1, 600))
    assert.is_nil(dom:find("<img", 1, true))
    assert.is_nil(dom:find("<iframe", 1, true))
    assert.truthy(dom:find('class="row"', 1, true), "the steps are drawn")
    assert.truthy(dom:find("u{202E}txt-exe", 1, true), "what turns text is shown as its number")
  end)

  it("stays one that can be used with 10,000 steps: some megabytes, only the rows in sight are there", function()
    local folder <close> = kit.folder()
    folder.file("big.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "big", state = { n = 0 }, durability = "process", limits = { max_iterations = 20000 },
        actions = { { id = "count", max_runs = 1e9, when = "n < 10000", run = function(s)
          return { n = s.n + 1, text = ("word "):rep(60) .. s.n } end } } }]])
    kit.run(folder, { "big.lua", "--work-dir", "w", "--quiet" })
    local began = os.clock()
    assert.equal(0, kit.run(folder, { "report", "w" }).code)
    assert.truthy(os.clock() - began < 20)
    local page = folder.read "w/report.html"
    assert.truthy(#page < 8000000, #page .. " bytes")
    assert.equal(10000, #page_of(page).steps)
    if not has_browser() then return end
    local dom, console = looked_at(folder, "w/report.html")
    assert.equal("", console)
    local _, rows = dom:gsub('class="row"', "")
    assert.truthy(rows > 10 and rows < 100, rows .. " rows")
  end)

  it("shows of a longer run the newest 10,000 steps, what those before made of the state, and says so; as the record", function()
    local folder <close> = kit.folder()
    folder.file("long.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "long", state = { n = 0, by = {} }, durability = "process", limits = { max_iterations = 30000 },
        actions = { { id = "first", priority = 9, run = function() return { by = { first = 1, gone = 1 } } end },
          { id = "count", max_runs = 1e9, when = "n < 21000", run = function(s)
          return { n = s.n + 1, by = s.n == 7 and { gone = skillrt.json.null } or nil } end } } }]])
    kit.run(folder, { "long.lua", "--work-dir", "w", "--quiet" })
    assert.equal(0, kit.run(folder, { "report", "w" }).code)
    local page = folder.read "w/report.html"
    local data = page_of(page)
    assert.same({ 10000, 21001, 11000, { first = 1 } }, { #data.steps, data.steps[10000].number, data.first.n, data.first.by })
    assert.truthy(page:find("The 11,001 steps before these are left out: skillrt log DIR shows them.", 1, true))
    assert.truthy(page:find("<dt>steps</dt><dd>21,001</dd>", 1, true))
    local record = kit.run(folder, { "report", "w", "--record", "en" }).out
    assert.truthy(record:find("\n21001. ", 1, true) and record:find("20801", 1, true), record:sub(1, 500))
  end)

  it("can be asked of a run under way, goes to standard output, and says what is no run", function()
    local folder <close> = kit.folder()
    folder.file("wait.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "wait", state = {}, actions = { { id = "long", run = function(_, ctx)
        ctx.await { kind = "sleep", seconds = 60 } end } } }]])
    local run = kit.start(folder, { "wait.lua", "--work-dir", "w" })
    assert.truthy(run.says "Executing: long")
    local page = page_of(kit.run(folder, { "report", "w", "--html", "-" }).out)
    assert.same({ "running", "open", "long" }, { page.status, page.steps[1].status, page.steps[1].id })
    run.signal "KILL"
    run.wait()
    page = page_of(kit.run(folder, { "report", "w", "--html", "-" }).out)
    assert.equal("interrupted", page.status)
    assert.equal(2, kit.run(folder, { "report", "nothing" }).code)
  end)

  it("shows prompts and replies of agents, attempts, tokens and money, and the strategy's choice of way", function()
    local folder <close> = kit.folder()
    folder.file("paid.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "paid", state = { n = 0 },
        agents = { writer = skillrt.agent.command { "sh", "-c", "cat >/dev/null; echo '{\"summary\":\"written\"}'", stdin = "{prompt}" } },
        actions = {
          { id = "a", priority = 2, agent = "writer", prompt = "write it well" },
          { id = "b", run = function(_, ctx) ctx.used { tokens = 1500, dollars = 0.25 } return { n = 1 } end } } }]])
    local run = kit.run(folder, { "paid.lua", "--work-dir", "w", "--quiet" })
    assert.equal(0, run.code, run.err)
    local text = kit.run(folder, { "report", "w", "--html", "-" }).out
    local page = page_of(text)
    assert.truthy(page.steps[1].calls[1].prompt:find("write it well", 1, true))
    assert.truthy(page.steps[1].calls[1].reply:find("written", 1, true))
    assert.same({ tokens = 1500, dollars = 0.25 }, page.steps[2].used)
    assert.same({ n = 1 }, page.steps[2].set)
    assert.truthy(text:find("<dt>tokens</dt><dd>1,500</dd>", 1, true))
    assert.truthy(text:find("<dd>$0.2500</dd>", 1, true))
  end)

  it("shows a workflow's phases, its agents with their states, times, prompts and results (W21)", function()
    local folder = R.folder()
    local skill = assert(W.load(folder, [[
      phase('Scan')
      await parallel([() => agent('say a', { label: 'first' }), () => agent('fail', { label: 'weak' })])
      await agent('say b', { label: 'second' })
      return 1
    ]]))
    assert(skill:run { work_dir = folder .. "/run" })
    local step, agents = page_of(kit.run({ path = folder }, { "report", "run", "--html", "-" }).out).steps[1], {}
    for _, call in ipairs(step.calls) do
      agents[call.to] = call
      assert.is_number(call.ms)
    end
    assert.matches("Scan", json.encode(step.notes))
    assert.equal("Scan", agents.first.phase)
    assert.same({ "a", true }, { agents.first.reply, agents.first.ok })
    assert.matches("\n\nsay a$", agents.first.prompt)
    assert.same({ "b", true }, { agents.second.reply, agents.second.ok })
    assert.matches("\n\nsay b$", agents.second.prompt)
    assert.is_false(agents.weak.ok)
    assert.matches("exited with 3", agents.weak.message)
  end)

  it("shows what models and coding agents said, and not the events that it came in", function()
    local folder <close> = kit.folder()
    local said = '{"status":"completed","summary":"written well"}'
    local replies = { anthropic = P.anthropic { { type = "text", text = said } }, openai = P.chat(said) }
    for _, kind in ipairs { "anthropic", "openai", "claude", "codex", "gemini" } do
      local server = replies[kind] and R.server(R.raw(P.bytes(replies[kind])) .. "\n")
      local path = folder.path .. "/" .. kind
      local agent = server and { url = server.url .. "/plan", stream = true, key_env = "HOME" } or { program = path }
      if not server then
        R.write(path, "#!/bin/sh\ncat > /dev/null\ncat '" .. path .. ".jsonl'\n")
        R.write(path .. ".jsonl", R.read(("tests/support/streams/%s_good.jsonl"):format(kind)))
        assert(os.execute("chmod +x " .. path))
      end
      local dir = path .. ".run"
      assert(R.run({ mode = "sequential", agents = { one = skillrt.agent[kind](agent) }, phases = { { id = "a", agent = "one",
        prompt = "do it", answer = "text", output_free = true } } }, { work_dir = dir }))
      if server then server.stop() end
      local call = page_of(kit.run(folder, { "report", dir, "--html", "-" }).out).steps[1].calls[1]
      assert.equal(server and said or "Hello from the fake.", call.reply, kind)
    end
    R.clean()
  end)

  it("shows of a machine the states over time and the way through them", function()
    local folder <close> = kit.folder()
    folder.file("door.lua", target_machine.DOOR)
    kit.run(folder, { "door.lua", "--work-dir", "w", "--quiet" })
    local text = kit.run(folder, { "report", "w", "--html", "w/page.html" }) and folder.read "w/page.html"
    local states = {}
    for _, move in ipairs(page_of(text).moves) do states[#states + 1] = move.to end
    assert.same({ "closed", "open", "closed", "completed" }, states)
    assert.truthy(text:find("States above", 1, true))
    if not has_browser() then return end
    local dom, console = looked_at(folder, "w/page.html")
    assert.equal("", console)
    local picture = dom:match "<svg width.-</svg>" or ""
    assert.truthy(picture:find(">open</text>", 1, true) and picture:find(">completed</text>", 1, true), picture)
  end)
end)
