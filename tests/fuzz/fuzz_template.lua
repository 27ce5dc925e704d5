-- fuzz_template.lua: mutates templates and renders them: render never raises and always ends soon.
--
-- Run from the tree after make: lua5.4 tests/fuzz/fuzz_template.lua [SECONDS [SEED]] (or FUZZ_SECONDS).
-- Ends with 1 and prints the template when one breaks the rules.
-- luacheck: no max line length
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("%s/lib/?.so;"):format(os.getenv "SKILLRT_BUILD" or "build/release") .. package.cpath
local fuzz = require "tests.support.fuzz_texts"
local template = require "skillrt.base.template"

local LIMITS = { max_steps = 50000, max_bytes = 1 << 20, max_depth = 40 }
local SLOW = 3

local words = {
  "{{", "}}", "{{{", "}}}", "{{#", "{{^", "{{/", "{{>", "{{<", "{{$", "{{!", "{{=", "=}}", "{{&", "{{>*",
  "<%", "%>", "|", "\n", "\r\n", "  ", "\t", " ", ".", "a.b", "\0", "é", "*", "=", "x",
  "{{x}}", "{{#l}}", "{{/l}}", "{{#o}}", "{{/o}}", "{{^n}}", "{{/n}}", "{{>p}}", "{{>q}}", "{{>*d}}",
  "{{<p}}", "{{/p}}", "{{$b}}", "{{/b}}", "{{$c}}", "{{/c}}", "{{f}}", "{{#f}}", "{{/f}}", "{{=<% %>=}}",
  "<%={{ }}=%>", "{{! c }}", "{{.}}", "{{o.y}}", "\n  {{>q}}\n", "\n {{$b}}\n  z\n {{/b}}\n",
}

local function random_text()
  local out = {}
  for i = 1, math.random(1, 24) do
    out[i] = fuzz.pick(words)
  end
  return table.concat(out)
end

local function data_of()
  return {
    x = "{{x}} & $& %1", l = { 1, "two", { x = 3 }, false, { l = { 4 } } }, o = { y = "in", l = { "a" } }, n = false, d = "q", e = {},
    f = function()
      fuzz.complain "a function of the data was called"
    end,
  }
end

local function check(text)
  local partials = { p = math.random(2) == 1 and "[{{x}}{{>q}}]" or random_text(), q = random_text() }
  local started = os.clock()
  local options = { strict = math.random(2) == 1, escape = math.random(2) == 1 and "html" or nil }
  for name, value in pairs(LIMITS) do
    options[name] = value
  end
  local ok, result, message, code = pcall(template.render, text, data_of(), partials, options)
  local spent = os.clock() - started
  local fault = not ok and "raised: " .. tostring(result)
    or result == nil and (type(message) ~= "string" or code ~= "invalid") and "returned nil without a message"
    or spent > SLOW and ("took %.1f s"):format(spent)
  if fault then
    fuzz.complain("%s\ntext %q\np %q\nq %q", fault, text, partials.p, partials.q)
  end
  return ok and result ~= nil
end

local corpus = { "{{x}}", "{{#l}}{{.}}{{/l}}", "{{>p}}{{^n}}x{{/n}}" }
local tried, good = fuzz.loop(corpus, { texts = 500, bytes = 2000, bad = math.maxinteger }, function(known)
  return math.random(3) == 1 and random_text() or fuzz.mutate(fuzz.pick(known), words)
end, check)
print(("%d templates, %d of them valid, seed %d"):format(tried, good, fuzz.seed))
