-- sandbox.lua: what it costs to keep a stranger apart: the start of a program in a strict sandbox, and a step whose
-- function runs in a child: in memory the time of the processor, of both processes; durable the time that passes.
local STARTS <const>, ROUNDS <const> = 40, 9

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
  local disk <close> = measure.folder "disk"
  local function put(path, text)
    measure.run(("mkdir -p '%s'"):format(path))
    local file <close> = assert(io.open(path .. "/skill.lua", "w"))
    assert(file:write(text))
  end
  local runs = 0
  local function run(which, path, words)
    runs = runs + 1
    local command = "env XDG_STATE_HOME=%s/state %s %s --quiet --trust --work-dir %s/run%d"
    return select(which, measure.spawn(1, command:format(folder.path, measure.program, path .. words, path, runs)))
  end

  for _, level in ipairs { "strict", "off" } do
    put(("%s/%s"):format(folder.path, level), PROGRAMS:format(STARTS, level))
  end
  local _, jailed, plain = measure.paired(ROUNDS, function()
    return (run(1, folder.path .. "/strict", "/skill.lua"))
  end, function()
    return (run(1, folder.path .. "/off", "/skill.lua"))
  end)

  -- A step, by the difference between few and many of them.
  local function step(where, context, which, few, many, words)
    return { few = few, many = many, take = function(count)
      local path = ("%s/%s%d"):format(where.path, context, count)
      put(path, SCRIPT:format(context, count))
      return (run(which, path, words))
    end }
  end
  local function against(rounds, where, context, which, few, many)
    local ratio, apart, inside = measure.slopes(rounds, step(where, context, which, few, many, ""),
      step(where, context, which, few, many, " --sandbox off"))
    return ratio, measure.time(apart) .. " against " .. measure.time(inside)
  end
  local ratio, times = against(ROUNDS, folder, "memory", 3, 500, 6500)
  local durable, waited = against(3 * ROUNDS, disk, "file", 1, 20, 220) -- a disk's pace changes
  return {
    measure.finding("the start of a program in a strict sandbox, more than without one",
      (jailed - plain) / STARTS / 1e6, "<=", 15,
      ("%s against %s for %d"):format(measure.time(jailed), measure.time(plain), STARTS), "ms"),
    measure.finding("a step in a child, in memory, against one in the process", ratio, "<=", 3, times),
    measure.finding("a durable step in a child against one in the process", durable, "<=", 1.2, waited),
  }
end
