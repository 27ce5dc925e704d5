-- bounds_spec.lua: no reply holds up the loop, however long and however odd it is.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local expect = require "skillrt.agent.expect"
local fake = require "tests.support.fake_ctx"
local place = require "skillrt.base.placeholders"
local prompt = require "skillrt.agent.prompt"

local SECONDS = 2 -- CPU; the slow way takes longer by far, and the machine may be busy
local LARGE, SIZE = 1 << 20, 1 << 18

local function filled(piece, size)
  return piece:rep(size // #piece)
end

local function bounded(work)
  local started = os.clock()
  work()
  local spent = os.clock() - started
  assert(spent < SECONDS, ("took %.1f s"):format(spent))
end

local TEXTS = {
  ["open braces"] = filled("{", LARGE),
  ["closed braces"] = filled("}", SIZE),
  ["quotes"] = filled('"', LARGE),
  ["pairs of braces"] = filled("{}", SIZE // 8),
  ["pairs of braces that mean nothing"] = filled("{x}", SIZE // 4),
  ["open objects"] = filled('{"a":', SIZE),
  ["open strings"] = filled('{"', SIZE),
  ["some open braces before a long rest"] = filled("{ ", 300) .. filled("x", SIZE),
  ["strings without an end, each in a brace"] = filled('{" ', 30000) .. filled("\\\\", LARGE),
  ["backslashes"] = '{"' .. filled("\\", LARGE),
  ["blanks"] = filled(" ", SIZE) .. "x",
  ["blanks inside"] = "x" .. filled(" ", SIZE) .. "x",
  ["blank lines"] = "x" .. filled("\n \t", SIZE) .. "x}",
  ["a long line of words and blanks"] = filled("word ", SIZE) .. "}",
  ["lines that begin with braces"] = filled("\n{", SIZE) .. "}",
  ["lines that begin with lists"] = filled("\n[1,", SIZE) .. "]",
  ["nested braces"] = filled(("{"):rep(150) .. ("}"):rep(150), SIZE),
  ["fences"] = filled("```\n", SIZE),
  ["many answers"] = filled('{"status":"done","summary":"x"}\n', SIZE // 4) .. "x",
}

describe("a long reply", function()
  for name, text in pairs(TEXTS) do
    it("that is nothing but " .. name .. " is judged in bounded time", function()
      bounded(function()
        local http = agent.http { url = "http://x/" }
        local outcome, _, class = fake.perform(http, { text, { status = "canceled" } })
        assert.is_nil(outcome)
        assert.truthy(class == "invalid_output" or class == "canceled")
      end)
      bounded(function()
        fake.perform(agent.command { "x", parse = "json" }, { text })
      end)
    end)
  end

  it("that is one line, or a thousand, is read in bounded time by every expectation", function()
    for _, text in ipairs { TEXTS["blanks inside"], TEXTS["lines that begin with braces"], TEXTS["open strings"] } do
      for _, wanted in ipairs { "text", "json", { status = { "done" } } } do
        for _, kind in ipairs { "http", "command" } do
          bounded(function()
            expect.judge(wanted, kind, { status = "ok", code = kind == "http" and 200 or 0, body = text })
          end)
        end
      end
    end
  end)

  it("of header lines, events or words of standard error is, too", function()
    bounded(function()
      local extra = "content-type:" .. filled(" ", SIZE) .. ";\n"
      expect.judge("json", "http", { status = "ok", code = 200, body = "{}", extra = extra })
    end)
    for _, piece in ipairs { "data\n", "data: {\n\n", "\n", ":", "data: {\"status\":1}\n\n" } do
      bounded(function()
        local reply = { body = filled(piece, SIZE), extra = "content-type: text/event-stream\n" }
        fake.perform(agent.http { url = "http://x/" }, { reply, { status = "canceled" } })
      end)
    end
    bounded(function()
      expect.judge("raw", "command", { status = "ok", code = 1, extra = filled(" \r", SIZE) })
    end)
    bounded(function() -- the last line of many words counts
      assert.truthy(require "skillrt.agent.kind.gemini".read({}, filled("x", SIZE) .. "\nlast\n", 41))
    end)
  end)
end)

describe("a megabyte", function()
  it("of blanks at the end of a prompt or a document, or inside, is no hindrance", function()
    local text = "a" .. filled(" \n", 1 << 20) .. "b"
    bounded(function()
      local task = fake.task(fake.new {}, { prompt = text, specs = { { name = "s", path = "/s", size = #text, text = text } } })
      assert.truthy(prompt.text(task):find("b", 1, true))
    end)
  end)

  it("of braces in a definition is checked in bounded time", function()
    bounded(function()
      assert.is_true(place.check(filled("{", 1 << 20), {}))
      assert.is_true(place.check(filled("{a", 1 << 20), {}))
      assert.is_true(place.check(filled("{{a", 1 << 20) .. "}", { a = true }))
    end)
  end)

  it("of marks in a reply that goes back is no hindrance (F44)", function()
    bounded(function()
      prompt.untrusted(filled("UNTRUSTED REPLY ", 1 << 20), "REPLY")
      prompt.untrusted(filled("UNTRUSTED REPLY 7", 1 << 20), "REPLY")
    end)
  end)
end)
