-- json_document.lua: what runs keep, as one value: findings with prose and positions, results of
-- steps, a few measures. The same for everybody: seeded. Called by bench/rows/json.lua.

---@param bytes integer  about so large as compact JSON
---@param cjson table     lua-cjson: its null, and how it counts bytes
return function(bytes, cjson)
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
