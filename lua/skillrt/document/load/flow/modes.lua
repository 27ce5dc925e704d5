-- document/load/flow/modes.lua: phases that run only in some modes: which, and their condition.
--
-- A run gets its mode by `--set mode=NAME`. Knows phases by position. Called by flow.lua, sources.lua and
-- document/compile.
local M = {}

---@class skillrt.load.Modes
---@field order string[]   in the order in which they are first named
---@field seen table<string, boolean>
---@field by_phase table<integer, table<string, boolean>>
---@field default string?
---@field word string      what a run is given: "mode"

---@return skillrt.load.Modes
function M.new()
  return { order = {}, seen = {}, by_phase = {}, word = "mode" }
end

---@param modes skillrt.load.Modes
---@param index integer  of the phase
---@param mode string
function M.add(modes, index, mode)
  if not modes.seen[mode] then
    modes.seen[mode] = true
    modes.order[#modes.order + 1] = mode
  end
  modes.by_phase[index] = modes.by_phase[index] or {}
  modes.by_phase[index][mode] = true
end

---The condition that a phase runs only in its modes; nil: it runs in all. If only one mode is named, others exist.
---@param modes skillrt.load.Modes
---@param index integer
---@return string?
function M.condition(modes, index)
  local parts, count, set = {}, 0, modes.by_phase[index]
  for _, mode in ipairs(set and modes.order or {}) do
    if set[mode] then
      count = count + 1
      parts[#parts + 1] = ("input.%s === '%s'"):format(modes.word, mode)
      if mode == modes.default then
        table.insert(parts, 1, "!input." .. modes.word)
      end
    end
  end
  return count > 0 and (count < #modes.order or #modes.order == 1) and table.concat(parts, " || ") or nil
end

---The input for the mode, in the form of workflow.json; nil: there are no modes.
---@param modes skillrt.load.Modes
---@return table<string, { one_of: string[], default: string? }>?
function M.inputs(modes)
  return #modes.order > 0 and { [modes.word] = { one_of = modes.order, default = modes.default } } or nil
end

---Reports modes without a default: a run must be given one.
---@param modes skillrt.load.Modes
---@param found skillrt.Findings
function M.tell(modes, found)
  if #modes.order == 0 or modes.default then
    return
  end
  local what = ("its phases run by mode (%s), and no document says which is the default"):format(
    table.concat(modes.order, ", "))
  local why = ("a run that is not given its %s asks for it"):format(modes.word)
  local fix = ("run it with --set %s=%s"):format(modes.word, modes.order[1])
  found:note("flow-mode", { file = "SKILL.md" }, what, why, fix)
end

return M
