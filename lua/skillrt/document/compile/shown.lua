-- document/compile/shown.lua: shows a workflow.json to people before it is written: its difference from the present
-- one, each line with its source in the documents.
--
-- Pure. Called by document/compile/init.lua.
local json = require "skillrt.base.json"
local json_lines = require "skillrt.document.load.json_lines"

local M = {}

local function split(text)
  local out = {}
  for line in text:gmatch "([^\n]*)\n" do
    out[#out + 1] = line
  end
  return out
end

-- The part that people read: digests and statements follow from it.
local function without_origin(text)
  local workflow = text ~= "" and json.decode(text) or nil
  if not workflow then
    return ""
  end
  workflow.compiled = nil
  return json.encode(workflow, { indent = 2, sorted = true }) .. "\n"
end

-- The source of each line of a text: that of its key, or of the object it is in.
local function places_of(text, made)
  local by_key = {}
  for _, kind in ipairs { "phases", "rounds" } do
    for i, object in ipairs(made[kind]) do
      for key, place in pairs(made.at[object] or {}) do
        by_key[("%s[%d].%s"):format(kind, i, key)] = place
      end
    end
  end
  for _, kind in ipairs { "inputs", "actions" } do
    for name, object in pairs(made[kind]) do
      for key, place in pairs(made.at[object]) do
        by_key[("%s.%s.%s"):format(kind, name, key)] = place
      end
    end
  end
  local out, last = {}, {}
  for key, line in pairs(json_lines.of(text)) do
    local place = json_lines.nearest(by_key, key)
    if place and (not last[line] or #key > #last[line]) then
      out[line], last[line] = place, key
    end
  end
  return out
end

---The lines of a new document, each with its source.
---@param made skillrt.compile.Document
---@return { text: string, place: string? }[]
function M.lines(made)
  local text = json.encode(made.workflow, { indent = 2, sorted = true }) .. "\n"
  local places, out = places_of(text, made.made), {}
  for i, line in ipairs(split(text)) do
    out[i] = { text = line, place = places[i] }
  end
  return out
end

-- The longest common lines: "=", lines of one text alone: "-" and "+".
local function compared(a, b)
  local length = {}
  for i = #a + 1, 1, -1 do
    length[i] = {}
    for j = #b + 1, 1, -1 do
      length[i][j] = (i > #a or j > #b) and 0 or a[i] == b[j] and length[i + 1][j + 1] + 1
        or math.max(length[i + 1][j], length[i][j + 1])
    end
  end
  local out, i, j = {}, 1, 1
  while i <= #a or j <= #b do
    if i <= #a and j <= #b and a[i] == b[j] then
      out[#out + 1], i, j = { " ", a[i], j }, i + 1, j + 1
    elseif j > #b or i <= #a and length[i + 1][j] >= length[i][j + 1] then
      out[#out + 1], i = { "-", a[i] }, i + 1
    else
      out[#out + 1], j = { "+", b[j], j }, j + 1
    end
  end
  return out
end

local AROUND <const> = 2

---@param old string  the present workflow.json; "": none
---@param new string
---@param made skillrt.compile.Made
---@return string
function M.diff(old, new, made)
  local text = without_origin(new)
  local list, places, near = compared(split(without_origin(old)), split(text)), places_of(text, made), {}
  for i, one in ipairs(list) do
    for k = one[1] ~= " " and i - AROUND or i + 1, one[1] ~= " " and i + AROUND or i do
      near[k] = true
    end
  end
  local out, gap = {}, false
  for i, one in ipairs(list) do
    if near[i] then
      local place = one[3] and places[one[3]]
      out[#out + 1] = gap and "..." or nil
      out[#out + 1] = one[1] .. (place and ("%-70s %s"):format(one[2], place) or one[2])
    end
    gap = not near[i]
  end
  return table.concat(out, "\n")
end

return M
