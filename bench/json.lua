-- json.lua: the core's JSON codec beside lua-cjson, in one process, on the same 1 MB document.
--
-- Run from the tree: build/release/skillrt bench/json.lua (or lua5.4 bench/json.lua after make).
-- Prints medians of paired runs; a ratio above 1 means faster than lua-cjson.
local mode = os.getenv "SKILLRT_MODE" or "release"
package.cpath = ("./build/%s/lib/?.so;"):format(mode) .. package.cpath
local json = require("skillrt.core").json
local cjson = require "cjson"

local ROUNDS = 21

-- What runs keep: findings with prose and positions, results of steps, a few measures.
local function document(bytes)
  math.randomseed(42)
  local words = {
    "error", "handling", "the", "module", "считает", "returns", "前端", 'a "quoted" word', "path\\to", "x",
  }
  local function prose(count)
    local out = {}
    for i = 1, count do
      out[i] = words[math.random(#words)]
    end
    return table.concat(out, " ")
  end
  local findings, size = {}, 0
  while size < bytes do
    local item = {
      id = "finding-" .. #findings + 1,
      severity = ({ "critical", "major", "minor" })[math.random(3)],
      title = prose(6),
      description = prose(40) .. "\n" .. prose(20),
      location = { file = ("src/module_%d.ts"):format(math.random(99)), line = math.random(5000), column = 7 },
      tags = { "style", "naming", prose(1) },
      score = math.random(),
      weight = math.random(1000) / 8,
      confirmed = math.random() < 0.5,
      parent = cjson.null,
      samples = { math.random(100), math.random(100000), math.random() * 1e6, -math.random(9), 0 },
      empty = {},
    }
    findings[#findings + 1] = item
    size = size + #cjson.encode(item)
  end
  return { schema_version = 3, status = "executing", findings = findings, totals = { count = #findings, bytes = size } }
end

local function seconds(run)
  collectgarbage()
  collectgarbage()
  local start = os.clock()
  run()
  return os.clock() - start
end

local function median(list)
  table.sort(list)
  return list[#list // 2 + 1]
end

-- Each round times both, in turn first, so that a slow moment of the machine hits both.
local function compare(name, bytes, ours, theirs)
  local mine, others, ratios = {}, {}, {}
  for round = 1, ROUNDS do
    local a, b
    if round % 2 == 0 then
      a, b = seconds(ours), seconds(theirs)
    else
      b, a = seconds(theirs), seconds(ours)
    end
    mine[round], others[round], ratios[round] = a, b, b / a
  end
  local mega = bytes / 1e6
  print(("%-18s %7.1f MB/s   lua-cjson %7.1f MB/s   ratio %.2f"):format(
    name, mega / median(mine), mega / median(others), median(ratios)))
end

local value = document(1000000)
local text = assert(json.encode(value))
local decoded = json.decode(text)
assert(json.encode(decoded) == text, "the document does not round-trip")
print(("one document of %.2f MB, medians of %d paired runs"):format(#text / 1e6, ROUNDS))
compare("decode", #text, function() json.decode(text) end, function() cjson.decode(text) end)
compare("encode sorted", #text, function() json.encode(decoded) end, function() cjson.encode(decoded) end)
local unsorted = { sorted = false }
compare("encode unsorted", #text, function() json.encode(decoded, unsorted) end, function() cjson.encode(decoded) end)
local pretty = { indent = 2 }
compare("encode indented", #text, function() json.encode(decoded, pretty) end, function() cjson.encode(decoded) end)
