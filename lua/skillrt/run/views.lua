-- run/views.lua: the files for people, made from the books: state.json, context/, execution-state.json.
--
-- Written rarely and only where something changed; the journal is the truth. Knows the books, no files. Called by
-- turn.lua.

local json = require("skillrt.base.json")
local instant = require("skillrt.base.instant")
local names = require("skillrt.base.names")

local M = {}

---Where people find the texts that were sent to agents, a file for each call.
M.PROMPTS = ".prompts"

---The name of that file: the last attempt's.
---@param step integer
---@param place string
---@return string
function M.prompt(step, place)
  return ("%s/%d-%s.md"):format(M.PROMPTS, step, place)
end

local NO_DIGEST = ("0"):rep(64) -- the store inserts the digest

---The state as state.json shows it, without its own bookkeeping entry.
---@param books skillrt.Books
---@return table
function M.state(books)
  local out = {}
  for key, value in pairs(books.state.root) do
    out[key] = value
  end
  for _, key in ipairs({ "current_action", "current_phase" }) do
    if out[key] == nil then
      out[key] = json.null
    end
  end
  out.updated_at = instant.iso(books.at)
  return out
end

---The execution record of the phases (R27-R34).
---@param books skillrt.Books
---@return table
function M.execution(books)
  local root = books.state.root
  return {
    started_at = root.started_at,
    status = books.status,
    reason = books.reason,
    current_phase = root.current_phase or json.null,
    phases_completed = root.phases_completed,
    phases_skipped = root.phases_skipped,
    errors = root.errors,
    completed_at = root.completed_at,
    failed_at = root.failed_at,
  }
end

local function pretty(value)
  return assert(json.encode(value, { indent = 2 })) .. "\n"
end

---@param turn skillrt.Turn
---@param seq integer
---@return table[] list  { name, content }
function M.list(turn, seq)
  local books, known, list = turn.books, turn.known_views, {}
  if known.seq == seq then
    return list
  end
  known.seq = seq
  local whole = M.state(books)
  whole._skillrt = { seq = seq, digest = NO_DIGEST, run = books.run_id, reason = books.reason }
  if turn.skill.phases and #turn.skill.phases > 0 then
    list[#list + 1] = { "execution-state.json", pretty(M.execution(books)) }
  end
  local revision = books.state.revisions.context
  if revision ~= known.context then
    known.context = revision
    known.values = known.values or {}
    for _, key in ipairs(names.sorted(known.values)) do
      if books.state.root.context[key] == nil and known.values[key] ~= "null\n" then
        known.values[key] = "null\n" -- removed: reads like a key that was never set (R43)
        list[#list + 1] = { ("context/%s.json"):format(key), "null\n" }
      end
    end
    for _, key in ipairs(names.sorted(books.state.root.context)) do -- in the same order in every process
      local text = pretty(books.state.root.context[key])
      if known.values[key] ~= text then
        known.values[key] = text
        list[#list + 1] = { ("context/%s.json"):format(key), text }
      end
    end
  end
  list[#list + 1] = { "state.json", pretty(whole) } -- last: its seq says that the others exist
  return list
end

return M
