-- names_spec.lua: the nearest known name to a wrong one: always what looking at every place gives.
local names = require "skillrt.base.names"

local seed = 20261122
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n + 1
end

local function word(length, letters)
  local bytes = {}
  for i = 1, length do
    bytes[i] = string.char(96 + random(letters))
  end
  return table.concat(bytes)
end

-- Edit distance with neighbours swapped counted once, the whole table of it.
local function distance(a, b)
  local rows = {}
  for i = 0, #a do
    rows[i] = { [0] = i }
    for j = 1, #b do
      if i == 0 then
        rows[i][j] = j
      else
        local cost = a:byte(i) == b:byte(j) and 0 or 1
        rows[i][j] = math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + cost)
        if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
          rows[i][j] = math.min(rows[i][j], rows[i - 2][j - 2] + 1)
        end
      end
    end
  end
  return rows[#a][#b]
end

local function nearest(name, known)
  local best, least = nil, math.max(1, #name // 3) + 1
  for _, one in ipairs(names.sorted(known)) do
    local away = distance(name:lower(), one:lower())
    if one ~= "" and name ~= "" and away < math.min(least, math.max(1, #one // 3) + 1) then
      best, least = one, away
    end
  end
  return best
end

describe("the nearest known name", function()
  it("is the first of those with the fewest changes, and none where a third of either would have to change", function()
    local found = 0
    for round = 1, 600 do
      local letters, known = random(3) + 1, {}
      for i = 1, random(10) do
        known[i] = word(random(12) - 1, letters)
      end
      local name = random(3) == 1 and known[1]:sub(2) .. "A" or word(random(14) - 1, letters)
      local expected = nearest(name, known)
      assert.equal(expected, names.nearest(name, known), ("round %d: %q"):format(round, name))
      found = found + (expected and 1 or 0)
    end
    assert.is_true(found > 120 and found < 560, found)
  end)

  it("counts swapped neighbours once and no capitals", function()
    assert.equal("collect", names.nearest("Colelct", { "collect", "correct" }))
    assert.is_nil(names.nearest("abcdef", { "abcxyz" }))
    assert.is_nil(names.nearest(("x"):rep(65), { ("x"):rep(65) }))
  end)

  it("is found among 200 in less than half the time that looking at every place takes", function()
    local known = {}
    for i = 1, 200 do
      known[i] = ("check-part-%d"):format(i)
    end
    local function time_of(find)
      local start = os.clock()
      for i = 1, 10 do
        assert.is_string(find(("chekc-part-%d"):format(i), known))
      end
      return os.clock() - start
    end
    assert.is_true(time_of(names.nearest) < time_of(nearest) / 2)
  end)
end)

describe("a value in a message", function()
  it("is short, on one line, printable, and of whole characters", function()
    assert.equal('"a\\nb\\0c\\x1B"', names.show "a\nb\0c\27")
    assert.equal('"' .. ("x"):rep(60) .. '"', names.show(("x"):rep(60)))
    assert.equal('"' .. ("x"):rep(60) .. '..."', names.show(("x"):rep(61)))
    assert.equal('"' .. ("文"):rep(19) .. '..."', names.show("x" .. ("文"):rep(20)):gsub("x", ""))
    assert.same({ "5", "true", "nothing", "a table" }, { names.show(5), names.show(true), names.show(nil), names.show {} })
  end)
end)
