-- stream.lua: a model's answer of 50 MB of events, kept and read, against a C program that only receives the bytes.
--
-- Processor time of the processes, as bench/spawn has it from the system; the server (bench/receive) is the same.
local MEGABYTES <const>, ROUNDS <const> = 50, 5

return function(measure)
  local folder <close> = measure.folder "memory"
  local fifo, port = folder.path .. "/stdin", folder.path .. "/port"
  measure.run("mkfifo " .. fifo)
  os.execute(("%s/bench/receive serve %d < %s > %s &"):format(measure.build, MEGABYTES, fifo, port))
  local _ <close> = assert(io.open(fifo, "w")) -- it ends when this end is closed
  local number
  repeat
    os.execute "sleep 0.05"
    local file <close> = io.open(port)
    number = file and file:read "n"
  until number
  local count, skillrt, bare = 0, {}, {}
  for round = 1, ROUNDS do
    count = count + 1
    local _, _, cpu = measure.spawn(1, ("%s/bench/receive get %d"):format(measure.build, number))
    bare[round] = cpu
    _, _, cpu = measure.spawn(1, ("env BENCH_KEY=key-of-the-bench BENCH_URL=http://127.0.0.1:%d %s --quiet"
      .. " bench/skills/stream.lua --work-dir %s/%d"):format(number, measure.program, folder.path, count))
    skillrt[round] = cpu
  end
  local ours, theirs = measure.median(skillrt), measure.median(bare)
  local what = "%d MB of server-sent events of a model, kept and read, against receiving them: processor time"
  return { measure.finding(what:format(MEGABYTES), ours / theirs, "<=", 1.3,
    measure.time(ours) .. " against " .. measure.time(theirs)) }
end
