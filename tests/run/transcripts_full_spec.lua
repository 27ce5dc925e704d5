-- transcripts_full_spec.lua: what skillrt says of runs that take longer is what tests/golden/transcripts_full.txt has, word
-- by word.
local golden = require "tests.support.golden"
local transcripts = require "tests.support.transcripts"

describe("what is said of further runs", function()
  it("is as in tests/golden/transcripts_full.txt", function()
    assert.is_nil(golden.difference(transcripts.path "full", transcripts.golden "full"))
  end)
end)
