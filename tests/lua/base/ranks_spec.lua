-- ranks_spec.lua: the core's set of ranks: the i-th open one, however many there are.
local ranks = require("skillrt.base.ranks").new

describe("a set of ranks", function()
  it("finds the i-th that is open, over the borders of words and groups", function()
    local size, order, seed = 10000, {}, 7
    for rank = 1, size do order[rank] = "r" .. rank end
    local set, open = ranks(size, order), {}
    local function random(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed // 65536 % n + 1
    end
    for round = 1, 40 do
      for _ = 1, 100 do
        local rank = random(3) == 1 and ({ 1, 64, 65, 4096, 4097, 8192, 8193, size })[random(8)] or random(size)
        open[rank] = random(3) > 1 or nil
        set.put(rank, open[rank])
        assert.equal(open[rank] == true, set.is_open(rank))
      end
      local i = 0
      for rank = 1, size do
        if open[rank] then
          i = i + 1
          assert(set.index(nil, i) == order[rank], ("round %d, the open one %d"):format(round, i))
        end
      end
      assert.equal(i, set.put(1, open[1]))
      assert.is_nil(set.index(nil, i + 1))
    end
    for _, bad in ipairs { 0, -1, size + 1, 1.5, "x" } do
      assert.is_nil(set.index(nil, bad))
      assert.is_false(pcall(set.put, bad, true))
      assert.is_false(pcall(set.is_open, bad))
    end
    assert.is_nil(ranks(0, {}).index(nil, 1))
  end)
end)
