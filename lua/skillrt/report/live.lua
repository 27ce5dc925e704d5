-- report/live.lua: a run on a terminal: its lines scroll by, and a few lines below them show what is under way, how
-- long, and its output.
--
-- The cursor rests at the first of those few lines, so no frame needs to know its position: it writes the new lines
-- there, then the changed part of the block, then moves back up. One write a frame, and nothing is cleared first, so
-- nothing flickers; after a resize everything is redrawn. A watcher as in turn.lua. Made by report/watch.lua.

local agents_of = require("skillrt.report.agents")
local core = require("skillrt.core")
local lines = require("skillrt.report.lines")
local opening_line = require("skillrt.report.opening_line")
local output = require("skillrt.report.output")
local tables = require("skillrt.base.tables")
local text_of = require("skillrt.base.terminal_text")
local texts = require("skillrt.base.text")

local M = {}

M.FRAME_MS = 100

local LAST_LINES = 3 -- of what running tasks say
local OPEN_STEPS = 8
local LONGEST_LINE = 4096 -- bytes kept of an unfinished line

-- Terminals that support it show a frame in one step; the others ignore it.
local BEGIN, END = "\27[?2026h", "\27[?2026l"
local CLEAR_RIGHT, CLEAR_BELOW = "\27[K", "\27[J"

---@class skillrt.report.Live
local Live = {}
Live.__index = Live

local function now_ms()
  return core.mono_ms()
end

---Complete lines of a task's output; a carriage return overwrites the line, as in progress bars.
---@param said { rest: string, [integer]: string }  its earlier output: changed
---@param bytes string
function M.hear(said, bytes)
  local text, at = said.rest .. bytes, 1
  for stop in text:gmatch("()\n") do
    local line = texts.behind_last(text:sub(at, stop - 1):gsub("\r$", ""), "\r")
    at = stop + 1
    if line:find("%S") then
      said[#said + 1] = line
      if #said > LAST_LINES then
        table.remove(said, 1)
      end
    end
  end
  local rest = text:sub(at)
  local ended = rest:sub(-1) == "\r" and "\r" or "" -- the "\n" behind it may come later
  said.rest = (texts.behind_last(rest:sub(1, -1 - #ended), "\r") .. ended):sub(-LONGEST_LINE)
end

local function last_words(said)
  local list = tables.append({}, said)
  local rest = said.rest:gsub("\r", "")
  if rest:find("%S") then
    list[#list + 1] = rest
    if #list > LAST_LINES then
      table.remove(list, 1)
    end
  end
  return list
end

local function step_line(step, wall_ms)
  local indent = ("  "):rep(step.depth or 0)
  local line = ("%s> %s  %s"):format(indent, step.id, text_of.duration(math.max(0, wall_ms - step.at)))
  if step.attempt > 1 then
    line = ("%s  attempt %d"):format(line, step.attempt)
  end
  if step.retry_at and step.retry_at > wall_ms then
    return ("%s in %s"):format(line, text_of.duration(step.retry_at - wall_ms))
  elseif step.asking then
    return ("%s  %s"):format(line, step.asking)
  end
  return line
end

-- The block as { kind, text } rows, at most `rows` of them.
function Live:block(rows)
  local formatter, list = self.formatter, {}
  local wall, open = core.wall_ms(), formatter:open()
  list[1] = {
    "strong",
    ("%s  %s  %s"):format(self.name, text_of.duration(now_ms() - self.started), self.agents:count()
      or ("%d done, %d failed, %d %s"):format(formatter.done, formatter.failed, formatter.retries,
        formatter.retries == 1 and "retry" or "retries")),
  }
  for i = 1, math.min(#open, OPEN_STEPS) do
    local step = open[i]
    list[#list + 1] = { "info", step_line(step, wall) }
    local said = self.said[step.id]
    for _, words in ipairs(said and last_words(said) or {}) do
      list[#list + 1] = { "detail", "  | " .. words }
    end
    tables.append(list, self.agents:rows(step.number, wall))
  end
  if #open > OPEN_STEPS then
    list[#list + 1] = { "detail", ("  and %d more"):format(#open - OPEN_STEPS) }
  end
  local more = #list - rows
  for i = #list, rows + 1, -1 do
    list[i] = nil
  end
  if more > 0 and rows > 1 then
    list[rows] = { "detail", ("  and %d more"):format(more + 1) }
  end
  return list
end

local function paint_row(row, columns)
  return output.paint(1, row[1], text_of.cut(text_of.escape(row[2]), columns))
end

-- The part of a frame below the lines that scroll: what changed of the block, cursor back up.
function Live:draw_block(out, columns, rows, anew)
  local block, shown = self:block(math.max(1, rows - 1)), self.shown
  anew = anew or #block ~= #shown
  local changed = anew
  for i, row in ipairs(block) do
    local text = paint_row(row, columns - 1)
    if anew or text ~= shown[i] then
      out[#out + 1] = text .. CLEAR_RIGHT
      changed = true
    end
    block[i] = text
    if i < #block then
      out[#out + 1] = "\r\n"
    end
  end
  if anew then
    out[#out + 1] = CLEAR_BELOW
  end
  out[#out + 1] = #block > 1 and ("\r\27[%dA"):format(#block - 1) or "\r"
  self.shown = block
  return changed
end

-- The lines that stay. A line that fills its row is written on a cleared row: clearing after a full row would remove
-- its last character.
function Live:scroll(out, columns)
  for _, line in ipairs(self.queue) do
    if line.width < columns then
      out[#out + 1] = line.text .. CLEAR_RIGHT .. "\r\n"
    else
      out[#out + 1] = CLEAR_BELOW .. line.text .. "\r\n"
    end
  end
  self.queue = {}
end

function Live:frame(now)
  local columns, rows = output.size(1)
  columns, rows = columns or 80, rows or 24
  local resized = columns ~= self.columns or rows ~= self.rows
  local anew = resized or #self.queue > 0
  -- After a resize, the rows below may hold broken lines of the old block: clears them.
  local out = { BEGIN, "\r", resized and CLEAR_BELOW or "" }
  self:scroll(out, columns)
  if self:draw_block(out, columns, rows, anew) or anew then
    out[#out + 1] = END
    output.write(table.concat(out))
  end
  self.columns, self.rows, self.drawn_at = columns, rows, now
end

function Live:draw(at_once)
  local now = now_ms()
  if at_once or now - self.drawn_at >= M.FRAME_MS then
    self:frame(now)
  end
end

-- A line that stays: it takes as many rows as it needs, and the terminal wraps it.
function Live:keep(kind, text)
  self.queue[#self.queue + 1] = { text = output.paint(1, kind, text), width = text_of.width(text) }
end

function Live:erase()
  local out = { BEGIN, "\r" }
  self:scroll(out, output.size(1) or 80)
  out[#out + 1] = CLEAR_BELOW .. END
  output.write(table.concat(out))
  self.shown, self.columns = {}, nil
end

-- What the script prints is shown among our lines, once each of its lines is complete.
function Live:print(text)
  text = self.printed .. text
  local at = 1
  for stop in text:gmatch("()\n") do
    self:keep("info", text_of.escape((text:sub(at, stop - 1):gsub("\t", "  "))))
    at = stop + 1
  end
  self.printed = text:sub(at)
  if #self.printed > LONGEST_LINE then -- dots without an end: a line of their own
    self:keep("info", text_of.escape(self.printed))
    self.printed = ""
  end
end

function Live:observe(record, books)
  self.name = books.skill or self.name
  self.agents:take(record)
  local step = self.formatter.steps[record.step]
  for _, line in ipairs(self.formatter:of(record, books)) do
    self.made[#self.made + 1] = line
  end
  if step and not self.formatter.steps[record.step] then
    self.said[step.id] = nil
  end
end

function Live:flush()
  for _, line in ipairs(self.made) do
    self:keep(line.kind, line.text)
  end
  self.made = {}
  self:draw()
end

function Live:forget()
  self.made = {}
end

function Live:progress(id, bytes, step, place)
  local said = self.agents:said(step, place)
  if not said then
    said = self.said[id] or { rest = "" }
    self.said[id] = said
  end
  M.hear(said, bytes)
  self:draw()
end

Live.tick = Live.draw

function Live:opened(report)
  local text = opening_line.text(report)
  if text then
    self:keep("warning", text)
  end
  self:draw(true)
end

function Live:closed()
  self:flush()
  if self.printed ~= "" then
    self:print("\n")
  end
  self:erase()
  self.restore()
end

---@param options { continuing: boolean? }
---@return table watcher
function M.new(options)
  local self = setmetatable({
    formatter = lines.new(options),
    agents = agents_of.new(),
    made = {}, -- lines of records that are not yet durable
    queue = {}, -- lines to write with the next frame
    said = {}, -- by step id: the output of its task
    shown = {},
    printed = "", -- by the script: an unfinished line
    name = "skillrt",
    started = now_ms(),
    drawn_at = 0,
  }, Live)
  self.restore = output.capture(function(text)
    self:print(text)
  end, output.is_terminal(2)) -- output that goes elsewhere disturbs nothing
  local watcher = {}
  for _, name in ipairs({ "observe", "flush", "forget", "progress", "tick", "opened", "closed" }) do
    watcher[name] = function(...)
      self[name](self, ...)
    end
  end
  return watcher
end

return M
