-- submission_spec.lua: the files of a submitted run, unpacked where a worker performs it.
local submission = require "skillrt.document.submission"

describe("a submitted run", function()
  it("says why its files cannot be unpacked", function()
    local first = { submitted = { script = "s.lua", files = { ["s.lua"] = ("0"):rep(64) }, runs = {} } }
    local unpacked, message = submission.unpack("/dev/null/run", first, function() return "return {}" end)
    assert.is_nil(unpacked)
    assert.matches("/dev/null/run: Not a directory", message)
  end)
end)
