-- simulate_spec.lua: the simulator's promise: the same seed gives the same run, to the byte, in every process.
--
-- Two processes hash texts and lay out memory differently, so that an order that hangs on either shows.
local BUILD = os.getenv "SKILLRT_BUILD" or ("build/" .. (os.getenv "SKILLRT_MODE" or "release"))

-- The digest of all that happened in 20 seeds, as a process of its own tells it.
local function digest()
  local pipe <close> = assert(io.popen(("'%s/tests/simulate' 1 20 2>&1"):format(BUILD)))
  local text = pipe:read "a"
  return text:match "digest (%x+)" or text
end

describe("the simulator", function()
  it("gives the same 20 runs from the same seeds in two processes, to the byte", function()
    local first = digest()
    assert.truthy(first:match "^%x+$", first)
    assert.equal(first, digest())
  end)
end)
