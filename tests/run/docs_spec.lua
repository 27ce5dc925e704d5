-- docs_spec.lua: what README.md and docs/*.md show is true: every Lua block parses, every block
-- marked `run` runs with the program in a folder of its own, and prints what the page says.
--
-- ```lua           has to parse (a statement or an expression, so that extracts may be short)
-- ```lua run       is run by the program; has to end with exit code 0
-- ```text output   what the block before prints; a line "..." stands for any number of lines
-- Links between the pages have to lead somewhere.

local build = os.getenv "SKILLRT_BUILD" or "build/release"
local here = io.popen("pwd"):read "l"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local pages = {}
for path in io.popen("ls README.md docs/*.md 2>/dev/null | grep -v docs/requirements.md"):lines() do
  pages[#pages + 1] = path
end

-- The fenced blocks of a page: { info, text, line }.
local function blocks(page)
  local found, block, number = {}, nil, 0
  for line in (page .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    local info = line:match "^```(.*)$"
    if info and block then
      found[#found + 1] = block
      block = nil
    elseif info then
      block = { info = info, text = "", line = number }
    elseif block then
      block.text = block.text .. line .. "\n"
    end
  end
  return found
end

-- Runs a script with the program in a folder of its own; its output and whether it went well.
local function run(text)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir '%s'"):format(folder)))
  local file = assert(io.open(folder .. "/example.lua", "w"))
  file:write(text)
  file:close()
  local pipe = assert(io.popen(("cd '%s' && timeout 20 '%s/%s/skillrt' example.lua 2>&1"):format(folder, here, build)))
  local output = pipe:read "a"
  local ok = pipe:close()
  os.execute(("rm -rf '%s'"):format(folder))
  return output, ok
end

-- Whether the lines are those wanted, "..." standing for any number of them.
local function matches(output, wanted)
  local lines, want = {}, {}
  for line in output:gmatch "[^\n]*" do
    lines[#lines + 1] = line
  end
  for line in wanted:gmatch "[^\n]+" do
    want[#want + 1] = line
  end
  local function from(i, k)
    if k > #want then
      return i > #lines or table.concat(lines, "", i) == ""
    elseif want[k] == "..." then
      for next_line = i, #lines + 1 do
        if from(next_line, k + 1) then
          return true
        end
      end
      return false
    end
    return lines[i] == want[k] and from(i + 1, k + 1)
  end
  return from(1, 1)
end

describe("the pages", function()
  for _, path in ipairs(pages) do
    local all = blocks(read(path))
    for i, block in ipairs(all) do
      local place = ("%s:%d"):format(path, block.line)
      if block.info == "lua" then
        it("hold Lua that parses: " .. place, function()
          if not load("return " .. block.text, "=" .. place) then
            assert(load(("\n"):rep(block.line) .. block.text, "=" .. path))
          end
        end)
      elseif block.info == "lua run" then
        it("hold a script that does what the page says: " .. place, function()
          if not (io.open(build .. "/skillrt") and io.open "lua/skillrt/cli.lua") then
            return pending "the program is not built"
          end
          local output, ok = run(block.text)
          assert(ok, ("%s: the script failed:\n%s"):format(place, output))
          local wanted = all[i + 1]
          if wanted and wanted.info == "text output" then
            assert(matches(output, wanted.text), ("%s: it printed:\n%s"):format(place, output))
          end
        end)
      end
    end

    it("link to what is there: " .. path, function()
      for target in read(path):gmatch "%]%(([^)#:]+)[^):]*%)" do
        local file = io.open((path:match "^(.*/)" or "") .. target)
        assert(file, ("%s: leads to %s, which is not there"):format(path, target))
        file:close()
      end
    end)
  end

  it("compare output line by line, with gaps where the page leaves them", function()
    assert.is_true(matches("a\nb\nc\n", "a\n...\nc\n"))
    assert.is_true(matches("a\n", "...\na\n...\n"))
    assert.is_false(matches("a\nb\n", "a\n"))
    assert.is_false(matches("a\nb\n", "...\nc\n"))
  end)
end)
