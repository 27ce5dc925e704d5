-- transcripts_spec.lua: what skillrt says of some runs, and of what is wrong, is what tests/golden/transcripts_*.txt have,
-- word by word.
local golden = require "tests.support.golden"
local transcripts = require "tests.support.transcripts"

describe("what is said", function()
  for _, set in ipairs { "quick", "wrong" } do
    it(("is as in tests/golden/transcripts_%s.txt"):format(set), function()
      assert.is_nil(golden.difference(transcripts.path(set), transcripts.golden(set)))
    end)
  end
end)
