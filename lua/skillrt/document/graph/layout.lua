-- document/graph/layout.lua: positions the boxes of a graph and the lines between them: in rows from top to bottom,
-- each row ordered to avoid crossings, no row wider than a page.
--
-- Every line has a point between any two rows; the point with its label has the label's size, so that nothing covers
-- a label. Lines that start or end at the same box and have the same label share their points and the label, so that
-- a box with forty lines needs no more room than one with two. Knows sizes, nothing of what is drawn. Called by
-- svg.lua.

local M = {}

local PAGE <const> = 760  -- a row of boxes that is wider is continued below
local APART <const> = 22  -- boxes of a row
local CLOSE <const> = 8   -- points of lines
local BETWEEN <const> = 18 -- rows
local SWEEPS <const> = 12

---@class skillrt.graph.Box
---@field w number
---@field h number
---@field row integer?
---@field x number?  its middle
---@field y number?  its top
---@field is_way boolean?    a point of a line
---@field is_label boolean?  and the point of its label

---@class skillrt.graph.Line
---@field from skillrt.graph.Box
---@field to skillrt.graph.Box
---@field w number  of its label
---@field h number
---@field same string  lines with the same one may share points
---@field places skillrt.graph.Box[]?  from its upper end to its lower end, both included
---@field turned boolean?  its upper end is `to`

-- Reverses the lines that close a cycle, the deepest first.
local function turn_circles(boxes, lines)
  local out, state = {}, {}
  for _, line in ipairs(lines) do
    out[line.from] = out[line.from] or {}
    table.insert(out[line.from], line)
  end
  for _, first in ipairs(boxes) do
    local stack = { { box = first, at = 0 } }
    while not state[first] or #stack > 0 do
      local top = stack[#stack]
      state[top.box] = "open"
      top.at = top.at + 1
      local line = (out[top.box] or {})[top.at]
      if not line then
        state[top.box], stack[#stack] = "left", nil
      elseif state[line.to] == "open" then
        line.turned = true
      elseif not state[line.to] then
        stack[#stack + 1] = { box = line.to, at = 0 }
      end
    end
  end
end

local function ends_of(line)
  if line.turned then
    return line.to, line.from
  end
  return line.from, line.to
end

-- By box: the longest chain of lines that leads to it.
local function ranks_of(boxes, lines)
  local ranks, below, open, ready = {}, {}, {}, {}
  for _, line in ipairs(lines) do
    local upper, lower = ends_of(line)
    below[upper] = below[upper] or {}
    table.insert(below[upper], lower)
    open[lower] = (open[lower] or 0) + 1
  end
  for _, box in ipairs(boxes) do
    ranks[box] = 0
    ready[#ready + 1] = not open[box] and box or nil
  end
  for _, box in ipairs(ready) do -- grows
    for _, lower in ipairs(below[box] or {}) do
      ranks[lower] = math.max(ranks[lower], ranks[box] + 1)
      open[lower] = open[lower] - 1
      ready[#ready + 1] = open[lower] == 0 and lower or nil
    end
  end
  return ranks
end

-- Boxes by rows; even rows stay free for the lines.
local function rows_of(boxes, lines)
  local ranks, by_rank, most, rows = ranks_of(boxes, lines), {}, 0, {}
  for _, box in ipairs(boxes) do
    local rank = ranks[box]
    by_rank[rank] = by_rank[rank] or {}
    table.insert(by_rank[rank], box)
    most = math.max(most, rank)
  end
  for rank = 0, most do
    local width = math.huge
    for _, box in ipairs(by_rank[rank]) do
      if width + box.w > PAGE then
        if rows[1] then
          rows[#rows + 1] = {}
        end
        rows[#rows + 1], width = {}, 0
      end
      width = width + box.w + APART
      box.row = #rows
      table.insert(rows[#rows], box)
    end
  end
  return rows
end

-- By box: lines that start or end there with the same label, and their shared points.
local function bundles_of(lines)
  local bundles = {}
  for _, line in ipairs(lines) do
    for i, box in ipairs { ends_of(line) } do
      local key = ("%d %s %s"):format(i, line.turned, line.same)
      bundles[box] = bundles[box] or {}
      local bundle = bundles[box][key] or { count = 0, places = {}, below = i == 1 }
      bundles[box][key], bundle.count = bundle, bundle.count + 1
      line[i] = bundle
    end
  end
end

local function link(a, b)
  a.linked = a.linked or {}
  if not a.linked[b] then
    a.linked[b], a.below, b.above = true, a.below or {}, b.above or {}
    table.insert(a.below, b)
    table.insert(b.above, a)
  end
end

-- Gives each line its points, and each point its neighbours above and below.
local function thread(rows, lines)
  bundles_of(lines)
  for _, line in ipairs(lines) do
    local upper, lower = ends_of(line)
    local bundle = line[1].count >= line[2].count and line[1] or line[2]
    local places, labelled = { upper }, (upper.row + lower.row) // 2
    labelled = labelled % 2 == 0 and labelled or labelled - 1
    if bundle.count > 1 then
      labelled = bundle.below and upper.row + 1 or lower.row - 1
    end
    for row = upper.row + 1, lower.row - 1 do
      local is_label = row == labelled
      local place = bundle.places[row]
      if not place then
        place = { w = is_label and line.w or 6, h = is_label and line.h or 0, row = row, is_label = is_label,
          is_way = true }
        bundle.places[row] = place
        table.insert(rows[row], place)
      end
      places[#places + 1] = place
    end
    places[#places + 1] = lower
    line.places = places
    for i = 2, #places do
      link(places[i - 1], places[i])
    end
  end
end

local function mean(list, field)
  local sum = 0
  for _, one in ipairs(list) do
    sum = sum + one[field]
  end
  return sum / #list
end

-- Orders each row by the means of the row above, then of the row below.
local function order(rows)
  local function number(row)
    for i, place in ipairs(row) do
      place.at = i
    end
  end
  for _, row in ipairs(rows) do
    number(row)
  end
  for sweep = 1, SWEEPS do
    local down = sweep % 2 == 1
    local side = down and "above" or "below"
    for i = down and 1 or #rows, down and #rows or 1, down and 1 or -1 do
      local row = rows[i]
      for _, place in ipairs(row) do
        place.wish = place[side] and mean(place[side], "at") or place.at
      end
      table.sort(row, function(a, b)
        return a.wish < b.wish or a.wish == b.wish and a.at < b.at
      end)
      number(row)
    end
  end
end

-- Moves the points of a row as close to their preferred positions as order and sizes allow: those that would touch
-- share the mean of their preferences. Rows stay within the page, so that a long list does not drift to one side.
local function settle(row)
  local blocks, shift = {}, 0
  for i, place in ipairs(row) do
    local before = row[i - 1]
    local apart = before and before.is_way and place.is_way and CLOSE or APART
    shift = before and shift + (before.w + place.w) / 2 + apart or 0
    place.shift = shift
    blocks[#blocks + 1] = { first = i, last = i, x = place.wish - shift }
    while #blocks > 1 and blocks[#blocks].x < blocks[#blocks - 1].x do
      local b, a = table.remove(blocks), blocks[#blocks]
      local n, m = a.last - a.first + 1, b.last - b.first + 1
      a.x, a.last = (a.x * n + b.x * m) / (n + m), b.last
    end
  end
  for _, block in ipairs(blocks) do
    for i = block.first, block.last do
      row[i].x = block.x + row[i].shift
    end
  end
  local left, right = row[1].x - row[1].w / 2, row[#row].x + row[#row].w / 2
  local by = right - left > PAGE and -(left + right) / 2
    or math.max(-PAGE / 2 - left, 0) + math.min(PAGE / 2 - right, 0)
  for _, place in ipairs(row) do
    place.x = place.x + by
  end
end

local function spread(rows)
  for _, row in ipairs(rows) do
    for _, place in ipairs(row) do
      place.wish = 0
    end
    settle(row)
  end
  for sweep = 1, SWEEPS do
    local down = sweep % 2 == 1
    for i = down and 1 or #rows, down and #rows or 1, down and 1 or -1 do
      for _, place in ipairs(rows[i]) do
        local above, below = place.above, place.below
        place.wish = above and below and (mean(above, "x") + mean(below, "x")) / 2 or (above or below) and mean(
          above or below, "x") or place.x
      end
      settle(rows[i])
    end
  end
end

---Places the boxes and lines of a graph.
---@param boxes skillrt.graph.Box[]
---@param lines skillrt.graph.Line[]
---@return number width
---@return number height
function M.place(boxes, lines)
  turn_circles(boxes, lines)
  local rows = rows_of(boxes, lines)
  thread(rows, lines)
  order(rows)
  spread(rows)
  local left, right, y = math.huge, -math.huge, 0
  for _, row in ipairs(rows) do
    local height = 0
    for _, place in ipairs(row) do
      left, right = math.min(left, place.x - place.w / 2), math.max(right, place.x + place.w / 2)
      height, place.y = math.max(height, place.h), y
    end
    for _, place in ipairs(row) do
      place.h = place.is_way and height or place.h -- straight along the whole row, past its boxes
      place.y = y + (height - place.h) / 2
    end
    y = y + height + BETWEEN
  end
  for _, row in ipairs(rows) do
    for _, place in ipairs(row) do
      place.x = place.x - left
    end
  end
  return right - left, y - BETWEEN
end

return M
