-- template.lua: how fast templates render, beside a plain table.concat of the same pieces.
--
-- Run from the tree: lua5.4 bench/template.lua. Prints MB/s and the ratio; needs no build.
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
local template = require "skillrt.base.template"

local ROUNDS = 5

local function document()
  local lines = { "# {{title}}", "", "{{#intro}}", "{{.}}", "{{/intro}}", "", "| Action | Priority | Needs |" }
  lines[#lines + 1] = "|--------|---------:|-------|"
  lines[#lines + 1] = "{{#actions}}\n| [{{id}}](actions/{{id}}.md) | {{priority}} | {{needs}} |\n{{/actions}}\n"
  lines[#lines + 1] = "{{#actions}}\n## {{name}}\n\n{{description}}\n\n{{#effects}}\n- `{{.}}`\n{{/effects}}"
  lines[#lines + 1] = "{{^effects}}\nChanges nothing.\n{{/effects}}\n\n{{> foot}}\n{{/actions}}\n"
  return table.concat(lines, "\n")
end

local function data_of(count)
  local actions = {}
  for i = 1, count do
    actions[i] = {
      id = "action-" .. i,
      name = "Action number " .. i,
      priority = i % 100,
      needs = "status === 'running', completed_actions.includes('action-" .. i - 1 .. "')",
      description = "Reads the result of the action before it, does its own part of the work and says so.",
      effects = i % 3 == 0 and {} or { "done_" .. i .. "=true", "count++" },
    }
  end
  return { title = "Catalog", intro = { "One line.", "And another." }, actions = actions }
end

local function best_of(rounds, run)
  local best = math.huge
  for _ = 1, rounds do
    collectgarbage()
    local start = os.clock()
    run()
    best = math.min(best, os.clock() - start)
  end
  return best
end

local text, data = document(), data_of(10000)
local partials = { foot = "---\n{{title}}: {{name}} has priority {{priority}}, and that is the end of it.\n" }
local compiled = assert(template.compile(text))
local result = assert(compiled:render(data, partials))

local pieces = {} -- the same bytes in pieces as long as those a template makes
for at = 1, #result, 24 do
  pieces[#pieces + 1] = result:sub(at, at + 23)
end

local render = best_of(ROUNDS, function()
  compiled:render(data, partials)
end)
local concat = best_of(ROUNDS, function()
  local out, n = {}, 0
  for i = 1, #pieces do
    n = n + 1
    out[n] = pieces[i]
  end
  return table.concat(out, "", 1, n)
end)
local fresh = 0 -- a text that was never seen is compiled, not taken from the cache
local compile = best_of(ROUNDS, function()
  for _ = 1, 200 do
    fresh = fresh + 1
    assert(template.compile(text .. fresh))
  end
end)

local mb = #result / 1e6
print(("template render   %8.1f MB/s  (%.1f MB)"):format(mb / render, mb))
print(("table.concat      %8.1f MB/s  render takes %.1f times as long"):format(mb / concat, render / concat))
print(("template compile  %8.1f MB/s"):format(200 * #text / 1e6 / compile))
