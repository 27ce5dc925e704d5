-- tool/switching.lua: switches a conversation from one tool set to another (R106, R111): by the tool switch_phase or
-- a marker, by the pattern of its calls, or as a fallback for a call to an absent tool. It changes presence and
-- nothing else.
--
-- Everything follows from the model's replies, so a resume arrives at the same set; each switch is a record. Used by
-- agent/tools.lua and loop.lua if a skill has tool sets.

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
---@field recent string[]  which set each of the newest calls indicates; "": none
local Switching = {}
Switching.__index = Switching

---@param ctx table
---@param phased skillrt.Phased  with a set
---@param registry skillrt.Registry
---@param always string[]        names that are present in every set
---@param allowed table<string, true>|nil  the names that the agent may get at all
---@return skillrt.ToolSwitching
function M.new(ctx, phased, registry, always, allowed)
  return setmetatable({ ctx = ctx, phased = phased, registry = registry, always = always, allowed = allowed,
    current = phased.set.name, recent = {} }, Switching)
end

---Whether the agent gets a tool in any set.
---@param name string
---@return boolean
function Switching:may(name)
  local allowed = self.allowed
  local server = allowed and name:match("^mcp__.-__")
  return not allowed or allowed[name] or server and (allowed[server:sub(1, -3)] or allowed[server .. "*"]) or false
end

---The present names for those of a set; nil: all.
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

---What may be present, and what the active set holds; or nil and what a set lacks.
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

-- The result for a model that wants to switch.
local function told(self, name)
  local set, problem = switches.target(self.phased, self.current, name)
  return set and switches.entered(self.phased.skill, set, self.phased.text_of(set))
    or ("The phase stays %s: %s."):format(self.current, problem)
end

-- The model requests a switch.
local function report(self, name, by, summary)
  local set, problem = switches.target(self.phased, self.current, name)
  if set then
    enter(self, set, by, { summary = summary })
  else
    privileges.of(self.ctx).mark({ t = "switch", from = self.current, to = name:sub(1, 64), by = by,
      refused = problem })
  end
end

---The model's words besides its calls: returns what it gets if they contain a marker.
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

-- The set that most of the newest calls indicate; the active one on a tie, and while the lead is too small (F54).
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

---A tool was used, or called in vain: applies what follows, also when a resume delivers its result.
---@param call skillrt.ToolCall
---@param problem string|nil  it was not performed
function Switching:used(call, problem)
  if call.name == M.TOOL and not problem then
    report(self, call.input.phase, "tool", call.input.summary)
  else
    self:called(call.name)
  end
end

---A tool was called, present or not. Plan B (R111): if calls control switching, the set follows them; otherwise what
---they indicate is only recorded.
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

---A call to an absent tool switches to the declared fallback set (R114): returns what the model gets.
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

---The tool switch_phase, for models that report their phase.
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
    perform = function(_, _, given) return told(self, given.phase), nil end, -- the switch happens when that is recorded
  }, "skillrt"))
end

return M
