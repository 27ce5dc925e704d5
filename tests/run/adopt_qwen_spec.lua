-- adopt_qwen_spec.lua: `skillrt adopt` of workflow runs that qwen-code began, whole and damaged: its journal names no
-- prompts, only keys; what was answered is not asked again.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local ID <const> = "wf_0123456789abcdef"
local AGENT <const> = '["sh","-c","p=$(cat); echo x >> asked; printf %s \\"asked-${p##* }\\""]'
local LIST <const> = W.META .. "return await parallel(args.map(one => () => agent('look at ' + one, { label: one })))"

-- Writes the run; gives the folder of its project.
local function write(folder, run, script)
  local project = folder .. "/.qwen/projects/-repo"
  local dir = ("%s/workflows/%s"):format(project, ID)
  assert(os.execute("mkdir -p " .. dir))
  R.write(folder .. "/run.given", assert(json.encode(run)))
  assert(os.execute(("node tests/support/qwen_runs.js < %s/run.given > %s/journal.jsonl"):format(folder, dir)))
  if script then
    R.write(("%s/workflows/%s.json"):format(project, ID), assert(json.encode { runId = ID, script = script, args = run.args }))
  end
  return project
end

local function adopted(folder, path, ...)
  local seen = kit.run({ path = folder }, { "adopt", path or ID, "--trust", "--agent", AGENT, "--print", "--work-dir",
    "run", env = ("HOME=%s XDG_STATE_HOME=%s"):format(folder, folder), ... })
  seen.result = seen.out ~= "" and json.decode(seen.out) or nil
  seen.asked = select(2, (R.exists(folder .. "/asked") and R.read(folder .. "/asked") or ""):gsub("x", ""))
  return seen
end

local function said(one, result)
  return { prompt = "look at " .. one, options = { label = "other" }, result = result }
end

describe("a workflow run of qwen-code is adopted", function()
  after_each(R.clean)

  for _, case in ipairs {
    { "whole", { said("a", "seen a"), said("b", "seen b") }, { "seen a", "seen b" } },
    { "begun in another order, as agents answer in theirs", { said("b", "seen b"), said("a", "seen a") },
      { "seen a", "seen b" } },
    { "with an agent that failed, and one that it died in", { { prompt = "look at a", failed = true }, said("b") },
      { "asked-a", "asked-b" } },
    { "with an agent between that nobody asks now", { said("a", "seen a"), said("z", "seen z"), said("b", "seen b") },
      { "seen a", "seen b" } },
    { "with options that make it another question", { said("a", "seen a"), { prompt = "look at b", result = "seen b",
      options = { model = "small" } } }, { "seen a", "asked-b" } },
    { "with a refusal and an empty text for answers", { said("a", "API Error: 529 overloaded"), said("b", " ") },
      { "asked-a", "asked-b" } },
    { "with a torn end", { said("a", "seen a"), said("b", "seen b") }, { "seen a", "seen b" },
      torn = '{"type":"result","key":"v2:' },
    { "with lines that are nothing", { said("a", "seen a"), said("b", "seen b") }, { "seen a", "seen b" },
      torn = '7\n[]\n"x"\n{\n{"type":"result","key":7}\n{"type":"result","key":"v2:no","result":"x"}\nnull\n' },
  } do
    it(case[1], function()
      local folder, count = R.folder(), 0
      write(folder, { args = { "a", "b" }, agents = case[2], torn = case.torn }, LIST)
      local seen = adopted(folder)
      assert.equal(0, seen.code, seen.err)
      assert.same(case[3], { table.unpack(seen.result) })
      for _, text in ipairs(case[3]) do
        count = count + (text:find "^asked" and 1 or 0)
      end
      assert.equal(count, seen.asked)
      assert.matches(("used: %d; agents left to ask: about %d"):format(2 - count, count), seen.err)
    end)
  end

  it("with other arguments than it was begun with: the first of its agents is asked again", function()
    local folder = R.folder()
    write(folder, { args = { "a" }, agents = { said("a", "seen a"), said("b", "seen b"), said("a", "seen again") } }, LIST)
    local seen = adopted(folder, ID, "--", '["b", "a", "a"]')
    assert.same({ "seen b", "seen again", "asked-a" }, { table.unpack(seen.result) })
  end)

  it("by its folder or its file; without its script it has to be given", function()
    local folder = R.folder()
    local project = write(folder, { args = { "a" }, agents = { said("a", "seen a") } })
    local seen = adopted(folder, ("%s/workflows/%s"):format(project, ID), "--", '["a"]')
    assert.equal(2, seen.code)
    assert.matches("its script is not there; give it by --script FILE", seen.err, 1, true)
    R.write(folder .. "/mine.js", LIST)
    seen = adopted(folder, ("%s/workflows/%s"):format(project, ID), "--script", "mine.js", "--", '["a"]')
    assert.same({ "seen a" }, { table.unpack(seen.result) })
    write(folder, { args = { "a" }, agents = { said("a", "seen a") } }, LIST)
    assert(os.execute(("rm -r '%s/run' '%s/adopted'"):format(folder, folder)))
    seen = adopted(folder, ("%s/workflows/%s.json"):format(project, ID))
    assert.same({ "seen a" }, { table.unpack(seen.result) })
  end)

  it("with values of schemas, whatever the order and the letters of their keys", function()
    local folder, schema = R.folder(), "{ type: 'object', required: ['ä', 'n'], additionalProperties: false, "
      .. "properties: { n: { type: 'number', minimum: 0.5 }, 'ä': { type: 'string', description: '\"\\\\/\\n' } } }"
    local options = { agentType = "Explore", effort = "high", schema = { additionalProperties = false, type = "object",
      properties = { ["ä"] = { description = '"\\/\n', type = "string" }, n = { minimum = 0.5, type = "number" } },
      required = { "ä", "n" } } }
    write(folder, { agents = { { prompt = "look", options = options, result = { n = 7, ["ä"] = "b" } },
      { prompt = "look", options = options, result = { n = 0, ["ä"] = "b" } } } }, W.META
      .. ("const o = { schema: %s, effort: 'high', agentType: 'Explore' }\n"):format(schema)
      .. "return [await agent('look', o), await agent('look', o).catch(() => 0)]")
    local seen = adopted(folder)
    assert.same({ { n = 7, ["ä"] = "b" }, 0 }, { table.unpack(seen.result or {}) }, seen.err)
    assert.matches("recorded answers: 2; used: 1", seen.err)
  end)

  it("and killed at any record; what was taken once is not asked, and what was asked is not asked again", function()
    local folder = R.folder()
    write(folder, { args = { "a", "b", "c" }, agents = { said("a", "seen a"), said("c", "seen c") } }, LIST)
    assert.same({ "seen a", "asked-b", "seen c" }, { table.unpack(adopted(folder).result) })
    local records = R.records(folder .. "/run")
    for keep = 2, #records - 1, W.EACH // 4 + 1 do
      R.cut(folder .. "/run", folder .. "/cut", keep)
      local again = kit.run({ path = folder }, { "resume", "cut", "--trust", "--print", "--decide", "retry" })
      assert.same({ "seen a", "asked-b", "seen c" }, { table.unpack(json.decode(again.out) or {}) }, "cut behind " .. keep)
      os.execute("rm -rf " .. folder .. "/cut")
    end
  end)
end)
