-- run/books/phases.lua: the phases of a run: the active tool set, and a short result of each phase that was entered
-- (R115, F58).
--
-- Called by the record types that start and end a step, and `switch`. Bounded: only the newest phases, with a few
-- short texts each.

local cut = require("skillrt.base.text").cut
local json = require("skillrt.base.json")

local M = {}

local MOST_PHASES <const>, MOST_TEXTS <const>, LONGEST <const> = 30, 10, 300

local function add(one, field, text)
  local list = one[field] or json.array({})
  one[field] = list
  if type(text) ~= "string" then
    text = json.encode(text) or "?"
  end
  text = cut(text, LONGEST, " ...")
  for i = field == "files" and #list or 0, 1, -1 do
    if list[i] == text then
      return
    end
  end
  if #list < MOST_TEXTS then
    list[#list + 1] = text
  elseif not list[MOST_TEXTS + 1] then
    list[MOST_TEXTS + 1] = "and more"
  end
end

local function enter(self, set, step)
  local phases = self.phases or {}
  phases[#phases + 1] = { phase = set, step = step.number, id = step.id }
  if #phases > MOST_PHASES then
    table.remove(phases, 1)
  end
  self.phases, self.tool_set = phases, set
end

-- The newest entry of a step.
local function entry_of(self, step)
  for i = #(self.phases or {}), 1, -1 do
    if self.phases[i].step == step.number then
      return self.phases[i]
    end
  end
end

---A step with a set starts. Returns the phases finished by then, which the step keeps: after a resume its agent reads
---the same list.
---@param self skillrt.Books
---@param step skillrt.Step
---@return table[]|nil phases
function M.start(self, step)
  local before = {}
  for _, one in ipairs(self.phases or {}) do
    before[#before + 1] = one.over and one or nil
  end
  enter(self, step.tool_set, step)
  return before[1] and before or nil
end

local function add_list(one, field, value)
  for _, item in ipairs(type(value) == "table" and value or { value }) do
    add(one, field, item)
  end
end

---A step with a set has finished.
---@param self skillrt.Books
---@param step skillrt.Step
---@param record table  `done` or `fail`
function M.over(self, step, record)
  local one = entry_of(self, step)
  if not one then
    return
  end
  for _, other in ipairs(self.phases) do
    other.over = other.over or other.step == step.number or nil
  end
  if record.summary then
    add(one, "outputs", record.summary)
  end
  for _, key in ipairs(require("skillrt.base.names").sorted(record.set or {})) do
    local value = record.set[key]
    if key == "files" then
      add_list(one, "files", value)
    elseif key == "errors_found" then
      add_list(one, "errors", value)
    elseif value ~= json.null then
      add(one, "outputs", ("%s: %s"):format(key, type(value) == "string" and value or json.encode(value) or "?"))
    end
  end
  if record.file then
    add(one, "files", record.file)
  end
  if record.t == "fail" then
    add(one, "errors", record.message or record.class or "failed")
  end
end

---One of the runtime's tools has written a file.
---@param self skillrt.Books
---@param step skillrt.Step
---@param path string
function M.wrote(self, step, path)
  local one = entry_of(self, step)
  if one then
    add(one, "files", path)
  end
end

---A run switched to another set, or was refused or advised: `refused`, `advised`.
---@param self skillrt.Books  of the run or sub-run
---@param step skillrt.Step
---@param record table
function M.switch(self, step, record)
  if record.refused or record.advised then
    return
  end
  local one = entry_of(self, step)
  for _, field in ipairs(one and record.summary and { "outputs", "errors", "files" } or {}) do
    add_list(one, field, record.summary[field])
  end
  if record.keeps then
    self.state:patch(record.keeps)
  end
  enter(self, record.to, step)
end

return M
