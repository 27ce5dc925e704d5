-- adopt_spec.lua: `skillrt adopt`: runs of workflow scripts that Claude Code began, whole and damaged, are taken over;
-- what was answered is not asked again, nothing else is believed.
local C = require "tests.support.claude_runs"
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local AGENT <const> = '["sh","-c","p=$(cat); echo x >> asked; printf %s \\"asked-${p##* }\\""]'
local LIST <const> = "const out = []\nfor (const one of args) out.push(await agent('look at ' + one))\nreturn out"
local SCHEMA <const> = "{ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }"
local REMINDER <const> = "<system-reminder>\nNever mind.\n</system-reminder>\n"

local function adopted(folder, run)
  local seen = kit.run({ path = folder }, { "adopt", C.ID, "--trust", "--agent", AGENT, "--print", "--work-dir", run or "run",
    env = "CLAUDE_CONFIG_DIR=" .. folder })
  seen.result = seen.out ~= "" and json.decode(seen.out) or nil
  seen.asked = select(2, (R.exists(folder .. "/asked") and R.read(folder .. "/asked") or ""):gsub("x", ""))
  return seen
end

local function one(more)
  local agent = { prompt = "look at a", answer = "seen a", result = "seen a" }
  for key, value in pairs(more or {}) do
    agent[key] = value ~= "none" and value or nil
  end
  return agent
end

-- What lies there for `look at a`; whether its answer is taken.
local CASES <const> = {
  { "as it should be", { agents = { one() } }, true },
  { "with the prompt in blocks", { agents = { one { content = { { type = "text", text = "look at a" } } } } }, true },
  { "with a reminder in a block before the prompt",
    { agents = { one { content = { { type = "text", text = REMINDER }, { type = "text", text = "look at a" } } } } }, true },
  { "with a reminder in front of the prompt", { agents = { one { content = REMINDER .. REMINDER .. "look at a\n" } } }, true },
  { "with another decoration", { agents = { one { content = "You are an agent.\n\nlook at a" } } }, false },
  { "with a journal whose end is torn", { agents = { one() }, torn = '\n{"type":"result","agentId":"a' }, true },
  { "without its journal", { agents = { one() }, no_journal = true }, true },
  { "without the agent's transcript", { agents = { one { lost = true } } }, false },
  { "without a result, though the agent had come to its end", { agents = { one { result = "none" } } }, true },
  { "with its last message over several lines", { agents = { one { result = "none", says = { "seen", " a" } } } }, true },
  { "without a result, as the agent died at work", { agents = { one { result = "none", stop = "tool_use" } } }, false },
  { "with a result under another key", { agents = { one { result = "none", stop = "tool_use" },
    one { id = "again", key = "other" } } }, true },
  { "with transcripts beside those of other agents", { agents = { one() }, flat = true }, true },
  { "with its script in the run's file", { agents = { one() }, script_in = "json" }, true },
  { "with a result that is null", { agents = { one { result = json.null, stop = "tool_use" } } }, false },
  { "with an object where a text was asked for", { agents = { one { result = { n = 1 } } } }, false },
  { "with a refusal for a result", { agents = { one { result = "API Error: 529 overloaded" } } }, false },
  { "with an empty result", { agents = { one { result = " \n" } } }, false },
  { "with an agent's name that leads elsewhere", { agents = { one { id = "../../../a", lost = true } } }, false },
  { "with lines that are nothing", { agents = { one() }, journal = { "7", "[]", '"x"', "{", '{"type":"result","agentId":7}',
    '{"type":"result"}' } }, true },
}

describe("a workflow run of Claude Code is adopted", function()
  after_each(R.clean)

  for _, case in ipairs(CASES) do
    it(case[1], function()
      local folder = R.folder()
      case[2].args = { "a" }
      C.write(folder, case[2], W.META .. LIST)
      local seen = adopted(folder)
      assert.equal(0, seen.code, seen.err)
      assert.same({ case[3] and "seen a" or "asked-a" }, { table.unpack(seen.result) })
      assert.equal(case[3] and 0 or 1, seen.asked)
      assert.matches(case[3] and "used: 1; agents left to ask: about 0;" or "used: 0; agents left to ask: about 1", seen.err)
    end)
  end

  it("in the order of the same prompts; what is left over is not used, what is missing is asked", function()
    local folder = R.folder()
    C.write(folder, { args = { "a", "a", "b", "a" }, agents = { one { result = "first" }, one { result = "second" },
      one { prompt = "look at c", result = "never asked" } } }, W.META .. LIST)
    local seen = adopted(folder)
    assert.same({ "first", "second", "asked-b", "asked-a" }, { table.unpack(seen.result) })
    assert.matches("recorded answers: 3; used: 2; agents left to ask: about 2 %(about 80 output tokens%)", seen.err)
    local state = R.json(folder .. "/run/state.json")
    assert.same({ 4, 2 }, { state.agents.asked, state.agents.adopted })
    local sources = {}
    for _, record in ipairs(R.records(folder .. "/run", "result")) do
      sources[#sources + 1] = type(record.value) == "table" and record.value.source or nil
    end
    assert.same({ C.ID .. "/agent-a1.jsonl", C.ID .. "/agent-a2.jsonl" }, sources)
  end)

  it("with values that fit the schema that is asked for now; others are asked again", function()
    local folder = R.folder()
    C.write(folder, { agents = { one { result = { n = 7 } }, one { prompt = "look at b", result = { n = "x" } },
      one { prompt = "look at c", result = "none", says = { "hm", { n = 9 } }, stop = "tool_use" } } }, W.META
      .. "return [await agent('look at a', { schema: " .. SCHEMA .. " }), await agent('look at c', { schema: " .. SCHEMA
      .. " }), await agent('look at b').catch(() => 0)]")
    local seen = adopted(folder)
    assert.same({ { n = 7 }, { n = 9 }, "asked-b" }, { table.unpack(seen.result) })
  end)

  it("by its folder alone, its file or its script; arguments behind -- come first", function()
    local folder = R.folder()
    local session = C.write(folder, { args = { "z" }, agents = { one() } }, W.META .. LIST)
    for i, path in ipairs { session .. "/subagents/workflows/" .. C.ID, ("%s/workflows/%s.json"):format(session, C.ID),
      ("%s/workflows/scripts/tried-%s.js"):format(session, C.ID) } do
      local seen = kit.run({ path = folder }, { "adopt", path, "--trust", "--agent", AGENT, "--print", "--work-dir", "run" .. i,
        "--output", "out" .. i, "--", '["a"]' })
      assert.same({ "seen a" }, { table.unpack(json.decode(seen.out)) }, path)
    end
    os.execute(("cp -r %s/subagents/workflows/%s %s/%s"):format(session, C.ID, folder, C.ID))
    R.write(folder .. "/mine.js", W.META .. LIST)
    local words = { "adopt", C.ID, "--trust", "--agent", AGENT, "--print", "--work-dir", "run4", "--", '["a"]' }
    local seen = kit.run({ path = folder }, words)
    assert.equal(2, seen.code)
    assert.matches("its script is not there; give it by %-%-script FILE", seen.err)
    table.insert(words, 3, "--script")
    table.insert(words, 4, "mine.js")
    assert.same({ "seen a" }, { table.unpack(json.decode(kit.run({ path = folder }, words).out)) })
  end)

  it("whose answers were damaged afterwards: what is no answer is not used", function()
    local folder = R.folder()
    C.write(folder, { args = { "a" }, agents = { one() } }, W.META .. LIST)
    assert.equal(0, adopted(folder).code)
    local path = ("%s/adopted/%s/tried.js"):format(folder, C.ID)
    for i, text in ipairs { "", "[]", '{"results":7}', '{"results":[7,[],{"prompt":7},{"value":1},null]}' } do
      R.write(path .. ".adopted.json", text)
      local seen = kit.run({ path = folder }, { "run", path, "--agent", AGENT, "--print", "--trust", "--work-dir", "run" .. i,
        "--", '["a"]' })
      assert.same({ "asked-a" }, { table.unpack(json.decode(seen.out) or {}) }, text)
    end
  end)

  it("is told what is no such run", function()
    local folder = R.folder()
    for _, name in ipairs { "wf_none", "elsewhere", "/dev/null" } do
      local seen = kit.run({ path = folder }, { "adopt", name, env = "CLAUDE_CONFIG_DIR=" .. folder })
      assert.equal(2, seen.code)
      assert.matches("is no workflow run of Claude Code", seen.err)
    end
  end)

  it("again, as often as one likes; a script that was edited there stays", function()
    local folder = R.folder()
    C.write(folder, { args = { "a" }, agents = { one() } }, W.META .. LIST)
    assert.equal(0, adopted(folder).code)
    local path = ("%s/adopted/%s/tried.js"):format(folder, C.ID)
    R.write(path, (R.read(path):gsub("return out", "return [...out, 'edited']")))
    local seen = adopted(folder, "again")
    assert.same({ "seen a", "edited" }, { table.unpack(seen.result) })
    assert.equal(0, seen.asked)
  end)

  it("and killed at any record; what was taken once is not asked, and what was asked is not asked again", function()
    local folder = R.folder()
    C.write(folder, { args = { "a", "b", "a", "c" }, agents = { one { result = "first" }, one { result = "second" },
      one { prompt = "look at c", result = "third" } } }, W.META .. LIST)
    local seen = adopted(folder)
    assert.same({ "first", "asked-b", "second", "third" }, { table.unpack(seen.result) })
    local records = R.records(folder .. "/run")
    for keep = 2, #records - 1, W.EACH // 4 + 1 do
      R.cut(folder .. "/run", folder .. "/cut", keep)
      R.write(folder .. "/asked", "")
      local again = kit.run({ path = folder }, { "resume", "cut", "--trust", "--print", "--decide", "retry" })
      assert.same({ "first", "asked-b", "second", "third" }, { table.unpack(json.decode(again.out) or {}) }, "cut behind " .. keep)
      os.execute("rm -rf " .. folder .. "/cut")
    end
  end)
end)
