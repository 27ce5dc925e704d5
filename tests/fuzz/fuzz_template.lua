-- fuzz_template.lua: mutates templates and renders them: render never raises and always ends soon.
--
-- Run from the tree: lua5.4 tests/fuzz/fuzz_template.lua [SECONDS [SEED]] (or FUZZ_SECONDS).
-- Ends with 1 and prints the template when one breaks the rules.
-- luacheck: no max line length
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
local template = require "skillrt.template"

local seconds = tonumber(arg[1] or os.getenv "FUZZ_SECONDS" or "") or 5
local seed = tonumber(arg[2] or "") or os.time()
math.randomseed(seed)

local LIMITS = { max_steps = 50000, max_bytes = 1 << 20, max_depth = 40 }
local SLOW = 3

local words = {
  "{{", "}}", "{{{", "}}}", "{{#", "{{^", "{{/", "{{>", "{{<", "{{$", "{{!", "{{=", "=}}", "{{&", "{{>*",
  "<%", "%>", "|", "\n", "\r\n", "  ", "\t", " ", ".", "a.b", "\0", "é", "*", "=", "x",
  "{{x}}", "{{#l}}", "{{/l}}", "{{#o}}", "{{/o}}", "{{^n}}", "{{/n}}", "{{>p}}", "{{>q}}", "{{>*d}}",
  "{{<p}}", "{{/p}}", "{{$b}}", "{{/b}}", "{{$c}}", "{{/c}}", "{{f}}", "{{#f}}", "{{/f}}", "{{=<% %>=}}",
  "<%={{ }}=%>", "{{! c }}", "{{.}}", "{{o.y}}", "\n  {{>q}}\n", "\n {{$b}}\n  z\n {{/b}}\n",
}

local function pick(list)
  return list[math.random(#list)]
end

local function random_text()
  local out = {}
  for i = 1, math.random(1, 24) do
    out[i] = pick(words)
  end
  return table.concat(out)
end

-- Cuts, doubles, swaps or replaces a piece.
local function mutate(text)
  local from = math.random(0, #text)
  local to = math.min(#text, from + math.random(0, 12))
  local head, piece, tail = text:sub(1, from), text:sub(from + 1, to), text:sub(to + 1)
  return pick { head .. tail, head .. piece .. piece .. tail, head .. pick(words) .. tail, tail .. head, head .. pick(words) .. piece .. tail }
end

local function data_of(lambda_text)
  return {
    x = "{{x}} & $& %1", l = { 1, "two", { x = 3 }, false, { l = { 4 } } }, o = { y = "in", l = { "a" } }, n = false, d = "q", e = {},
    f = function(raw, render)
      return render and (render(raw:sub(1, 40)) .. lambda_text) or lambda_text
    end,
  }
end

local function check(text, partials, lambda_text)
  local started = os.clock()
  local options = { strict = math.random(2) == 1, escape = math.random(2) == 1 and "html" or nil }
  for name, value in pairs(LIMITS) do
    options[name] = value
  end
  local ok, result, message, code = pcall(template.render, text, data_of(lambda_text), partials, options)
  local spent = os.clock() - started
  local fault = not ok and "raised: " .. tostring(result)
    or result == nil and (type(message) ~= "string" or code ~= "invalid") and "returned nil without a message"
    or spent > SLOW and ("took %.1f s"):format(spent)
  if fault then
    print(("seed %d: %s\ntext %q\np %q\nq %q\nlambda %q"):format(seed, fault, text, partials.p, partials.q, lambda_text))
    os.exit(1)
  end
  return ok and result ~= nil
end

local corpus, runs, good = { "{{x}}", "{{#l}}{{.}}{{/l}}", "{{<p}}{{$b}}x{{/b}}{{/p}}" }, 0, 0
local stop = os.clock() + seconds
while os.clock() < stop do
  local text = math.random(3) == 1 and random_text() or mutate(pick(corpus))
  local partials = { p = math.random(2) == 1 and "[{{$b}}d{{/b}}{{>q}}]" or random_text(), q = random_text() }
  local rendered = check(text, partials, math.random(4) == 1 and random_text() or "t")
  runs = runs + 1
  if rendered then
    good = good + 1
    if #text < 2000 then
      corpus[#corpus < 500 and #corpus + 1 or math.random(#corpus)] = text
    end
  end
end
print(("%d templates, %d of them valid, seed %d"):format(runs, good, seed))
