-- skill/machine_edges.lua: how often a run has taken the edges of a machine that have a limit (F61): their names in
-- `metrics.edges` of its state, and whether one may be taken once more.
--
-- Pure. Called by the mode, which asks before an action begins, and by the run, when it is over.

local M = {}

---How `metrics.edges` names an edge that has a limit.
---@param edge skillrt.Edge
---@return string
function M.key(edge)
  return ("%s > %s: %s"):format(edge.any and "*" or table.concat(edge.from, ", "), edge.to, edge.action)
end

---How a class of errors with a limit stands there.
---@param row skillrt.ErrorClass
---@return string
function M.class_key(row)
  return ("%s > %s"):format(row.class, row.to)
end

---How often a limited edge was taken.
---@param root table  the state
---@param key string
---@return number
function M.taken(root, key)
  local metrics = root.metrics
  local edges = type(metrics) == "table" and metrics.edges
  local count = type(edges) == "table" and edges[key]
  return type(count) == "number" and count or 0
end

---Whether the limit of an edge lets it be taken once more.
---@param root table
---@param edge skillrt.Edge
---@return boolean
function M.is_open(root, edge)
  return not edge.max_runs or M.taken(root, M.key(edge)) < edge.max_runs
end

return M
