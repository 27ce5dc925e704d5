-- run/output_files.lua: the files that steps give as their output: writes them, finds those that an agent wrote, and
-- restores deleted ones.
--
-- Opens them below the run's folder without following links. Knows the books, no agents, no journal. Called by
-- outcome.lua and resume.lua.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")

local M = {}

-- The text of an output file: JSON if its name says so, else the text as it is (R24, F5).
---@param name string
---@param value any
---@return string|nil text
---@return string? message
local function text_of(name, value)
  if type(value) == "string" and not name:find("%.json$") then
    return value
  end
  local text, message = json.encode(value, { indent = 2, name = "output" })
  return text and text .. "\n", message
end
M.text_of = text_of

---Writes an output below the work directory.
---@param store skillrt.Store
---@param name string  relative
---@param value any
---@param durable boolean  it survives a power cut, as its record will
---@return boolean|nil ok
---@return string? message
---@return string? code  nil: the value cannot be written at all
function M.write(store, name, value, durable)
  local text, message = text_of(name, value)
  if not text then
    return nil, ("%s: %s"):format(name, message)
  end
  return store:keep(name, text, durable)
end

local MAX_TAKEN = 8 * 1024 * 1024

-- The content of an output file that an agent wrote itself, for conditions and later phases; anything that is not
-- text, or is very long, stays in its file only.
local function read_output(store, name)
  local text = store:kept(name, MAX_TAKEN)
  if not text or not utf8.len(text) then
    return json.null
  end
  local value = name:find("%.json$") and json.decode(text)
  return value == nil and text or value
end

-- Whether a program wrote that file: a regular one of its own, inside the work directory.
---@return boolean|nil found
---@return string? problem
---@return string? code  of the problem
local function find_output(store, name, durable)
  if names.is_taken(name) then
    return false, ("its output %s is a file of the run itself"):format(name)
  end
  local info, message, code = store:stat(name)
  if not info then
    return false, code ~= "missing" and message or nil, code ~= "invalid" and code or nil
  elseif info.kind ~= "file" then
    return false, ("its output %s is not a regular file"):format(name)
  elseif not durable then
    return true
  end
  return store:settle(name)
end

---The output: returned and written here, or already written by the agent (R23, F5).
---@return any output
---@return string? file
---@return string? message
---@return string? code  of a failure of the system, not of the value
function M.keep(run, step, definition, outcome)
  local name, memory = definition.output, run.books.context_strategy == "memory"
  if memory then
    return outcome.output, name
  end
  local durable = files.lasts(run.skill)
  if outcome.output ~= nil then
    local ok, message, code = M.write(run.store, name, outcome.output, durable)
    if not ok then
      return nil, nil, message, code
    end
    return outcome.output, name
  end
  for _, file in ipairs({ name, outcome.output_file }) do
    local found, problem, code = find_output(run.store, file, durable)
    if problem then
      return nil, nil, problem, code
    elseif found then
      return read_output(run.store, file), file
    end
  end
  if step.kind == "action" or definition.output_free then
    return nil -- its updates are its result; a phase that declares no output needs none
  end
  return nil, nil, ("its output %s was neither returned nor written to %s"):format(name, run.store:path())
end

---An attempt failed: moves what it left as its output to `<output>.failed`, so that it is not taken for the next
---attempt's. Called before the failure is recorded: after a crash in between there is no output, and the attempt
---fails again.
---@param run table  { skill, books, store }
---@param definition skillrt.Action
---@return string? message  why it could not be moved
function M.put_aside(run, definition)
  local name = definition.output
  local info = name and run.books.context_strategy ~= "memory" and run.store:stat(name)
  if not info or info.kind ~= "file" then
    return nil -- there is nothing that could be mistaken
  end
  local aside = name .. ".failed"
  local ok, message = run.store:move(name, aside, files.lasts(run.skill))
  return not ok and message or nil
end

---Restores outputs that were deleted since their phase completed.
---@param store skillrt.Store
---@param books skillrt.Books
---@return string[] files  that were written
---@return string? message  why one could not be
function M.restore(store, books)
  local again, root = {}, books.state.root
  for file, id in pairs(books.outputs) do
    local value = root.outputs[id]
    if value ~= nil and value ~= json.null and not store:stat(file) then
      local ok, message = M.write(store, file, value)
      if not ok then
        return again, message
      end
      again[#again + 1] = file
    end
  end
  table.sort(again)
  return again
end

return M
