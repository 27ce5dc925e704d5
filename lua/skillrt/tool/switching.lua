-- tool/switching.lua: how a talk goes from one tool set to another (R106, R111): by the tool switch_phase or a marker,
-- by the pattern of its calls, or as a call to an absent tool falls back. It changes presence and nothing else.
--
-- All of it follows from what the model said, so that a resume arrives at the same set; each switch is a record. Used
-- by agent/tools.lua and loop.lua where a skill has tool sets.

local privileges = require("skillrt.base.privileges")
local sets = require("skillrt.skill.tool_sets")
local switches = require("skillrt.skill.switches")
local tables = require("skillrt.base.tables")
local tool_of = require("skillrt.tool")

local M = {}

---The tool by which a model reports its phase.
M.TOOL = "switch_phase"

---@class skillrt.ToolSwitching
---@field current string   the active set
---@field recent string[]  for which set each of the newest calls spoke; "": for none
local Switching = {}
Switching.__index = Switching

---@param ctx table
---@param phased skillrt.Phased  with a set
---@param registry skillrt.Registry
---@param always string[]        names that are present in every set
---@param allowed table<string, true>|nil  what the agent may be given at all
---@return skillrt.ToolSwitching
function M.new(ctx, phased, registry, always, allowed)
  return setmetatable({ ctx = ctx, phased = phased, registry = registry, always = always, allowed = allowed,
    current = phased.set.name, recent = {} }, Switching)
end

---Whether the agent is given a tool in any set.
---@param name string
---@return boolean
function Switching:may(name)
  local allowed = self.allowed
  local server = allowed and name:match("^mcp__.-__")
  return not allowed or allowed[name] or server and (allowed[server:sub(1, -3)] or allowed[server .. "*"]) or false
end

---The names that are present where these are a set's; nil: all.
---@param list string[]|nil
---@return string[]
function Switching:present(list)
  local out = {}
  for _, name in ipairs(list or self.registry:names()) do
    for _, one in ipairs(self.registry:named(name)) do
      out[#out + 1] = self:may(one) and one or nil
    end
  end
  for _, name in ipairs(self.always) do
    out[#out + 1] = self.registry:find(name) and name or nil
  end
  return out
end

-- The names of the active set's tools; nil: all.
local function active(self)
  local skill = self.phased.skill
  return sets.names(skill, sets.find(skill, self.current))
end

---What may be present, and what is in the active set; nil and what a set lacks.
---@return string[]|nil present
---@return string[]|string known_or_message  nil: all
function Switching:offered()
  local missing = sets.missing(self.phased.skill, function(name)
    return self.registry:named(name)[1] or name:find("^mcp__") and not self:may(name) -- not asked for, then
  end)
  if missing then
    return nil, missing
  end
  local union = sets.union(self.phased.skill)
  return self:present(active(self)), (union or self.allowed) and self:present(union)
end

-- Makes a set the active one.
local function enter(self, set, by, more)
  local entry = { t = "switch", from = self.current, to = set.name, by = by,
    keeps = switches.kept(self.phased.skill, set.name) }
  tables.fill(entry, more)
  privileges.of(self.ctx).mark(entry)
  self.current = set.name
  self.presence:change(self:present(active(self)))
end

-- What the model gets where it wants to go there.
local function told(self, name)
  local set, problem = switches.target(self.phased, self.current, name)
  return set and switches.entered(self.phased.skill, set, self.phased.text_of(set))
    or ("The phase stays %s: %s."):format(self.current, problem)
end

-- The model says where it wants to go.
local function report(self, name, by, summary)
  local set, problem = switches.target(self.phased, self.current, name)
  if set then
    enter(self, set, by, { summary = summary })
  else
    privileges.of(self.ctx).mark({ t = "switch", from = self.current, to = name:sub(1, 64), by = by,
      refused = problem })
  end
end

---What a model says besides its calls: what it gets where that is a marker.
---@param text string
---@return string|nil told
function Switching:said(text)
  local name = switches.REPORTS[self.phased.switching.by] and switches.reported(text)
  if name then
    local answer = told(self, name)
    report(self, name, "report")
    return answer
  end
end

-- For which set most of the newest calls speak; the active one on a tie, and while the lead is too small (F54).
local function detected(self)
  local counts, best = { [self.current] = 0 }, self.current
  for _, name in ipairs(self.recent) do
    counts[name] = (counts[name] or 0) + 1
  end
  counts[""] = nil
  for _, set in ipairs(self.phased.skill.tool_sets) do
    if (counts[set.name] or 0) > (counts[best] or 0) then
      best = set.name
    end
  end
  local lead = (counts[best] or 0) - counts[self.current]
  return best ~= self.current and lead >= self.phased.switching.lead and best or nil
end

---A tool was used, or called in vain: what follows from it, also where a resume finds its result.
---@param call skillrt.ToolCall
---@param problem string|nil  it was not performed
function Switching:used(call, problem)
  if call.name == M.TOOL and not problem then
    report(self, call.input.phase, "tool", call.input.summary)
  else
    self:called(call.name)
  end
end

---A tool was called, present or not. Plan B (R111): where the calls switch, the set follows them; where somebody else
---does, what they speak for is only recorded.
---@param name string
function Switching:called(name)
  local switching = self.phased.switching
  if switching.by ~= "calls" and not switching.advises then
    return
  end
  local recent = self.recent
  recent[#recent + 1] = switching.map[name] or ""
  if #recent > switching.window then
    table.remove(recent, 1)
  end
  local found = detected(self)
  if found and switching.by == "calls" then
    enter(self, sets.find(self.phased.skill, found), "calls")
  elseif found ~= self.advised then
    self.advised = found
    if found then
      privileges.of(self.ctx).mark({ t = "switch", from = self.current, to = found, by = "calls", advised = true })
    end
  end
end

---A call to an absent tool leads to the set that is declared for that (R114): what the model gets.
---@param name string
---@return string|nil told
function Switching:fall_back(name)
  local set = sets.find(self.phased.skill, self.phased.switching.fallback)
  if set and set.name ~= self.current then
    enter(self, set, "fallback")
    return ("the tool %s was not available; the phase is %s now%s"):format(name, set.name,
      self.presence.is_present[name] and ", call it again" or "")
  end
end

---The tool switch_phase, for models that report.
---@return skillrt.Tool
function Switching:tool()
  local list = {}
  for i, set in ipairs(self.phased.skill.tool_sets) do
    list[i] = set.name
  end
  local texts = { type = "array", items = { type = "string" } }
  return assert(tool_of.new({
    name = M.TOOL, source = "skillrt", alone = true,
    description = "Starts another phase of the work, with other tools. Summarize the result of this one.",
    input = { type = "object", required = { "phase" }, additionalProperties = false, properties = {
      phase = { type = "string", enum = list },
      summary = { type = "object", additionalProperties = false,
        properties = { outputs = texts, errors = texts, files = texts } } } },
    perform = function(_, _, given) return told(self, given.phase), nil end, -- it is switched when that is recorded
  }, "skillrt"))
end

return M
