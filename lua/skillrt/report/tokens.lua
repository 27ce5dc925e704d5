-- report/tokens.lua: what a skill's tools cost: bytes and tokens of all of them and of each of its sets, and what a
-- run came to both ways, all tools against sets, with the provider's prompt cache counted (R97, R112, F56).
--
-- Bytes are those that a provider is sent; tokens are the provider's own where it has counted, else an estimate that
-- is named. Knows skills and journals, changes nothing. Called by cli/command/tokens.lua.

local json = require("skillrt.base.json")
local runner = require("skillrt.run.runner")
local sets_of = require("skillrt.skill.tool_sets")
local catalog_of = require("skillrt.agent.tool_catalog")
local tables = require("skillrt.base.tables")
local tool_cost = require("skillrt.agent.tool_cost")

local M = {}

---Tools that a file lists as an API takes them, or as a server of MCP gives them, by name.
---@param value any
---@return table<string, table>|nil tools
---@return string? message
function M.schemas(value)
  local out, list = {}, type(value) == "table" and (value.tools or value) or nil
  for i, one in ipairs(tables.object(list)) do
    local given = type(one) == "table" and (type(one["function"]) == "table" and one["function"] or one) or {}
    if type(given.name) ~= "string" then
      return nil, ("its tool %d has no name"):format(i)
    end
    out[given.name] = { name = given.name, description = given.description or given.name,
      input = given.input_schema or given.parameters or given.inputSchema or { type = "object" } }
  end
  if next(out) == nil then
    return nil, "holds no list of tools: { name, description, input_schema }"
  end
  return out
end

-- ---- a run ----

-- What the next request of a step carries: its set, and what came to be present besides.
local function sent(self, step)
  if step.whole then
    return self.all
  end
  local list = table.move(self:names(step.set), 1, #self:names(step.set), 1, {})
  return tables.append(list, step.more)
end

local ON = {}

function ON.start(self, seen, record)
  local set = sets_of.find(self.skill, record.tool_set)
  seen.steps[record.step] = { set = set, more = {}, whole = record.whole or not set }
end

function ON.switch(self, seen, record)
  local step = seen.steps[record.step]
  if step and not record.refused and not record.advised then
    step.set, step.more = sets_of.find(self.skill, record.to), {}
  end
end

local function row_of(seen, step)
  local name = step.set and step.set.name or catalog_of.ALL
  seen.by_set[name] = seen.by_set[name] or { exchanges = 0, calls = 0, absent = 0 }
  return seen.by_set[name]
end

function ON.used(self, seen, record)
  local step, used = seen.steps[record.step], record.used
  if not step or not used.input_tokens then
    return
  end
  local _, list = self:list(sent(self, step))
  local one = { talk = ("%d %s"):format(record.step, (record.c or ""):match("^(.*)%.") or ""),
    rest = math.max(0, used.input_tokens - list.tokens), output = used.output_tokens or 0, step = step,
    asked = 0, absent = 0 }
  one.names = step.whole and self:names(step.set) or sent(self, step)
  step.newest, seen.exchanges[#seen.exchanges + 1] = one, one
  seen.tokens = seen.tokens + used.input_tokens + one.output
  seen.dollars = seen.dollars and used.dollars and seen.dollars + used.dollars
  local row = row_of(seen, step)
  row.exchanges = row.exchanges + 1
end

function ON.tool(_, seen, record)
  local step = seen.steps[record.step]
  if not step then
    return
  end
  local row, newest = row_of(seen, step), step.newest
  row.calls = row.calls + 1
  row.absent = row.absent + (record.absent and 1 or 0)
  if newest then
    newest.asked, newest.absent = newest.asked + 1, newest.absent + (record.absent and 1 or 0)
  end
  if record.absent == "widened" then
    step.more[#step.more + 1] = record.name
  elseif record.absent == "all" then
    step.whole = true
  end
end

---What a recorded run came to, and both ways. With all tools an exchange whose calls were all to absent tools is not
---made.
---@param self skillrt.ToolCatalog
---@param dir string
---@return { exchanges: integer, spared: integer, tokens: integer, dollars: number?, by_set: table, all: skillrt.Used,
---  sets: skillrt.Used }|nil
---@return string? message
---@return string? code
function M.recorded(self, dir)
  local seen = { steps = {}, exchanges = {}, by_set = {}, tokens = 0, dollars = 0 }
  local books, message, code = runner.read(dir, function(record)
    local on = ON[record.t]
    if on then
      on(self, seen, record)
    end
  end)
  if not books then
    return nil, message, code
  end
  local both, spared = { all = {}, sets = {} }, 0
  local all_key, all = self:list(self.all)
  for _, one in ipairs(seen.exchanges) do
    local key, list = self:list(one.names)
    both.sets[#both.sets + 1] = { talk = one.talk, list = key, tools = list.tokens, rest = one.rest,
      output = one.output }
    if one.asked > 0 and one.asked == one.absent then
      spared = spared + 1
    else
      both.all[#both.all + 1] = { talk = one.talk, list = all_key, tools = all.tokens, rest = one.rest,
        output = one.output }
    end
  end
  return { exchanges = #seen.exchanges, spared = spared, tokens = seen.tokens, dollars = seen.dollars,
    by_set = seen.by_set, all = tool_cost.cost(both.all, self.model, self.agent.prices),
    sets = tool_cost.cost(both.sets, self.model, self.agent.prices) }
end

---A file of schemas.
---@param text string
---@return table<string, table>|nil tools
---@return string? message
function M.read(text)
  local value, why = json.decode(text)
  if value == nil then
    return nil, tostring(why)
  end
  return M.schemas(value)
end

return M
