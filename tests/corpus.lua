-- corpus.lua: `make corpus`: checks the labelled folders of tests/support/corpus and writes precision
-- and recall into docs/reference/checks.md. With the argument `print` it only prints what is wrong.
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("./build/%s/lib/?.so;"):format(os.getenv "SKILLRT_MODE" or "release") .. package.cpath
local corpus = require "tests.support.corpus"
local files = require "skillrt.base.files"

local PAGE = "docs/reference/checks.md"

local base = os.tmpname()
os.remove(base)
local rows, wrong = corpus.run(base)
os.execute("rm -rf '" .. base .. "'")
for _, line in ipairs(wrong) do
  print(line)
end
print(corpus.table_of(rows))
if arg[1] ~= "print" then
  assert(files.write(PAGE, corpus.placed(assert(files.read(PAGE)), rows)))
end
