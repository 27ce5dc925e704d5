-- durable.lua: what a step costs: against the C floor, with a large state, against the naive script,
-- in memory. A run of FEW steps is taken off a run of MANY, so that starting and ending do not count.
-- Where nothing waits for the disk, CPU time (user and system) is taken: others disturb it less.
local FEW, MANY = 20, 220
local SPAN = MANY - FEW

return function(measure)
  local count = 0

  -- the command of a run with these settings in a new work folder
  local function steps(folder, settings)
    count = count + 1
    local words = {}
    for name, value in pairs(settings) do
      words[#words + 1] = ("BENCH_%s=%s"):format(name:upper(), value)
    end
    table.sort(words)
    return ("env %s %s --quiet bench/skills/steps.lua --work-dir %s"):format(
      table.concat(words, " "), measure.program, measure.quoted(("%s/%d"):format(folder.path, count))
    )
  end

  -- nanoseconds of one step, and of its CPU time
  local function per_step(folder, settings, few, many)
    few, many = few or FEW, many or MANY
    local function run(n)
      settings.steps = n
      local time, _, cpu = measure.spawn(1, steps(folder, settings))
      return time, cpu
    end
    local time, cpu = run(many)
    local less_time, less_cpu = run(few)
    return (time - less_time) / (many - few), (cpu - less_cpu) / (many - few)
  end

  local function cpu_per_step(...)
    return select(2, per_step(...))
  end

  -- flushes and bytes of one step
  local function disk_of_step(folder, settings)
    settings.steps = FEW
    local syncs, bytes = measure.disk(steps(folder, settings))
    settings.steps = MANY
    local more_syncs, more_bytes = measure.disk(steps(folder, settings))
    return (more_syncs - syncs) / SPAN, (more_bytes - bytes) / SPAN
  end

  local function against_floor()
    local folder <close> = measure.folder "disk"
    local syncs, bytes = disk_of_step(folder, { durability = "power" })
    local floor = ("%s/bench/floor %s/floor %d %d"):format(measure.build, folder.path, SPAN, bytes // 1)
    local ratio, ours, theirs = measure.paired_least(15, function()
      return (per_step(folder, { durability = "power" }))
    end, function()
      return tonumber(measure.run(floor))
    end)
    local detail = ("%s against %s, %.0f bytes"):format(measure.time(ours), measure.time(theirs), bytes)
    return measure.finding("durable step, `power`, against C append+fdatasync", ratio, "<=", 1.3, detail),
      measure.finding("flushes of such a step", syncs, "<=", 1, nil, "fdatasync"),
      measure.finding("bytes of such a step beyond its change of about 25", bytes - 25, "<=", 256, nil, "bytes")
  end

  local function with_a_large_state()
    local folder <close> = measure.folder "disk"
    local _, small_bytes = disk_of_step(folder, { bytes = 1000 })
    local _, large_bytes = disk_of_step(folder, { bytes = 1000000 })
    local ratio, large, small = measure.paired_least(9, function()
      return (per_step(folder, { durability = "power", bytes = 1000000 }))
    end, function()
      return (per_step(folder, { durability = "power", bytes = 1000 }))
    end)
    return measure.finding(
      "durable step at 1 MB of state against 1 KB", ratio, "<=", 1.2,
      measure.time(large) .. " against " .. measure.time(small)
    ), measure.finding("bytes more a step at 1 MB than at 1 KB", large_bytes - small_bytes, "<=", 256, nil, "bytes")
  end

  local function naive(folder, size, reads)
    local command = ("env BENCH_READS=%s %s bench/naive.lua %s %%d %d"):format(reads or "few", measure.lua,
      folder.path, size)
    local few, many = 10, size > 10000 and 60 or 1010
    local function run(n)
      return (select(3, measure.spawn(1, command:format(n))))
    end
    return (run(many) - run(few)) / (many - few)
  end

  local function against_naive(size, bound)
    local folder <close> = measure.folder "memory"
    local ratio, theirs, ours = measure.paired(7, function()
      return naive(folder, size)
    end, function()
      return cpu_per_step(folder, { durability = "process", bytes = size }, 100, 5100)
    end)
    return measure.finding(
      ("durable step, `process`, %d KB state, against the naive script"):format(size // 1000),
      ratio, ">=", bound, measure.time(ours) .. " against " .. measure.time(theirs)
    )
  end

  local function in_memory()
    local folder <close> = measure.folder "memory"
    local function compare(reads)
      return measure.paired(7, function()
        return naive(folder, 1000, reads)
      end, function()
        return cpu_per_step(folder, { context = "memory", reads = reads }, 1000, 11000)
      end)
    end
    local ratio, theirs, ours = compare "few"
    local worst, slow, slower = compare "all"
    local function memory_after(n)
      return select(2, measure.spawn(1, steps(folder, { context = "memory", steps = n })))
    end
    local early, late = memory_after(100000), memory_after(1000000)
    return measure.finding(
      "step in memory (Lua function, 50 actions) against the naive script",
      ratio, ">=", 10, measure.time(ours) .. " against " .. measure.time(theirs)
    ), measure.told(
      "the same where all 50 conditions read the key that every step changes",
      ("%.3g x (%s against %s)"):format(worst, measure.time(slower), measure.time(slow))
    ), measure.finding("memory after 1,000,000 steps against 100,000", late / early, "<=", 1.05, late .. " KiB")
  end

  local findings = {}
  local function add(...)
    table.move({ ... }, 1, select("#", ...), #findings + 1, findings)
  end
  add(against_floor())
  add(with_a_large_state())
  add(against_naive(1000, 8))
  add(against_naive(100000, 100))
  add(in_memory())
  return findings
end
