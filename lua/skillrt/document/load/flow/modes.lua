-- document/load/flow/modes.lua: phases that run in some modes only: which, and the condition that says so.
--
-- The mode is what a run is given as `--set mode=NAME`. Knows phases by their place. Called by flow.lua.
local M = {}

---@class skillrt.load.Modes
---@field order string[]   as they are first named
---@field seen table<string, boolean>
---@field by_phase table<integer, table<string, boolean>>
---@field default string?
---@field word string      what a run is given: "mode", or "entry" where a run begins at one of several phases
---@field told string[]?   of entries: what each of them is
---@field every boolean?   a phase runs in all modes, in so many words: those that are named are not all there are

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

---Whether some phase runs in some of the known modes only: then those are all there are.
---@param modes skillrt.load.Modes
---@return boolean
function M.is_whole(modes)
  for _, set in pairs(modes.by_phase) do
    for _, mode in ipairs(modes.order) do
      if not set[mode] then
        return true
      end
    end
  end
  return false
end

---The condition that a phase runs in its modes only; nil: it runs in all.
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
  local some = count > 0 and (count < #modes.order or modes.every and not M.is_whole(modes))
  return some and table.concat(parts, " || ") or nil
end

---Modes that headings name, where a table left open which others there are.
---@param modes skillrt.load.Modes
---@param names string[]
function M.complete(modes, names)
  if not modes.every or #modes.order == 0 or M.is_whole(modes) then
    return
  end
  local before, known = #modes.order, 0
  for _, name in ipairs(names) do
    known = known + (modes.seen[name] and 1 or 0)
  end
  for _, name in ipairs(known == before and names or {}) do
    if not modes.seen[name] then
      modes.seen[name] = true
      modes.order[#modes.order + 1] = name
    end
  end
  modes.open = #modes.order == before
end

---Whether these phases are what one of the modes runs.
---@param modes skillrt.load.Modes
---@param named integer[]
---@param total integer  how many phases there are
---@return boolean
function M.has_set(modes, named, total)
  local wanted = {}
  for _, index in ipairs(named) do
    wanted[index] = true
  end
  for _, mode in ipairs(modes.order) do
    local same = true
    for index = 1, total do
      local set = modes.by_phase[index]
      same = same and ((not set or set[mode] or false) == (wanted[index] or false))
    end
    if same then
      return true
    end
  end
  return false
end

---What a run that was given no mode is asked to choose among; nil: nothing is asked.
---@param modes skillrt.load.Modes?
---@return { word: string, question: string?, [integer]: string }?
function M.to_ask(modes)
  if not modes or modes.default or #modes.order + (modes.open and 1 or 0) < 2 then
    return nil
  end
  local out = table.move(modes.order, 1, #modes.order, 1, {})
  out[#out + 1] = modes.open and "other" or nil
  out.word = modes.word
  out.question = modes.told and ("Where does it begin? (%s)"):format(table.concat(modes.told, "; "))
  return out
end

---Tells modes of which none is the default: a run has to be given one.
---@param modes skillrt.load.Modes
---@param found skillrt.Findings
function M.tell(modes, found)
  if #modes.order == 0 or modes.default then
    return
  end
  local by = modes.told and "it begins at one of several phases" or "its phases run by mode"
  local what = ("%s (%s), and no document says which is the default"):format(by, table.concat(modes.order, ", "))
  local why = ("a run that is not given its %s asks for it"):format(modes.word)
  local fix = ("run it with --set %s=%s"):format(modes.word, modes.order[1])
  found:note("flow-mode", { file = "SKILL.md" }, what, why, fix)
end

return M
