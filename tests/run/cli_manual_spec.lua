-- cli_manual_spec.lua: the man page is what docs/manual.lua writes from the commands' tables, and
-- every example in it runs and prints what the page says ("..." stands for anything).
local kit = require "tests.support.cli_kit"

local page = kit.read "docs/skillrt.1"

-- The lines of every example: between .EX and .EE, without roff's escapes.
local function examples()
  local list = {}
  for block in page:gmatch "\n%.EX\n(.-)\n%.EE" do
    local lines = {}
    for line in (block .. "\n"):gmatch "(.-)\n" do
      lines[#lines + 1] = (line:gsub("^\\&", ""):gsub("\\%-", "-"):gsub("\\e", "\\"))
    end
    list[#list + 1] = lines
  end
  return list
end

-- Commands with the lines that follow each.
local function steps_of(lines)
  local steps = {}
  for _, line in ipairs(lines) do
    local command = line:match "^%$ (.*)$"
    if command then
      steps[#steps + 1] = { command = command, text = "" }
    else
      steps[#steps].text = steps[#steps].text .. line .. "\n"
    end
  end
  return steps
end

local function as_pattern(text)
  text = text:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0")
  return "^" .. text:gsub("%%%.%%%.%%%.\n", ".-"):gsub("%%%.%%%.%%%.", ".-") .. "$"
end

describe("skillrt help", function()
  it("shows a command's help, and the nearest name of one that there is not", function()
    local folder <close> = kit.folder()
    assert.equal(kit.run(folder, { "fork", "--help" }).out, kit.run(folder, { "help", "fork" }).out)
    local wrong = kit.run(folder, { "help", "frok" })
    assert.same({ 2, "skillrt help: there is no command \"frok\" (did you mean \"fork\"?)\n" }, { wrong.code, wrong.err })
    assert.equal(kit.run(folder, { "--help" }).out, kit.run(folder, { "help" }).out)
  end)
end)

describe("the man page", function()
  it("is what the commands' tables say", function()
    local pipe <close> = io.popen((os.getenv "LUA" or "lua5.4") .. " docs/manual.lua")
    assert.is_true(pipe:read "a" == page, "docs/skillrt.1 is out of date: run make manual and commit it")
  end)

  it("describes once what several commands take", function()
    for _, head in ipairs { "\\-\\-trust", "\\-\\-agent\\-env ", "\\-\\-older\\-than " } do
      local _, count = page:gsub("\n%.BI? \"?" .. head:gsub("[-\\]", "%%%0"), "")
      assert.equal(1, count, head)
    end
    local _, count = page:gsub("\\%-\\%-older\\%-than", "")
    assert.equal(2, count) -- where it is described, and in the list of what FILTER stands for: in no line of a command
  end)

  it("has only examples that run as shown", function()
    local folder <close> = kit.folder()
    local count = 0
    for _, lines in ipairs(examples()) do
      for _, step in ipairs(steps_of(lines)) do
        local file = step.command:match "^cat (%S+)$"
        if file then
          folder.file(file, step.text)
        else
          count = count + 1
          local command = step.command:gsub("^skillrt", kit.quoted(kit.program))
          local pipe <close> = io.popen(("cd %s && (%s) 2>&1 </dev/null"):format(folder.path, command))
          local said = pipe:read "a"
          assert.truthy(said:find(as_pattern(step.text)), step.command .. "\n" .. said)
        end
      end
    end
    assert.is_true(count >= 10)
  end)

  it("is good roff", function()
    if not os.execute "command -v man >/dev/null 2>&1" then return pending "man is not installed" end
    local pipe <close> = io.popen "env -u LD_PRELOAD man --warnings -l docs/skillrt.1 2>&1 >/dev/null"
    assert.equal("", pipe:read "a")
  end)
end)
