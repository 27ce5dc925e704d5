-- check_codes_spec.lua: every code of the check: a skill that has the fault, one that has not, and
-- its row in docs/reference/checks.md.
local cases = require "tests.support.check_cases"
local check = require "skillrt.document.check"
local codes = require "skillrt.document.check.codes"
local files = require "skillrt.base.files"
local kit = require "tests.support.cli_kit"

local function is_folder(given)
  return given["SKILL.md"] ~= nil
end

local scratch, written = nil, 0

-- Writes a folder of files; gives its path.
local function write(given)
  written = written + 1
  local path = ("%s/%d/case"):format(scratch.path, written)
  for name, text in pairs(given) do
    assert(files.make_folders(files.dirname(path .. "/" .. name)))
    assert(files.write(path .. "/" .. name, text))
  end
  return path
end

-- The codes found in a case, with the finding of the one asked for.
local function found_in(given, wanted)
  local options
  if given.script then
    given = write { ["case.js"] = given.script } .. "/case.js"
  elseif given.skill then
    given, options = given.skill, given.options
  end
  local result = assert(check.check(is_folder(given) and write(given) or given, options))
  for _, finding in ipairs(result.findings) do
    if finding.code == wanted then
      return finding, result
    end
  end
  return nil, result
end

local page = kit.read "docs/reference/checks.md"

local function row_of(code)
  return page:match("\n(| `" .. code:gsub("%p", "%%%0") .. "` |[^\n]*)")
end

describe("skillrt check", function()
  setup(function()
    scratch = kit.folder()
  end)

  teardown(function()
    getmetatable(scratch).__close(scratch)
  end)

  for _, code in ipairs(codes.sorted()) do
    it(("finds %s where it is, and not where it is not (F6, F28)"):format(code), function()
      local case = assert(cases[code], code .. " has no case")
      local finding = assert(found_in(case.bad, code), code .. " is not found")
      assert.truthy(#finding.what > 0 and #finding.why > 0 and #finding.fix > 0)
      assert.is_nil(finding.what:find "^%S+%.%l+:" or finding.what:find "^line %d", finding.what) -- its place is told
      local other = found_in(case.good, code)
      assert.is_nil(other, other and other.what)
    end)

    it(("tells %s in docs/reference/checks.md with level, example, why and what to do"):format(code), function()
      local row = assert(row_of(code), code .. " has no row")
      local known = codes.CODES[code]
      for _, part in ipairs { known.level, known.why, known.fix, cases[code].example } do
        assert.truthy(row:find(part:gsub("|", "\\|"), 1, true), ("%s: the row does not say %q"):format(code, part))
      end
    end)
  end

  it("has no case and no row of a code that does not exist", function()
    for code in pairs(cases) do
      assert.truthy(codes.CODES[code], code)
    end
    for code in page:gmatch "\n| `([%w.-]+)` | %l+ |" do
      assert.truthy(codes.CODES[code] or code:find "^load%." or code:find "^config%.", code)
    end
  end)

  it("tells every code of the config's reader and of the loader in docs/reference/checks.md", function()
    local sources = {}
    for _, folder in ipairs { "load", "generate" } do
      for _, name in ipairs(files.glob("lua/skillrt/document/" .. folder, "*.lua")) do
        sources[#sources + 1] = folder .. "/" .. name
      end
    end
    local count = 0
    for _, path in ipairs(sources) do
      local text, kind = kit.read("lua/skillrt/document/" .. path), path:find "^generate" and "config." or "load."
      for level, code in text:gmatch "found%w*:(%l+)%(%s*\"([%l-]+)\"," do
        if level == "error" or level == "warn" or level == "note" then
          count = count + 1
          assert.truthy(row_of(kind .. code), kind .. code .. " has no row in docs/reference/checks.md")
        end
      end
    end
    assert.truthy(count > 60, count)
  end)

  it("has exit code 0 for what is clean or has notes, 1 for warnings, 2 for errors", function()
    local function exit_of(code, kind)
      return check.exit_code(select(2, found_in(cases[code][kind], code)))
    end
    assert.equal(0, exit_of("reach.goal", "good"))
    assert.equal(0, exit_of("input.skippable", "bad"))
    assert.equal(1, exit_of("reach.shadowed", "bad"))
    assert.equal(2, exit_of("reach.goal", "bad"))
  end)
end)
