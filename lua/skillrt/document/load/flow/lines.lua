-- document/load/flow/lines.lua: the lines of a document that state how phases follow each other: each is judged by its
-- words, and what is not read is told by flow.lua.
--
-- Judges sentences and flows drawn in characters; reads no tables. Called by flow.lua.
local graphs = require "skillrt.document.load.flow.graphs"
local modes_of = require "skillrt.document.load.flow.modes"
local passages = require "skillrt.document.load.passages"
local statements = require "skillrt.document.load.flow.statements"

local M = {}

local MAX_LINE <const> = 1000 -- a longer one is no sentence about phases

-- Going on with the phase that comes next anyway is no condition, nor is to begin, nor what a phase's document says of
-- one before it.
local function leads_on(named, own, text)
  local next_one = #named == 1 and (named[1] == 1 or own ~= nil and named[1] == own + 1)
  local before = own ~= nil and #named > 0 and named[#named] < own
  return before or next_one and (own ~= nil or not text:lower():find "%f[%w]only%f[%W]")
end

local function judge(flow, text, place, own, heading, said)
  if #text > MAX_LINE or text:lower():find "^[*_%s]*example[*_%s]*:" or text:lower():find "^e%.g%." then
    return
  end
  said = said or text
  text = text:gsub("`([^`]*)`", function(code)
    return not flow.mentions:by_file(code) and "" or nil
  end)
  local by_file = own and flow.mentions:by_file(text)
  local named, at = flow.mentions:of(text, own ~= nil)
  text = flow.mentions:normal(text, own ~= nil)
  local kind = statements.kind(text, #named, own ~= nil, heading or at ~= nil and at < 24)
  if not kind and by_file and #named == 1 and named[1] ~= own + 1 and statements.is_lead(text) then
    kind = named[1] <= own and "loop" or "condition"
  end
  if not kind or flow.used[place.file .. ":" .. place.line] then
    return
  elseif kind == "loop" and own and named[1] and named[1] > own then
    kind = "condition" -- it leads on, and leaves something out
  elseif kind == "condition" and by_file and #named == 1 and named[1] < own and statements.is_lead(text) then
    kind = "loop"
  elseif own and kind == "condition" and #named == 0 then
    named = { own }
  end
  if kind == "condition" and leads_on(named, own, text) and not text:lower():find "skip"
    and not text:find "^[Pp]hase" then
    return
  end
  local by_mode = #flow.modes.order > 0
  local by_set = kind ~= "loop" and modes_of.has_set(flow.modes, named, #flow.mentions.phases)
  if by_mode and (text:lower():find "mode" or by_set) then
    return
  elseif not (by_mode and kind == "choice") then
    flow:tell(kind, named, place, said)
  end
end

local BOXES <const> = "\xE2[\x94\x95][\x80-\xBF]" -- U+2500 to U+257F

local PLAIN_FENCES = { [""] = true, text = true, txt = true, plain = true, plaintext = true }

-- A flow drawn in characters: lines that name phases, and rounds between them. What hangs below a phase by lines of a
-- tree is its own affair.
local function read_drawing(flow, block, file)
  local line, named, round = block.line, 0, nil
  for text in (block.text .. "\n"):gmatch "(.-)\n" do
    line = line + 1
    local bare = text:gsub("\u{2192}", "->"):gsub(BOXES, ""):gsub("\u{25BC}", ""):gsub("[|`+]", "")
    bare = bare:gsub("^[%s>-]*", "")
    local count = #bare <= MAX_LINE and #flow.mentions:of(bare) or 0
    named = named + count
    if count > 0 then
      local said = text:gsub(BOXES, ""):gsub("\u{25BC}", "")
      judge(flow, bare, { file = file, line = line }, nil, false, said)
    elseif not round and #bare <= MAX_LINE and not text:find(BOXES) and text:find "^%s*[^%w%s]"
      and statements.is_round(bare) then
      round = { line = line, text = text }
    end
  end
  if round and named > 1 then
    flow:tell("loop", {}, { file = file, line = round.line }, round.text)
  end
end

-- A way past phases that a rhombus decides on: the condition of these, where it can be read.
local function read_past(flow, way, place, text)
  if way.again or way.over then
    table.insert(flow.rounds, { indexes = { way.from }, asked = way.again or way.over, text = text, place = place })
  end
  for index = way.from + 1, way.to - 1 do
    if way.again or way.over then
      flow:add_condition(index, "`" .. (way.over or ("!(%s)"):format(way.again)) .. "`", place)
    else
      flow:tell("condition", { index }, place, text)
    end
  end
end

-- A way back: rounds, where its condition can be read.
local function read_back(flow, way, place, text)
  local between, covered = {}, true
  for index = way.to, way.from do
    between[#between + 1] = index
    covered = covered and flow.covered.loop[index] or false
  end
  if (way.again or way.over) and not covered then
    flow:add_rounds({ indexes = between, again = way.again, over = way.over, max = way.max }, text, place)
  else
    flow:tell("loop", between, place, text)
  end
end

local function read_code(flow, block, file)
  for _, way in ipairs(graphs.ways(block, flow.mentions)) do
    local phases, place = flow.mentions.phases, { file = file, line = way.line }
    local text = ("%s -> %s"):format(phases[way.from].id, phases[way.to].id)
    if way.to <= way.from then
      read_back(flow, way, place, text)
    elseif way.decides then
      read_past(flow, way, place, text)
    end
  end
  if PLAIN_FENCES[block.lang] then
    read_drawing(flow, block, file)
  end
end

-- The items of one list: where some name phases, a round beside them is theirs. One below an item that
-- names a phase is that phase's own affair.
local function rounds_of_lists(flow, file)
  local named, deepest, waiting = 0, 0, {}
  local function over()
    for _, one in ipairs(named > 1 and waiting or {}) do
      flow:tell("loop", {}, { file = file, line = one.line }, one.text)
    end
    named, deepest, waiting = 0, 0, {}
  end
  return function(passage)
    if passage.kind ~= "item" then
      over()
      return
    end
    local count = #passage.text <= MAX_LINE and #flow.mentions:of(passage.text) or 0
    if count > 0 then
      named, deepest = named + count, passage.indent or 0
    elseif ((passage.indent or 0) <= deepest or passage.text:find "^%s*%a[.)]%s") and #passage.text <= MAX_LINE
      and statements.is_round(passage.text) then
      waiting[#waiting + 1] = passage
    end
  end, over
end

-- A row that leads somewhere else than to the first phase: "--resume | -> Phase 3".
local function entry(flow, passage, file)
  local text = #passage.text <= MAX_LINE and passage.text:gsub("\u{2192}", "->") or ""
  local cell = text:match "%f[^|\0]%s*%->%s*(Phase%s*%d[%d.]*[^|]*)"
  local named = cell and flow.mentions:of(cell) or {}
  local here = cell and (#named == 0 or named[1] > 1)
  if here and #flow.modes.order == 0 and not flow.used[file .. ":" .. passage.line] then
    flow:tell("choice", named, { file = file, line = passage.line }, passage.text)
  end
  return here
end

local MAX_FRONT <const> = 4000

-- `nextStepFile: './step-03-tell.md'` in a step's front matter: where that is not the step that comes next, the steps
-- between are left out, or it leads back.
local function read_next(flow, file, own)
  local text, line = (flow.tree:read(file) or ""):sub(1, MAX_FRONT), 0
  for one in (text:find "^%-%-%-\r?\n" and text or ""):gmatch "(.-)\n" do
    line = line + 1
    local target = one:match "^nextStepFile:%s*['\"]?([^'\"%s]+)"
    local to = target and flow.mentions.by_path[target:match "[^/]+$"]
    if to then
      local between = {}
      for index = math.min(own + 1, to), math.max(own, to - 1) do
        between[#between + 1] = index
      end
      if to <= own then
        flow:tell("loop", between, { file = file, line = line }, one)
      elseif to > own + 1 then
        flow:tell("condition", between, { file = file, line = line }, one)
      end
    end
    if line > 1 and one:find "^%-%-%-" then
      return
    end
  end
end

---Judges the lines of one document.
---@param flow skillrt.load.Flow
---@param blocks skillrt.load.Markdown
---@param file string
---@param own integer?  the phase whose document it is
function M.read(flow, blocks, file, own)
  local round, over = rounds_of_lists(flow, file)
  if own then
    read_next(flow, file, own)
  end
  local shown = false -- what stands below "Example:" is none of the instructions
  passages.each(blocks, function(passage)
    shown = passage.kind == "item" and shown or passage.text:lower():find "^[*_%s]*examples?[*_%s]*:[*_%s]*$" ~= nil
    if shown or passage.example or passage.failure or passage.box or passage.kind == "comment" then
      return
    elseif not own then
      round(passage)
    end
    if passage.kind == "row" and not own and entry(flow, passage, file) then
      return
    elseif passage.kind == "row" and not passage.text:find "phases/[^|]*|.*%([^()]+%)" then
      return
    end
    judge(flow, passage.text, { file = file, line = passage.line }, own, passage.kind == "heading")
  end, not own and function(block, example, failure)
    if not example and not failure then
      read_code(flow, block, file)
    end
  end or nil)
  over()
end

return M
