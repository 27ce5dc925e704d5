-- forms_spec.lua: what each command prints with --json, from real runs, fits docs/schema/output.json; and a run has the
-- same word for what it does wherever that is shown.
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"
local json_schema = require "tests.support.json_schema"

local SKILL <const> = [==[
local skillrt = require "skillrt"
return skillrt.skill { name = "pub", state = { n = 2 }, strategy = "plan", goal = "n === 0", limits = { max_retries = 0, max_errors = 1 },
  tools = { look = { description = "Looks", input = { type = "object" }, run = function() return "x" end } },
  actions = {
  { id = "one", checkpoint = "there", when = "n > 0", effects = { "n=0" }, cost = 2, run = function(_, ctx)
    if ctx.input.what == "ask" then
      ctx.ask { header = "Go", question = "Go?", options = { { id = "yes", description = "it goes" }, "no" }, timeout = 9000 }
    end
    if ctx.input.what == "event" then ctx.wait "built" end
    if ctx.input.what == "fail" then return nil, "bad", "permanent" end
    if ctx.input.what == "sleep" then ctx.await { kind = "sleep", seconds = 60 } end
    return { n = 0 }
  end },
  { id = "late", priority = -1, max_runs = 1, run = function() return { late = true } end },
  { id = "never", when = function() return false end, run = function() end } } }]==]

local folder, schema

local function lines_of(name, words, may_fail)
  local run = K.run(folder, words)
  assert.is_true(run.code < 6 or may_fail, run.err)
  local count = 0
  for line in run.out:gmatch "[^\n]+" do
    local value = json.decode(line)
    assert.is_table(value, name .. ": " .. line)
    local wrong = json_schema.check(value, { ["$defs"] = schema["$defs"], ["$ref"] = "#/$defs/" .. name })
    assert.is_nil(wrong, ("%s: %s\n%s"):format(table.concat(words, " "), wrong, line))
    count = count + 1
  end
  return count, run.out
end

-- By command: the lines to try; of each at least one line has to come.
local WORDS <const> = {
  status = { "runs/ask", "runs/event", "runs/fail", "runs/none", "runs/sleep" },
  list = { "" }, du = { "" },
  log = { "runs/none", "runs/none --state", "runs/fail" },
  history = { "runs/none", "runs/ask" },
  explain = { "runs/none", "runs/ask", "runs/event" },
  check = { "pub.lua", "pub.lua bad.lua", "--report pub.lua" },
  plan = { "pub.lua", "runs/none" }, simulate = { "pub.lua" }, tokens = { "pub.lua" },
  replay = { "runs/none", "runs/fail", "runs/ask" },
  agents = { "" },
  run = { "pub.lua --work-dir runs/new", "pub.lua --work-dir runs/new2 --set what=ask" },
  retry = { "runs/fail" }, answer = { "runs/ask yes" }, resume = { "runs/event" }, abort = { "runs/event" },
}
local SAME <const> = { skip = "retry", again = "retry", tell = "retry", adopt = "run", compile = "run" } -- the same function prints it

describe("--json", function()
  before_each(function()
    schema = assert(json.decode(K.read "docs/schema/output.json"))
    folder = K.folder()
    folder.file("pub.lua", SKILL)
    folder.file("bad.lua", SKILL:gsub("n > 0", "m > 0 &&"))
    for _, what in ipairs { "ask", "event", "fail", "none" } do
      K.run(folder, { "pub.lua", "--work-dir", "runs/" .. what, "--set", "what=" .. what, "--quiet" })
    end
  end)
  after_each(function() getmetatable(folder).__close() end)

  it("(F91) prints what docs/forms.lua says of each command, a JSON object in each line", function()
    K.run(folder, { "send", "runs/event", "other", "1" })
    local sleep = K.start(folder, { "pub.lua", "--work-dir", "runs/sleep", "--set", "what=sleep" })
    assert.truthy(sleep.says "Executing: one")
    for _, command in ipairs(require("skillrt.cli.help").commands()) do
      local has = false
      for _, option in ipairs(command.options) do has = has or option.name == "json" end
      local name = SAME[command.name] or command.name
      assert.equal(has, WORDS[name] ~= nil, command.name .. ": --json, and a line of WORDS")
      assert.equal(has, schema["$defs"][command.name] ~= nil and has, command.name)
    end
    for _, name in ipairs { "status", "list", "du", "log", "history", "explain", "check", "plan", "simulate", "tokens", "replay",
      "agents", "run", "retry", "answer", "resume", "abort" } do
      for _, text in ipairs(WORDS[name]) do
        local words = { name, "--json" }
        for word in text:gmatch "%S+" do words[#words + 1] = word end
        local form = text:find "^--report" and "check_report" or name
        assert.is_true(lines_of(form, words) > 0, table.concat(words, " "))
      end
    end
    sleep.signal "TERM"
    sleep.wait()
  end)

  it("(F91) says what a run does in one word wherever it is said", function()
    local sleep = K.start(folder, { "pub.lua", "--work-dir", "runs/sleep", "--set", "what=sleep" })
    assert.truthy(sleep.says "Executing: one")
    local function words_of(name)
      local dir = "runs/" .. name
      local shown = json.decode(K.run(folder, { "status", dir, "--json" }).out)
      local listed = K.run(folder, { "list", "--status", shown.status }).out
      return { shown.status, K.run(folder, { "status", dir }).out:match "status +(%l+)", listed:match(dir .. " +(%l+)"),
        K.run(folder, { "metrics", dir }).out:match 'skillrt_runs{[^}]-status="(%l+)"} 1',
        json.decode(assert(require("skillrt.report.page").data(folder.path .. "/" .. dir))).status,
        require("skillrt.cli.serving.runs").new({ folder = folder.path .. "/runs", agent = {} }):stands(name,
          folder.path .. "/" .. dir).status }
    end
    local function says(word, name)
      assert.same({ word, word, word, word, word, word }, words_of(name))
    end
    says("running", "sleep")
    sleep.signal "KILL"
    sleep.wait()
    says("interrupted", "sleep")
    says("paused", "ask")
    says("failed", "fail")
    says("completed", "none")
  end)

  it("has one schema and one page, which are current: else run make schemas", function()
    for path, text in pairs(dofile("docs/forms.lua").pages()) do
      assert.equal(text, K.read(path), path)
    end
  end)
end)
