-- agent/tools.lua: the tools of a model that is an agent: which there are for a task, which of them are present, and
-- the loop that performs what it calls.
--
-- A model that is given none by its skill has `read` and `ask_user`. Knows agents' fields and tasks; a tool and its
-- use are tool/'s.

local loop_of = require("skillrt.tool.loop")
local names = require("skillrt.base.names")
local presence_of = require("skillrt.tool.presence")
local registry_of = require("skillrt.tool.registry")
local sets = setmetatable({}, { __index = function(_, key) return require("skillrt.skill.tool_sets")[key] end })
local tool = require("skillrt.tool")

local M = {}

---The fields by which an agent says what it is given.
M.FIELDS = {
  tools = { kind = "text", list = true },
  on_absent = { enum = presence_of.ON_ABSENT, default = "widen" },
  max_parallel_tools = { kind = "positive", default = 8 },
  max_tool_calls = { kind = "positive", default = 1000 },
  max_repeats = { kind = "positive", default = 5 },
  max_tool_result = { kind = "positive", default = 32 * 1024 },
  compact = { kind = "table" },
  find_tools = { kind = "boolean" },
}

-- The tools that every bare model is given, where its skill says nothing else of their names.
local function add_own(agent, ctx, task, registry)
  local asks = agent.asks and require("skillrt.tool.ask_user").may(ctx, task)
  for _, name in ipairs({ agent.reads and task.dir and "read" or false, asks and "ask_user" or false }) do
    if name and not registry:find(name) then
      assert(registry:add(assert(tool.check(name, true, "skillrt"))))
    end
  end
end

-- Which of the skill's tools the agent is given: those it names, else those its step names, else all.
local function named(list, registry)
  if not list then
    return registry:names()
  end
  local out = {}
  for _, name in ipairs(list) do
    out[#out + 1] = registry:find(name) and name or nil
  end
  for _, name in ipairs({ "read", "ask_user" }) do
    out[#out + 1] = registry:find(name) and name or nil
  end
  return out
end

local ALWAYS <const> = { "read", "ask_user", "switch_phase" }

-- The loop of a talk that is in a phase: its set is present, and what the sets hold together may come to be.
local function phased_loop(agent, ctx, task, registry)
  local skill, allowed = task.phased.skill, nil
  for _, name in ipairs(agent.tools or {}) do
    allowed = allowed or {}
    allowed[name] = true
  end
  local switching_of = require("skillrt.tool.switching")
  local switching = switching_of.new(ctx, task.phased, registry, ALWAYS, allowed)
  if require("skillrt.skill.switches").REPORTS[task.phased.switching.by] then
    assert(registry:add(switching:tool()))
  end
  local missing = sets.missing(skill, function(name) return switching_of.found(registry, name)[1] end)
  if missing then
    return nil, missing
  end
  local union = sets.union(skill)
  local presence = presence_of.new(registry, { names = switching:present(task.phased.names),
    known = (union or allowed) and switching:present(union), on_absent = agent.on_absent })
  switching.presence, presence.switching = presence, switching
  return loop_of.new(ctx, task, presence, agent)
end

-- The loop of a talk that finds most of its tools by words: those its agent names are present, and the search.
local function finding_loop(agent, ctx, task, registry)
  local find, known = require("skillrt.tool.find_tool"), named(task.tools, registry)
  if registry:find(find.TOOL) then
    return nil, ("find_tools: there is a tool %s of the skill's own; give it another name"):format(find.TOOL)
  end
  assert(registry:add(find.make(registry, table.move(known, 1, #known, 1, {}))))
  known[#known + 1] = find.TOOL
  local list = table.move(agent.tools or {}, 1, #(agent.tools or {}), 2, { find.TOOL })
  for _, name in ipairs({ "read", "ask_user" }) do
    list[#list + 1] = registry:find(name) and name or nil
  end
  return loop_of.new(ctx, task, presence_of.new(registry, { names = list, known = known, on_absent = agent.on_absent }),
    agent)
end

---What performs the tool calls of a talk.
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
  local list = agent.tools or is_phased and sets.union(task.phased.skill) or not is_phased and task.tools or nil
  local renew
  if task.mcp then
    local message
    list, message, renew = require("skillrt.mcp").add(ctx, task, registry, not agent.find_tools and list or nil)
    if not list then
      return nil, message
    end
  end
  if agent.find_tools then
    return finding_loop(agent, ctx, task, registry)
  end
  if is_phased then
    return phased_loop(agent, ctx, task, registry)
  end
  list = named(list, registry)
  local presence = presence_of.new(registry, { names = list, known = list, on_absent = agent.on_absent })
  local loop = loop_of.new(ctx, task, presence, agent)
  loop.renew = renew
  return loop
end

return M
