-- fuzz_front_matter.lua: mutates documents of skills: reading them never raises, never takes long,
-- and every finding about them has a place.
--
-- Run from the tree after make: lua5.4 tests/fuzz/fuzz_front_matter.lua [SECONDS [SEED]] (or FUZZ_SECONDS).
-- luacheck: no max line length
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("%s/lib/?.so;"):format(os.getenv "SKILLRT_BUILD" or "build/release") .. package.cpath
local probe = require "tests.support.document_probe"

local seconds = tonumber(arg[1] or os.getenv "FUZZ_SECONDS" or "") or 5
local seed = tonumber(arg[2] or "") or os.time()
math.randomseed(seed)

local SLOW <const>, MAX_TEXTS <const> = 2, 500

local words = {
  "---\n", "name: a\n", "description: ", "&a ", "*a", "!!str ", "<<: *a\n", "? ", "- ", ": ", "[", "]", "{", "}", '"', "'", "|\n", ">\n",
  "#", "\t", "\0", "\255", "\u{FEFF}", "\r\n", "%YAML 1.1\n", "...\n", "~", "no", "0x", "1e999", "\\", "`", "```", "```js\n", "```json\n",
  "```mermaid\ngraph TD\n", "~~~\n", "| a | b |\n|---|---|\n", "| x |\n", "\\|", "- [ ] ", "1. ", "## Preconditions\n", "## State Updates\n",
  "## Next Actions\n", "## Termination Conditions\n", "## Initial State\n", "stateUpdates: {", "updateState({", "ACTION_CATALOG = [{",
  "id: 'a', ", "-->", "A[b]", "::: ", "<!--", "-->", "===\n", "[a](../b)", "interface S {\n", "x?: string;\n", "/*", "//", "'action-x'",
}

local function pick(list)
  return list[math.random(#list)]
end

local function read_corpus()
  local texts = {}
  for path in io.popen("ls tests/fuzz/corpus/front_matter/*"):lines() do
    local file <close> = assert(io.open(path, "rb"))
    texts[#texts + 1] = file:read "a"
  end
  assert(#texts > 0, "tests/fuzz/corpus/front_matter: no texts: run it in the root of the tree")
  return texts
end

local function mutate(text)
  local from = math.random(0, #text)
  local to = math.min(#text, from + math.random(0, 12))
  local head, piece, tail = text:sub(1, from), text:sub(from + 1, to), text:sub(to + 1)
  local kind = math.random(7)
  if kind == 1 then return head .. tail end
  if kind == 2 then return head .. piece .. piece .. tail end
  if kind == 3 then return head .. pick(words) .. tail end
  if kind == 4 then return head .. pick(words) .. piece .. tail end
  if kind == 5 then return tail .. head end
  if kind == 6 then return head .. pick(words):rep(math.random(2, 300)) .. tail end
  return head .. string.char(math.random(0, 255)) .. tail:sub(2)
end

local function check(text)
  local started = os.clock()
  local ok, result = xpcall(probe, debug.traceback, text)
  local spent = os.clock() - started
  if ok and spent <= SLOW then return result end
  local name = os.tmpname()
  local file = assert(io.open(name, "wb"))
  file:write(text)
  file:close()
  print(("seed %d: %s\n%d bytes of text are in %s"):format(seed, ok and ("took %.3f s"):format(spent) or result, #text, name))
  os.exit(1)
end

local corpus, runs, fronts = read_corpus(), 0, 0
for _, text in ipairs(corpus) do check(text) end
local stop = os.clock() + seconds
while os.clock() < stop do
  local text = mutate(pick(corpus))
  for _ = 1, math.random(0, 3) do text = mutate(text) end
  local has_front = check(text)
  runs = runs + 1
  if has_front then fronts = fronts + 1 end
  if math.random(has_front and 3 or 20) == 1 and #text < 6000 then
    corpus[#corpus < MAX_TEXTS and #corpus + 1 or math.random(#corpus)] = text
  end
end
print(("%d documents, %d of them with front matter, seed %d"):format(runs, fronts, seed))
