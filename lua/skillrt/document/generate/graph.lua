-- document/generate/graph.lua: which action waits for which, as a Mermaid graph with every action in it (R54, F9).
--
-- By itself it reads `completed_actions.includes('X')` in preconditions, nothing else. Pure. Called by
-- action_catalog; config asks it for names no one declares and for cycles.
local markdown = require "skillrt.document.generate.markdown"

local M = {}

-- Whether a "!" stands before a place of a condition, or before the `state.` that ends there.
local function is_negated(condition, first)
  local before = first - 1
  local object = condition:sub(math.max(1, before - #"state?." + 1), before):match "state%??%.$"
  before = before - #(object or "")
  while before > 0 and condition:find("^%s", before) do
    before = before - 1
  end
  return condition:sub(before, before) == "!"
end

-- The next id from a place on that a condition wants to be in, or not in, completed_actions.
local function next_id(condition, at)
  while true do
    local first, _, quote, from = condition:find("completed_actions%??%.includes%(%s*(['\"])()", at)
    local stop = first and condition:find(quote, from, true)
    if not stop then
      return nil
    elseif condition:find("^%s*%)", stop + 1) then
      return condition:sub(from, stop - 1), first, stop + 1
    end
    at = from
  end
end

---The ids that a list of conditions wants completed, in order, each once.
---@param conditions string[]
---@return string[]
function M.needs(conditions)
  local ids, seen = {}, {}
  for _, condition in ipairs(conditions) do
    local at = condition:find("completed_actions", 1, true)
    while at do
      local id, first
      id, first, at = next_id(condition, at)
      if id and not seen[id] and not is_negated(condition, first) then
        seen[id] = true
        ids[#ids + 1] = id
      end
    end
  end
  return ids
end

---What each action's preconditions want completed.
---@param actions { id: string, preconditions: string[] }[]
---@return table<string, string[]> needs by id
function M.needs_of(actions)
  local needs = {}
  for _, action in ipairs(actions) do
    needs[action.id] = M.needs(action.preconditions)
  end
  return needs
end

---A cycle of actions that wait for each other, or nil.
---@param actions { id: string, preconditions: string[] }[]
---@param needs table<string, string[]>? what needs_of says
---@return string[]? ids
function M.cycle(actions, needs)
  local state, path = {}, {}
  needs = needs or M.needs_of(actions)
  -- An explicit stack: a chain may be thousands of actions long.
  for _, action in ipairs(actions) do
    local stack = { { action.id, 0 } }
    while #stack > 0 do
      local top = stack[#stack]
      local id = top[1]
      if top[2] == 0 and state[id] == "done" then
        stack[#stack] = nil
      else
        if top[2] == 0 then
          state[id] = "open"
          path[#path + 1] = id
        end
        top[2] = top[2] + 1
        local following = needs[id] and needs[id][top[2]]
        if not following then
          state[id] = "done"
          path[#path], stack[#stack] = nil, nil
        elseif state[following] == "open" then
          local from = #path
          while path[from] ~= following do
            from = from - 1
          end
          return table.move(path, from, #path, 1, {})
        else
          stack[#stack + 1] = { following, 0 }
        end
      end
    end
  end
  return nil
end

-- What leads to what by `completed_actions.includes('X')` alone.
local function plain_edges(actions)
  local edges, known, needed = {}, {}, {}
  for _, action in ipairs(actions) do
    known[action.id] = true
  end
  for _, action in ipairs(actions) do
    local count = #edges
    for _, id in ipairs(M.needs(action.preconditions)) do
      if known[id] then
        needed[id] = true
        edges[#edges + 1] = { from = id, to = action.id }
      end
    end
    if #edges == count then
      edges[#edges + 1] = { to = action.id }
    end
  end
  for _, action in ipairs(actions) do
    if not needed[action.id] then
      edges[#edges + 1] = { from = action.id }
    end
  end
  return edges
end

---The lines of a `graph TD`: every action a node, then the edges (R54, F9).
---@param actions { id: string, name: string, preconditions: string[] }[]
---@param edges { from: string?, to: string? }[]?  ids; none: the start, the end. Default: what preconditions say
---@return string[]
function M.mermaid(actions, edges)
  local ids, lines = {}, { "graph TD", "    START((Start))" }
  for i, action in ipairs(actions) do
    ids[i] = action.id
  end
  local names = markdown.node_names(ids)
  for _, action in ipairs(actions) do
    lines[#lines + 1] = ("    %s[%s]"):format(names[action.id], markdown.label(action.name))
  end
  for _, edge in ipairs(edges or plain_edges(actions)) do
    local to = edge.to and names[edge.to] or "END((End))"
    lines[#lines + 1] = ("    %s --> %s"):format(edge.from and names[edge.from] or "START", to)
  end
  if #actions == 0 then
    lines[#lines + 1] = "    START --> END((End))"
  end
  return lines
end

return M
