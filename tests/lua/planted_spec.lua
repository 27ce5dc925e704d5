-- planted_spec.lua: each fault that tests/planted/sim plants finds its text in one source, or it would plant nothing.
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
end)
