-- helper.lua: loaded by busted before every spec: the right Lua, the tree's own modules.
assert(_VERSION == "Lua 5.4", "the tests need Lua 5.4: run them with `make test`, not plain busted")
local mode = os.getenv "SKILLRT_MODE" or "release"
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("./build/%s/lib/?.so;"):format(mode) .. package.cpath

-- Whatever a spec runs in its own process is also shown quietly and in plain lines, to nobody: what one of these
-- watchers raises would be dropped with it, so it fails the whole spec.
local watchers = require "skillrt.run.watchers"
local of, raised = watchers.of, nil

local function unseen(watcher)
  local function hear(name)
    return function(...)
      local ok, problem = pcall(watcher[name], ...)
      if not ok then
        require("skillrt.base.fatal").pass_on(problem)
        raised = raised or problem
      end
    end
  end
  return { dull = watcher.dull, observe = hear "observe", flush = watcher.forget, forget = watcher.forget }
end

function watchers.of(given)
  local list = given and given.observe and { given } or table.move(given or {}, 1, #(given or {}), 1, {})
  local plain = require "skillrt.report.plain"
  for _, options in ipairs { { quiet = true }, {} } do
    list[#list + 1] = unseen(plain.new(options))
  end
  return of(list)
end

require("busted").subscribe({ "exit" }, function()
  if raised then
    io.stderr:write("what shows a run raised: ", tostring(raised), "\n")
    os.exit(1, true)
  end
end)
