-- reach/machine.lua: states as integers: what holds in one, and what a step makes of it.
--
-- A state is one integer. Where 64 bits are enough, these are the state. Else its words are the
-- leaves of a binary tree: an inner node is two numbers of 32 bits that stand for its children,
-- equal children have equal numbers, and the root is the state: equal states, equal integers.
-- Knows masks, no skill. Called by reach/search.lua.
local M = {}

local MAX_OUTCOMES = 256
local MAX_WAYS = 4096
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

---@class skillrt.check.Rows  conditions side by side; the rows of one owner are its alternatives
---@field owner integer[]
---@field mask integer[]
---@field want integer[]
---@field leaf integer[]?   where in a state that is spread out; nil: states have one word
---@field more (table[]|false)[]  what is asked of other words: { leaf, mask, want }

---@class skillrt.check.Part  what a step makes of a word: word & keep | one of the sets
---@field word integer
---@field leaf integer
---@field keep integer
---@field set integer       the same whatever the word was
---@field reads integer     the bits it depends on
---@field branches table[]  { mask, targets by the bits that were }
---@field sets table<integer, integer[]>?  by the bits it depends on; nil: too many to be kept

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

---Lays conditions side by side.
---@param self skillrt.check.Machine
---@param list table[][]  by owner: alternatives, each a list of { word, mask, want }
---@return skillrt.check.Rows
function M.rows(self, list)
  local rows = { owner = {}, mask = {}, want = {}, leaf = self.words > 1 and {} or nil, more = {} }
  for owner, alternatives in ipairs(list) do
    for _, asked in ipairs(alternatives) do
      local all = {}
      for i, one in ipairs(asked) do
        all[i] = { self.words + one[1] - 1, one[2], one[3] }
      end
      local head, row = table.remove(all, 1) or { self.words, 0, 0 }, #rows.owner + 1
      rows.owner[row], rows.mask[row], rows.want[row] = owner, head[2], head[3]
      if rows.leaf then
        rows.leaf[row], rows.more[row] = head[1], #all > 0 and all
      end
    end
  end
  return rows
end

local function all_hold(asked, now)
  for i = 1, #asked do
    local one = asked[i]
    if now[one[1]] & one[2] ~= one[3] then
      return false
    end
  end
  return true
end

local function held_in_words(rows, now, out)
  local owner, leaf, mask, want, more = rows.owner, rows.leaf, rows.mask, rows.want, rows.more
  local count, last = 0, nil
  for row = 1, #owner do
    if now[leaf[row]] & mask[row] == want[row] and (not more[row] or all_hold(more[row], now)) then
      local i = owner[row]
      if i ~= last then
        count, last = count + 1, i
        out[count] = i
      end
    end
  end
  return count
end

---The owners whose condition holds, in their order.
---@param rows skillrt.check.Rows
---@param now integer[]  a state laid out
---@param out integer[]
---@return integer count
function M.held(rows, now, out)
  if rows.leaf then
    return held_in_words(rows, now, out)
  end
  local owner, mask, want = rows.owner, rows.mask, rows.want
  local state, count, last = now[1], 0, nil
  for row = 1, #owner do
    if state & mask[row] == want[row] then
      local i = owner[row]
      if i ~= last then
        count, last = count + 1, i
        out[count] = i
      end
    end
  end
  return count
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
  part.reads, part.ways = part.reads | mask, part.ways * (same and 1 or #place.variable.classes)
end

---What the updates of a step make of a state; a step has run then.
---@param self skillrt.check.Machine
---@param updates table[]
---@return skillrt.check.Part[]
function M.parts(self, updates)
  local parts, last = {}, nil
  local function part_of(word)
    if not last or last.word ~= word then
      last = { word = word, leaf = self.words + word - 1, keep = ~0, set = 0, reads = 0, branches = {}, ways = 1 }
      parts[#parts + 1] = last
    end
    return last
  end
  part_of(1).set = 1
  for _, update in ipairs(updates) do
    add_update(part_of(update.place.word), update)
  end
  for _, part in ipairs(parts) do
    part.sets = part.ways <= MAX_WAYS and {} or nil
  end
  return parts
end

local function work_out(part, word)
  local sets = { part.set }
  for _, branch in ipairs(part.branches) do
    local targets, before = branch.targets[word & branch.mask], #sets
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

---The sets that may follow a word.
---@param part skillrt.check.Part
---@param word integer
---@return integer[]
function M.sets(part, word)
  local kept = part.sets and part.sets[word & part.reads]
  if kept then
    return kept
  end
  local sets = work_out(part, word)
  if part.sets then
    part.sets[word & part.reads] = sets
  end
  return sets
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

---The states that may follow one of several words. The list is used again by the next call.
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
    local sets = M.sets(part, word)
    if #sets > 1 or word & part.keep | sets[1] ~= word then
      put_all(self, part, sets, out)
    end
  end
  return out
end

return M
