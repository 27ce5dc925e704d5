-- document/load/machine/drawing.lua: edges of a diagram drawn in characters: boxes joined by lines and arrow heads, or
-- names with arrows between them.
--
-- Follows the lines from each box; where a line has arrow heads at its ends it leads there. Knows no machine. Called
-- by parts.lua.
local M = {}

local MAX_CELLS = 20000
local RIGHT, LEFT, UP, DOWN = { 0, 1 }, { 0, -1 }, { -1, 0 }, { 1, 0 }

-- Which ways each character is open.
local OPEN = {
  ["─"] = { LEFT, RIGHT }, ["│"] = { UP, DOWN }, ["┌"] = { RIGHT, DOWN }, ["┐"] = { LEFT, DOWN },
  ["└"] = { RIGHT, UP }, ["┘"] = { LEFT, UP }, ["├"] = { UP, DOWN, RIGHT }, ["┤"] = { UP, DOWN, LEFT },
  ["┬"] = { LEFT, RIGHT, DOWN }, ["┴"] = { LEFT, RIGHT, UP }, ["┼"] = { LEFT, RIGHT, UP, DOWN },
}
local HEADS = { ["▼"] = DOWN, ["▲"] = UP, ["►"] = RIGHT, ["◄"] = LEFT, ["▶"] = RIGHT, ["◀"] = LEFT, ["↓"] = DOWN,
  ["↑"] = UP, ["→"] = RIGHT, ["←"] = LEFT }

local function grid_of(text)
  local grid, cells = {}, 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    local row = {}
    for _, code in utf8.codes(utf8.len(line) and line or "") do
      row[#row + 1] = utf8.char(code)
    end
    cells = cells + #row
    grid[#grid + 1] = row
  end
  return cells <= MAX_CELLS and grid or {}
end

local function at(grid, y, x)
  return grid[y] and grid[y][x] or " "
end

local function is_border(char)
  return char == "─" or char == "┬" or char == "┴" or char == "┼"
end

-- What stands between the borders of a row; a name too long for its box pushes the border out.
local function inside_of(row, left, right)
  local last = right - 1
  while row[last + 1] and row[last + 1]:find "^[%w_.-]$" do
    last = last + 1
  end
  return table.concat(row, "", left + 1, math.min(last, #row))
end

-- Boxes: a corner, an upper border to another corner, lower corners below both.
local function boxes_of(grid)
  local boxes = {}
  for y, row in ipairs(grid) do
    for x, char in ipairs(row) do
      if char == "┌" then
        local right = x + 1
        while is_border(at(grid, y, right)) do
          right = right + 1
        end
        local bottom = y + 1
        while at(grid, bottom, x) == "│" or at(grid, bottom, x) == "├" or at(grid, bottom, x) == "┤" do
          bottom = bottom + 1
        end
        if at(grid, y, right) == "┐" and at(grid, bottom, x) == "└" and at(grid, bottom, right) == "┘" then
          local words = {}
          for k = y + 1, bottom - 1 do
            words[#words + 1] = inside_of(grid[k], x, right)
          end
          local name = table.concat(words, " "):match "([%w_.-]+)"
          if name then
            boxes[#boxes + 1] = { name = name, top = y, bottom = bottom, left = x, right = right}
          end
        end
      end
    end
  end
  return boxes
end

local function box_at(boxes, y, x)
  for _, box in ipairs(boxes) do
    if y >= box.top and y <= box.bottom and x >= box.left and x <= box.right then
      return box
    end
  end
end

local OPPOSITE = { [RIGHT] = LEFT, [LEFT] = RIGHT, [UP] = DOWN, [DOWN] = UP }

local function opens(char, way)
  for _, one in ipairs(OPEN[char] or {}) do
    if one == way then
      return true
    end
  end
  return false
end

-- Lines drawn by hand are off by a column now and then.
local function aligned(grid, boxes, y, x, way)
  for _, shift in ipairs(way[1] ~= 0 and { 0, -1, 1 } or { 0 }) do
    local char = at(grid, y, x + shift)
    if HEADS[char] or box_at(boxes, y, x + shift) or opens(char, OPPOSITE[way]) then
      return x + shift
    end
  end
  return x
end


-- Follows a line that left a box this way; calls reach(box) for each head that points at one.
local function follow(grid, boxes, from, y, x, way, reach)
  local todo, seen = { { y, x, way } }, {}
  while #todo > 0 do
    local one = table.remove(todo)
    one[2] = aligned(grid, boxes, one[1], one[2], one[3])
    local key = one[1] * 100000 + one[2]
    local char = at(grid, one[1], one[2])
    local box = box_at(boxes, one[1], one[2])
    if HEADS[char] then
      local way_on = HEADS[char]
      local target = box_at(boxes, one[1] + way_on[1], one[2] + way_on[2])
      if target and target ~= from then
        reach(target)
      end
    elseif not seen[key] and not box and opens(char, OPPOSITE[one[3]]) then
      seen[key] = true
      for _, way_on in ipairs(OPEN[char]) do
        if way_on ~= OPPOSITE[one[3]] then
          todo[#todo + 1] = { one[1] + way_on[1], one[2] + way_on[2], way_on }
        end
      end
    end
  end
end

-- Names of a line, each as a box of its own.
local function named_boxes(grid)
  local boxes = {}
  for y, row in ipairs(grid) do
    local text, left = "", nil
    for x = 1, #row + 1 do
      local char = row[x] or " "
      if char:find "^[%w_.-]$" then
        text, left = text .. char, left or x
      elseif left then
        if text:find "%a" then
          boxes[#boxes + 1] = { name = text, top = y, bottom = y, left = left - 1, right = x }
        end
        text, left = "", nil
      end
    end
  end
  return boxes
end

-- Where a line may leave a node: below a box where its border opens, beside it, and below a name.
local function exits_of(grid, box, is_named, leave)
  for x = box.left, box.right do
    local below = at(grid, box.bottom + 1, x)
    if is_named and HEADS[below] == DOWN then
      leave(box.bottom + 2, x, DOWN)
    elseif is_named and OPEN[below] or not is_named and opens(at(grid, box.bottom, x), DOWN) then
      leave(box.bottom + 1, x, DOWN)
    end
  end
  for y = box.top + 1, box.bottom - 1 do
    leave(y, box.right + 1, RIGHT)
    leave(y, box.left - 1, LEFT)
  end
end

-- Arrows between two names of a line.
local function is_arrow(grid, before, box)
  local between = before.top == box.top and table.concat(grid[box.top], "", before.right, box.left) or ""
  return between:find "^[%s%-─]*→%s*$" or between:find "^%s*%-+>%s*$" or between:find "^%s*►%s*$"
end

local function edges_of(grid, boxes, is_named, first_line)
  local edges, seen = {}, {}
  local function add(from, to)
    local key = from.name .. " " .. to.name
    if not seen[key] then
      seen[key] = true
      edges[#edges + 1] = { from = from.name, to = to.name, line = first_line + from.top - 1 }
    end
  end
  for i, box in ipairs(boxes) do
    local before = is_named and boxes[i - 1]
    if before and is_arrow(grid, before, box) then
      add(before, box)
    end
    exits_of(grid, box, is_named, function(y, x, way)
      local target = is_named and box_at(boxes, y, x)
      if target then
        add(box, target)
      else
        follow(grid, boxes, box, y, x, way, function(reached)
          add(box, reached)
        end)
      end
    end)
  end
  return edges
end

---The edges of a drawing.
---@param text string
---@param first_line integer  of its first line in the file
---@return { from: string, to: string, line: integer }[]
function M.read(text, first_line)
  if not text:find "[\u{2190}-\u{21FF}\u{2500}-\u{25FF}]" or utf8.len(text) == #text then
    return {} -- nothing is drawn in plain ASCII
  end
  local grid = grid_of(text)
  local boxes = text:find("┌", 1, true) and boxes_of(grid) or {}
  local is_named = #boxes < 2
  return edges_of(grid, is_named and named_boxes(grid) or boxes, is_named, first_line)
end

return M
