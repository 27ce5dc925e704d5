-- cli_tokens_spec.lua: `skillrt tokens`: bytes as they are sent, and calls of a run to absent tools.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local pages = require "tests.support.pages"
local wires = require "tests.support.wires"

local wire <const> = wires.of.anthropic
local server, folder

local function raw(reply)
  return R.raw(P.bytes(reply))
end

-- A script with two sets and a step for each, by a model at the server.
local SCRIPT <const> = [[
local skillrt = require "skillrt"
local function tool(what) return { description = what, input = { type = "object" }, run = function() return "done" end } end
return skillrt.skill {
  name = "two-sets", retry = { base = 0.001, jitter = false }, limits = { max_errors = 1, max_retries = 0 },
  tools = { look = tool "Looks", write = tool "Writes", make = tool "Makes", other = tool "Is in no set" },
  tool_sets = { { name = "first", tools = { "look", "write" } }, { name = "second", tools = { "make" } } },
  agents = { model = skillrt.agent.anthropic { url = "%s/plan", reads = false, asks = false, model = "m" } },
  actions = { { id = "a", priority = 2, tool_set = "first", agent = "model", prompt = "look at it" },
    { id = "b", priority = 1, when = "completed_actions.includes('a')", tool_set = "second", agent = "model", prompt = "make it" } },
}]]

local function script()
  local path = folder .. "/skill.lua"
  R.write(path, SCRIPT:format(server.url))
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

  it("prints what docs/write/tokens.md shows for seven sets (R97, R112)", function()
    local wanted
    for _, block in ipairs(pages.blocks(pages.read "docs/write/tokens.md")) do
      wanted = block.info == "text" and block.text or wanted
    end
    local here = pages.run "pwd":match "[^\n]*"
    local box <close> = kit.folder() -- a prompt names its folder: one whose name is as long everywhere
    os.execute("mkdir " .. box.path .. "/runs") -- a project
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

  it("says of a run what was sent, by the byte, and how many calls were to absent tools, by set (R112, F56)", function()
    local path, dir = script(), folder .. "/run"
    server.plan(table.concat({
      raw(wire.asks { { id = "a", name = "make", input = {} } }), -- absent
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
    assert.same({ first = { calls = 3, absent = 1 } }, report.calls)
    code, out = skillrt { "tokens", dir, "--trust" }
    assert.equal(0, code)
    assert.matches("first +2 .*33%.3 %(3 calls%)", out)
  end)

  it("says what is wrong: no tools, no schemas, no run", function()
    R.write(folder .. "/plain.lua", 'return require("skillrt").skill { name = "x", actions = { { id = "a", run = print } } }')
    R.write(folder .. "/bad.json", '[{"description": "no name"}]')
    for text, words in pairs {
      ["x: has neither tools nor tool sets"] = { folder .. "/plain.lua" },
      ["its tool 1 has no name"] = { script(), "--schemas", folder .. "/bad.json" },
    } do
      table.insert(words, 1, "tokens")
      words[#words + 1] = "--trust"
      local code, out, err = skillrt(words)
      assert.equal(2, code)
      assert.matches(text, out .. (err or ""))
    end
  end)
end)
