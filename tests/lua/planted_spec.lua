-- planted_spec.lua: each fault that tests/planted plants finds its text in the sources, or it would plant nothing.
local pages = require "tests.support.pages"

local function files(command)
  local list = {}
  local pipe <close> = assert(io.popen(command))
  for path in pipe:lines() do
    list[#list + 1] = path
  end
  return list
end

describe("a planted fault of the simulator", function()
  local sources = {}
  setup(function()
    for _, path in ipairs(files "find csrc lua -name '*.lua' -o -name '*.c'") do
      sources[#sources + 1] = pages.read(path)
    end
  end)

  it("finds its text in one source", function()
    local edits = files "ls tests/planted/sim/*.edit"
    assert.is_true(#edits > 9)
    for _, path in ipairs(edits) do
      local from, to = pages.read(path):match "%-%-%- from\n(.-)\n%-%-%- to\n(.-)\n$"
      local count = 0
      for _, source in ipairs(sources) do
        count = count + (source:find(from, 1, true) and 1 or 0)
      end
      assert.equal(1, count, path)
      assert.not_equal(from, to, path)
    end
  end)

  it("as a patch finds its lines in its file", function()
    for _, path in ipairs(files "ls tests/planted/*.patch") do
      local before, name, hunks = {}, nil, 0
      for line in (pages.read(path) .. "@@"):gmatch "[^\n]+" do
        local mark = line:sub(1, 1)
        if mark == "@" then
          hunks = hunks + (before[1] and 1 or 0)
          local text = table.concat(before, "\n")
          assert.truthy(text == "" or pages.read(name):find(text, 1, true), path)
          before = {}
        elseif line:find "^%-%-%- " then
          name = line:match "^%-%-%- a/(%S+)"
        elseif name and (mark == " " or mark == "-") then
          before[#before + 1] = line:sub(2)
        end
      end
      assert.is_true(hunks > 0, path)
    end
  end)
end)
