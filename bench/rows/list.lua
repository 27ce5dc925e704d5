-- list.lua: 10,000 runs of a folder, listed: by `skillrt list` with its index and without it, and by a server.
local RUNS <const>, ROUNDS <const> = 10000, 9

-- A folder of runs, each with the journal of one that ended.
local function write(folder, measure)
  measure.run(("%s --quiet bench/skills/steps.lua --work-dir %s/one"):format(measure.program, folder))
  local file = assert(io.open(folder .. "/one/journal/00000001.sj", "rb"))
  local journal = file:read "a"
  file:close()
  measure.run(("seq -f '%s/runs/job-%%05g/journal' %d | xargs mkdir -p"):format(folder, RUNS))
  for i = 1, RUNS do
    local to <close> = assert(io.open(("%s/runs/job-%05d/journal/00000001.sj"):format(folder, i), "wb"))
    to:write(journal)
  end
end

-- A server of the folder; `get(path)` gives how long a reply took, in ms.
local function serve(folder, measure)
  local socket = folder .. "/serve.socket"
  local pid = measure.run(("%s serve --runs %s >/dev/null 2>&1 & echo $!"):format(measure.program, folder)):match "%d+"
  measure.run(("until test -S %s; do sleep 0.02; done"):format(socket))
  local server = setmetatable({}, { __close = function() measure.run("kill " .. pid) end })
  function server.get(path)
    local time = measure.run(("curl -sf -o /dev/null -w '%%{time_total}' --unix-socket %s 'http://localhost%s'"):format(
      socket, path))
    return tonumber(time) * 1000
  end
  return server
end

return function(measure)
  local folder <close> = measure.folder "memory"
  write(folder.path, measure)
  local list = ("%s list %s/runs"):format(measure.program, folder.path)
  local cold = measure.spawn(1, list) / 1e6
  local lines = measure.run(list)
  assert(select(2, lines:gsub("\n", "")) == RUNS, "not all runs are listed")
  measure.run(("mkdir %s/none"):format(folder.path))
  local _, least = measure.spawn(1, ("%s list %s/none"):format(measure.program, folder.path))
  local wall, memory, cpu = {}, nil, {}
  for round = 1, ROUNDS do
    wall[round], memory, cpu[round] = measure.spawn(1, list)
  end
  local server <close> = serve(folder.path .. "/runs", measure)
  local first, page = server.get "/runs", {}
  for round = 1, ROUNDS do
    page[round] = server.get("/runs?limit=" .. 100 + round % 2)
  end
  return {
    measure.finding("10,000 runs: listed by `skillrt list`", measure.least(wall) / 1e6, "<=", 50,
      ("CPU %s; without the index %.0f ms"):format(measure.time(measure.median(cpu)), cold), "ms"),
    measure.finding("10,000 runs: memory, more than for none", (memory - least) / 1024, "<=", 2, nil, "MB"),
    measure.finding("10,000 runs: GET /runs", measure.least(page), "<=", 50,
      ("the first time %.0f ms"):format(first), "ms"),
  }
end
