-- fuzz_expr.lua: mutates conditions: compiling, evaluating and explaining never raise, and never take long.
--
-- Run from the tree after make: lua5.4 tests/fuzz/fuzz_expr.lua [SECONDS [SEED]] (or FUZZ_SECONDS).
-- Ends with 1 and prints the text when one breaks the rules.
-- luacheck: no max line length
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("%s/lib/?.so;"):format(os.getenv "SKILLRT_BUILD" or "build/release") .. package.cpath
local expr = require "skillrt.expr"
local fuzz = require "tests.support.fuzz_texts"
local generator = require "tests.support.expr_generator"

-- a text in CPU seconds; evaluating may use the whole budget of steps
local SLOW_COMPILE <const>, SLOW_RUN <const> = 0.05, 2
local STEPS <const> = 20000

local words = {
  "&&", "||", "??", "?.", "?", ":", "===", "!==", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "typeof ",
  "(", ")", "[", "]", ".", ",", "'", '"', "`", "{", "}", "=>", "=", "\\", "\\u{", "\\uD83D", "\\x4", "\n", "\t", "\0", "\xff",
  "\u{1F600}", "（", "‘", "\u{A0}", "\u{2028}", "0", "1e", "0x", "1_", ".5", "9007199254740993", "null", "undefined", "NaN",
  "true", "state", "state.", "state[", "a", "list", "items", "s", "x", ".length", ".includes(", ".some(x => ", ".every(y => ",
  ".startsWith('a')", ".map(", "and ", "not ", "in ", "new ", "~=", "<>", "++", "//", "/*", "...", "[0]", "['k']", "?.[1]",
}

-- Runs one step; prints and ends when it raises or takes too long, three times in a row: the collector may have run.
local function watch(what, text, limit, work)
  local ok, result, message, code, spent
  for _ = 1, 3 do
    local started = os.clock()
    ok, result, message, code = xpcall(work, debug.traceback)
    spent = os.clock() - started
    if ok and spent <= limit then return result, message, code end
  end
  fuzz.complain("%s %s\ntext %q", what, ok and ("took %.3f s"):format(spent) or "raised " .. result, text)
end

local states = {}
for i = 1, 20 do states[i] = generator.state(io.stdout).lua end -- any userdata is null

local function check(text)
  local condition, message, code = watch("compile", text, SLOW_COMPILE, function()
    return expr.compile(text, { max_steps = STEPS })
  end)
  if not condition then
    local placed = type(message) == "string" and message:find "^%d+:%d+: " and utf8.len(message) and code == "invalid"
    if not placed then
      fuzz.complain("refused without a place: %q\ntext %q", tostring(message), text)
    end
    return false
  end
  local state = fuzz.pick(states)
  local constant = watch("constant", text, SLOW_RUN, function() return expr.constant(condition) end)
  local truth = watch("evaluate", text, SLOW_RUN, function()
    condition:evaluate(state)
    return (condition(state))
  end)
  local why = watch("explain", text, SLOW_RUN, function() return condition:explain(state) end)
  if type(truth) ~= "boolean" or type(why) ~= "string" or (constant ~= nil and constant ~= truth) then
    fuzz.complain("truth %s, constant %s, explained %q\ntext %q", truth, constant, why, text)
  end
  return true
end

local corpus = fuzz.corpus "expr"
for _, text in ipairs(corpus) do check(text) end
local tried, good = fuzz.loop(corpus, { texts = 600, bytes = 3000, bad = 20 }, function(known)
  local text = math.random(4) == 1 and generator.text() or fuzz.mutate(fuzz.pick(known), words)
  return math.random(3) == 1 and fuzz.mutate(text, words) or text
end, check)
print(("%d conditions, %d of them valid, seed %d"):format(tried, good, fuzz.seed))
