-- fuzz_expr.lua: mutates conditions: compiling, evaluating and explaining never raise, and never take long.
--
-- Run from the tree: lua5.4 tests/fuzz/fuzz_expr.lua [SECONDS [SEED]] (or FUZZ_SECONDS).
-- Ends with 1 and prints the text when one breaks the rules.
-- luacheck: no max line length
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
local expr = require "skillrt.expr"
local generator = require "tests.support.expr_generator"

local seconds = tonumber(arg[1] or os.getenv "FUZZ_SECONDS" or "") or 5
local seed = tonumber(arg[2] or "") or os.time()
math.randomseed(seed)

-- a text in CPU seconds; evaluating may use the whole budget of steps
local SLOW_COMPILE <const>, SLOW_RUN <const> = 0.05, 2
local STEPS <const> = 20000
local MAX_TEXTS <const> = 600

local words = {
  "&&", "||", "??", "?.", "?", ":", "===", "!==", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "typeof ",
  "(", ")", "[", "]", ".", ",", "'", '"', "`", "{", "}", "=>", "=", "\\", "\\u{", "\\uD83D", "\\x4", "\n", "\t", "\0", "\xff",
  "\u{1F600}", "（", "‘", "\u{A0}", "\u{2028}", "0", "1e", "0x", "1_", ".5", "9007199254740993", "null", "undefined", "NaN",
  "true", "state", "state.", "state[", "a", "list", "items", "s", "x", ".length", ".includes(", ".some(x => ", ".every(y => ",
  ".startsWith('a')", ".map(", "and ", "not ", "in ", "new ", "~=", "<>", "++", "//", "/*", "...", "[0]", "['k']", "?.[1]",
}

local function pick(list)
  return list[math.random(#list)]
end

local function read_corpus()
  local texts = {}
  for path in io.popen("ls tests/fuzz/corpus/expr/*"):lines() do
    local file <close> = assert(io.open(path, "rb"))
    texts[#texts + 1] = file:read "a"
  end
  assert(#texts > 0, "tests/fuzz/corpus/expr: no texts: run it in the root of the tree")
  return texts
end

local function mutate(text)
  local from = math.random(0, #text)
  local to = math.min(#text, from + math.random(0, 8))
  local head, piece, tail = text:sub(1, from), text:sub(from + 1, to), text:sub(to + 1)
  local kind = math.random(7)
  if kind == 1 then return head .. tail end
  if kind == 2 then return head .. piece .. piece .. tail end
  if kind == 3 then return head .. pick(words) .. tail end
  if kind == 4 then return head .. pick(words) .. piece .. tail end
  if kind == 5 then return tail .. head end
  if kind == 6 then return head .. pick(words):rep(math.random(2, 300)) .. tail end
  return head .. string.char(math.random(0, 255)) .. tail:sub(2)
end

-- Runs one step; prints and ends when it raises or takes too long.
local function watch(what, text, limit, work)
  local started = os.clock()
  local ok, result, message, code = xpcall(work, debug.traceback)
  local spent = os.clock() - started
  if ok and spent <= limit then return result, message, code end
  print(("seed %d: %s %s\ntext %q"):format(seed, what, ok and ("took %.3f s"):format(spent) or "raised " .. result, text))
  os.exit(1)
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
      print(("seed %d: refused without a place: %q\ntext %q"):format(seed, tostring(message), text))
      os.exit(1)
    end
    return false
  end
  local state = pick(states)
  local constant = watch("constant", text, SLOW_RUN, function() return expr.constant(condition) end)
  local truth = watch("evaluate", text, SLOW_RUN, function()
    condition:evaluate(state)
    return (condition(state))
  end)
  local why = watch("explain", text, SLOW_RUN, function() return condition:explain(state) end)
  if type(truth) ~= "boolean" or type(why) ~= "string" or (constant ~= nil and constant ~= truth) then
    print(("seed %d: truth %s, constant %s, explained %q\ntext %q"):format(seed, truth, constant, why, text))
    os.exit(1)
  end
  return true
end

local corpus, runs, good = read_corpus(), 0, 0
for _, text in ipairs(corpus) do check(text) end
local stop = os.clock() + seconds
while os.clock() < stop do
  local text = math.random(4) == 1 and generator.text() or mutate(pick(corpus))
  if math.random(3) == 1 then text = mutate(text) end
  local taken = check(text)
  runs = runs + 1
  if taken then good = good + 1 end
  if (taken or math.random(20) == 1) and #text < 3000 then
    corpus[#corpus < MAX_TEXTS and #corpus + 1 or math.random(#corpus)] = text
  end
end
print(("%d conditions, %d of them valid, seed %d"):format(runs, good, seed))
