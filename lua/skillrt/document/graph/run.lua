-- document/graph/run.lua: a run as a graph: its steps in their order, the headings of a workflow, the agents that were
-- asked under each: answered, failed or open, how long, with how many tokens.
--
-- Drawn from the journal as it is; nothing of the skill is read. Called by cli/command/graph.

local runner = require "skillrt.run.runner"
local text_of = require "skillrt.base.text"

local M = {}

local MOST <const> = 400 -- agents that are drawn

-- Kinds of calls that somebody is asked by.
local ASKS <const> = { command = true, http = true, host = true, session = true }

local function duration(ms)
  return ms < 1000 and ("%d ms"):format(ms) or ms < 120000 and ("%.1f s"):format(ms / 1000)
    or ("%d min"):format(ms // 60000)
end

local function short(text)
  local line = text_of.trim((tostring(text):gsub("%s+", " ")))
  return #line > 60 and line:sub(1, utf8.offset(line, 0, 60) - 1) .. "..." or line
end

---@class skillrt.graph.Asked  an agent, or another call
---@field label string
---@field parent string        the node it hangs on
---@field begun integer
---@field over string|nil      how it ended
---@field at integer|nil       ... and when
---@field tokens integer
---@field attempts integer

local Drawn = {}
Drawn.__index = Drawn

function Drawn:add(kind, label, parent, edge)
  local id = "x" .. #self.nodes + 1
  self.nodes[#self.nodes + 1] = { id = id, kind = kind, label = label }
  if parent then
    self.edges[#self.edges + 1] = { from = parent, to = id, kind = edge }
  end
  return id, self.nodes[#self.nodes]
end

-- The node of a heading, below its step; one that only a call names, too.
function Drawn:heading(step, title)
  local id = step.headings[title]
  if not id then
    id = self:add("phase", short(title), step.last_heading or step.id, step.last_heading and "order" or "condition")
    step.headings[title], step.last_heading = id, id
  end
  return id
end

local ON = {}

function ON.start(self, record)
  local id, node = self:add(record.phase and "state" or "action", record.phase or record.action, self.last, "order")
  self.last = record.sub and self.last or id
  self.steps[record.step] = { id = id, node = node, headings = {}, begun = record.at, n = 0 }
end

function ON.note(self, record)
  local step = record.title and self.steps[record.step]
  if step then
    step.heading = self:heading(step, record.title)
  end
end

function ON.call(self, record)
  local step = self.steps[record.step]
  if not step or record.pure or not ASKS[record.kind] then
    return
  end
  local key = ("%d %s"):format(record.step, record.c)
  local one = self.asked[key]
  if one and not one.over then
    one.attempts = one.attempts + 1
    return
  end
  self.count = self.count + 1
  local parent = record.phase and self:heading(step, record.phase) or step.heading or step.id
  one = { parent = parent, begun = record.at, tokens = 0, attempts = 1, label = short(record.label or record.to) }
  self.asked[key] = one
  self.list[#self.list + 1] = one
end

-- How a call ended, in words; what its answer meant to who asked, its step says.
local function ended(record)
  local failed, reply = record.failed, record.reply
  if failed then
    return failed.class
  elseif reply and reply.status ~= "ok" then
    return tostring(reply.status)
  elseif reply and (reply.code or 0) >= 300 then
    return ("HTTP %d"):format(reply.code)
  end
  return reply and (reply.code or 0) > 0 and reply.code < 200 and ("exit code %d"):format(reply.code) or "answered"
end

function ON.result(self, record)
  local one = self.asked[("%d %s"):format(record.step, record.c)]
  if one then
    one.over, one.at = ended(record), record.at
  end
end

function ON.doubt(self, record)
  local one = self.asked[("%d %s"):format(record.step, record.c)]
  if one then
    one.doubt = true
  end
end

function ON.used(self, record)
  local one = self.asked[("%d %s"):format(record.step, record.c or "")]
  if one then
    one.tokens = one.tokens + (math.tointeger(record.used.tokens) or 0)
  end
end

function ON.done(self, record)
  local step = self.steps[record.step]
  if step then
    step.node.note, step.over = "done in " .. duration(record.at - step.begun), true
  end
end

function ON.skip(self, record)
  local step = record.step and self.steps[record.step]
  if step then
    step.node.note, step.over = "left out", true
  end
end

function ON.fail(self, record)
  local step = self.steps[record.step]
  if step then
    step.node.note = ("failed, attempt %d: %s"):format(record.attempt, short(record.message))
    step.over = not record.retry
  end
end

local function note_of(one)
  local parts = { one.over or one.doubt and "in doubt" or "open" }
  if one.at then
    parts[1] = ("%s in %s"):format(parts[1], duration(one.at - one.begun))
  end
  parts[#parts + 1] = one.tokens > 0 and ("%d tokens"):format(one.tokens) or nil
  parts[#parts + 1] = one.attempts > 1 and ("%d attempts"):format(one.attempts) or nil
  return table.concat(parts, ", ")
end

-- The agents, each below its heading; of very many the first.
local function add_agents(self)
  for i = 1, math.min(#self.list, MOST) do
    local one = self.list[i]
    local _, node = self:add("optional", one.label, one.parent, "condition")
    node.note = note_of(one)
  end
  if #self.list > MOST then
    self:add("any", ("and %d more"):format(#self.list - MOST), self.list[MOST].parent, "condition")
  end
end

---The graph of a run.
---@param dir string
---@return skillrt.graph.Graph? graph
---@return string? message
---@return string? code
function M.of(dir)
  local self = setmetatable({ nodes = {}, edges = {}, steps = {}, asked = {}, list = {}, count = 0 }, Drawn)
  self.last = self:add("start", "start")
  local books, message, code = runner.read(dir, function(record)
    local take = ON[record.t]
    if take then
      take(self, record)
    end
  end)
  if not books then
    return nil, message, code
  end
  for _, step in pairs(self.steps) do
    step.node.note = step.node.note or "open"
  end
  add_agents(self)
  local _, node = self:add("end", books.status, self.last, "order")
  node.note = books.reason
  return { name = books.skill, nodes = self.nodes, edges = self.edges, legend = {} }
end

---Whether a path is that of a run.
---@param path string
---@return boolean
function M.is_run(path)
  return require("skillrt.run.store").at(path):exists()
end

return M
