-- skill/limits.lua: the one table of limits: names, types, defaults, units, and how a run ends at each.
--
-- Skills, configs, their JSON Schema, --help, the manual and the pages are made from it (make limits
-- writes what is a file). Nothing but words and numbers; who counts and who stops is run/limits.lua.

local M = {}

---@class skillrt.Limit
---@field name string
---@field type string           of skill/schema.lua
---@field default any           nil: none
---@field map boolean|nil       a table from names to such values
---@field unit string           what is counted
---@field action boolean|nil    actions and phases may have their own
---@field text string           what it holds
---@field status "failed"|"paused"|nil  how a run ends at it; nil: it ends none
---@field reason string|nil     of that end
---@field code integer|nil      the exit code that only this end has; nil: that of its status

---@type skillrt.Limit[]
M.TABLE = {
  { name = "max_iterations", type = "positive", default = 100, unit = "steps", status = "failed",
    reason = "max_iterations", text = "steps of a run; of a hybrid one, of its loop" },
  { name = "max_errors", type = "positive", default = 3, unit = "steps", status = "failed",
    reason = "error_limit", text = "failed steps before the run fails" },
  { name = "max_retries", type = "count", default = 3, unit = "attempts",
    text = "attempts of a step after the first" },
  { name = "max_parallel", type = "positive", default = 4, unit = "steps", text = "steps at once" },
  { name = "no_progress", type = "count", default = 3, unit = "choices", status = "paused",
    reason = "no_progress", code = 13, text = "how often an action may run on the same state; 0: always" },
  { name = "same_failures", type = "positive", unit = "failures", status = "paused", reason = "same_failure", code = 15,
    text = "how often an action may fail in the same way, one time after the other" },
  { name = "step_timeout", type = "seconds", unit = "seconds", status = "paused", reason = "step_timeout", code = 14,
    text = "seconds of an exchange, which then has failed; and of Lua that runs on without a wait: that ends the run" },
  { name = "run_timeout", type = "seconds", unit = "seconds", status = "paused", reason = "run_timeout",
    code = 12, action = true,
    text = "seconds that a run is open, or the steps of an action together; pauses do not count" },
  { name = "calls", type = "positive", unit = "calls", status = "paused", reason = "call_limit", code = 10,
    action = true, text = "calls that leave (requests, programs), each attempt" },
  { name = "usage", type = "amount", map = true, unit = "what is named", status = "paused", reason = "usage_limit",
    code = 11, action = true,
    text = "what calls report as used, by name: `usage = { tokens = 100000, dollars = 2.5 }`" },
  { name = "max_agents", type = "positive", default = 1000, unit = "agents",
    text = "agents that a workflow may ask for" },
  { name = "max_agents_parallel", type = "positive", default = 16, unit = "agents",
    text = "agents of a workflow at once" },
  { name = "max_prompt_state", type = "positive", default = 65536, unit = "bytes",
    text = "bytes of a state field that an agent is shown" },
  { name = "max_prompt_specs", type = "count", default = 65536, unit = "bytes",
    text = "bytes of `specs` that a prompt holds; of more it names the files" },
}

---The same, by name.
---@type table<string, skillrt.Limit>
M.of = {}
for _, row in ipairs(M.TABLE) do
  M.of[row.name] = row
end

---The fields of a skill's `limits`, as skill/schema.lua checks them; or of an action's own.
---@param of_action boolean?
---@return table<string, skillrt.Field>
function M.fields(of_action)
  local fields = {}
  for _, row in ipairs(M.TABLE) do
    if row.action or not of_action then
      fields[row.name] = { type = row.type, map = row.map, default = not of_action and row.default or nil }
    end
  end
  return fields
end

-- Why a number is none for this limit; nil: it is one.
local function misfit(row, amount)
  local whole = row.type ~= "seconds" and row.type ~= "amount"
  local least = row.type == "positive" and 1 or 0
  local fits = type(amount) == "number" and amount >= least and amount < math.huge
  if not fits or whole and not math.tointeger(amount) then
    return ("must be %s, %d or more"):format(whole and "a whole number" or "a number", least)
  end
end

local function with_one(map, key, amount)
  local all = { [key] = amount }
  for name, value in pairs(map or {}) do
    all[name] = all[name] or value
  end
  return all
end

---A skill's limits with those that somebody gave for one run, by their names: "calls", "usage.tokens".
---@param limits table
---@param given table<string, number>
---@return table|nil limits
---@return string? message
function M.with(limits, given)
  local names = require("skillrt.base.names") -- not at the top: the table is read without the core, too
  local all = {}
  for name, value in pairs(limits) do
    all[name] = value
  end
  for _, full in ipairs(names.sorted(given)) do
    local name, what = full:match("^([^.]+)%.?(.*)$")
    local row = M.of[name]
    if not row or (row.map == nil) ~= (what == "") then
      return nil, ("there is no limit %s%s"):format(names.show(full), names.suggest(full, M.of))
    end
    local amount = given[full]
    local problem = misfit(row, amount)
    if problem then
      return nil, ("limit %s %s, not %s"):format(full, problem, names.show(amount))
    end
    amount = math.tointeger(amount) or amount
    all[name] = what == "" and amount or with_one(all[name], what, amount)
  end
  return all
end

---The limits given for one run, where some may only be lowered: those of the skill hold that are lower.
---@param limits table
---@param given table<string, number>|nil
---@param most table<string, number>
---@return table<string, number>
function M.lowered(limits, given, most)
  local all = {}
  for full, amount in pairs(most) do
    local name, what = full:match("^([^.]+)%.?(.*)$")
    local own = given and given[full] or limits[name]
    if type(own) == "table" then
      own = own[what]
    end
    local none = own == nil or own == 0 and name == "no_progress"
    all[full] = not none and math.min(own, amount) or amount
  end
  for full, amount in pairs(given or {}) do
    all[full] = all[full] or amount
  end
  return all
end

-- What may be added to, of the run or of one action: the names as --add takes them.
local function add_names(limits, prefix, found)
  for _, row in ipairs(M.TABLE) do
    local value = row.status and limits[row.name]
    if row.map then
      for what in pairs(value or {}) do
        found[prefix .. row.name .. "." .. what] = row
      end
    elseif value and value ~= 0 then -- 0: there is none
      found[prefix .. row.name] = row
    end
  end
end

---The limits of a skill that a resume may add to, by their full names: "calls", "fetch.usage.tokens".
---@param skill skillrt.Skill
---@return table<string, skillrt.Limit>
function M.of_skill(skill)
  local found = {}
  for _, list in ipairs({ skill.actions, skill.phases }) do
    for _, one in ipairs(list) do
      if one.limits then
        add_names(one.limits, one.id .. ".", found)
      end
      if one.max_errors or one.on_error then
        found[one.id .. ".max_errors"] = M.of.max_errors
      end
    end
  end
  add_names(skill.limits, "", found)
  if skill.machine then
    for full in pairs(require("skillrt.skill.machine_edges").limits(skill.machine)) do
      found[full] = M.of.max_errors -- a whole number
    end
  end
  return found
end

-- Limits of which something is used up, step by step.
local USED <const> = { max_iterations = true, max_errors = true, run_timeout = true, calls = true, usage = true }

---What bounds a run, for its journal: of the run (""), and of each action or phase, by "calls", "usage.tokens".
---What is as nobody said it stands in no journal.
---@param skill skillrt.Skill
---@return table<string, table<string, number>>|nil
function M.bounds(skill)
  local found = {}
  local function add(id, limits)
    local most = {}
    for name in pairs(USED) do
      local value, row = limits[name], M.of[name]
      for what, amount in pairs(row.map and value or {}) do
        most[name .. "." .. what] = amount
      end
      most[name] = not row.map and value ~= row.default and value or nil
    end
    found[id] = next(most) and most or nil
  end
  add("", skill.limits)
  for _, list in ipairs({ skill.actions or {}, skill.phases or {} }) do
    for _, one in ipairs(list) do
      if one.limits then
        add(one.id, one.limits)
      end
    end
  end
  return next(found) and found or nil
end

---Whether two such are the same.
---@param a table<string, table<string, number>>
---@param b table<string, table<string, number>>
---@return boolean
function M.same_bounds(a, b)
  local function within(one, other)
    for id, most in pairs(one) do
      for key, value in pairs(most) do
        if not other[id] or other[id][key] ~= value then
          return false
        end
      end
    end
    return true
  end
  return within(a, b) and within(b, a)
end

---What a limit is where nobody said it.
---@param name string
---@return any
function M.default(name)
  return M.of[name].default
end

---The names, in the table's order.
---@param of_action boolean?  those only that an action may have
---@return string[]
function M.names(of_action)
  local list = {}
  for _, row in ipairs(M.TABLE) do
    list[#list + 1] = (row.action or not of_action) and row.name or nil
  end
  return list
end

---The limit a run ends at with a reason; nil: it was none.
---@param reason string|nil
---@return skillrt.Limit|nil
function M.ended_by(reason)
  for _, row in ipairs(M.TABLE) do
    if row.reason and row.reason == reason then
      return row
    end
  end
  return nil
end

-- Exit codes of statuses, where a limit has none of its own.
local CODES <const> = { failed = 1, paused = 5 }

---The exit code of a run that ended at a limit.
---@param row skillrt.Limit
---@return integer
function M.code(row)
  return row.code or CODES[row.status]
end

---The limits that have an exit code of their own, in the order of these.
---@return skillrt.Limit[]
function M.by_code()
  local list = {}
  for _, row in ipairs(M.TABLE) do
    list[#list + 1] = row.code and row or nil
  end
  table.sort(list, function(a, b)
    return a.code < b.code
  end)
  return list
end

-- How a type is told in JSON Schema.
local TYPES <const> = {
  positive = { { "type", "integer" }, { "minimum", 1 } },
  count = { { "type", "integer" }, { "minimum", 0 } },
  seconds = { { "type", "number" }, { "exclusiveMinimum", 0 } },
  amount = { { "type", "number" }, { "minimum", 0 } },
}

---A limit's JSON Schema: its keys and values in their order.
---@param row skillrt.Limit
---@return table[] pairs  { key, value }
function M.json_schema(row)
  local out = table.move(TYPES[row.type], 1, #TYPES[row.type], 1, {})
  if row.map then
    out = { { "type", "object" }, { "additionalProperties", out } }
  end
  out[#out + 1] = { "description", row.text:gsub("`", "") .. "." }
  if row.default ~= nil then
    out[#out + 1] = { "default", row.default }
  end
  return out
end

return M
