-- reach/machine.lua: tests and changes of packed states: on one integer, or on a list of them.
--
-- Both kinds answer to the same calls: start, key, test(alternatives), apply(updates). Knows
-- masks, no skill. Called by reach/search.lua.
local M = {}

local MAX_SUCCESSORS = 256

---@class skillrt.check.Machine
---@field start any
---@field key fun(state: any): integer|string
---@field test fun(alternatives: table[]): fun(state: any): boolean
---@field apply fun(updates: table[]): fun(state: any, out: any[]): integer

local function never()
  return false
end

local function always()
  return true
end

-- one word -----------------------------------------------------------------------------------------

local function narrow_test(alternatives)
  if #alternatives == 0 then
    return never
  end
  local masks, wants = {}, {}
  for i, rows in ipairs(alternatives) do
    if #rows == 0 then
      return always
    end
    masks[i], wants[i] = rows[1][2], rows[1][3]
  end
  local mask, want = masks[1], wants[1]
  if #masks == 1 then
    return function(state)
      return state & mask == want
    end
  end
  return function(state)
    for i = 1, #masks do
      if state & masks[i] == wants[i] then
        return true
      end
    end
    return false
  end
end

-- An update as rows { from mask, from want, bits to set ... }: what follows from each class.
local function rows_of(update)
  local place, rows = update.place, {}
  local two = #place.variable.classes == 2
  for class = 1, #place.variable.classes do
    local row = { mask = two and place.mask or place.bits[class], want = place.bits[class] }
    for target = 1, #place.variable.classes do
      if update.targets[class] & 1 << (target - 1) ~= 0 then
        row[#row + 1] = place.bits[target]
      end
    end
    rows[class] = row
  end
  return rows
end

-- The bits that follow whatever the class was, or nil.
local function plain(update)
  local bits
  for class = 1, #update.place.variable.classes do
    local target = update.targets[class]
    if target & (target - 1) ~= 0 or (bits and bits ~= target) then
      return nil
    end
    bits = target
  end
  local class = 1
  while bits >> class ~= 0 do
    class = class + 1
  end
  return update.place.bits[class]
end

local function narrow_apply(updates)
  local keep, set, branches = ~0, 1, {}
  for _, update in ipairs(updates) do
    local bits = plain(update)
    if bits then
      keep, set = keep & ~update.place.mask, set | bits
    else
      branches[#branches + 1] = { keep = ~update.place.mask, rows = rows_of(update) }
    end
  end
  if #branches == 0 then
    return function(state, out)
      out[1] = state & keep | set
      return 1
    end
  end
  return function(state, out)
    out[1] = state & keep | set
    local count = 1
    for i = 1, #branches do
      local branch = branches[i]
      local row
      for k = 1, #branch.rows do
        row = branch.rows[k]
        if state & row.mask == row.want then
          break
        end
      end
      local before = count
      for k = #row, 1, -1 do
        for at = 1, before do
          if k == 1 then
            out[at] = out[at] & branch.keep | row[1]
          elseif count < MAX_SUCCESSORS then
            count = count + 1
            out[count] = out[at] & branch.keep | row[k]
          end
        end
      end
    end
    return count
  end
end

-- several words ------------------------------------------------------------------------------------

local function wide_test(alternatives)
  if #alternatives == 0 then
    return never
  end
  return function(state)
    for i = 1, #alternatives do
      local rows = alternatives[i]
      local fits = true
      for k = 1, #rows do
        local row = rows[k]
        if state[row[1]] & row[2] ~= row[3] then
          fits = false
          break
        end
      end
      if fits then
        return true
      end
    end
    return false
  end
end

local function wide_apply(updates)
  local all = {}
  for i, update in ipairs(updates) do
    all[i] = { word = update.place.word, keep = ~update.place.mask, rows = rows_of(update) }
  end
  return function(state, out)
    local copy = table.move(state, 1, #state, 1, {})
    copy[1] = copy[1] | 1
    out[1] = copy
    local count = 1
    for i = 1, #all do
      local update = all[i]
      local word, row = update.word, nil
      for k = 1, #update.rows do
        row = update.rows[k]
        if state[word] & row.mask == row.want then
          break
        end
      end
      local before = count
      for k = #row, 1, -1 do
        for at = 1, before do
          local one = out[at]
          if k > 1 and count < MAX_SUCCESSORS then
            count = count + 1
            one = table.move(one, 1, #one, 1, {})
            out[count] = one
          end
          if k == 1 or one ~= out[at] then
            one[word] = one[word] & update.keep | row[k]
          end
        end
      end
    end
    return count
  end
end

---@param space skillrt.check.Space
---@return skillrt.check.Machine
function M.of(space)
  if space.words == 1 then
    return {
      start = space.start[1],
      test = narrow_test,
      apply = narrow_apply,
      key = function(state)
        return state
      end,
    }
  end
  local format = "<" .. ("i8"):rep(space.words)
  return {
    start = table.move(space.start, 1, space.words, 1, {}),
    test = wide_test,
    apply = wide_apply,
    key = function(state)
      return format:pack(table.unpack(state))
    end,
  }
end

return M
