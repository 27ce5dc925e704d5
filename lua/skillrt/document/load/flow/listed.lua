-- document/load/flow/listed.lua: whether the documents that tell of all phases list them all, and in the order of their
-- names: a phase that no list holds, or holds elsewhere, runs where its number puts it, which is told.
--
-- Compares lists with names; decides no order. Called by flow.lua.
local passages = require "skillrt.document.load.passages"

local M = {}

local MAX_LINE <const> = 1000

-- Phases named anywhere in a document, code included.
local function named_in(blocks, mentions, set)
  local function add(text)
    for _, index in ipairs(#text <= MAX_LINE and mentions:of(text) or {}) do
      set[index] = true
    end
  end
  passages.each(blocks, function(passage)
    add(passage.text)
  end, function(block)
    for line in (block.text .. "\n"):gmatch "(.-)\n" do
      add(line)
    end
  end)
end

local function file_in(text, mentions)
  for name in text:sub(1, MAX_LINE):gmatch "[%w_./-]+%.md" do
    local index = mentions.by_path[name] or mentions.by_path[name:match "[^/]+$"]
    if index then
      return index
    end
  end
  return nil
end

local NEAR <const> = 80 -- characters: an item that names a phase's file further behind is about something else

-- The runs of rows or items that name a phase's file each: lists of what runs.
local function lists_in(blocks, mentions)
  local out, list, kind = {}, {}, nil
  local function over()
    out[#out + 1] = #list > 1 and list or nil
    list = {}
  end
  passages.each(blocks, function(passage)
    local ours = (passage.kind == "row" or passage.kind == "item") and not passage.example and not passage.failure
    if not ours or passage.kind ~= kind then
      over()
    end
    kind = passage.kind
    local near = passage.kind == "row" and MAX_LINE or NEAR
    local index = ours and not passage.more and file_in(passage.text:sub(1, near), mentions)
    if index and (not list[#list] or list[#list].index ~= index) then
      list[#list + 1] = { index = index, line = passage.line }
    end
  end)
  over()
  return out
end

-- The first row that stands behind a later phase.
local function misplaced(list)
  local seen = {}
  for i, one in ipairs(list) do
    local before = list[i - 1]
    if seen[one.index] then
      return nil -- a list that names a phase twice is about something else
    end
    seen[one.index] = true
    if before and before.index > one.index then
      return one, before
    end
  end
end

---Tells lists in another order than the names, and phases that no list holds.
---@param documents { [1]: string, blocks: skillrt.load.Markdown }[]  those that tell of all phases
---@param mentions skillrt.load.Mentions
---@param found skillrt.Findings
---@param ordered boolean  a table says the order: it decides
function M.tell(documents, mentions, found, ordered)
  local named, listing, phases = {}, nil, mentions.phases
  for _, one in ipairs(documents) do
    named_in(one.blocks, mentions, named)
    for _, list in ipairs(lists_in(one.blocks, mentions)) do
      listing = listing or { file = one[1], line = list[1].line }
      local late, early = misplaced(list)
      if late and #list > 2 and not ordered then
        ordered = true
        local what = ("%s stands before %s here, behind it by the names of the files"):format(
          phases[early.index].path, phases[late.index].path)
        found:warn("phase-order", { file = one[1], line = late.line }, what, "the names of the files decide",
          "number the files in the order that is meant")
      end
    end
  end
  for i, one in ipairs(listing and phases or {}) do
    if not named[i] and #one.number > 0 and not one.blocks then
      local what = ("%s is in no list of %s"):format(one.path, listing.file)
      found:warn("phase-order", listing, what, "it runs in the place of its number",
        "list it, or move it out of the folder if it is not meant to run by itself")
    end
  end
end

return M
