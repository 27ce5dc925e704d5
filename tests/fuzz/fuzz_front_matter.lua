-- fuzz_front_matter.lua: mutates documents of skills: reading them never raises, never takes long,
-- and every finding about them has a place.
--
-- Run from the tree after make: lua5.4 tests/fuzz/fuzz_front_matter.lua [SECONDS [SEED]] (or FUZZ_SECONDS).
-- luacheck: no max line length
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("%s/lib/?.so;"):format(os.getenv "SKILLRT_BUILD" or "build/release") .. package.cpath
local fuzz = require "tests.support.fuzz_texts"
local probe = require "tests.support.document_probe"

local SLOW <const> = 2 -- CPU seconds

local words = {
  "---\n", "name: a\n", "description: ", "&a ", "*a", "!!str ", "<<: *a\n", "? ", "- ", ": ", "[", "]", "{", "}", '"', "'", "|\n", ">\n",
  "#", "\t", "\0", "\255", "\u{FEFF}", "\r\n", "%YAML 1.1\n", "...\n", "~", "no", "0x", "1e999", "\\", "`", "```", "```js\n", "```json\n",
  "```mermaid\ngraph TD\n", "~~~\n", "| a | b |\n|---|---|\n", "| x |\n", "\\|", "- [ ] ", "1. ", "## Preconditions\n", "## State Updates\n",
  "## Next Actions\n", "## Termination Conditions\n", "## Initial State\n", "stateUpdates: {", "updateState({", "ACTION_CATALOG = [{",
  "id: 'a', ", "-->", "A[b]", "::: ", "<!--", "-->", "===\n", "[a](../b)", "interface S {\n", "x?: string;\n", "/*", "//", "'action-x'",
}

local function check(text)
  local started = os.clock()
  local ok, result = xpcall(probe, debug.traceback, text)
  local spent = os.clock() - started
  if ok and spent <= SLOW then return result end
  local name = os.tmpname()
  local file = assert(io.open(name, "wb"))
  file:write(text)
  file:close()
  fuzz.complain("%s\n%d bytes of text are in %s", ok and ("took %.3f s"):format(spent) or result, #text, name)
end

local corpus = fuzz.corpus "front_matter"
for _, text in ipairs(corpus) do check(text) end
local tried, fronts = fuzz.loop(corpus, { texts = 500, bytes = 6000, bad = 20 }, function(known)
  local text = fuzz.mutate(fuzz.pick(known), words)
  for _ = 1, math.random(0, 3) do text = fuzz.mutate(text, words) end
  return text
end, check)
print(("%d documents, %d of them with front matter, seed %d"):format(tried, fronts, fuzz.seed))
