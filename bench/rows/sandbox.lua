-- sandbox.lua: what it costs to keep a stranger apart: the start of a program in a strict sandbox, and a step whose
-- function runs in a child. Of the step the time of the processor, of both processes.
local STARTS <const>, STEPS <const>, ROUNDS <const> = 40, 4000, 7

local PROGRAMS <const> = [[
return require("skillrt").skill { name = "starts", context = "memory", actions = { { id = "a", run = function(_, ctx)
  for _ = 1, %d do
    assert(ctx.await { kind = "command", argv = { "true" }, sandbox = %q })
  end
end } } }
]]
local SCRIPT <const> = [[
return require("skillrt").skill { name = "steps", context = %q, state = { n = 0 }, limits = { max_iterations = 100000 },
  actions = { { id = "count", max_runs = 100000, run = function(state) return { n = state.n + 1 } end } },
  goal = "n >= %d" }
]]

return function(measure)
  local folder <close> = measure.folder "memory"
  local function put(name, text)
    measure.run(("mkdir -p '%s/%s'"):format(folder.path, name))
    local file <close> = assert(io.open(("%s/%s/skill.lua"):format(folder.path, name), "w"))
    assert(file:write(text))
  end
  for _, level in ipairs { "off", "strict" } do
    put(level, PROGRAMS:format(STARTS, level))
  end
  put("memory", SCRIPT:format("memory", STEPS))

  local function run(which, words)
    return select(which, measure.spawn(1, ("env XDG_STATE_HOME=%s/state %s %s --quiet --trust"):format(folder.path,
      measure.program, words:gsub("^%S+", function(name) return folder.path .. "/" .. name end))))
  end
  local _, jailed, plain = measure.paired(ROUNDS, function()
    return (run(1, "strict/skill.lua"))
  end, function()
    return (run(1, "off/skill.lua"))
  end)
  local ratio, apart, inside = measure.paired(ROUNDS, function()
    return (run(3, "memory"))
  end, function()
    return (run(3, "memory --sandbox off"))
  end)
  return {
    measure.finding("the start of a program in a strict sandbox, more than without one",
      (jailed - plain) / STARTS / 1e6, "<=", 15,
      ("%s against %s for %d"):format(measure.time(jailed), measure.time(plain), STARTS), "ms"),
    measure.finding("a step in a child, in memory, against one in the process", ratio, "<=", 3,
      measure.time(apart) .. " against " .. measure.time(inside)),
  }
end
