-- skill/state.lua: the state of a run: one tree of JSON values, changed only by merge patches.
--
-- Keeps a revision per top-level key, so that conditions and fingerprints are recomputed only for what changed, and
-- gives scripts a read-only view. Knows nothing of actions, journals or agents.

local json = require("skillrt.base.json")
local patch_of = require("skillrt.skill.patch")
local versions = require("skillrt.base.versions")
local view = require("skillrt.base.readonly")
local null, snapshots = json.null, view.snapshots
local is_object, equal = patch_of.is_object, patch_of.equal

local M = {}

---Fields the runtime alone writes (F34, F35); an update that names one is refused.
M.RESERVED = {}
for name in ([[skill_name run_id status current_action completed_actions errors error_count
  iteration_count started_at updated_at completed_at failed_at context input outputs
  phases_completed phases_skipped current_phase]]):gmatch("%S+") do
  M.RESERVED[name] = true
end

---@param key string
---@return boolean
function M.is_reserved(key)
  return M.RESERVED[key] == true or key:sub(1, 1) == "_"
end

---@class skillrt.State
---@field root table<string, any>  the values, always the same table: read it, never write to it
---@field past skillrt.Versions     their earlier values, for those who hold older ones
---@field revision integer         rises with every change
---@field progress integer         increases with every change that is not only the runtime's bookkeeping
---@field revisions table<string, integer>  per top-level key
---@field apart table<string, boolean>|nil  further fields that whole_fingerprint ignores
---@field taken_at integer                  the revision of the last take_dirty
---@field changed { n: integer, [integer]: string }  keys changed since then, the first n
local State = {}
State.__index = State

---Functions on trees of values (patch.lua).
M.copy, M.equal, M.merge, M.diff = patch_of.copy, equal, patch_of.merge, patch_of.diff

---A read-only view of a tree, also for inner tables.
M.view = view.of

local function touch(self, key)
  local revision, revisions = self.revision + 1, self.revisions
  if (revisions[key] or 0) <= self.taken_at then
    local changed = self.changed
    local n = changed.n + 1
    changed[n], changed.n = key, n
  end
  self.revision, revisions[key] = revision, revision
end

---@param initial table<string, any>  the state takes it over
---@return skillrt.State
function M.new(initial)
  local self = setmetatable({
    root = initial,
    revision = 0,
    progress = 0,
    revisions = {},
    taken_at = 0,
    changed = { n = 0 },
    taken = { n = 0 },
    hashes = {},
    hashed_at = {},
    past = versions.new(),
    ignored = {},
  }, State)
  for key in pairs(self.root) do
    touch(self, key)
  end
  return self
end

-- RFC 7396 for one cell of a tree, written in place; holders of older trees still see the old value. `whose`: "ours"
-- if the caller keeps no table of the patch. Returns whether the value differs now.
local function merged(past, tree, key, patch, whose)
  local old, new = tree[key], nil
  if is_object(patch) and is_object(old) then
    local differs = false
    for name, value in pairs(patch) do
      differs = merged(past, old, name, value, whose) or differs
    end
    if differs and past.holders > 0 then
      past:keep(tree, key)
    end
    return differs
  elseif patch ~= null then
    if equal(old, patch) then
      return false
    end
    new = whose == "ours" and patch_of.taken(patch) or M.merge(nil, patch)
  elseif old == nil then
    return false
  end
  if past.holders > 0 then
    past:keep(tree, key)
  end
  tree[key] = new
  return true
end

local PLAIN <const> = { string = true, boolean = true, number = true }

---Applies an RFC 7396 merge patch: null removes, objects merge, everything else replaces. The cost is that of the
---patch, not of the state.
---@param patch table<string, any>
---@param whose any  "ours": the caller keeps none of its tables, and the state takes them over; else they are copied
function State:patch(patch, whose)
  local root, past, revisions, changed, taken_at = self.root, self.past, self.revisions, self.changed, self.taken_at
  local before, n = self.revision, changed.n
  local revision = before
  for key, value in next, patch do
    local old, differs = root[key], false
    if not PLAIN[type(value)] then
      differs = merged(past, root, key, value, whose)
    elseif old ~= value or math.type(old) ~= math.type(value) then -- 1 is not 1.0
      if past.holders > 0 then
        past:keep(root, key)
      end
      root[key], differs = value, true
    end
    if differs then -- as touch does, for all of them together
      if (revisions[key] or 0) <= taken_at then
        n = n + 1
        changed[n] = key
      end
      revision = revision + 1
      revisions[key] = revision
    end
  end
  self.revision, changed.n = revision, n
  self.progress = self.progress + revision - before
end

---Replaces whole fields: a null inside is an ordinary value.
---@param fields table<string, any>
function State:put(fields)
  for key, value in pairs(fields) do
    if not equal(self.root[key], value) then
      if self.past.holders > 0 then
        self.past:keep(self.root, key)
      end
      self.root[key] = M.copy(value)
      touch(self, key)
      self.progress = self.progress + 1
    end
  end
end

---Replaces one entry of a runtime table (`nil` or null removes it); no merging.
---@param key string    of the table
---@param entry string
---@param value any
---@param whose any  as for patch
function State:replace(key, entry, value, whose)
  local entries, past = self.root[key], self.past
  if value == null then
    value = nil
  end
  if equal(entries[entry], value) then
    return
  end
  if past.holders > 0 then
    past:keep(self.root, key)
    past:keep(entries, entry)
  end
  entries[entry] = whose == "ours" and value or M.copy(value)
  if key == "context" then
    self.progress = self.progress + 1
  end
  touch(self, key)
end

---From now on no condition reads these runtime fields: `take_dirty` leaves them out.
---@param keys string[]
function State:ignore(keys)
  for i = 1, #keys do
    self.ignored[keys[i]] = true
  end
end

---Sets a whole runtime field (`nil` removes it); no merging.
---@param key string
---@param value any
function State:set(key, value)
  local root, past = self.root, self.past
  if root[key] == value and type(value) ~= "table" then
    return
  elseif past.holders > 0 then
    past:keep(root, key)
  end
  root[key] = value
  if not self.ignored[key] then
    touch(self, key)
  end
end

---Appends to a runtime list.
---@param key string
---@param item any
function State:append(key, item)
  local list, past = self.root[key], self.past
  if past.holders > 0 then
    past:keep(self.root, key)
    past:keep_length(list)
  end
  list[#list + 1] = item
  touch(self, key)
end

---Holds the present tree for a step that may read it later, whatever changes meanwhile.
---@return table held  a view; once no step holds it, it shows the present
function State:hold()
  local snapshot = self.past:hold()
  local held = snapshot.held
  if not held or next(held) ~= nil then -- one that rawset wrote into is not given again
    held = view.of(self.root, snapshot)
    snapshot.held = held
  end
  return held
end

---@param held table  what `hold` or `hold_undone` gave
function State:release(held)
  self.past:release(snapshots[held])
end

---A step starts: sets the runtime's fields for it, and holds the tree for it as it is then.
---@param count integer  iterations, including this one
---@param field "current_action"|"current_phase"
---@param id string
---@return table held
function State:begin(count, field, id)
  local root, past, ignored = self.root, self.past, self.ignored
  if past.holders > 0 then
    past:keep(root, "iteration_count")
    past:keep(root, field)
  end
  root.iteration_count, root[field] = count, id
  if not ignored.iteration_count then
    touch(self, "iteration_count")
  end
  if not ignored[field] then
    touch(self, field)
  end
  return self:hold()
end

---A step has finished, and the tree that it held is not read any more.
---@param held table
---@param field "current_action"|"current_phase"
---@param id string
---@param newest string|nil  the next value of the field, if it named this step
function State:over(held, field, id, newest)
  local root, past = self.root, self.past
  past:release(snapshots[held])
  if root[field] == id then
    if past.holders > 0 then
      past:keep(root, field)
    end
    root[field] = newest
    if not self.ignored[field] then
      touch(self, field)
    end
  end
end

---The way back from the present tree to a held one, as JSON; O(what changed since). For `hold_undone`; more exact
---than a merge patch: it restores nulls and cuts lists.
---@param held table
---@return table<string, table>
function State:undo_patch(held)
  return versions.undo(snapshots[held], self.root)
end

---Restores and holds the tree that `undo_patch` gave, in a state that was read back: the oldest first, and all before
---the first change.
---@param undo table<string, table>
---@return table held
function State:hold_undone(undo)
  return view.of(self.root, self.past:hold_undone(self.root, undo))
end

-- Of these keys, the sum of hashes contains an old value.
local function note_unsummed(self, list)
  local unsummed = self.unsummed
  for i = 1, list.n do
    unsummed[list[i]] = true
  end
end

---The keys changed since the last call, the first n of the list; valid until the next change.
---@return { n: integer, [integer]: string }
function State:take_dirty()
  local list, other = self.changed, self.taken
  other.n = 0
  self.changed, self.taken, self.taken_at = other, list, self.revision
  if self.unsummed then
    note_unsummed(self, list)
  end
  return list
end

-- A hash of the value; recomputed only after a change.
function State:hash(key)
  local revision = self.revisions[key] or 0
  if self.hashed_at[key] ~= revision then
    local value = self.root[key]
    local kind = type(value)
    local text = kind == "table" and json.encode(value) or (kind == "string" or kind == "number") and value
    self.hashes[key] = json.hash(key .. "\0" .. kind .. (text or tostring(value)))
    self.hashed_at[key] = revision
  end
  return self.hashes[key] or 0
end

---A hash of the values of several keys together.
---@param keys string[]
---@return integer
function State:fingerprint(keys)
  local sum = 0
  for i = 1, #keys do
    sum = sum + self:hash(keys[i])
  end
  return sum
end

---A hash of everything that is not the runtime's, and the context. Kept as a sum: only what changed since the last
---call is hashed again.
---@return integer
function State:whole_fingerprint()
  if not self.unsummed then -- from now on take_dirty says what changed
    self.sum, self.summed, self.unsummed = 0, {}, {}
    for key in pairs(self.root) do
      self.unsummed[key] = true
    end
  end
  note_unsummed(self, self.changed)
  local sum, summed = self.sum, self.summed
  for key in pairs(self.unsummed) do
    if key == "context" or not (M.is_reserved(key) or self.apart and self.apart[key]) then
      local now = self.root[key] ~= nil and self:hash(key) or 0
      sum = sum - (summed[key] or 0) + now
      summed[key] = now
    end
  end
  self.sum, self.unsummed = sum, {} -- a new one: iterating over a table that was once large is slow
  return sum
end

return M
