-- tool/loop.lua: handles the tool calls of a model's reply: each is checked before anything runs, performed as its
-- own use in the journal, in parallel where possible, and always answered.
--
-- A call to a tool that is not present is recorded and answered, never performed. Knows tools and ctx;
-- agent/model.lua, its only caller, writes and sends the conversation.

local approval = require("skillrt.tool.approval")
local cut = require("skillrt.base.text").cut
local files = require("skillrt.base.files")
local privileges = require("skillrt.base.privileges")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local names = require("skillrt.base.names")
local result_of = require("skillrt.tool.result")

local M = {}

---@class skillrt.ToolCall  as in a reply
---@field id string
---@field name string
---@field input table?
---@field problem string?  its arguments are not a JSON object

---@class skillrt.ToolResult
---@field id string
---@field name string
---@field text string
---@field is_error boolean?

---@class skillrt.ToolSettings
---@field max_parallel_tools integer  calls under way at once
---@field max_tool_calls integer      of one conversation
---@field max_repeats integer         equal calls with equal results before the conversation ends
---@field max_tool_result integer     bytes that the model gets at once

---@class skillrt.ToolLoop
---@field renew (fun(): boolean)|nil  checks whether the tools have changed
---@field renewed fun(): string?  applies that; returns why the conversation cannot continue
local Loop = {}
Loop.__index = Loop

---@param ctx table
---@param task table
---@param presence skillrt.Presence
---@param settings skillrt.ToolSettings
---@return skillrt.ToolLoop
function M.new(ctx, task, presence, settings)
  return setmetatable({ ctx = ctx, task = task, presence = presence, settings = settings, count = 0, seen = {} }, Loop)
end

---The tools of the next request; nil: why there are none.
---@return skillrt.Tool[]|nil tools
---@return string? message
function Loop:tools()
  local message = self.renew and self.renew() and self.renewed()
  return not message and self.presence:tools() or nil, message or nil
end

---Checks the model's words for a switch: returns what the model gets, if it goes to another phase.
---@param text string
---@return string|nil told
function Loop:said(text)
  return self.presence.switching and self.presence.switching:said(text)
end

-- ---- before anything runs ----

local SHOWN <const> = 200

local function judged(self, call, was_sent)
  local text = call.input and json.encode(call.input, { sorted = true }) or ""
  local one = { call = call, text = text, digest = files.digest(text):sub(1, 32),
    shown = cut(text, SHOWN) }
  one.key = call.name .. " " .. one.digest
  one.tool, one.problem, one.absent = self.presence:called(call.name, was_sent)
  if not one.tool then
    return one
  elseif self.count >= self.settings.max_tool_calls then
    one.problem = ("the limit of %d tool calls is reached (max_tool_calls)"):format(self.settings.max_tool_calls)
  elseif call.problem or not call.input then
    one.problem = call.problem or "its arguments are not a JSON object"
  else
    local ok, why = json_schema.judge(one.tool.judged or one.tool.input, call.input, "the input")
    one.problem = not ok and ("%s: %s"):format(call.name, why) or nil
  end
  if not one.problem then
    self.count = self.count + 1 -- taken before anything of this reply runs
  end
  return one
end

-- ---- one call ----

-- A call becomes a use in the journal, whatever its result.
local function use(self, one)
  local refused = one.problem
  return privileges.of(self.ctx).use({ name = one.call.name, digest = one.digest, shown = one.shown,
    absent = one.absent, refused = refused }, function(place)
    if refused then
      return { text = refused, is_error = true }
    end
    local ok, why = approval.given(self.ctx, one.tool, one.call.input, self.task)
    if not ok then
      return { text = why, is_error = true }
    end
    local text, message = result_of.guarded(one.tool, self.ctx, one.call.input, self.task)
    return result_of.bounded(self, one.tool, place, text, message),
      text and one.tool.wrote and one.tool:wrote(self.task, one.call.input)
  end)
end

-- ---- the calls of a reply ----

-- Groups the calls: those that may run at once follow each other in a group; one that must be alone is a group of its
-- own.
local function groups_of(list)
  local groups, open = {}, nil
  for _, one in ipairs(list) do
    local alone = one.tool and not one.problem and one.tool.alone
    if alone or not open then
      open = {}
      groups[#groups + 1] = open
    end
    open[#open + 1] = one
    open = not alone and open or nil
  end
  return groups
end

local function perform_group(self, group)
  if #group == 1 then
    group[1].result = use(self, group[1])
    return
  end
  local results = self.ctx.map(group, function(one) return use(self, one) end,
    { max_parallel = self.settings.max_parallel_tools, on_error = "settle" })
  for i, one in ipairs(group) do
    one.result = results[i] or { text = "it was not performed", is_error = true }
  end
end

-- What a search found is present from the next request on, also when a resume delivers its result.
local function add_found(self, one)
  if one.tool and one.tool.adds and not one.problem then
    for _, name in ipairs(one.tool.adds(one.call.input)) do
      self.presence:add(name)
    end
  end
end

-- Notices equal calls with equal results, tells the model, and in the end stops.
local function noticed(self, one)
  local text = one.result.text
  local digest, known = one.result.digest or files.digest(text), self.seen[one.key]
  local times = known and known.digest == digest and known.times + 1 or 1
  self.seen[one.key] = { digest = digest, times = times }
  if times > self.settings.max_repeats then
    self.endless = ("made the same call of %s %d times, each with the same result (max_repeats)"):format(
      names.show(one.call.name), times)
  elseif times > 1 then
    text = ("(You made this very call %d times now, and the result is the same each time.)\n%s"):format(times, text)
  end
  return text
end

---Performs the calls of a reply: a result for each, in order; or nil and why the conversation ends.
---@param calls skillrt.ToolCall[]
---@return skillrt.ToolResult[]|nil results
---@return string? message
function Loop:perform(calls)
  if self.count >= self.settings.max_tool_calls then
    return nil, ("made %d tool calls (max_tool_calls)"):format(self.count)
  end
  local list, results, sent = {}, {}, {}
  for i, call in ipairs(calls) do
    sent[i] = self.presence:has(call.name)
  end
  for i, call in ipairs(calls) do
    list[i] = judged(self, call, sent[i])
  end
  for _, group in ipairs(groups_of(list)) do
    perform_group(self, group)
    for _, one in ipairs(self.presence.switching and group or {}) do
      self.presence.switching:used(one.call, one.problem)
    end
  end
  for i, one in ipairs(list) do
    results[i] = { id = one.call.id, name = one.call.name, text = noticed(self, one),
      is_error = one.result.is_error or nil }
    add_found(self, one)
  end
  if self.endless then
    return nil, self.endless
  end
  return results
end

return M
