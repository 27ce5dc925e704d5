-- durable.lua: what a step costs: against the C floor, with a large state, against the naive script,
-- in memory. A run of few steps is taken off a run of many, so that starting and ending do not count.
--
-- Where a step waits for the disk, wall time in many short rounds; elsewhere CPU time (user and
-- system), of which others take less.
-- Both sides work in a folder of the same disk.
local FEW <const>, MANY <const> = 20, 220

return function(measure)
  local count = 0

  -- the command of a run with these settings in a new work folder
  local function steps(folder, settings, units)
    count = count + 1
    local words = { ("BENCH_STEPS=%d"):format(units) }
    for name, value in pairs(settings) do
      words[#words + 1] = ("BENCH_%s=%s"):format(name:upper(), value)
    end
    table.sort(words)
    return ("env %s %s --quiet bench/skills/steps.lua --work-dir %s"):format(
      table.concat(words, " "), measure.program, measure.quoted(("%s/%d"):format(folder.path, count))
    )
  end

  local function naive(folder, settings, units)
    return ("env BENCH_READS=%s %s bench/naive.lua %s %d %d"):format(
      settings.reads or "few", measure.lua, folder.path, units, settings.bytes or 1000
    )
  end

  -- a candidate for measure.slopes: wall time (1) or CPU time (3) of a command
  local function candidate(command, folder, settings, which, few, many)
    return { few = few, many = many, take = function(units)
      return (select(which, measure.spawn(1, command(folder, settings, units))))
    end }
  end

  -- flushes and bytes of one step
  local function disk_of_step(folder, settings)
    local syncs, bytes = measure.disk(steps(folder, settings, FEW))
    local more_syncs, more_bytes = measure.disk(steps(folder, settings, MANY))
    return (more_syncs - syncs) / (MANY - FEW), (more_bytes - bytes) / (MANY - FEW)
  end

  local function against_floor()
    local folder <close> = measure.folder "disk"
    local syncs, bytes = disk_of_step(folder, { durability = "power" })
    local floor = ("%s/bench/floor %s/floor %%d %d"):format(measure.build, folder.path, bytes // 1)
    -- As many flushes as the disk takes at its usual pace.
    local many <const> = 120
    local our_step = candidate(steps, folder, { durability = "power" }, 1, FEW, many)
    local ratio, ours, theirs = measure.slopes(50, our_step, {
      few = FEW,
      many = many,
      take = function(units)
        return (measure.spawn(1, floor:format(units)))
      end,
    })
    local detail = ("%s against %s, %.0f bytes"):format(measure.time(ours), measure.time(theirs), bytes)
    return measure.finding("durable step, `power`, against C append+fdatasync", ratio, "<=", 1.3, detail),
      measure.finding("flushes of such a step", syncs, "<=", 1, nil, "fdatasync"),
      measure.finding("bytes of such a step beyond its change of about 25", bytes - 25, "<=", 256, nil, "bytes")
  end

  local function with_a_large_state()
    local folder <close> = measure.folder "disk"
    local _, small_bytes = disk_of_step(folder, { bytes = 1000 })
    local _, large_bytes = disk_of_step(folder, { bytes = 1000000 })
    -- What goes to the disk is the same, byte for byte, so the flushes are left out of the time. Long
    -- enough for several rounds of the collector, which walks a larger state more seldom.
    local function with(size)
      return candidate(steps, folder, { durability = "process", bytes = size }, 3, 100, 8100)
    end
    local ratio, large, small = measure.slopes(15, with(1000000), with(1000))
    return measure.finding(
      "durable step at 1 MB of state against 1 KB, its processor time", ratio, "<=", 1.2,
      measure.time(large) .. " against " .. measure.time(small)
    ), measure.finding("bytes more a step at 1 MB than at 1 KB", large_bytes - small_bytes, "<=", 256, nil, "bytes")
  end

  local function against_naive(size, bound)
    local folder <close> = measure.folder "disk"
    local ratio, theirs, ours = measure.slopes(
      9,
      candidate(naive, folder, { bytes = size }, 3, 10, size > 10000 and 60 or 1010),
      candidate(steps, folder, { durability = "process", bytes = size }, 3, 100, 5100)
    )
    return measure.finding(
      ("durable step, `process`, %d KB state, against the naive script"):format(size // 1000),
      ratio, ">=", bound, measure.time(ours) .. " against " .. measure.time(theirs)
    )
  end

  local function in_memory()
    local folder <close> = measure.folder "disk"
    local function compare(reads)
      local ratio, theirs, ours = measure.slopes(
        9,
        candidate(naive, folder, { reads = reads }, 3, 10, 1010),
        candidate(steps, folder, { context = "memory", reads = reads }, 3, 1000, 11000)
      )
      return ratio, measure.time(ours) .. " against " .. measure.time(theirs)
    end
    local ratio, detail = compare "few"
    local worst, worst_detail = compare "all"
    local function memory_after(units)
      return (select(2, measure.spawn(1, steps(folder, { context = "memory" }, units))))
    end
    local early, late = memory_after(100000), memory_after(1000000)
    return measure.finding(
      "step in memory (Lua function, 50 actions) against the naive script", ratio, ">=", 10, detail
    ), measure.told(
      "the same where all 50 conditions read the key that every step changes",
      ("%.3g x (%s)"):format(worst, worst_detail)
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
