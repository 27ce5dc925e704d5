-- document_probe.lua: what must hold for any text that is read as a document of a skill: nothing
-- raises, and every finding has a place, is printable and says what to do.
--
-- Called by the fuzzers of front matter.
local findings = require "skillrt.document.findings"
local markdown = require "skillrt.document.load.markdown"
local skill_md = require "skillrt.document.load.skill_md"

local readers = {
  function(blocks)
    return require("skillrt.document.load.action_md").read(blocks)
  end,
  function(blocks)
    return require "tests.support.prose_of"(blocks)
  end,
  require("skillrt.document.load.state_md").read,
  function(blocks, file)
    return require("skillrt.document.load.tables").read(blocks, file, nil, function()
      return true
    end)
  end,
}
require "skillrt.skill.action"

local function check_finding(one, lines)
  assert(one.level == "error" or one.level == "warning" or one.level == "note")
  assert((one.code:find "^load%.[a-z-]+$" or one.code:find "^config%.[a-z-]+$") and #one.what > 0)
  assert(one.line == nil or math.type(one.line) == "integer" and one.line >= 1 and one.line <= lines + 2, one.line)
  local text = findings.text(one)
  assert(utf8.len(text) and not text:find "%c", text)
end

---Reads a text as SKILL.md and as each other document.
---@param text string
---@return boolean has_front
return function(text)
  local normal = markdown.normal(text)
  local lines = select(2, normal:gsub("\n", "")) + 1
  local found = findings.new()
  local read = skill_md.read(normal, "SKILL.md", "demo", found)
  for _, one in ipairs(found) do
    check_finding(one, lines)
  end
  assert(read.name == nil or type(read.name) == "string")
  assert(read.description == nil or type(read.description) == "string")
  local blocks = markdown.parse(read.body, read.body_line)
  for _, block in ipairs(blocks) do
    assert(block.line >= 1 and block.line <= lines, block.line)
  end
  markdown.links(blocks)
  for _, reader in ipairs(readers) do
    assert(type(reader(blocks, "a.md")) == "table")
  end
  return next(read.lines) ~= nil
end
