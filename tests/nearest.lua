-- nearest.lua: which tests are likely to see a fault in a file: those that name its module, and those that often say
-- the words of its path that few others say. Used by all.lua, which adds such tests of the full set to the quick one
-- for the files that have changed, and by mutants/run.lua.

local M = {}

-- What tests that join the quick set may take together, of a processor: some six seconds on two.
local SECONDS <const> = 12

local function text_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function words_of(path)
  local words = {}
  for word in path:gsub("%.%a+$", ""):gsub("/test_", "/"):gmatch "%a+" do
    words[word] = #word > 2 and word ~= "spec" and word ~= "skillrt" or nil
  end
  return words
end

-- How rare each of these words is in the sources of some tests: 0 in all of them, more the fewer have it.
local function rarities(words, sources)
  local found = {}
  for word in pairs(words) do
    local having = 0
    for _, source in ipairs(sources) do
      having = having + (source.text:find(word, 1, true) and 1 or 0)
    end
    found[word] = having > 0 and math.log(#sources / having) or 0
  end
  return found
end

---Some tests, the nearest to a file first.
---@param path string of the file: csrc/store/claim.c
---@param tests string[] paths of specs and of built C tests
---@return string[]
function M.order(path, tests)
  local scores, list, sources = {}, {}, {}
  local name = path:match "^lua/(.*)%.lua$"
  name = name and name:gsub("/init$", ""):gsub("/", ".") or path:gsub("^csrc/", ""):gsub("%.[ch]$", ".h")
  for i, test in ipairs(tests) do
    local source = test:gsub("^build/.*/(test_[^/]*)$", "tests/c/%1.c")
    sources[i] = { path = source, text = text_of(source) }
  end
  local words = words_of(path)
  local rarity = rarities(words, sources)
  for i, test in ipairs(tests) do
    local source, in_path = sources[i], words_of(sources[i].path)
    scores[test], list[i] = source.text:find(name, 1, true) and 3 or 0, test
    for word in pairs(words) do
      local _, times = source.text:gsub(word, "")
      scores[test] = scores[test] + (in_path[word] and 2 or 0) + rarity[word] * math.log(1 + times)
    end
  end
  table.sort(list, function(a, b)
    return scores[a] > scores[b] or scores[a] == scores[b] and a < b
  end)
  return list
end

---The tests of the full set that join the quick one when these files have changed: each file's nearest in turn, as many
---as the time allows.
---@param changed string[] paths
---@param seconds table<string, number> what each test of the full set takes, of a processor
---@return string[]
function M.joining(changed, seconds)
  local tests, orders, joined, list, left = {}, {}, {}, {}, SECONDS
  for test in pairs(seconds) do
    tests[#tests + 1] = test
  end
  for i, path in ipairs(changed) do
    orders[i] = M.order(path, tests)
  end
  for rank = 1, #tests do
    for _, order in ipairs(orders) do
      local test = order[rank]
      if not joined[test] and seconds[test] <= left then
        joined[test], left = true, left - seconds[test]
        list[#list + 1] = test
      end
    end
  end
  return list
end

---The files of the program that differ from the last commit; none where there is no repository.
---@return string[]
function M.changed()
  local list = {}
  local pipe <close> = assert(io.popen "git status --porcelain -uall -- csrc lua strategies templates 2>/dev/null")
  for line in pipe:lines() do
    list[#list + 1] = line:match "^.. .* %-> (.*)$" or line:match "^.. (.*)$"
  end
  return list
end

return M
