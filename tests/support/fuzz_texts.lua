-- fuzz_texts.lua: what the Lua fuzz drivers of texts share: time and seed, the committed corpus,
-- mutation, and the loop that keeps the good ones. Must not know what is tried.
-- Called by tests/fuzz/fuzz_{expr,front_matter,reply,template}.lua.
local M = {}

-- [SECONDS [SEED]] of the command line, or FUZZ_SECONDS.
local seconds = tonumber(arg[1] or os.getenv "FUZZ_SECONDS" or "") or 5
M.seed = tonumber(arg[2] or "") or os.time()
math.randomseed(M.seed)

function M.pick(list)
  return list[math.random(#list)]
end

---The texts of tests/fuzz/corpus/<name>.
function M.corpus(name)
  local texts = {}
  for path in io.popen(("ls tests/fuzz/corpus/%s/*"):format(name)):lines() do
    local file <close> = assert(io.open(path, "rb"))
    texts[#texts + 1] = file:read "a"
  end
  assert(#texts > 0, ("tests/fuzz/corpus/%s: no texts: run it in the root of the tree"):format(name))
  return texts
end

---Cuts, doubles, swaps or replaces a piece of a text, with one of `words` where something is added.
function M.mutate(text, words)
  local from = math.random(0, #text)
  local to = math.min(#text, from + math.random(0, 12))
  local head, piece, tail = text:sub(1, from), text:sub(from + 1, to), text:sub(to + 1)
  local kind = math.random(7)
  if kind == 1 then return head .. tail end
  if kind == 2 then return head .. piece .. piece .. tail end
  if kind == 3 then return head .. M.pick(words) .. tail end
  if kind == 4 then return head .. M.pick(words) .. piece .. tail end
  if kind == 5 then return tail .. head end
  if kind == 6 then return head .. M.pick(words):rep(math.random(2, 300)) .. tail end
  return head .. string.char(math.random(0, 255)) .. tail:sub(2)
end

---Prints what is wrong and ends the driver with 1.
function M.complain(text, ...)
  print(("seed %d: " .. text):format(M.seed, ...))
  os.exit(1)
end

---Tries texts until the time is over.
---@param corpus string[]  those to begin with
---@param kept { texts: integer, bytes: integer, bad: integer }  how many are kept at most, how long
---  each may be, and of how many bad ones one is kept
---@param new fun(corpus: string[]): string
---@param try fun(text: string): boolean  ends the driver where a rule is broken; true: a good text
---@return integer tried
---@return integer good
function M.loop(corpus, kept, new, try)
  local stop, tried, good = os.clock() + seconds, 0, 0
  while os.clock() < stop do
    local text = new(corpus)
    local is_good = try(text)
    tried, good = tried + 1, good + (is_good and 1 or 0)
    if (is_good or math.random(kept.bad) == 1) and #text < kept.bytes then
      corpus[#corpus < kept.texts and #corpus + 1 or math.random(#corpus)] = text
    end
  end
  return tried, good
end

return M
