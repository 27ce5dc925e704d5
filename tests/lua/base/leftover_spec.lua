-- leftover_spec.lua: core.end_leftovers: programs that a dead process left are found and ended.
local core = require "skillrt.core"

local function text_of(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function started(command)
  local pipe <close> = io.popen("setsid " .. command .. " >/dev/null 2>&1 & echo $!")
  local pid = pipe:read "n"
  os.execute "sleep 0.1"
  local words = {}
  for word in text_of("/proc/" .. pid .. "/stat"):match(".*%)(.*)"):gmatch "%S+" do words[#words + 1] = word end
  local boot = text_of "/proc/sys/kernel/random/boot_id"
  return pid, ("%s.%s.%s"):format(words[20], words[4], boot:sub(1, 13))
end

describe("core.end_leftovers", function()
  it("ends what a dead process left running, once", function()
    local pid, start = started "sleep 30"
    local other, since = started "sleep 31"
    assert.same({ true, true }, core.end_leftovers { { pid = pid, start = start }, { pid = other, start = since } })
    assert.same({ false, false }, core.end_leftovers { { pid = pid, start = start }, { pid = other, start = since } })
    assert.same({}, core.end_leftovers {})
  end)
  it("refuses what tells of no start", function()
    local ended, message, code = core.end_leftovers { { pid = 77, start = "" } }
    assert.is_nil(ended)
    assert.equal("program 77: no start of a program: ", message)
    assert.equal("invalid", code)
    assert.has_error(function() core.end_leftovers { { pid = "x" } } end)
  end)
end)
