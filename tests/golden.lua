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

-- What the runs of some seeds do and show, as digests; of several workers on a database, too.
local lines, wanted = { "# Written by `make golden`: what simulated runs do, and what people are shown of them." }, 1
for _, seeds in ipairs { "1 100", "1000000000000000001 20" } do
  wanted = wanted + seeds:match "%d+$"
  local told <close> = assert(io.popen(("VIEWS= build/%s/tests/simulate %s 2>&1"):format(
    os.getenv "SKILLRT_MODE" or "release", seeds)))
  for line in told:lines() do
    lines[#lines + 1] = line:match "^SEED=%d+ views=%x+$"
  end
end
assert(#lines == wanted, "the simulator fails: build/release/tests/simulate 1 100")
assert(files.write("tests/golden/sim.txt", table.concat(lines, "\n") .. "\n"))
