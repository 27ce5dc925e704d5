-- document/graph/run.lua: a run as a graph: its steps in order, the headings of a workflow, and in each the agents
-- that were asked: answered, failed or open, with duration and tokens.
--
-- A view of the run's story; nothing of the skill is read. Called by cli/command/graph.

local story_of = require "skillrt.run.story"
local terminal_text = require "skillrt.base.terminal_text"
local text_of = require "skillrt.base.text"
local tables = require "skillrt.base.tables"

local M = {}

local MOST <const> = 12 -- agents that are named in one box

-- Kinds of calls that ask somebody.
local ASKS <const> = tables.words "command http host session"

local function short(text)
  return text_of.cut(text_of.trim((tostring(text):gsub("%s+", " "))), 60)
end

local Drawn = {}
Drawn.__index = Drawn

function Drawn:add(kind, label, parent, edge, note)
  local id = "x" .. #self.nodes + 1
  self.nodes[#self.nodes + 1] = { id = id, kind = kind, label = label, note = note }
  if parent then
    self.edges[#self.edges + 1] = { from = parent, to = id, kind = edge }
  end
  return id
end

local WORDS <const> = { completed = "done", partial = "partly done", skipped = "left out" }

local function note_of_step(self, step)
  local failed, word = step.attempts[#step.attempts], WORDS[step.status]
  if word and step.status ~= "skipped" then
    return ("%s in %s"):format(word, terminal_text.duration(self.story:ms_of(step)))
  end
  return word or failed and ("failed, attempt %d: %s"):format(#step.attempts, short(failed.message)) or "open"
end

local function note_of_call(self, call)
  local how = call.ok and "answered" or short(call.class or call.message)
  local over = call.ended and ("%s in %s"):format(how, terminal_text.duration(self.story:ms_of(call)))
  local parts, tokens = { over or call.doubt and "outcome unknown" or "open" }, (call.used or {}).tokens
  parts[#parts + 1] = tokens and ("%d tokens"):format(tokens) or nil
  parts[#parts + 1] = (call.a or 1) > 1 and ("%d attempts"):format(call.a) or nil
  return table.concat(parts, ", ")
end

-- A step, followed by its headings, also those that only a call names; agents are lines of the box that asked them.
local function add_step(self, step)
  local kind = step.kind == "phase" and "state" or "action"
  self.last = self:add(kind, step.id, self.last, "order", note_of_step(self, step))
  local own, headings, counts = self.nodes[#self.nodes], {}, {}
  local function heading(title)
    if not headings[title] then
      self.last = self:add("phase", short(title), self.last, "order")
      headings[title] = self.nodes[#self.nodes]
    end
    return headings[title]
  end
  for _, note in ipairs(step.notes) do
    if note.title then
      heading(note.title)
    end
  end
  for _, call in ipairs(step.calls) do
    if ASKS[call.kind] and not call.pure then
      local box = call.title and heading(call.title) or own
      counts[box] = (counts[box] or 0) + 1
      if counts[box] <= MOST then
        local line = ("%s: %s"):format(short(call.label or call.to), note_of_call(self, call))
        box.note = box.note and box.note .. "\n" .. line or line
      end
    end
  end
  for box, count in pairs(counts) do
    box.note = box.note .. (count > MOST and ("\nand %d more"):format(count - MOST) or "")
  end
end

---The graph of a run.
---@param dir string
---@return skillrt.graph.Graph? graph
---@return string? message
---@return string? code
function M.of(dir)
  local story, books, code = story_of.read(dir)
  if not story then
    return nil, books --[[@as string]], code
  end
  local self = setmetatable({ nodes = {}, edges = {}, story = story }, Drawn)
  self.last = self:add("start", "start")
  for _, step in ipairs(story.steps) do
    add_step(self, step)
  end
  self:add("end", books.status, self.last, "order", books.reason)
  return { name = books.skill, nodes = self.nodes, edges = self.edges, legend = {} }
end

---Whether a path is that of a run.
---@param path string
---@return boolean
function M.is_run(path)
  return require("skillrt.run.store").at(path):exists()
end

return M
