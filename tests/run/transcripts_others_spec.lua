-- transcripts_others_spec.lua: what skillrt says of runs that talk with others is what tests/golden/transcripts_others.txt
-- has, word by word.
local golden = require "tests.support.golden"
local transcripts = require "tests.support.transcripts"

describe("what is said of runs that talk with others", function()
  it("is as in tests/golden/transcripts_others.txt", function()
    assert.is_nil(golden.difference(transcripts.path "others", transcripts.golden "others"))
  end)
end)
