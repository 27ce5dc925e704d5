-- transcripts_spec.lua: what skillrt says of some runs is what tests/golden/transcripts_quick.txt has, word by word.
local golden = require "tests.support.golden"
local transcripts = require "tests.support.transcripts"

describe("what is said of runs", function()
  it("is as in tests/golden/transcripts_quick.txt", function()
    assert.is_nil(golden.difference(transcripts.path "quick", transcripts.golden "quick"))
  end)
end)
