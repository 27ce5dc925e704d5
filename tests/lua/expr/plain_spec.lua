-- expr_plain_spec.lua: what plain.lua takes, it reads as the grammar does; the rest it leaves alone.
local grammar = require "skillrt.expr.grammar"
local plain = require "skillrt.expr.plain"

local PIECES <const> = {
  "a", "files", "state", "state.x", "a.b", "a.length", "typeof", "new", "true", "null", "undefined", "NaN",
  "0", "00", "1", "12.5", "1.", "1e3", "7x", "'t'", '"q"', "'\\n'", "'", "!", "! ", "!!", "-", "+", " ", "  ", "\n",
  "===", "!==", "==", "=", "&&", "||", "??", "<", "<=", "<<", ">", ">=", "*", "%", "/", "?.b", ".c", ". d", "[0]",
  "(", ")", ".includes('x')", "?", ":", "é", "\u{3000}", "$", "_x", ",", "",
}

-- A text put together from pieces by chance, mostly as operand, operator, operand.
local function text_of(random)
  local out = {}
  for i = 1, random(1, 9) do
    out[i] = PIECES[random(#PIECES)]
    if random(3) == 1 then out[#out + 1] = " " end
  end
  return table.concat(out)
end

-- Compared as texts: NaN is equal to itself there.
local function shown(value)
  if type(value) ~= "table" then return ("%s %s"):format(math.type(value) or type(value), tostring(value)) end
  local keys, out = {}, {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for i, key in ipairs(keys) do out[i] = ("%s = %s"):format(key, shown(value[key])) end
  return "{ " .. table.concat(out, ", ") .. " }"
end

describe("plain conditions", function()
  it("are taken without the grammar", function()
    for _, text in ipairs {
      "!reviewed", "n < 3", "files.length > 0 && !reviewed", "status === 'running'", " a.b.c !== null ",
      "step % 50 + 1 !== 4", "state.retries <= state.max || !!done", "a * 2 - b >= 0", 'x === "y"',
    } do
      assert.truthy(plain.parse(text), text)
    end
  end)

  it("are read as the grammar reads them, by chance and by seed", function()
    math.randomseed(20261122)
    local taken = 0
    for _ = 1, 20000 do
      local text = text_of(math.random)
      local ast = plain.parse(text)
      if ast then
        taken = taken + 1
        local expected = grammar.parse(text)
        assert.truthy(expected, ("taken, but the grammar refuses it: %q"):format(text))
        assert.equal(shown(expected), shown(ast), ("%q"):format(text))
      end
    end
    assert.is_true(taken > 500, taken .. " texts were taken")
  end)

  it("leave every text that does not parse to the grammar's complaint", function()
    for _, text in ipairs { "", " ", "a =", "a = b", "a ==", "1 2", "00", "a..b", "'x", "new", "a && ", "!", "x.1" } do
      assert.is_nil(plain.parse(text), text)
    end
  end)
end)
