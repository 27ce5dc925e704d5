-- hosts.lua: what a run costs the program that embeds skillrt (skillrt.h): bench/hosts.c, on tmpfs.
return function(measure)
  local folder <close> = measure.folder "memory"
  local function numbers(what, skill, count)
    local output = measure.run(("%s/bench/hosts %s bench/skills/%s.lua %s %d"):format(
      measure.build, what, skill, measure.quoted(folder.path .. "/" .. what), count))
    local list = {}
    for number in output:gmatch "[%d.]+" do
      list[#list + 1] = tonumber(number)
    end
    return table.unpack(list)
  end
  local ms, kb, descriptors = numbers("steps", "three_steps_process", 300)
  local parked, _, woken, held = numbers("waiting", "waiting", 10000)
  local what = "a run in a host, `process`: opened, stepped three times, closed"
  return {
    measure.finding(what, ms, "<=", 2, "the middle one of 300", "ms"),
    measure.finding("memory of such a run while it is open", kb, "<=", 40, nil, "KB"),
    measure.finding("descriptors of such a run", descriptors, "<=", 2),
    measure.finding("10,000 runs of a host that wait for an event: each", parked, "<=", 20, nil, "KB"),
    measure.finding("descriptors of all of them", held, "<=", 20),
    measure.finding("an event for each: until a run has ended by it", woken / 1000, "<=", 10, "on average", "ms"),
  }
end
