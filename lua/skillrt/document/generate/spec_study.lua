-- document/generate/spec_study.lua: phases/00-spec-study.md (R76, F15), and outlines for documents that the config
-- names and that does not exist yet. Pure. Called by generate.
local markdown = require "skillrt.document.generate.markdown"
local view = require "skillrt.document.generate.view"

local M = {}

---@param shared table
---@return table
function M.data(shared)
  local first = shared.flow[1]
  local next_name, next_file = false, nil
  if first and first.phase then
    next_name, next_file = shared.words.phase:format(1, first.phase.id), first.phase.id .. ".md"
  elseif first then
    next_name, next_file = shared.words.loop, shared.orchestrator_file
  end
  return view.with(shared, { up = "../", next = next_name, next_file = next_file })
end

---@param shared table
---@param entry { path: string, purpose: string }
---@return table
function M.outline(shared, entry)
  local name = entry.path:match "([^/]+)$":gsub("%.[^.]*$", ""):gsub("[-_]+", " ")
  return view.with(shared, {
    title = name:sub(1, 1):upper() .. name:sub(2),
    path = markdown.line(entry.path):gsub("%-%-+", "-"),
    purpose = entry.purpose,
  })
end

return M
