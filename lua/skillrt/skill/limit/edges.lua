-- skill/limit/edges.lua: how often a run has taken the edges of a machine that have a limit (F61): their names in
-- `metrics.edges` of the state, whether one may be taken again, and their names for `--add`.
--
-- They are in the machine's table, not in `limits`. Pure. Called by the mode before an action starts, and by the run
-- when it has ended; found by its name, by skill/limits.lua.

---@type skillrt.Limit
local M = { name = "edges", type = "positive", is_field = false, unit = "times", status = "failed",
  reason = "edge_limit", also = "unrecoverable", text = "how often an edge of a machine may be taken" }

---The name in `metrics.edges` of an edge with a limit.
---@param edge skillrt.Edge
---@return string
function M.key(edge)
  return ("%s > %s: %s"):format(edge.any and "*" or table.concat(edge.from, ", "), edge.to, edge.action)
end

---The name there of a class of errors with a limit.
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

---The name for `--add` of the limit of an edge, or of a class of errors.
---@param key string
---@return string
function M.full(key)
  return "edges." .. key
end

---How often an edge, or a row of `errors`, may be taken, including what a resume added.
---@param key string
---@param max_runs integer
---@param added table<string, number>|nil  of the books
---@return number
function M.most(key, max_runs, added)
  return max_runs + (added and added[M.full(key)] or 0)
end

---Whether the limit of an edge lets it be taken once more.
---@param root table
---@param edge skillrt.Edge
---@param added table<string, number>|nil
---@return boolean
function M.is_open(root, edge, added)
  if not edge.max_runs then
    return true
  end
  local key = edge.key or M.key(edge) -- as in a journal
  return M.taken(root, key) < M.most(key, edge.max_runs, added)
end

---Whether a row of `errors` may lead on once more.
---@param root table
---@param row skillrt.ErrorClass
---@param added table<string, number>|nil
---@return boolean
function M.leads(root, row, added)
  local key = row.max_runs and M.class_key(row)
  return not key or M.taken(root, key) < M.most(key, row.max_runs, added)
end

---The limits of a machine, by the names that `--add` takes.
---@param machine skillrt.Machine
---@return table<string, true>
function M.limits(machine)
  local found = {}
  for _, edge in ipairs(machine.edges) do
    found[M.full(M.key(edge))] = edge.max_runs and true or nil
  end
  for _, row in ipairs(machine.errors) do
    found[M.full(M.class_key(row))] = row.max_runs and true or nil
  end
  return found
end

---The limit because of which nothing leads on from the machine's state, by its name for `--add`.
---@param run skillrt.Run
---@return string|nil
function M.named(run)
  local root, added = run.books.state.root, run.books.added
  for _, edge in ipairs(run.skill.machine and run.skill.machine.edges or {}) do
    for _, from in ipairs(edge.from) do
      if from == root.state and not M.is_open(root, edge, added) then
        return M.full(M.key(edge))
      end
    end
  end
end

return M
