-- document/check/reach/rows.lua: conditions side by side, asked of one state after another.
--
-- A row is one test of a word: its masked bits are the ones wanted, or (where several are) an
-- answer that is remembered. Knows packed states, no skill. Called by reach/search.lua.
local remembered = require "skillrt.document.check.reach.remembered"

local M = {}

---@class skillrt.check.Rows
---@field owner integer[]   by row: whose condition it is
---@field mask integer[]
---@field want (integer|false)[]
---@field fits (table<integer, boolean>|false)[]  the answers for the masked bits
---@field leaf integer[]?   where in a state that is laid out; nil: states have one word
---@field more (table[]|false)[]  further tests of the same row: { leaf, mask, want, fits }

-- Whether all that is asked of a word holds.
local function all_right(list, bits)
  for _, asked in ipairs(list) do
    local own = bits & asked.mask
    if own ~= asked.only and not (asked.wants and asked.wants[own]) then
      return false
    end
  end
  return true
end

-- One test of a word for alternatives that all ask this word only.
local function test_of(leaf, alternatives)
  local test = { leaf = leaf, mask = 0, want = 0, fits = false }
  local plain = #alternatives == 1
  for _, list in ipairs(alternatives) do
    for _, asked in ipairs(list) do
      plain = plain and asked.only ~= nil
      test.mask, test.want = test.mask | asked.mask, test.want | (asked.only or 0)
    end
  end
  if not plain then
    test.want, test.fits = false, remembered(function(bits)
      for _, list in ipairs(alternatives) do
        if all_right(list, bits) then
          return true
        end
      end
      return false
    end)
  end
  return test
end

-- One alternative as tests, a word each.
local function tests_of(words, list)
  local by_word, tests = {}, {}
  for _, asked in ipairs(list) do
    by_word[asked.word] = by_word[asked.word] or {}
    table.insert(by_word[asked.word], asked)
  end
  for word, asked in pairs(by_word) do
    tests[#tests + 1] = test_of(words + word - 1, { asked })
  end
  tests[1] = tests[1] or test_of(words, { {} })
  return tests
end

-- The only word that alternatives ask; nil: several.
local function only_word(alternatives)
  local word
  for _, list in ipairs(alternatives) do
    for _, asked in ipairs(list) do
      if word and word ~= asked.word then
        return nil
      end
      word = asked.word
    end
  end
  return word or 1
end

---Lays conditions side by side.
---@param words integer  of a state
---@param list skillrt.check.Asked[][][]  by owner: alternatives
---@return skillrt.check.Rows
function M.of(words, list)
  local rows = { owner = {}, leaf = words > 1 and {} or nil, mask = {}, want = {}, fits = {}, more = {} }
  local function add(owner, test, more)
    local row = #rows.owner + 1
    rows.owner[row], rows.mask[row], rows.want[row], rows.fits[row] = owner, test.mask, test.want, test.fits
    if rows.leaf then
      rows.leaf[row], rows.more[row] = test.leaf, #more > 0 and more
    end
  end
  for owner, alternatives in ipairs(list) do
    local word = only_word(alternatives)
    if word and #alternatives > 0 then
      add(owner, test_of(words + word - 1, alternatives), {})
    else
      for _, one in ipairs(alternatives) do
        local tests = tests_of(words, one)
        add(owner, table.remove(tests, 1), tests)
      end
    end
  end
  return rows
end

local function all_hold(tests, now)
  for i = 1, #tests do
    local test = tests[i]
    local bits = now[test.leaf] & test.mask
    if bits ~= test.want and not (test.fits and test.fits[bits]) then
      return false
    end
  end
  return true
end

local function held_in_words(rows, now, out)
  local owner, leaf, mask, want, fits, more = rows.owner, rows.leaf, rows.mask, rows.want, rows.fits, rows.more
  local count = 0
  for row = 1, #owner do
    local bits = now[leaf[row]] & mask[row]
    if
      (bits == want[row] or fits[row] and fits[row][bits])
      and out[count] ~= owner[row]
      and (not more[row] or all_hold(more[row], now))
    then
      count = count + 1
      out[count] = owner[row]
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
  local owner, mask, want, fits = rows.owner, rows.mask, rows.want, rows.fits
  local state, count = now[1], 0
  for row = 1, #owner do
    local bits = state & mask[row]
    if bits == want[row] or fits[row] and fits[row][bits] then
      count = count + 1
      out[count] = owner[row]
    end
  end
  return count
end

return M
