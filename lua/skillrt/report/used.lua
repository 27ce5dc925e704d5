-- report/used.lua: how much of each limit a run has used up, over all its resumes, from its books alone.
--
-- What is bounded stands in the journal (skill/limits.lua gives it), so the skill is not needed. Called by
-- report/status.lua.

local limits = require("skillrt.skill.limits")
local names = require("skillrt.base.names")
local spent = require("skillrt.run.books.spent")
local text_of = require("skillrt.report.text")

local M = {}

-- What the run itself has used of a limit, in its unit.
local function of_run(books, key)
  local root = books.state and books.state.root or {}
  if key == "max_iterations" then
    return root.iteration_count or 0
  elseif key == "max_errors" then
    return (root.error_count or 0) - (books.free_errors or 0)
  elseif key == "run_timeout" then
    return spent.active(books) / 1000
  end
  return books.spent[key] or 0
end

-- The same of the steps of one action or phase.
local function of_steps(books, id, key)
  local by = books.spent_by[id] or {}
  if key ~= "run_timeout" then
    return by[key] or 0
  end
  local ms = by.ms or 0
  for _, step in pairs(books.steps) do
    ms = ms + (step.id == id and not step.sub and spent.time_of(books, step, books.at) or 0)
  end
  return ms / 1000
end

-- In the order of the table of limits.
local function sorted_keys(most)
  local keys = names.sorted(most)
  local function place(key)
    for i, row in ipairs(limits.TABLE) do
      if row.name == key:match("^[^.]*") then
        return i
      end
    end
    return #limits.TABLE + 1 -- of a newer skillrt
  end
  table.sort(keys, function(a, b)
    local first, second = place(a), place(b)
    return first < second or (first == second and a < b)
  end)
  return keys
end

-- The bounds of the run with their defaults, and what is used though nothing bounds it.
local function bounds_of_run(books)
  local most = { max_iterations = limits.default("max_iterations"), max_errors = limits.default("max_errors") }
  for key in pairs(books.spent) do
    most[key] = false
  end
  for key, value in pairs(books.bounds and books.bounds[""] or {}) do
    most[key] = value
  end
  return most
end

---@param books skillrt.Ledger
---@return table[] list  { limit = as --add names it, used, most (nil: nothing bounds it) }; time in seconds
function M.list(books)
  local list, added = {}, books.added or {}
  local function add(id, key, used, most)
    local full = id and id .. "." .. key or key
    list[#list + 1] = { limit = full, used = used, most = most and most + (added[full] or 0) or nil }
  end
  local of_all = bounds_of_run(books)
  for _, key in ipairs(sorted_keys(of_all)) do
    add(nil, key, of_run(books, key), of_all[key])
  end
  for _, id in ipairs(names.sorted(books.bounds or {})) do
    for _, key in ipairs(id ~= "" and sorted_keys(books.bounds[id]) or {}) do
      add(id, key, of_steps(books, id, key), books.bounds[id][key])
    end
  end
  return list
end

local function number(value)
  return (math.tointeger(value) and "%d" or "%.6g"):format(math.tointeger(value) or value)
end

---The same for people: "calls 12 of 50", "run_timeout 3.2 of 60 s".
---@param list table[]
---@return string[] words  escaped
function M.words(list)
  local words = {}
  for i, one in ipairs(list) do
    local unit = one.limit:find("run_timeout$") and " s" or ""
    local most = one.most and " of " .. number(one.most) or ""
    words[i] = text_of.escape(one.limit) .. " " .. number(one.used) .. most .. unit
  end
  return words
end

return M
