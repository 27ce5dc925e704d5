-- page.lua: the page of `skillrt serve` in a browser: its first paint, and a run of 10,000 calls that is scrolled.
-- Needs chromium, and build/official (make test-serve).
local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "calls", state = {}, limits = { calls = 20000 }, actions = {
  { id = "calls", run = function(_, ctx)
    local calls = {}
    for i = 1, 10000 do calls[i] = i end
    ctx.map(calls, function() ctx.await { kind = "sleep", seconds = 0 } end)
    return { called = true } end } } }
]]

return function(measure)
  local official = measure.run("pwd"):gsub("%s+$", "") .. "/build/official"
  if not os.execute("command -v chromium >/dev/null 2>&1 && test -d " .. official .. "/node_modules/axe-core") then
    return { measure.told("the page of `skillrt serve`", "not taken: needs chromium and `make test-serve`") }
  end
  local folder <close> = measure.folder "memory"
  local at = folder.path
  local file <close> = assert(io.open(at .. "/skill.lua", "w"))
  file:write(SKILL)
  file:close()
  measure.run(("%s %s/skill.lua --trust --quiet --work-dir %s/runs/many"):format(measure.program, at, at))
  local serve = "%s serve --runs %s/runs --listen 127.0.0.1:0 >%s/said 2>&1 & echo $!"
  local pid = measure.run(serve:format(measure.program, at, at)):match "%d+"
  local _ <close> = setmetatable({}, { __close = function() measure.run("kill " .. pid) end })
  measure.run(("until grep -q listening %s/said; do sleep 0.02; done"):format(at))
  local url = measure.run("cat " .. at .. "/said"):match "http://[^/]+"
  local look = "PROFILE=%s/profile node tests/support/page_look.mjs %s '%s/#token='$(cat %s/runs/serve.token) many"
  local told = measure.run(look:format(at, official, url, at))
  local middle, longest = told:match '"light many":{"count":%d+,"middle":([%d.]+),"longest":([%d.]+)'
  return {
    measure.finding("the page of `skillrt serve`: first paint in a new browser",
      tonumber(told:match '"first_paint":([%d.]+)'), "<=", 300, nil, "ms"),
    measure.finding("a run of 10,000 calls in the page, scrolled: the longest time between two frames",
      tonumber(longest), "<=", 50, ("the middle one %.1f ms"):format(tonumber(middle)), "ms"),
  }
end
