-- docs_spec.lua: what README.md and the pages below docs/ show is true: every Lua block parses, every block
-- marked `run` runs with the program in a folder of its own, and prints what the page says.
--
-- ```lua            has to parse (a statement or an expression, so that extracts may be short)
-- ```lua run        is run by the program; has to end with exit code 0
-- ```lua run N      the same; has to end with exit code N
-- ```lua plain      is run by plain lua5.4, in the folder of the block before
-- ```lua file NAME  is a file that the blocks behind it find in their folder
-- ```sh run         lines of a shell that finds the program in its PATH, in a folder of their own
-- ```text output    what the block before prints; "..." stands for any lines, or any text in one
-- Links between the pages have to lead somewhere.

local pages = require "tests.support.pages"

local build = os.getenv "SKILLRT_BUILD" or "build/release"
local here = io.popen("pwd"):read "l"
local SETUP = ('package.path = "%s/lua/?.lua;%s/lua/?/init.lua;" .. package.path\n'):format(here, here)
  .. ('package.cpath = "%s/%s/lib/?.so;" .. package.cpath\n'):format(here, build)

local paths = {}
for path in io.popen("find README.md docs -name '*.md' | LC_ALL=C sort"):lines() do
  paths[#paths + 1] = path
end

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
end

-- The anchors of a page's headings, as forges make them.
local function headings(path)
  local found = {}
  for title in ("\n" .. pages.read(path):gsub("\n```.-\n```", "")):gmatch "\n#+ ([^\n]+)" do
    found[title:lower():gsub("[^%w%s_-]", ""):gsub(" ", "-")] = true
  end
  return found
end

-- The files that blocks before this one put into its folder.
local function lay_out(folder, all, last)
  for i = 1, last do
    local name = all[i].info:match "^lua file (%S+)$"
    if name then
      write(folder .. "/" .. name, all[i].text)
    elseif all[i].info:find "^lua run" then
      write(folder .. "/example.lua", all[i].text)
    end
  end
end

local function shell_runs(all, i, place)
  local folder <close> = pages.folder()
  local block, wanted = all[i], all[i + 1]
  lay_out(folder.path, all, i)
  write(folder.path .. "/block.sh", block.text)
  local command = 'cd \'%s\' && PATH="%s/%s:$PATH" NO_COLOR=1 timeout 20 sh -e block.sh'
  local output, code = pages.run(command:format(folder.path, here, build))
  assert(code == 0 and wanted and wanted.info == "text output", place .. ": " .. output)
  assert(pages.matches(output, wanted.text), ("%s: it printed:\n%s"):format(place, output))
end

local function parses(block, path, place)
  if not load("return " .. block.text, "=" .. place) then
    assert(load(("\n"):rep(block.line) .. block.text, "=" .. path))
  end
end

local function runs(all, i, place)
  local block, wanted = all[i], all[i + 1]
  local folder <close> = pages.folder()
  lay_out(folder.path, all, i)
  local command = ("cd '%s' && NO_COLOR=1 timeout 20 '%s/%s/skillrt' example.lua"):format(folder.path, here, build)
  if block.info == "lua plain" then
    write(folder.path .. "/plain.lua", SETUP .. block.text)
    command = ("cd '%s' && timeout 20 lua5.4 plain.lua"):format(folder.path)
  end
  local output, code = pages.run(command)
  local expected = tonumber(block.info:match "^lua run (%d+)$") or 0
  assert(code == expected, ("%s: ended with %s:\n%s"):format(place, code, output))
  if wanted and wanted.info == "text output" then
    assert(pages.matches(output, wanted.text), ("%s: it printed:\n%s"):format(place, output))
  end
end

describe("the pages", function()
  for _, path in ipairs(paths) do
    local all = pages.blocks(pages.read(path))
    for i, block in ipairs(all) do
      local place = ("%s:%d"):format(path, block.line)
      if block.info == "lua" or block.info:find "^lua file " then
        it("hold Lua that parses: " .. place, function()
          parses(block, path, place)
        end)
      elseif block.info:find "^lua run" or block.info == "lua plain" then
        it("hold a script that does what the page says: " .. place, function()
          runs(all, i, place)
        end)
      elseif block.info == "sh run" then
        it("hold lines of a shell that do what the page says: " .. place, function()
          shell_runs(all, i, place)
        end)
      elseif block.info ~= "" then
        it("mark their blocks with words that are known: " .. place, function()
          local known = { sh = true, c = true, json = true, javascript = true, python = true, text = true, ["text output"] = true }
          assert(known[block.info], ("%s: a block marked %q"):format(place, block.info))
        end)
      end
    end

    it("link to what is there: " .. path, function()
      for target, anchor in pages.read(path):gmatch "%]%(([^)#:]*)#?([^):]*)%)" do
        local name = target == "" and path or (path:match "^(.*/)" or "") .. target
        local file = io.open(name)
        assert(file, ("%s: leads to %s, which is not there"):format(path, target))
        file:close()
        assert(anchor == "" or headings(name)[anchor], ("%s: leads to %s#%s, a heading that is not there"):format(path,
          target, anchor))
      end
    end)
  end

  it("compare output line by line, with gaps where the page leaves them", function()
    assert.is_true(pages.matches("a\nb\nc\n", "a\n...\nc\n"))
    assert.is_true(pages.matches("a\n", "...\na\n...\n"))
    assert.is_true(pages.matches("in 8 ms (x)\n", "in ... ms (x)\n"))
    assert.is_false(pages.matches("a\nb\n", "a\n"))
    assert.is_false(pages.matches("a\nb\n", "...\nc\n"))
    assert.is_false(pages.matches("a.b\n", "a-b\n"))
  end)
end)

describe("docs/inside", function()
  it("has a line for every file of csrc, lua and strategies, each type of record and each field of the books", function()
    local stale, code = pages.run "lua5.4 tests/files.lua check"
    assert.equal(0, code)
    assert(stale == "", stale .. ": not as the tree is: run make architecture")
    local page = pages.read "docs/inside/files.md"
    for path in io.popen "find csrc lua strategies -type f":lines() do
      local name = path:match "[^/]+$"
      local found = page:find("| `" .. name .. "` |", 1, true)
        or page:find("| `" .. name:gsub("%.[ch]$", "") .. "` |", 1, true)
      assert(found, ("docs/inside/files.md: has no row for %s: run make architecture"):format(path))
    end
  end)
end)

describe("docs/write/skills.md", function()
  local page = pages.read "docs/write/skills.md"

  it("names every field of a skill, an action and a phase", function()
    for _, path in ipairs { "lua/skillrt/skill/init.lua", "lua/skillrt/skill/action.lua" } do
      local text = pages.read(path)
      for list in text:gmatch "\nlocal [A-Z]+ = (%b{})" do
        for name, more in list:gmatch "\n  ([%l_]+) = {([^\n]*)" do
          assert(more:find("ours = true", 1, true) or page:find("`" .. name .. "[`.]"), "docs/write/skills.md: says nothing of " .. name)
        end
      end
      for list in text:gmatch "\nlocal [A-Z]+ = with%((%b{})%)" do
        for name in list:gmatch "\n  ([%l_]+) = {" do
          assert(page:find("`" .. name .. "[` ]"), "docs/write/skills.md: says nothing of " .. name)
        end
      end
    end
  end)

  it("names every field that the runtime alone writes (F34, F35)", function()
    for name in pairs(require("skillrt.skill.state").RESERVED) do
      assert(page:find("`" .. name .. "`", 1, true), "docs/write/skills.md: says nothing of the reserved field " .. name)
    end
  end)
end)

describe("the top level", function()
  local FILES = " CHANGELOG.md Containerfile LICENSE Makefile README.md skillrt-scm-1.rockspec skillrt.pc.in .busted .ci "
    .. ".clang-format .dockerignore .gitignore .luacheckrc "

  it("has the files of the path of a step that docs/inside/architecture.md names", function()
    local count, text = pages.read("docs/inside/architecture.md"):match(
      "\n(%d+) files of `lua/skillrt/`:\n(.-)\n\n`tests")
    local found, folder = 0, nil
    for name in text:gmatch "`([%l_/]+%.lua)`" do
      folder = name:match "^(.*/)" or folder -- of several in a row the first has it
      io.open("lua/skillrt/" .. folder .. name:match "[^/]*$"):close()
      found = found + 1
    end
    assert.equal(tonumber(count), found)
  end)

  it("holds the folders of the map in docs/inside/architecture.md and known files, nothing left by accident", function()
    local folders, count = {}, 0
    for folder in pages.read("docs/inside/architecture.md"):gmatch "\n| `([%w]+)/[^`]*` |" do
      folders[folder] = true
    end
    for path in io.popen "git ls-files 2>/dev/null":lines() do -- without git nothing is left by a commit
      local name = path:match "^[^/]+"
      assert(folders[name] or FILES:find(" " .. name .. " ", 1, true), name .. ": what is it, and does it belong here?")
      count = count + 1
    end
    assert.is_true(count == 0 or count > 500)
  end)
end)
