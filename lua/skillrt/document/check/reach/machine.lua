-- document/check/reach/machine.lua: states as integers, and what a step makes of them.
--
-- A state is one integer. Where 64 bits are enough, these are the state. Else its words are the
-- leaves of a binary tree: an inner node is two numbers of 32 bits that stand for its children,
-- equal children have equal numbers, and the root is the state: equal states, equal integers.
-- Knows masks, no skill. Called by reach/search.lua.
local remembered = require "skillrt.document.check.reach.remembered"

local M = {}

local MAX_OUTCOMES = 256
local HALF = 0xffffffff

-- States differ in few bits, and a table of Lua piles up integers that do. Times an odd number they
-- are as many and lie apart.
M.SPREAD = 0x9E3779B97F4A7C15
local SPREAD <const> = 0x9E3779B97F4A7C15

---@class skillrt.check.Machine
---@field words integer
---@field start integer               the state a run begins with
---@field paths integer[][]           by word: from the root to its leaf, shifts of 32 (left) or 0
---@field ids table<integer, integer> the number of a node below the root
---@field nodes integer[]             by number

---@class skillrt.check.Part  what a step makes of a word: word & keep | one of the sets
---@field word integer
---@field leaf integer
---@field keep integer
---@field set integer       the same whatever the word was
---@field reads integer     the bits it depends on
---@field branches table[]  { mask, targets by the bits that were }
---@field sets table<integer, integer[]>  by the bits it depends on

-- The leaf of each word as in a heap: node p has the children 2p and 2p + 1, the root is node 1.
local function paths_of(words)
  local paths = {}
  for word = 1, words do
    local path, at = {}, words + word - 1
    while at > 1 do
      table.insert(path, 1, at & 1 == 0 and 32 or 0)
      at = at >> 1
    end
    paths[word] = path
  end
  return paths
end

local function number_of(self, node)
  local id = self.ids[node * SPREAD]
  if not id then
    id = #self.nodes + 1
    self.nodes[id], self.ids[node * SPREAD] = node, id
  end
  return id
end

---@param space skillrt.check.Space
---@return skillrt.check.Machine
function M.new(space)
  local self = { words = space.words, paths = paths_of(space.words), ids = {}, nodes = {}, way = {}, out = {} }
  local nodes = table.move(space.start, 1, self.words, self.words, {})
  for at = self.words - 1, 1, -1 do
    nodes[at] = number_of(self, nodes[2 * at]) << 32 | number_of(self, nodes[2 * at + 1])
  end
  self.start = nodes[1]
  return self
end

---A word of a state.
---@param self skillrt.check.Machine
---@param state integer
---@param word integer
---@return integer
function M.word(self, state, word)
  for _, shift in ipairs(self.paths[word]) do
    state = self.nodes[state >> shift & HALF]
  end
  return state
end

---Lays a state out: its words come to lie at `words` and behind.
---@param self skillrt.check.Machine
---@param state integer
---@param now integer[]
function M.lay_out(self, state, now)
  local nodes = self.nodes
  now[1] = state
  for at = 1, self.words - 1 do
    local node = now[at]
    now[2 * at], now[2 * at + 1] = nodes[node >> 32], nodes[node & HALF]
  end
end

-- The state with some bits of one word changed: a new leaf, and new nodes on the way to it.
local function put(self, state, word, keep, set)
  local path, nodes, way, node = self.paths[word], self.nodes, self.way, state
  for depth = 1, #path do
    way[depth], node = node, nodes[node >> path[depth] & HALF]
  end
  local changed = node & keep | set
  if changed == node then
    return state
  end
  for depth = #path, 1, -1 do
    local shift = path[depth]
    changed = way[depth] & ~(HALF << shift) | number_of(self, changed) << shift
  end
  return changed
end

-- What becomes of each class of a variable, by its bits, and whether that is the same for all.
local function targets_of(update)
  local place, targets, same = update.place, {}, true
  local classes = #place.variable.classes
  for class = 1, classes do
    local list = {}
    for target = 1, classes do
      if update.targets[class] & 1 << (target - 1) ~= 0 then
        list[#list + 1] = place.bits[target]
      end
    end
    targets[place.bits[class]] = list
    same = same and update.targets[class] == update.targets[1]
  end
  return targets, same
end

local function add_update(part, update)
  local place, targets, same = update.place, targets_of(update)
  part.keep = part.keep & ~place.mask
  local first = targets[place.bits[1]]
  if same and #first == 1 then
    part.set = part.set | first[1]
    return
  end
  local mask = same and 0 or place.mask
  part.branches[#part.branches + 1] = { mask = mask, targets = same and { [0] = first } or targets }
  part.reads = part.reads | mask
end

local function sets_of(part, bits)
  local sets = { part.set }
  for _, branch in ipairs(part.branches) do
    local targets, before = branch.targets[bits & branch.mask], #sets
    for k = #targets, 1, -1 do
      for i = 1, before do
        if k == 1 then
          sets[i] = sets[i] | targets[1]
        elseif #sets < MAX_OUTCOMES then
          sets[#sets + 1] = sets[i] | targets[k]
        end
      end
    end
  end
  return sets
end

---What the updates of a step make of a state; a step has run then.
---@param self skillrt.check.Machine
---@param updates table[]
---@return skillrt.check.Part[]
function M.parts(self, updates)
  local parts, last = {}, nil
  local function part_of(word)
    if not last or last.word ~= word then
      last = { word = word, leaf = self.words + word - 1, keep = ~0, set = 0, reads = 0, branches = {} }
      parts[#parts + 1] = last
    end
    return last
  end
  part_of(1).set = 1
  for _, update in ipairs(updates) do
    add_update(part_of(update.place.word), update)
  end
  for _, part in ipairs(parts) do
    part.sets = #part.branches == 0 and { [0] = { part.set } } or remembered(function(bits)
      return sets_of(part, bits)
    end)
  end
  return parts
end

-- All states again for each of the sets, and then these with the first of them.
local function put_all(self, part, sets, out)
  local before = #out
  for k = 2, #sets do
    for i = 1, math.min(before, MAX_OUTCOMES - #out) do
      out[#out + 1] = put(self, out[i], part.word, part.keep, sets[k])
    end
  end
  for i = 1, before do
    out[i] = put(self, out[i], part.word, part.keep, sets[1])
  end
end

---The states that may follow one. The list is used again by the next call.
---@param self skillrt.check.Machine
---@param parts skillrt.check.Part[]
---@param now integer[]  the state laid out
---@return integer[]
function M.outcomes(self, parts, now)
  local out = self.out
  for i = #out, 2, -1 do
    out[i] = nil
  end
  out[1] = now[1]
  for i = 1, #parts do
    local part = parts[i]
    local word = now[part.leaf]
    local sets = part.sets[word & part.reads]
    if #sets > 1 or word & part.keep | sets[1] ~= word then
      put_all(self, part, sets, out)
    end
  end
  return out
end

return M
