-- document/graph/init.lua: a skill as a graph: actions and what leads to them, phases with their inputs and
-- outputs, states of a machine; as lines of text, Mermaid or SVG.
--
-- An edge from A to B: an effect of A makes a condition of B true. Called by cli/command/graph.lua.
local build = require "skillrt.document.graph.build"

local M = {}

local WRITERS = { mermaid = "skillrt.document.graph.mermaid", text = "skillrt.document.graph.text" }

---@class skillrt.graph.Node
---@field id string
---@field label string
---@field kind "start"|"end"|"action"|"terminal"|"optional"|"phase"|"state"
---@field note string?  more lines of the label

---@class skillrt.graph.Edge
---@field from string
---@field to string
---@field label string?
---@field kind "condition"|"data"|"order"|"transition"|"taken"

---@class skillrt.graph.Graph
---@field name string
---@field nodes skillrt.graph.Node[]
---@field edges skillrt.graph.Edge[]
---@field legend string[]  the meaning of the kinds of lines and frames that occur

-- The path of a machine's run, from its journal.
local function path_of(dir)
  local path, subs = { taken = {} }, {}
  local books, message, code = require("skillrt.run.runner").read(dir, function(record)
    local move = record.move
    if record.t == "start" then
      subs[record.step] = record.sub -- a machine of its own
    end
    if move and move.from and move.to and not (record.step and subs[record.step]) then
      local key = require("skillrt.document.graph.machine").key(move.from, move.to, tostring(move.action))
      path.taken[key] = (path.taken[key] or 0) + 1
    end
  end)
  if not books then
    return nil, message, code
  elseif books.mode ~= "machine" then
    return nil, dir .. ": is not a run of machine mode; a path is drawn only for these", "invalid"
  end
  path.at = books.state.root.state
  return path
end

---The graph of whatever is at a path, or of a definition.
---@param given string|table
---@param run string?  a run of a machine, whose path is drawn
---@param words string[]?  arguments of a workflow script
---@return skillrt.graph.Graph? graph
---@return string? message
---@return string? code
function M.of(given, run, words)
  local flow, problem = require("skillrt.document.check.workflow").flow(given, words)
  if flow then
    return build.of_script(flow)
  elseif problem then
    return nil, problem, "invalid"
  end
  local model, subject, code = require("skillrt.document.check.model").at(given)
  if not model then
    return nil, subject --[[@as string]], code
  elseif run and not model.machine then
    return nil, ("%s: has no state machine; the path of a run is drawn only for these"):format(subject.path or "skill"),
      "invalid"
  end
  local path, message
  if run then
    path, message, code = path_of(run)
  end
  if message then
    return nil, message, code
  end
  return build.of(model, path)
end

---A graph as a document.
---@param graph skillrt.graph.Graph
---@param format "text"|"mermaid"|"svg"
---@param columns integer?  of lines of text
---@return string
function M.text(graph, format, columns)
  if format == "svg" then
    return require("skillrt.document.graph.svg").of(graph)
  end
  return table.concat(require(WRITERS[format]).lines(graph, columns or 80), "\n") .. "\n"
end

return M
