-- document/write/diff.lua: what differs between two texts, line by line, as a unified diff.
--
-- Myers' shortest edit, within bounds: what differs more than that is shown as one block taken
-- out and one put in. Pure; lines are not escaped. Called by report/tree.lua.

local M = {}

-- Edits looked for before giving up; time and memory grow with the square of it.
local MAX_EDITS = 400
local MAX_LINES = 200000

---@class skillrt.writer.Diff
---@field lines string[]     "--- a", "+++ b", "@@ ... @@", " same", "-gone", "+new"
---@field added integer
---@field removed integer

local function split(text)
  local lines = {}
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then
      lines[#lines + 1] = line
    end
  end
  return lines
end

local function same_ends(a, b)
  local first, last = 0, 0
  local shorter = math.min(#a, #b)
  while first < shorter and a[first + 1] == b[first + 1] do
    first = first + 1
  end
  while last < shorter - first and a[#a - last] == b[#b - last] do
    last = last + 1
  end
  return first, last
end

-- The furthest line of `a` reached on each diagonal, after 0, 1, 2 ... edits; nil: too many.
local function search(a, b, from, a_end, b_end)
  local reached, trace = { [1] = from }, {}
  for edits = 0, MAX_EDITS do
    trace[edits] = table.move(reached, -edits - 1, edits + 1, -edits - 1, {})
    for k = -edits, edits, 2 do
      local down = k == -edits or (k ~= edits and reached[k - 1] < reached[k + 1])
      local x = down and reached[k + 1] or reached[k - 1] + 1
      local y = x - k
      while x < a_end and y < b_end and a[x + 1] == b[y + 1] do
        x, y = x + 1, y + 1
      end
      reached[k] = x
      if x >= a_end and y >= b_end then
        return trace, edits
      end
    end
  end
  return nil
end

-- Walks the search back: marks the lines of a that go and those of b that come.
local function mark(trace, edits, a_end, b_end, gone, come)
  local x, y = a_end, b_end
  for step = edits, 1, -1 do
    local reached, k = trace[step], x - y
    local down = k == -step or (k ~= step and reached[k - 1] < reached[k + 1])
    local before = down and k + 1 or k - 1
    local bx = reached[before]
    local by = bx - before
    if down then
      come[by + 1] = true
    else
      gone[bx + 1] = true
    end
    x, y = bx, by
  end
end

local function mark_all(list, from, to)
  for i = from + 1, to do
    list[i] = true
  end
end

-- Which lines of a go, which of b come.
local function compare(a, b)
  local gone, come = {}, {}
  local first, last = same_ends(a, b)
  local a_end, b_end = #a - last, #b - last
  local trace, edits
  if #a + #b <= MAX_LINES then
    trace, edits = search(a, b, first, a_end, b_end)
  end
  if trace then
    mark(trace, edits, a_end, b_end, gone, come)
  else
    mark_all(gone, first, a_end)
    mark_all(come, first, b_end)
  end
  return gone, come
end

-- All lines in order: { mark, line, number in a, number in b }.
local function script(a, b, gone, come)
  local out, i, j = {}, 1, 1
  while i <= #a or j <= #b do
    if gone[i] then
      out[#out + 1] = { "-", a[i], i, j }
      i = i + 1
    elseif come[j] then
      out[#out + 1] = { "+", b[j], i, j }
      j = j + 1
    else
      out[#out + 1] = { " ", a[i], i, j }
      i, j = i + 1, j + 1
    end
  end
  return out
end

-- The ranges of the script that are shown: changes with the lines around them.
local function hunks(all, context)
  local list = {}
  for at, entry in ipairs(all) do
    if entry[1] ~= " " then
      local last = list[#list]
      if last and at - context <= last.to + 1 then
        last.to = math.min(#all, at + context)
      else
        list[#list + 1] = { from = math.max(1, at - context), to = math.min(#all, at + context) }
      end
    end
  end
  return list
end

local function range(start, count)
  if count == 0 then
    start = start - 1
  end
  return count == 1 and tostring(start) or ("%d,%d"):format(start, count)
end

local function add_hunk(lines, all, hunk)
  local head = #lines + 1
  local in_a, in_b = 0, 0
  lines[head] = ""
  for at = hunk.from, hunk.to do
    local sign, line = all[at][1], all[at][2]
    in_a = in_a + (sign ~= "+" and 1 or 0)
    in_b = in_b + (sign ~= "-" and 1 or 0)
    local text = line:gsub("\n$", "")
    lines[#lines + 1] = sign .. text
    if text == line then
      lines[#lines + 1] = "\\ No newline at end of file"
    end
  end
  lines[head] = ("@@ -%s +%s @@"):format(range(all[hunk.from][3], in_a), range(all[hunk.from][4], in_b))
end

---@param old string
---@param new string
---@param name string
---@param context integer?  lines around each change; default 3
---@return skillrt.writer.Diff
function M.unified(old, new, name, context)
  local a, b = split(old), split(new)
  local gone, come = compare(a, b)
  local diff = { lines = {}, added = 0, removed = 0 }
  local all = script(a, b, gone, come)
  for _, entry in ipairs(all) do
    diff.added = diff.added + (entry[1] == "+" and 1 or 0)
    diff.removed = diff.removed + (entry[1] == "-" and 1 or 0)
  end
  if diff.added + diff.removed > 0 then
    diff.lines = { "--- " .. name .. " (as it is)", "+++ " .. name .. " (as generated)" }
  end
  for _, hunk in ipairs(hunks(all, context or 3)) do
    add_hunk(diff.lines, all, hunk)
  end
  return diff
end

return M
