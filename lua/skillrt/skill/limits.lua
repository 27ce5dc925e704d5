-- skill/limits.lua: the limits of runs: one file each in skill/limit/, found by its name.
--
-- Skills, configs, their JSON Schema, --help, the manual, the pages and the systemd unit are made from them (`make
-- limits` and `make manual` write the files). They are here and not in run/ because a skill's definition is checked
-- by them. run/limits.lua checks them during a run.

local files = require("skillrt.base.files")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.Limit
---@field name string
---@field type string           of skill/schema.lua
---@field is_field boolean|nil   false: it is not a field of a skill's `limits`
---@field default any           nil: none
---@field map boolean|nil       a table from names to such values
---@field unit string           its unit
---@field action boolean|nil    actions and phases may have their own
---@field text string           its description
---@field status "failed"|"paused"|nil  how a run ends at it; nil: it ends none
---@field reason string|nil     of that end
---@field also string|nil       another reason that it may cause
---@field code integer|nil      the exit code of this limit alone; nil: that of its status
---@field is_spent boolean|nil  the books count it under its name
---@field is_timed boolean|nil  it is reached at a certain time
---@field reserved_until "sent"|"over"|nil  for one that counts calls: how long a call's share is reserved
---@field spent nil|fun(books: skillrt.Books, id: string|nil): number  how much is used, if the books have no counter
---  of its name; for a run, or for an action
---@field before_step nil|fun(bound: skillrt.Bound, one: skillrt.Action, iterations: integer): string|nil, table|nil
---  why a step may not start; else fields for its record
---@field before_choice nil|fun(bound: skillrt.Bound): string|nil  why nothing more is chosen
---@field at_failure nil|fun(bound: skillrt.Bound, id: string, failure: table): boolean  whether a failure reaches it
---@field asked nil|fun(bound: skillrt.Bound, call: skillrt.Call): number  what a call that is to be sent counts
---@field left_ms nil|fun(bound: skillrt.Bound): integer
---@field message nil|fun(bound: skillrt.Bound): string
---@field interrupted nil|fun(bound: skillrt.Bound|nil, where: string|nil): string|nil  a message about what the core
---  stopped
---@field full nil|fun(bound: skillrt.Bound): string    its name for --add, if it differs from the bound's name
---@field named nil|fun(run: skillrt.Run): string|nil   ... where it has no bound

---All of them, by name.
---@type table<string, skillrt.Limit>
M.of = {}

---Those that a skill's `limits` may contain, in the order of their names.
---@type skillrt.Limit[]
M.TABLE = {}

for _, path in ipairs(files.assets("lua/skillrt/skill/limit/")) do
  local row = require("skillrt.skill.limit." .. path:match("([^/]+)%.lua$"))
  M.of[row.name] = row
  M.TABLE[#M.TABLE + 1] = row.is_field ~= false and row or nil
end

---How much of a limit is used, in its unit.
---@param row skillrt.Limit
---@param books skillrt.Books
---@param id string|nil  of one action or phase
---@param key string     "calls", "usage.tokens"
---@return number
function M.spent(row, books, id, key)
  if row and row.spent then
    return row.spent(books, id)
  end
  local spent = books.spent
  if id then
    spent = books.spent_by[id]
  end
  return spent and spent[key] or 0
end

---The fields of a skill's `limits`, or of an action's, in the form of skill/schema.lua.
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

-- Why a number is invalid for this limit; nil: it is valid.
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

---A skill's limits combined with those given for one run, by name: "calls", "usage.tokens".
---@param limits table
---@param given table<string, number>
---@return table|nil limits
---@return string? message
function M.with(limits, given)
  local all, fields = tables.fill({}, limits), M.fields()
  for _, full in ipairs(names.sorted(given)) do
    local name, what = full:match("^([^.]+)%.?(.*)$")
    local row = fields[name] and M.of[name]
    if row and row.map and what == "" then
      return nil, ("limit %s: write what is counted, as in %s.tokens"):format(name, name)
    elseif not row or not row.map and what ~= "" then
      return nil, ("there is no limit %s%s"):format(names.show(full), names.suggest(full, fields))
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

---The limits given for one run, some of which may only lower: the skill's lower ones stay.
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

-- What can be raised, for the run or for one action: the names for --add.
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

---The limits of a skill that a resume may raise, by their full names: "calls", "fetch.usage.tokens".
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
    for full in pairs(M.of.edges.limits(skill.machine)) do
      found[full] = M.of.edges
    end
  end
  return found
end

---The bounds of a run, for its journal: of the run (""), and of each action or phase, by "calls", "usage.tokens";
---only limits of which something is used.
---A default is not written to the journal.
---@param skill skillrt.Skill
---@return table<string, table<string, number>>|nil
function M.bounds(skill)
  local found = {}
  local function add(id, limits)
    local most = {}
    for _, row in ipairs(M.TABLE) do
      local value, is_counted = limits[row.name], row.spent or row.is_spent
      for what, amount in pairs(is_counted and row.map and value or {}) do
        most[row.name .. "." .. what] = amount
      end
      most[row.name] = is_counted and not row.map and value ~= row.default and value or nil
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

---The default of a limit.
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

---The limit that a run reached, by its reason; nil: none.
---@param reason string|nil
---@return skillrt.Limit|nil
function M.ended_by(reason)
  for _, row in pairs(M.of) do
    if reason and (row.reason == reason or row.also == reason) then
      return row
    end
  end
  return nil
end

-- Exit codes of statuses, for limits without one of their own.
local CODES <const> = { failed = 1, paused = 5 }

---The exit code of a run that reached a limit.
---@param row skillrt.Limit
---@return integer
function M.code(row)
  return row.code or CODES[row.status]
end

---The limits with an exit code of their own, in the order of the codes.
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

return M
