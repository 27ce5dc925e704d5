-- transcripts_spec.lua: what skillrt says of some runs is what tests/golden/transcripts.txt has, word by word.
local golden = require "tests.support.golden"
local transcripts = require "tests.support.transcripts"

describe("what is said of runs", function()
  it("is as in tests/golden/transcripts.txt", function()
    assert.is_nil(golden.difference(transcripts.GOLDEN, transcripts.golden()))
  end)
end)
