-- load_notes_spec.lua: what is printed before a run about a document: what makes the run differ from what is written.
require "tests.support.json_shim"
local load_notes = require "skillrt.cli.load_notes"
local output = require "skillrt.report.output"

local CHANGES = { "load.fact-differs", "load.condition-unread", "load.repeat-unread", "load.termination-unread",
  "load.phase-order", "load.foreign", "load.machine-unread", "load.hybrid-order", "load.compiled-changed",
  "load.command-unrun" }

-- The lines that are printed about findings.
local function said(findings)
  local say, lines = output.say, {}
  output.say = function(kind, text) lines[#lines + 1] = kind .. ": " .. text end
  local ok, why = pcall(load_notes.say, findings)
  output.say = say
  assert(ok, why)
  return lines
end

local function finding(code, level, file, line)
  return { code = code, level = level, file = file or "SKILL.md", line = line or 3, what = code, message = code }
end

describe("before a run", function()
  for _, code in ipairs(CHANGES) do
    it("it is printed: " .. code, function()
      local lines = said { finding(code, "warning") }
      assert.equal(1, #lines)
      assert.matches(code, lines[1], 1, true)
      assert.same({}, said { finding(code, "note") })
    end)
  end

  it("what runs comes first, then what was not understood; all else is left to skillrt check", function()
    local lines = said { finding("load.foreign", "warning"), finding("load.reference-missing", "warning"),
      finding("load.quote", "note"), finding("load.flow", "note"), finding("config.unread", "note"),
      finding("config.unread", "note", "skill-config.json") }
    assert.equal(4, #lines)
    for i, code in ipairs { "load.flow", "load.quote", "load.foreign", "config.unread" } do
      assert.matches(code, lines[i], 1, true)
    end
  end)

  it("ten lines are printed, and how many more there are", function()
    local list = {}
    for i = 1, 10 do list[i] = finding("load.foreign", "warning", nil, i) end
    assert.equal(10, #said(list))
    list[11], list[12] = list[1], list[2]
    local lines = said(list)
    assert.equal(11, #lines)
    assert.equal("warning: and 2 more: skillrt check lists all", lines[11])
  end)
end)

describe("--strict", function()
  it("refuses a warning and what was not understood, and nothing else", function()
    assert.is_nil(load_notes.refused({ finding("load.foreign", "warning") }))
    assert.is_nil(load_notes.refused({ finding("load.flow", "note") }, true))
    assert.matches("load.foreign", load_notes.refused({ finding("load.foreign", "warning") }, true), 1, true)
    assert.matches("load.quote", load_notes.refused({ finding("load.quote", "note") }, true), 1, true)
  end)
end)
