-- cli_tokens_spec.lua: `skillrt tokens`: bytes as they are sent, what a run came to both ways, and sets that are switched
-- only where that is cheaper.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local pages = require "tests.support.pages"
local tool_cost = require "skillrt.agent.tool_cost"
local wires = require "tests.support.wires"

local wire <const> = wires.of.anthropic
local server, folder

local function raw(reply)
  return R.raw(P.bytes(reply))
end

-- A script with two sets and a step for each, by a model at the server; `more` are fields of its switching and prices.
local SCRIPT <const> = [[
local skillrt = require "skillrt"
local function tool(what) return { description = what, input = { type = "object" }, run = function() return "done" end } end
return skillrt.skill {
  name = "two-sets", retry = { base = 0.001, jitter = false }, limits = { max_errors = 1, max_retries = 0 },
  tools = { look = tool "Looks", write = tool "Writes", make = tool "Makes", other = tool "Is in no set" },
  tool_sets = { { name = "first", tools = { "look", "write" } }, { name = "second", tools = { "make" } } },
  switching = { when = "%s", by = "%s" },
  agents = { model = skillrt.agent.anthropic { url = "%s/plan", reads = false, asks = false, model = "m",
    prices = { m = { input = 100, output = 0, cache_read = %s, cache_write = 100 } } } },
  actions = { { id = "a", priority = 2, tool_set = "first", agent = "model", prompt = "look at it" },
    { id = "b", priority = 1, when = "completed_actions.includes('a')", tool_set = "second", agent = "model", prompt = "make it" } },
}]]

local function script(when, cache_read, by)
  local path = folder .. "/skill.lua"
  R.write(path, SCRIPT:format(when, by or "orchestrator", server.url, cache_read or 10))
  return path
end

local function sent(n)
  local tools = select(2, server.request(n)).tools
  local list = {}
  for i, one in ipairs(tools) do
    list[i], one.cache_control = one.name, nil -- the mark of the cache is no part of a tool
  end
  return table.concat(list, " "), #json.encode(tools, { sorted = true })
end

local function skillrt(words)
  local folder_of <close> = kit.folder()
  local ended = kit.run(folder_of, words)
  return ended.code, ended.out, ended.err
end

describe("skillrt tokens", function()
  before_each(function() server, folder = R.server "/echo\n", R.folder() end)
  after_each(function()
    server.stop()
    R.clean()
  end)

  it("prints what docs/tokens.md shows for seven sets (R97, R112)", function()
    local wanted
    for _, block in ipairs(pages.blocks(pages.read "docs/tokens.md")) do
      wanted = block.info == "text" and block.text or wanted
    end
    local here = pages.run "pwd":match "[^\n]*"
    local box <close> = kit.folder() -- a prompt names its folder: one whose name is as long everywhere
    os.execute(("mkdir -p '%s/examples' && cp -r examples/tool_sets '%s/examples/'"):format(box.path, box.path))
    local shown = kit.run(box, { "tokens", "examples/tool_sets/agent.yml", "--trust", "--schemas",
      "examples/tool_sets/schemas.json" })
    assert.equal(0, shown.code, shown.err)
    assert.equal(wanted, shown.out)
    local _, text = skillrt { "tokens", here .. "/examples/tool_sets/agent.yml", "--trust", "--json" }
    local report = json.decode(text)
    assert.same({ 16, 16 }, { report.written, report.sets[1].tools })
    local counts = {}
    for i, row in ipairs(report.sets) do counts[i] = row.name .. " " .. row.tools end
    assert.equal("all tools 16, analysis 7, generation 6, verification 7, repair 7, iterative 11, incremental 10, full 16",
      table.concat(counts, ", "))
  end)

  it("says of a run what was sent, by the byte, what absent tools were called, and both ways with the cache (R112, F56)", function()
    local path, dir = script "always", folder .. "/run"
    server.plan(table.concat({
      raw(wire.asks { { id = "a", name = "make", input = {} } }), -- absent: one exchange for nothing
      raw(wire.asks { { id = "b", name = "look", input = {} }, { id = "c", name = "make", input = {} } }),
      raw(wire.says(wires.GOOD)), raw(wire.says(wires.GOOD)) }, "\n") .. "\n")
    local ended, said, why = skillrt { "run", path, "--work-dir", dir, "--trust", "--quiet" }
    assert.equal(0, ended, said .. (why or ""))
    local code, out, err = skillrt { "tokens", dir, "--json", "--trust" }
    assert.equal(0, code, out .. (err or ""))
    local report = json.decode(out)
    assert.same({ "look write", "look write make", "look write make", "make" }, { (sent(1)), (sent(2)), (sent(3)), (sent(4)) })
    local _, first = sent(1)
    local _, all = sent(2)
    local _, second = sent(4)
    assert.same({ all, first, second }, { report.sets[1].bytes, report.sets[2].bytes, report.sets[3].bytes })
    assert.same({ exchanges = 3, calls = 3, absent = 1 }, report.run.by_set.first)
    assert.equal(4, report.run.exchanges)
    assert.equal(4 * (21 + 20), report.run.tokens) -- as the server says: 11 + 7 + 3, and 20
    assert.equal(1, report.run.spared)
    local tokens = tool_cost.tokens
    local function rest(bytes) return math.max(0, 21 - tokens(bytes)) end
    local list = {
      { talk = 1, list = "first", tools = tokens(first), rest = rest(first), output = 20 },
      { talk = 1, list = "all", tools = tokens(all), rest = rest(all), output = 20 },
      { talk = 1, list = "all", tools = tokens(all), rest = rest(all), output = 20 },
      { talk = 2, list = "second", tools = tokens(second), rest = rest(second), output = 20 } }
    local prices = { m = { input = 100, output = 0, cache_read = 10, cache_write = 100 } }
    assert.same(tool_cost.cost(list, "m", prices), report.run.sets)
    table.remove(list, 1) -- with all tools nobody called for what was not there
    list[3].list, list[3].tools = "all", tokens(all)
    assert.same(tool_cost.cost(list, "m", prices), report.run.all)
    code, out = skillrt { "tokens", dir, "--trust" }
    assert.equal(0, code)
    assert.matches("first +2 .*33%.3 %(3 calls%)", out)
    assert.matches("recorded: 4 exchanges, 164 tokens", out)
    assert.matches("1 exchanges called absent tools alone", out)
  end)

  it("has sets switched only where that is cheaper, decided by the prices and recorded (R112, F56)", function()
    for _, case in ipairs { { "cost", 0, "look write make switch_phase", "report" }, { "cost", 100, "look write switch_phase", "report" },
      { "always", 0, "look write switch_phase", "report" }, { "cost", 0, "look write", "orchestrator" } } do
      local path, dir = script(case[1], case[2], case[4]), R.folder() .. "/run"
      local before = #server.log()
      server.plan(("/status/500\n"):rep(before) .. table.concat({ raw(wire.asks { { id = "a", name = "make", input = {} } }),
        raw(wire.says(wires.GOOD)), raw(wire.says(wires.GOOD)) }, "\n") .. "\n")
      local code, out, err = skillrt { "run", path, "--work-dir", dir, "--trust", "--quiet" }
      assert.equal(0, code, out .. (err or ""))
      assert.equal(case[3], (sent(before + 1)))
      local whole = case[3] == "look write make switch_phase"
      assert.equal(whole and case[3] or "make" .. (case[4] == "report" and " switch_phase" or ""), (sent(before + 3)))
      for _, record in ipairs(R.records(dir, "start")) do assert.equal(whole or nil, record.whole) end
      local uses = R.records(dir, "tool")
      assert.equal(not whole and "widened" or nil, uses[1].absent)
    end
  end)

  it("says what is wrong: no tools, no schemas, no run", function()
    R.write(folder .. "/plain.lua", 'return require("skillrt").skill { name = "x", actions = { { id = "a", run = print } } }')
    R.write(folder .. "/bad.json", '[{"description": "no name"}]')
    for text, words in pairs {
      ["x: has neither tools nor tool sets"] = { folder .. "/plain.lua" },
      ["its tool 1 has no name"] = { script "always", "--schemas", folder .. "/bad.json" },
      ["%-%-rounds: many is not how many"] = { script "always", "--rounds", "many" },
    } do
      table.insert(words, 1, "tokens")
      words[#words + 1] = "--trust"
      local code, out, err = skillrt(words)
      assert.equal(2, code)
      assert.matches(text, out .. (err or ""))
    end
  end)
end)

describe("a provider's prompt cache", function()
  local function exchanges(list)
    local out = {}
    for i, one in ipairs(list) do out[i] = { talk = one[1], list = one[2], tools = one[3], rest = one[4], output = 0 } end
    return out
  end
  local MARKED <const> = { m = { input = 1, output = 0, cache_read = 0.1, cache_write = 1.25 } }
  local ALONE <const> = { m = { input = 1, output = 0, cache_read = 0.1 } }

  it("gives a talk back as long as its tools are the same, and nothing of it after (F56)", function()
    local used = tool_cost.cost(exchanges { { 1, "x", 100, 50 }, { 1, "x", 100, 80 }, { 1, "y", 60, 90 }, { 1, "y", 60, 95 } }, "m", MARKED)
    assert.same({ 150 + 150, 150 + 30 + 150 + 5, 0 }, { used.cache_read, used.cache_write, used.input })
    assert.is_true(math.abs((300 * 0.1 + 335 * 1.25) / 1e6 - used.usd) < 1e-12)
  end)

  it("gives the tools to the next talk, too, where they are long enough", function()
    local used = tool_cost.cost(exchanges { { 1, "x", 2000, 50 },
      { 2, "x", 2000, 80 }, { 3, "y", 900, 80 }, { 4, "y", 900, 80 } }, "m", ALONE)
    assert.same({ 2000, 0, 2050 + 80 + 980 + 980 }, { used.cache_read, used.cache_write, used.input })
    used = tool_cost.cost(exchanges { { 1, "x", 2000, 50 }, { 2, "x", 2000, 80 } }, "m", MARKED)
    assert.same({ 2000, 2050 + 80, 0 }, { used.cache_read, used.cache_write, used.input })
  end)
end)
