-- golden.lua: `make golden`: writes all that skillrt says of the labelled folders and of some runs into tests/golden,
-- where specs compare it. Whoever changes a message reads there what else changes with it.
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("./build/%s/lib/?.so;"):format(os.getenv "SKILLRT_MODE" or "release") .. package.cpath
local corpus = require "tests.support.corpus"
local files = require "skillrt.base.files"
local transcripts = require "tests.support.transcripts"

local base = os.tmpname()
os.remove(base)
assert(files.write(corpus.GOLDEN, corpus.golden(base)))
os.execute("rm -rf '" .. base .. "'")
for _, set in ipairs { "quick", "full", "wrong", "others" } do
  assert(files.write(transcripts.path(set), transcripts.golden(set)))
end
