-- agent/tools.lua: the tools of a model that is an agent: those of its task, those that are present, and the loop
-- that performs its calls.
--
-- A model whose skill gives it no tools has `read` and `ask_user`. Knows agents' fields and tasks; tool/ holds the
-- tools themselves.

local loop_of = require("skillrt.tool.loop")
local names = require("skillrt.base.names")
local presence_of = require("skillrt.tool.presence")
local registry_of = require("skillrt.tool.registry")
local tables = require("skillrt.base.tables")
local tool = require("skillrt.tool")

local M = {}

---The fields by which an agent names its tools.
M.FIELDS = {
  tools = { type = "text", list = true },
  on_absent = { enum = presence_of.ON_ABSENT, default = "widen" },
  max_parallel_tools = { type = "positive", default = 8 },
  max_tool_calls = { type = "positive", default = 1000 },
  max_repeats = { type = "positive", default = 5 },
  max_tool_result = { type = "positive", default = 32 * 1024 },
  compact = { type = "table" },
  find_tools = { type = "boolean" },
}

-- The tools that every bare model gets, unless its skill uses their names for something else.
local function add_own(agent, ctx, task, registry)
  local asks = agent.asks and require("skillrt.tool.ask_user").may(ctx, task)
  for _, name in ipairs({ agent.reads and task.dir and "read" or false, asks and "ask_user" or false }) do
    if name and not registry:find(name) then
      assert(registry:add(assert(tool.check(name, true, "skillrt"))))
    end
  end
end

-- The tools of an agent: those it names, else those its step names, else all.
local function named(list, registry)
  if not list then
    return registry:names()
  end
  local out = {}
  for _, name in ipairs(list) do
    local found = registry:named(name)
    tables.append(out, found)
  end
  for _, name in ipairs({ "read", "ask_user" }) do
    out[#out + 1] = registry:find(name) and name or nil
  end
  return out
end

local ALWAYS <const> = { "read", "ask_user", "switch_phase" }

-- The loop of a conversation in a phase: the tools of its set are present, and those of the other sets may become
-- present.
local function phased_loop(agent, ctx, task, registry)
  local allowed = nil
  for _, name in ipairs(agent.tools or {}) do
    allowed = allowed or {}
    allowed[name] = true
  end
  local switching = require("skillrt.tool.switching").new(ctx, task.phased, registry, ALWAYS, allowed)
  if require("skillrt.skill.switches").REPORTS[task.phased.switching.by] then
    assert(registry:add(switching:tool()))
  end
  local list, known = switching:offered()
  if not list then
    return nil, known
  end
  local presence = presence_of.new(registry, { names = list, known = known, on_absent = agent.on_absent })
  switching.presence, presence.switching = presence, switching
  return loop_of.new(ctx, task, presence, agent), nil, function()
    list, known = switching:offered()
    if not list then
      return known
    end
    presence:renew(known, list)
  end
end

-- The loop of a conversation that finds most of its tools by search: those its agent names are present, and the
-- search.
local function finding_loop(agent, ctx, task, registry)
  local find = require("skillrt.tool.find_tool")
  if registry:find(find.TOOL) then
    return nil, ("find_tools: there is a tool %s of the skill's own; give it another name"):format(find.TOOL)
  end
  local function offered()
    registry:remove(find.TOOL)
    local known, list = named(task.tools, registry), { find.TOOL }
    assert(registry:add(find.make(registry, tables.append({}, known))))
    known[#known + 1] = find.TOOL
    local own = named(agent.tools or {}, registry)
    return table.move(own, 1, #own, 2, list), known
  end
  local list, known = offered()
  local presence = presence_of.new(registry, { names = list, known = known, on_absent = agent.on_absent })
  return loop_of.new(ctx, task, presence, agent), nil, function()
    list, known = offered()
    presence:renew(known, list)
  end
end

-- The loop of a conversation whose tools are all present.
local function plain_loop(agent, ctx, task, registry, given)
  local list = named(given, registry)
  local presence = presence_of.new(registry, { names = list, known = list, on_absent = agent.on_absent })
  return loop_of.new(ctx, task, presence, agent), nil, function()
    list = named(given, registry)
    presence:renew(list, list)
  end
end

---What performs the tool calls of a conversation.
---@param agent table
---@param ctx table
---@param task skillrt.Task
---@return skillrt.ToolLoop|nil loop
---@return string? message
function M.loop(agent, ctx, task)
  local registry = registry_of.new()
  local own = task.own_tools or {}
  for _, name in ipairs(names.sorted(own)) do
    assert(registry:add(own[name]))
  end
  add_own(agent, ctx, task, registry)
  task.performer = agent
  local is_phased = task.phased and task.phased.set and not (task.bare and task.tools)
  local of_phases = is_phased and require("skillrt.skill.tool_sets").union(task.phased.skill)
  local list = agent.tools or of_phases or not is_phased and task.tools or nil
  local renew
  if task.mcp then
    local of = list
    if agent.find_tools then -- it may search among the tools of its step
      of = task.tools
    end
    local ok, message
    ok, message, renew = require("skillrt.tool.mcp").add(ctx, task, registry, of)
    if not ok then
      return nil, message
    end
  end
  local loop_for = agent.find_tools and finding_loop or is_phased and phased_loop or plain_loop
  local loop, message, renewed = loop_for(agent, ctx, task, registry, list)
  if loop then
    loop.renew, loop.renewed = renew, renewed
  end
  return loop, message
end

return M
