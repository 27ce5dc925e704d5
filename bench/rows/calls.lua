-- calls.lua: many calls: 10,000 HTTP requests in flight against libcurl alone, agents of a workflow script
-- against those of Lua, 10,000 phases against 1,000, and going on with a step that has kept 10,000 results.
--
-- Processor time and the largest resident set, as bench/spawn has them from the system; the server
-- (bench/answers) is a process of its own, the same for all.
local MANY <const>, FEW <const> = 10000, 1000

return function(measure)
  local folder <close> = measure.folder "memory"
  local count = 0
  local function path()
    count = count + 1
    return measure.quoted(("%s/%d"):format(folder.path, count))
  end

  local function run(environment, skill)
    return ("env %s %s --quiet bench/skills/%s.lua --work-dir %s"):format(environment, measure.program, skill, path())
  end

  -- median processor time and the largest memory of some commands, taken in turn
  local function take(rounds, commands)
    local cpu, memory = {}, {}
    for name in pairs(commands) do
      cpu[name], memory[name] = {}, 0
    end
    for round = 1, rounds do
      for name, command in pairs(commands) do
        local _, held, used = measure.spawn(1, command())
        cpu[name][round], memory[name] = used, math.max(memory[name], held)
      end
    end
    for name, list in pairs(cpu) do
      cpu[name] = measure.median(list)
    end
    return cpu, memory
  end

  -- the server, as long as the result is not closed
  local function server()
    local fifo, port = folder.path .. "/stdin", folder.path .. "/port"
    measure.run(("rm -f %s %s && mkfifo %s"):format(fifo, port, fifo)) -- of the server before
    os.execute(("%s/bench/answers 100 < %s > %s 2> /dev/null &"):format(measure.build, fifo, port))
    local open <const> = assert(io.open(fifo, "w"))
    local text
    repeat
      local file = io.open(port)
      text = file and file:read "l"
    until text
    return open, ("http://127.0.0.1:%s/"):format(text)
  end

  local function in_flight()
    local _ <close>, url = server()
    local commands = { bare = function() return ("%s/bench/requests %s %d"):format(measure.build, url, MANY) end }
    local ways = { "map", "actions", "phases" }
    for _, as in ipairs(ways) do
      commands[as] = function()
        return run(("BENCH_AS=%s BENCH_CALLS=%d BENCH_URL=%s"):format(as, MANY, url), "calls")
      end
    end
    local cpu, memory = take(3, commands)
    local words = { map = "as `ctx.map`", actions = "as actions", phases = "as parallel phases" }
    local findings = {}
    for _, as in ipairs(ways) do
      local what = "10,000 HTTP calls in flight, all journaled, %s, against libcurl alone: processor time"
      local times = measure.time(cpu[as]) .. " against " .. measure.time(cpu.bare)
      local sizes = ("%d MB against %d MB"):format(memory[as] // 1024, memory.bare // 1024)
      findings[#findings + 1] = measure.finding(what:format(words[as]), cpu[as] / cpu.bare, "<=", 4, times)
      findings[#findings + 1] = measure.finding("the same: memory", memory[as] / memory.bare, "<=", 2, sizes)
    end
    return table.unpack(findings)
  end

  local function workflow()
    local _ <close>, url = server()
    local function of(script)
      return function()
        local more = ("--trust --yes --agent %s --limit max_agents_parallel=%d -- '{\"agents\":%d}'"):format(url, FEW,
          FEW)
        local command = "env XDG_STATE_HOME=/nonexistent BENCH_URL=%s %s --quiet bench/skills/%s --durability process"
          .. " --work-dir %s %s"
        return command:format(url, measure.program, script, path(), more)
      end
    end
    local cpu = take(5, { script = of "workflow.js", map = of "workflow.lua" })
    return measure.finding("1,000 agents of a JavaScript workflow against the same by `ctx.map`: processor time",
      cpu.script / cpu.map, "<=", 3, measure.time(cpu.script) .. " against " .. measure.time(cpu.map))
  end

  local function phases(parallel)
    local function of(number)
      return function()
        return run(("BENCH_PHASES=%d BENCH_PARALLEL=%d"):format(number, parallel and 1 or 0), "phases")
      end
    end
    local cpu = take(5, { many = of(MANY), few = of(FEW) })
    local many, few = cpu.many / MANY, cpu.few / FEW
    local what = parallel and "10,000 parallel phases" or "10,000 phases"
    return measure.finding(what .. " against 1,000, processor time of each", many / few, "<=", 1.5,
      measure.time(many) .. " against " .. measure.time(few))
  end

  -- going on with a step: the command of a resume, each time of a copy
  local function resume(as, number, bytes)
    local environment = ("BENCH_AS=%s BENCH_CALLS=%d BENCH_BYTES=%d"):format(as, number, bytes)
    local kept = path()
    measure.run(("env %s %s --quiet bench/skills/replayed.lua --work-dir %s 2>&1; test $? -eq 3"):format(
      environment, measure.program, kept))
    return function()
      local copy = path()
      measure.run(("cp -r %s %s"):format(kept, copy))
      return "sh -c " .. measure.quoted(("env %s %s answer --quiet %s retry 2>/dev/null; test $? -eq 3"):format(
        environment, measure.program, copy))
    end
  end

  local function replaying()
    local cpu, memory = take(5, {
      many = resume("calls", MANY, 100),
      few = resume("calls", FEW, 100),
      large = resume("calls", MANY, 2000),
      rounds = resume("loop", MANY, 100),
      few_rounds = resume("loop", FEW, 100),
    })
    local many, few = cpu.many / MANY, cpu.few / FEW
    return measure.finding("going on with a step that has kept 10,000 results against 1,000, for each", many / few,
        "<=", 1.5, measure.time(many) .. " against " .. measure.time(few)),
      measure.finding("its memory where the results are twenty times as large", memory.large / memory.many, "<=", 1.2,
        ("%.1f MB against %.1f MB"):format(memory.large / 1024, memory.many / 1024)),
      measure.finding("going on with 10,000 rounds of `ctx.loop` against 1,000, in all", cpu.rounds / cpu.few_rounds,
        "<=", 2, measure.time(cpu.rounds) .. " against " .. measure.time(cpu.few_rounds)),
      measure.finding("its memory", memory.rounds / memory.few_rounds, "<=", 1.1,
        ("%.1f MB against %.1f MB"):format(memory.rounds / 1024, memory.few_rounds / 1024))
  end

  local findings = {}
  local function add(...)
    table.move({ ... }, 1, select("#", ...), #findings + 1, findings)
  end
  add(in_flight())
  add(workflow())
  add(phases(false))
  add(phases(true))
  add(replaying())
  return findings
end
