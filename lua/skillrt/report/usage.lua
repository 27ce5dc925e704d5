-- report/usage.lua: how much of each limit a run has used, over all its resumes, from its books alone.
--
-- The bounds are in the journal, and skill/limit/ counts them, so the skill is not needed. Called by
-- report/status.lua.

local limits = require("skillrt.skill.limits")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")
local text_of = require("skillrt.base.terminal_text")

local M = {}

local function spent(books, id, key)
  return limits.spent(limits.of[key:match("^[^.]*")], books, id, key)
end

-- The run's bounds, default ones too, and what was used of things without a bound.
local function bounds_of_run(books)
  local most = { max_iterations = limits.default("max_iterations"), max_errors = limits.default("max_errors") }
  for key in pairs(books.spent) do
    most[key] = false
  end
  tables.fill(most, books.bounds and books.bounds[""] or {})
  return most
end

---@param books skillrt.Ledger
---@return table[] list  { limit = as --add names it, used, most (nil: no bound) }; time in seconds
function M.list(books)
  local list, added = {}, books.added or {}
  local function add(id, key, used, most)
    local full = id and id .. "." .. key or key
    list[#list + 1] = { limit = full, used = used, most = most and most + (added[full] or 0) or nil }
  end
  local of_all = bounds_of_run(books)
  for _, key in ipairs(names.sorted(of_all)) do
    add(nil, key, spent(books, nil, key), of_all[key])
  end
  for _, id in ipairs(names.sorted(books.bounds or {})) do
    for _, key in ipairs(id ~= "" and names.sorted(books.bounds[id]) or {}) do
      add(id, key, spent(books, id, key), books.bounds[id][key])
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

---What agents used, by phase and in total, a line each.
---@param list table[]  { phase, output_tokens, dollars } of each agent
---@return string[] lines  escaped
function M.by_phase(list)
  local order, sums = {}, {}
  for _, one in ipairs(list) do
    for _, name in ipairs({ one.phase or "no phase", "total" }) do
      local sum = sums[name] or { name = name, agents = 0, output_tokens = 0, dollars = 0 }
      order[#order + 1], sums[name] = not sums[name] and name ~= "total" and sum or nil, sum
      for field in pairs({ output_tokens = 1, dollars = 1 }) do
        sum[field] = sum[field] + (one[field] or 0)
      end
      sum.agents = sum.agents + 1
    end
  end
  order[#order + 1] = order[2] and sums.total or nil
  for i, sum in ipairs(order) do
    order[i] = ("%s: %d %s, %s output tokens%s"):format(text_of.escape(sum.name), sum.agents,
      sum.agents == 1 and "agent" or "agents", number(sum.output_tokens),
      sum.dollars > 0 and (", $%.4f"):format(sum.dollars) or "")
  end
  return order
end

return M
