-- reply.lua: a reply of 8 MB with 700,000 keys, of a run from its start to its end, as one value of the state and as
-- fields of it: asked for, recorded, decoded, merged, written. Against lua-cjson's decode and encode of the same text,
-- in turn.
local ROUNDS <const>, KEYS <const> = 5, 700000

return function(measure)
  local folder <close> = measure.folder "memory"

  local function rows(name, what, head, tail, time, memory)
    local parts, path = {}, ("%s/%s.json"):format(folder.path, name)
    for i = 1, KEYS do
      parts[i] = ('"k%d":%d'):format(i, i % 10)
    end
    local file <close> = assert(io.open(path, "w"))
    file:write(head, table.concat(parts, ","), tail)
    file:flush()
    local dir = folder.path .. "/run"
    local run = ("env BENCH_REPLY=%s %s run bench/skills/reply.lua --work-dir %s --quiet"):format(path, measure.program,
      dir)
    local code = ("local j, f = require 'cjson', io.open('%s'); assert(j.encode(j.decode(f:read 'a')))"):format(path)
    local theirs = ("%s -e %s"):format(measure.lua, measure.quoted(code))
    local most, cpu_of = 0, {}
    local ratio, a, b = measure.paired(ROUNDS, function()
      local _, held, cpu = measure.spawn(1, run)
      measure.run("rm -rf " .. dir)
      most = math.max(most, held)
      return cpu
    end, function(round)
      local _
      _, _, cpu_of[round] = measure.spawn(1, theirs)
      return cpu_of[round]
    end)
    return measure.finding(what .. ", a run of it against lua-cjson's decode and encode: processor time", ratio, "<=",
      time, ("%s against %s"):format(measure.time(a), measure.time(b))),
      measure.finding("the same: memory", most / 1024, "<=", memory, nil, "MB")
  end

  local one, one_held = rows("one", "a reply of 8 MB, 700,000 keys below one", '{"data":{', "}}", 2.5, 150)
  local flat, flat_held = rows("flat", "the same as 700,000 fields of the state", "{", "}", 5, 280)
  return { one, one_held, flat, flat_held }
end
