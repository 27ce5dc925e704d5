-- cli_arguments_spec.lua: the small reader of plain command lines agrees with argparse, and both
-- with the table of options; --set becomes input.
local arguments = require "skillrt.cli.arguments"
local exit_codes = require "skillrt.cli.exit_codes"
local help = require "skillrt.cli.help"
local settings = require "skillrt.cli.settings"

describe("cli.arguments", function()
  it("reads a plain command line as argparse does, or leaves it to argparse", function()
    math.randomseed(3)
    local plain = 0
    for _, command in ipairs(help.commands()) do
      local parser = arguments.parser(command)
      local words = { "a", "b.lua", "--", "-x", "power", "process", "", "k=v", "--nope", "retry" }
      for _, option in ipairs(command.options) do words[#words + 1] = "--" .. option.name end
      for _ = 1, 600 do
        local argv = {}
        for i = 1, math.random(0, 5) do argv[i] = words[math.random(#words)] end
        local args = arguments.plain(command, argv)
        if args then
          plain = plain + 1
          local ok, parsed = parser:pparse(argv)
          assert.is_true(ok, table.concat(argv, " ") .. ": " .. tostring(parsed))
          for key, value in pairs(parsed) do
            if type(value) == "table" and #value == 0 then parsed[key] = nil end
          end
          assert.same(parsed, args)
        end
      end
    end
    assert.is_true(plain > 100, "only " .. plain .. " plain lines")
  end)

  it("shows every command, option, argument and exit code in the help", function()
    local overview = help.overview()
    for _, row in ipairs(exit_codes.TABLE) do
      assert.truthy(overview:find(("%3d  %s"):format(row.code, row.text:match "^%S+ %S+"), 1, true))
    end
    for _, command in ipairs(help.commands()) do
      assert.truthy(overview:find("\n  " .. command.name .. " ", 1, true))
      local text = help.text(command)
      for _, option in ipairs(command.options) do assert.truthy(text:find("--" .. option.name, 1, true)) end
      for _, line in ipairs { overview, text } do
        for row in line:gmatch "[^\n]+" do assert.is_true(#row <= 80, row) end
      end
    end
  end)

  it("shows in the help which words an option takes", function()
    for _, command in ipairs(require("skillrt.cli.help").commands()) do
      for _, option in ipairs(command.options) do
        for _, choice in ipairs(option.choices or {}) do
          assert(option.help:find(choice, 1, true), ("skillrt %s --%s: %s"):format(command.name, option.name, choice))
        end
      end
    end
  end)
end)

describe("cli.settings", function()
  it("takes texts, JSON values and nested keys", function()
    assert.same({ a = "1=2", b = { c = 3, d = { e = true } } }, settings.read { "a=1=2", "b.c:=3", "b.d.e:=true" })
    assert.same({ a = "" }, settings.read { "a=" })
  end)
  it("names what it cannot take", function()
    for _, word in ipairs { "a", "=1", "a:=nope", ".a=1", "a.=1" } do
      local input, message = settings.read { word }
      assert.is_nil(input)
      assert.truthy(message:find("--set ", 1, true))
    end
    assert.truthy(select(2, settings.read { "a=1", "a=2" }):find("set twice", 1, true))
  end)
end)

describe("cli.exit_codes", function()
  it("tells the ends of a run apart", function()
    local function of(status, more)
      local result = { status = status }
      for key, value in pairs(more or {}) do result[key] = value end
      return exit_codes.of_result(result)
    end
    assert.same({ 0, 1, 4, 5, 3, 130 }, {
      of "completed", of "failed", of "aborted", of "paused", of("paused", { question = {} }),
      of("paused", { interrupted = true }),
    })
    assert.same({ 6, 7, 7, 8, 8, 2 }, {
      exit_codes.of_error "busy", exit_codes.of_error "corrupt", exit_codes.of_error "newer",
      exit_codes.of_error "edited", exit_codes.of_error "changed", exit_codes.of_error "missing",
    })
  end)
end)
