-- cli_arguments_spec.lua: command lines are read by the commands' tables of options; --set becomes input.
local arguments = require "skillrt.cli.arguments"
local exit_codes = require "skillrt.cli.exit_codes"
local help = require "skillrt.cli.help"
local settings = require "skillrt.cli.settings"

describe("cli.arguments", function()
  local try = { name = "try", summary = "tries",
    arguments = { { name = "SCRIPT" }, { name = "WORD", many = true, optional = true } },
    options = { { name = "work-dir", value = "DIR" }, { name = "set", value = "K=V", many = true },
      { name = "durability", value = "HOW", choices = { "power", "process" } },
      { name = "output", short = "o", value = "FILE" }, { name = "quiet" } } }

  local function read(line, one)
    local argv = {}
    for word in line:gmatch "%S+" do argv[#argv + 1] = word end
    return arguments.read(one or try, argv)
  end

  it("reads words, flags, and options in every form", function()
    assert.same({ script = "s.lua", word = { "a", "b" }, quiet = true, work_dir = "w", set = { "k=v", "n=1" }, rest = {} },
      read "--quiet s.lua --set k=v a --work-dir w b --set=n=1")
    assert.same({ script = "s.lua", output = "-f", work_dir = "", durability = "process", rest = {} },
      read "-o-f --work-dir= --durability process s.lua")
    assert.same({ script = "-", output = "f", rest = {} }, read "-o f -")
    assert.same({ script = "--quiet", word = { "--" }, rest = {} }, read "-- --quiet --")
    local handing = setmetatable({ rest = "ARGS" }, { __index = try })
    assert.same({ script = "s.lua", rest = { "--quiet", "--", "x" } }, read("s.lua -- --quiet -- x", handing))
  end)

  it("says what is wrong with a line, and with which word", function()
    local stderr, said = io.stderr, nil
    local _ <close> = setmetatable({}, { __close = function() io.stderr = stderr end }) -- luacheck: ignore
    io.stderr = { write = function(_, text) said = said .. text end } -- luacheck: ignore
    local one = { name = "try", summary = "tries", options = try.options, arguments = { { name = "SCRIPT" },
      { name = "HOW", optional = true, choices = { "t", "u" } } } }
    for line, message in pairs {
      ["s --work-dri w"] = "unknown option '--work-dri' (did you mean '--work-dir'?)", ["s -x"] = "unknown option '-x'",
      ["s --work-dir"] = "option '--work-dir' needs a value: DIR", ["s --work-dir --quiet"] = "needs a value: DIR",
      ["s --quiet --quiet"] = "option '--quiet' is given twice", ["s --quiet=1"] = "takes no value",
      ["s --durability no"] = "option '--durability' must be one of power, process, not \"no\"",
      ["s t v"] = "too many arguments: \"v\"", ["s w"] = "HOW must be one of t, u, not \"w\"", ["--quiet"] = "missing argument 'SCRIPT'",
    } do
      said = ""
      local args, code = read(line, one)
      assert.is_nil(args, line)
      assert.equal(exit_codes.usage, code)
      assert.truthy(said:find(message, 1, true), line .. ": " .. said)
    end
  end)

  it("refuses a line without an option that its command needs", function()
    local stderr, said, count = io.stderr, "", 0
    local _ <close> = setmetatable({}, { __close = function() io.stderr = stderr end }) -- luacheck: ignore
    io.stderr = { write = function(_, text) said = said .. text end } -- luacheck: ignore
    for _, command in ipairs(help.commands()) do
      for _, missing in ipairs(command.options) do
        local argv = { "word" }
        for _, option in ipairs(command.options) do
          argv[#argv + 1] = option.needed and option ~= missing and ("--%s=x"):format(option.name) or nil
        end
        if missing.needed then
          said, count = "", count + 1
          assert.equal(exit_codes.usage, select(2, arguments.read(command, argv)))
          assert.has_match(("missing option '--%s %s'"):format(missing.name, missing.value), said, 1, true)
          argv[#argv + 1] = ("--%s=x"):format(missing.name)
          assert.equal("x", arguments.read(command, argv)[missing.name:gsub("-", "_")])
        end
      end
    end
    assert.is_true(count > 3)
  end)

  it("shows every command, option, argument and exit code in the help", function()
    local overview = help.overview()
    for _, row in ipairs(exit_codes.TABLE) do
      assert.truthy(overview:find(("%3d  %s"):format(row.code, row.text:match "^%S+ %S+"), 1, true))
    end
    for _, command in ipairs(help.commands()) do
      assert.truthy(overview:find("\n  " .. command.name .. " ", 1, true))
      local text = help.text(command)
      local usage, words = text:match "^(Usage: .-)\n\n(.-)\n\n  %S"
      assert.truthy(usage and not words:find("\n  ", 1, true), command.name) -- its rows are behind an empty line
      for _, option in ipairs(command.options) do assert.truthy(text:find("--" .. option.name, 1, true)) end
      for _, line in ipairs { overview, text } do
        for row in line:gmatch "[^\n]+" do assert.is_true(#row <= 80, row) end
      end
    end
  end)

  it("shows in the help of a command the exit codes that it may have", function()
    for _, name in ipairs { "list", "stop", "fork" } do
      local text = help.text(require("skillrt.cli.command." .. name))
      assert.truthy(text:find("\n    2  nothing was done", 1, true))
      assert.falsy(text:find("paused", text:find "Exit codes:" --[[@as integer]], true), text)
    end
    assert.truthy(help.text(require "skillrt.cli.command.resume"):find("\n   10  paused at the limit calls", 1, true))
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
