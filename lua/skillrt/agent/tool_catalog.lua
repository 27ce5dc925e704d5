-- agent/tool_catalog.lua: the tools of a skill and of each of its sets as a provider is sent them, and what a run may
-- come to both ways, all tools against sets; which of the two is cheaper (`switching = { when = "cost" }`).
--
-- Pure. Knows skills and prices, no runs: what a run has come to is report/tokens.lua's.

local names = require("skillrt.base.names")
local sets_of = require("skillrt.skill.tool_sets")
local tool_cost = require("skillrt.agent.tool_cost")

local M = {}

M.ALL = "all tools"

---@class skillrt.ToolCatalog
---@field agent table       a model, by whose API bytes are counted
---@field model string
---@field all string[]      names of all tools
---@field written integer   how many of them stand for a tool that has no schema here
---@field lists table<string, { tools: integer, bytes: integer, tokens: integer }>  by what list() gave
local Catalog = {}
Catalog.__index = Catalog

local function model_of(skill)
  for _, name in ipairs(names.sorted(skill.agents or {})) do
    if skill.agents[name].wire then
      return skill.agents[name]
    end
  end
  return assert(require("skillrt.agent").check({ kind = "anthropic" }, "skillrt"))
end

-- A tool of that name: the skill's, a file's, or one that stands for it.
local function tool_named(self, name)
  local tool = (self.skill.tools or {})[name] or self.schemas[name] or self.made[name]
  if not tool then
    tool = { name = name, description = name, input = { type = "object", properties = {} } }
    self.made[name], self.written = tool, self.written + 1
  end
  return tool
end

---The tools of a skill and of its sets, as they are sent.
---@param skill skillrt.Skill
---@param schemas table<string, table>?
---@param model string?
---@return skillrt.ToolCatalog
function M.new(skill, schemas, model)
  local self = setmetatable({ skill = skill, schemas = schemas or {}, made = {}, written = 0, lists = {}, all = {},
    agent = model_of(skill) }, Catalog)
  self.model = model or self.agent.model or self.agent.vendor.model
  local seen = {}
  local function add(list)
    for _, name in ipairs(list) do
      self.all[#self.all + 1] = not seen[name] and name or nil
      seen[name] = true
    end
  end
  local union = skill.tool_sets and sets_of.union(skill)
  add(union or names.sorted(skill.tools or {})) -- what no set holds is never sent
  for _, set in ipairs(skill.tool_sets or {}) do
    add(sets_of.names(skill, set) or {})
  end
  return self
end

---What a list of tools is: counted once.
---@param list string[]
---@return string key
---@return { count: integer, bytes: integer, tokens: integer }
function Catalog:list(list)
  local key = table.concat(list, " ")
  if not self.lists[key] then
    local tools = {}
    for i, name in ipairs(list) do
      tools[i] = tool_named(self, name)
    end
    local bytes = tool_cost.bytes(self.agent, tools)
    self.lists[key] = { count = #list, bytes = bytes, tokens = tool_cost.tokens(bytes) }
  end
  return key, self.lists[key]
end

---The names of a set's tools.
---@param set skillrt.ToolSet|nil  nil: of all
---@return string[]
function Catalog:names(set)
  return set and sets_of.names(self.skill, set) or self.all
end

---A row for all tools, and one for each set.
---@param prompt_of fun(set: skillrt.ToolSet|nil): integer|nil  bytes of the longest prompt of a step with it
---@return table[] rows  { name, tools, bytes, tokens, prompt, saved }: saved: percent of what all take
function Catalog:rows(prompt_of)
  local rows, sets = {}, self.skill.tool_sets or {}
  for i = 0, #sets do
    local _, one = self:list(self:names(sets[i]))
    rows[i + 1] = { name = i == 0 and M.ALL or sets[i].name, tools = one.count, bytes = one.bytes, tokens = one.tokens,
      prompt = prompt_of(sets[i]), saved = rows[1] and 100 * (1 - one.bytes / math.max(1, rows[1].bytes)) or nil }
  end
  return rows
end

---What a run may come to both ways: the steps of agents that have sets, one after the other.
---@param rounds integer  exchanges of each
---@param growth integer  tokens that each is longer by
---@param prompt_of fun(set: skillrt.ToolSet|nil): integer|nil
---@return { steps: string[], all: skillrt.Used, sets: skillrt.Used }|nil
function Catalog:foreseen(rounds, growth, prompt_of)
  local skill, both, steps = self.skill, { all = {}, sets = {} }, {}
  for _, list in ipairs({ skill.phases or {}, skill.actions or {} }) do
    for _, one in ipairs(list) do
      local set = one.agent and not one.run and sets_of.find(skill, one.tool_set) or nil
      if set then
        steps[#steps + 1] = set
      end
    end
  end
  local one_talk = skill.switching ~= nil and skill.switching.by ~= "orchestrator"
  steps = one_talk and skill.tool_sets or steps
  for i, set in ipairs(steps) do
    local rest = tool_cost.tokens(prompt_of(set) or 0)
    for way, list in pairs({ all = self.all, sets = self:names(set) }) do
      local key, one = self:list(list)
      both[way][i] = { list = key, tools = one.tokens, rest = rest }
    end
  end
  if not steps[1] then
    return nil
  end
  local out = { steps = {} }
  for i, set in ipairs(steps) do
    out.steps[i] = set.name
  end
  for way, list in pairs(both) do
    out[way] = tool_cost.cost(tool_cost.foreseen(list, rounds, growth, one_talk), self.model, self.agent.prices)
  end
  return out
end

M.ROUNDS, M.GROWTH = 10, 500 -- exchanges of a step, and tokens that each adds, where nothing has told

local cheaper = setmetatable({}, { __mode = "k" }) -- by skill

---Whether all tools in every request are cheaper than sets that are switched, as far as it can be told before.
---@param skill skillrt.Skill
---@return boolean
function M.all_is_cheaper(skill)
  if cheaper[skill] == nil then
    local found = M.new(skill):foreseen(M.ROUNDS, M.GROWTH, function() return nil end)
    cheaper[skill] = found ~= nil and found.all.usd ~= nil and found.sets.usd ~= nil and found.all.usd < found.sets.usd
  end
  return cheaper[skill]
end

return M
