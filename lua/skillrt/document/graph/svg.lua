-- document/graph/svg.lua: a graph as a picture, SVG: boxes with their texts, lines with arrows and labels, in light and
-- dark. Called by document/graph/init.lua.

local layout = require "skillrt.document.graph.layout"
local width_of = require("skillrt.base.terminal_text").width
local wrapped = require("skillrt.document.graph.text").wrapped

local M = {}

local LETTER <const>, LINE <const>, EDGE <const> = 6.9, 17, 16
local WIDE <const>, NARROW <const> = 40, 26 -- columns of a box, of a label

local STYLE <const> = [[
text{font:13px system-ui,sans-serif;fill:#1c2330}.note,.label{font-size:12px;fill:#5a6472}.name{font-weight:600}
svg{background:#fff}.label{paint-order:stroke;stroke:#fff;stroke-width:5px}
rect{fill:#e8f0fe;stroke:#6b7f9e}.start rect,.end rect{fill:#e3f1e5;stroke:#5f8a66}
.phase rect{fill:#fff3e0;stroke:#a9884f}
.state rect{fill:#f3e5f5;stroke:#8b6a94}.terminal rect{fill:#eee;stroke:#777}.optional rect{stroke-dasharray:5 4}
.any rect{fill:none;stroke:none}path{fill:none;stroke:#6b7684;stroke-width:1.4}.head{fill:#6b7684;stroke:none}
.data{stroke-width:2.6}.order{stroke-dasharray:5 4}.transition{stroke:#7b1fa2}.taken{stroke:#7b1fa2;stroke-width:3}
.rounds{stroke:#c62828}
@media(prefers-color-scheme:dark){svg{background:#14171c}.label{stroke:#14171c}
text{fill:#e6e9ee}.note,.label{fill:#a7b0bd}
rect{fill:#1d2838;stroke:#7d94b8}.start rect,.end rect{fill:#1c2b20;stroke:#74a37c}
.phase rect{fill:#302614;stroke:#c09c5c}
.state rect{fill:#2a1f2e;stroke:#b08abb}.terminal rect{fill:#2a2d33;stroke:#999}path{stroke:#9aa5b4}.head{fill:#9aa5b4}
.transition,.taken{stroke:#c78be0}.rounds{stroke:#ef7d7d}}]]

local ENTITIES <const> = { ["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;", ['"'] = "&quot;" }

local function escape(text)
  return (text:gsub("[%z\1-\31\127]", " "):gsub('[<>&"]', ENTITIES))
end

-- The lines of a text, and the width of the longest.
local function measured(text, columns)
  local lines, most = wrapped(text, columns), 0
  for _, line in ipairs(lines) do
    most = math.max(most, width_of(line))
  end
  return lines, most * LETTER
end

local function box_of(node, again)
  local names, width = measured(node.label, WIDE)
  local notes, other = measured((node.note or "") .. (again and "\n" .. again or ""), WIDE)
  return { node = node, names = names, notes = notes, w = math.max(width * 1.06, other * 0.94, 30) + 26,
    h = (#names + #notes) * LINE + 14 }
end

local function draw_box(out, box)
  out[#out + 1] = ('<g class="%s"><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%d"/>'):format(box.node.kind,
    box.x - box.w / 2, box.y, box.w, box.h, (box.node.kind == "phase" or box.node.kind == "action") and 5 or 14)
  local y = box.y + LINE + 3
  for i = 1, #box.names + #box.notes do
    out[#out + 1] = ('<text class="%s" x="%.1f" y="%.1f" text-anchor="middle">%s</text>'):format(
      box.names[i] and "name" or "note", box.x, y, escape(box.names[i] or box.notes[i - #box.names]))
    y = y + LINE
  end
  out[#out + 1] = "</g>"
end

-- Through all points of a line: down to the next one in a curve, and straight along each.
local function draw_line(out, line)
  local places, parts = line.places, {}
  local first, last = places[1], places[#places]
  local x, y = first.x, first.y + first.h
  parts[1] = ("M%.1f %.1f"):format(x, y)
  for i = 2, #places do
    local place = places[i]
    local middle = (y + place.y) / 2
    parts[#parts + 1] = ("C%.1f %.1f %.1f %.1f %.1f %.1f"):format(x, middle, place.x, middle, place.x, place.y)
    x, y = place.x, place.y + place.h
    parts[#parts + 1] = i < #places and place.h > 0 and ("V%.1f"):format(y) or nil
  end
  out[#out + 1] = ('<path class="%s" d="%s"/>'):format(line.kind, table.concat(parts))
  local tip, back = last.y, -7
  x = last.x
  if line.turned then
    x, tip, back = first.x, first.y + first.h, 7
  end
  out[#out + 1] = ('<path class="head" d="M%.1f %.1fl-4 %dh8z"/>'):format(x, tip, back)
end

local function draw_label(out, line)
  for _, place in ipairs(line.places) do
    if place.is_label then
      place.is_label = false -- of all lines that share it
      local top = place.y + (place.h - #line.texts * EDGE) / 2
      for i, text in ipairs(line.texts) do
        out[#out + 1] = ('<text class="label" x="%.1f" y="%.1f" text-anchor="middle">%s</text>'):format(place.x,
          top + i * EDGE - 4, escape(text))
      end
    end
  end
end

---@param graph skillrt.graph.Graph
---@return string svg
function M.of(graph)
  local boxes, lines, by_id, again = {}, {}, {}, {}
  for _, edge in ipairs(graph.edges) do
    again[edge.from] = edge.from == edge.to and (edge.label or "again") or again[edge.from]
  end
  for i, node in ipairs(graph.nodes) do
    boxes[i] = box_of(node, again[node.id])
    by_id[node.id] = boxes[i]
  end
  for _, edge in ipairs(graph.edges) do
    if edge.from ~= edge.to then
      local texts, width = measured(edge.label or "", NARROW)
      lines[#lines + 1] = { from = by_id[edge.from], to = by_id[edge.to], kind = edge.kind, texts = texts,
        w = texts[1] and width * 0.92 + 8 or 6, h = #texts * EDGE, same = edge.kind .. (edge.label or "") }
    end
  end
  local width, height = layout.place(boxes, lines)
  local out = {}
  for _, line in ipairs(lines) do
    draw_line(out, line)
  end
  for _, line in ipairs(lines) do
    draw_label(out, line)
  end
  for _, box in ipairs(boxes) do
    draw_box(out, box)
  end
  for _, line in ipairs(graph.legend) do
    height = height + LINE
    out[#out + 1] = ('<text class="note" x="0" y="%.1f">%s</text>'):format(height + 6, escape(line))
    width = math.max(width, #line * LETTER)
  end
  return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -12 %.0f %.0f" width="%.0f" style="max-width:100%%;'
    .. 'height:auto">\n<title>%s</title>\n<style>%s</style>\n%s\n</svg>\n'):format(width + 24, height + 30, width + 24,
    escape(graph.name), STYLE, table.concat(out, "\n"))
end

return M
