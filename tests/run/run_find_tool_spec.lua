-- run_find_tool_spec.lua: a model with a large catalogue searches its tools by words: what it finds is present from the
-- next request on, also after a resume.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local registry_of = require "skillrt.tool.registry"
local skillrt = require "skillrt"
local find = require "skillrt.tool.find_tool"
local tool = require "skillrt.tool"
local wires = require "tests.support.wires"

local server, folder
local wire <const> = wires.of.anthropic

local function raw(reply)
  return R.raw(P.bytes(reply))
end

local function catalogue()
  local tools = {
    readInvoice = { description = "Reads an invoice", run = function() return "an invoice" end },
    pay_invoice = { description = "Pays what is due", run = function() return "paid" end },
    post_letter = { description = "Sends a letter by post", run = function() return "sent" end },
  }
  for i = 1, 200 do
    tools["other_" .. i] = { description = "Number " .. i, run = function() return "done" end }
  end
  return tools
end

local function definition(more)
  return { tools = catalogue(), agents = { model = skillrt.agent.anthropic(more) },
    actions = { { id = "a", agent = "model", prompt = "do it well" } }, limits = { max_errors = 1, max_retries = 0 } }
end

local function sent(n)
  local list = {}
  for i, one in ipairs(select(2, server.request(n)).tools) do list[i] = one.name end
  return table.concat(list, " ")
end

describe("find_tool", function()
  before_each(function() server, folder = R.server "/echo\n", R.folder() end)
  after_each(function()
    require("skillrt.agent.gate").forget()
    server.stop()
    R.clean()
  end)

  it("is sent instead of a large catalogue; what it finds is present then, and still is after a resume", function()
    local plan = {
      raw(wire.asks { { id = "a", name = "find_tool", input = { words = "invoices to pay" } } }),
      raw(wire.asks { { id = "b", name = "pay_invoice", input = {} }, { id = "c", name = "other_7", input = {} } }),
      raw(wire.asks { { id = "d", name = "other_7", input = {} } }),
      raw(wire.says(wires.GOOD)),
    }
    server.plan(table.concat(plan, "\n") .. "\n")
    local skill = definition { url = server.url .. "/plan", find_tools = true, tools = { "post_letter" } }
    local dir, copy = R.folder() .. "/run", R.folder() .. "/cut"
    local result = assert(R.run(skill, { work_dir = dir }))
    assert.equal("completed", result.status, result.message)
    assert.equal("find_tool post_letter read ask_user", sent(1))
    assert.equal("find_tool post_letter read ask_user pay_invoice readInvoice", sent(2))
    assert.equal("find_tool post_letter read ask_user pay_invoice readInvoice other_7", sent(3))
    local told = wire.all(select(2, server.request(4)))
    assert.equal("pay_invoice: Pays what is due\nreadInvoice: Reads an invoice", told[1][2])
    assert.equal("paid", told[2][2])
    assert.matches("other_7 was not available; it is from now on", told[3][2])
    assert.equal("done", told[4][2])
    for keep = 2, #R.records(dir) - 1, R.EVERY do
      R.cut(dir, copy, keep)
      local answered, before = 0, #server.log()
      for _, record in ipairs(R.records(copy, "result")) do
        answered = answered + (record.reply and 1 or 0)
      end
      server.plan(("/status/500\n"):rep(before) .. table.concat(plan, "\n", answered + 1) .. "\n")
      result = assert(skillrt.resume(copy, { skill = R.skill(skill) }))
      assert.equal("completed", result.status, result.message)
      assert.equal(4 - answered, #server.log() - before)
      os.execute(("rm -rf '%s'"):format(copy))
    end
  end)

  it("finds by names and descriptions, whole words before their beginnings, and says where nothing fits", function()
    local registry = registry_of.new()
    for name, one in pairs(catalogue()) do assert(registry:add(assert(tool.check(name, one, "t")))) end
    local function found(words)
      local out = {}
      for i, one in ipairs(find.search(registry, words)) do out[i] = one.name end
      return table.concat(out, " ")
    end
    assert.equal("readInvoice", (found "READ the invoice"):match "^%S+")
    assert.equal("post_letter", found "letters, posted!")
    assert(registry:add(assert(tool.check("postal_posts", { description = "Postage", run = print }, "t"))))
    assert.equal("postal_posts post_letter", found "posts")
    assert.equal("", found "zzz")
    local others = {}
    for _, name in ipairs(registry:names()) do others[#others + 1] = name:match "^other_.*" end
    assert.equal(table.concat(others, " ", 1, 5), found "number other") -- as the registry has them
    assert.equal("no tool fits these words; try others", find.make(registry, registry:names()):perform(nil, { words = "zzz" }))
  end)

  it("finds the tools of servers, none of which is sent before", function()
    server.plan(table.concat({ raw(wire.asks { { id = "a", name = "find_tool", input = { words = "echo" } } }),
      raw(wire.asks { { id = "b", name = "mcp__our__echo", input = { text = "hello" } } }), raw(wire.says(wires.GOOD)) }, "\n") .. "\n")
    local skill = definition { url = server.url .. "/plan", find_tools = true }
    skill.mcp = { our = { command = { "lua5.4", "tests/support/mcp_server.lua", "good", folder } } }
    local result = assert(R.run(skill))
    assert.equal("completed", result.status, result.message)
    assert.equal("find_tool read ask_user", sent(1))
    assert.matches("^find_tool read ask_user mcp__our__echo", sent(2))
    assert.matches("hello", wire.all(select(2, server.request(3)))[2][2])
  end)

  it("finds no tool that its step may not use", function()
    server.plan(table.concat({ raw(wire.asks { { id = "a", name = "find_tool", input = { words = "invoice" } },
      { id = "b", name = "pay_invoice", input = {} } }), raw(wire.says(wires.GOOD)) }, "\n") .. "\n")
    local skill = definition { url = server.url .. "/plan", find_tools = true }
    skill.actions[1].tools = { "readInvoice", "post_letter" }
    local result = assert(R.run(skill))
    assert.equal("completed", result.status, result.message)
    assert.equal("find_tool read ask_user readInvoice", sent(2))
    assert.equal("readInvoice: Reads an invoice", wire.all(select(2, server.request(2)))[1][2])
    assert.matches("the tool pay_invoice is in no set", wire.all(select(2, server.request(2)))[2][2])
  end)

  it("is refused beside tool sets, which say the same in another way", function()
    local skill = definition { url = "http://127.0.0.1:1", find_tools = true }
    skill.tool_sets = { { name = "one", tools = { "post_letter" } } }
    assert.has_error(function() R.skill(skill) end, 'tested: agent "model": find_tools and tool_sets both say which tools are '
      .. "present; leave one of them out")
  end)

  it("is refused where the skill has a tool of that name", function()
    local skill = definition { url = server.url .. "/plan", find_tools = true }
    skill.tools.find_tool = { description = "x", run = print }
    local result = assert(R.run(skill))
    assert.equal("failed", result.status)
    assert.matches("there is a tool find_tool of the skill's own", result.message)
  end)
end)
