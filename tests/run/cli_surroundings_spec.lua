-- cli_surroundings_spec.lua: the program in odd surroundings: closed descriptors, few of them, output
-- that cannot be written, signals that its parent ignores or blocks, a folder that was removed.
local kit = require "tests.support.cli_kit"

local HEAD = 'local skillrt = require "skillrt"\n'
local COMMAND = HEAD .. [[return skillrt.skill { name = "s", state = {},
  agents = { sh = skillrt.agent.command { "sh", "-c", "echo from the agent", parse = "text" } },
  actions = { { id = "a", agent = "sh", prompt = "say it" } } }]]

-- A shell's line with the program as $P; { code, out, err } of it.
local function shell(folder, line)
  local script = folder.file(".line", line)
  local _, how, code = os.execute(("cd %s && P=%s exec timeout -s KILL 60 bash %s >.out 2>.err </dev/null"):format(
    kit.quoted(folder.path), kit.quoted(kit.program), kit.quoted(script)))
  return { code = how == "signal" and 128 + code or code, out = folder.read ".out", err = folder.read ".err" }
end

local function completes(line, script)
  local folder <close> = kit.folder()
  folder.file("s.lua", script or COMMAND)
  local result = shell(folder, line)
  assert.equal(0, result.code, result.out .. result.err)
  local status = kit.run(folder, { "status", "w" })
  assert.truthy(status.out:find("completed", 1, true), status.out .. status.err)
  local log = kit.run(folder, { "log", "w" })
  assert.equal(0, log.code, log.err)
  return result
end

describe("a run completes", function()
  for _, closed in ipairs { "<&-", ">&-", "2>&-", "<&- >&- 2>&-" } do
    it("with descriptors closed: " .. closed, function()
      completes('"$P" s.lua --work-dir w ' .. closed)
    end)
  end
  for _, closed in ipairs { "<&-", "<&- >&- 2>&-" } do
    it("in a host with descriptors closed, which takes none of them: " .. closed, function()
      local core = require "skillrt.core"
      local folder <close> = kit.folder()
      local here = core.files.current()
      folder.file("own.lua", ([[
        package.path, package.cpath = "%s/lua/?.lua;%s/lua/?/init.lua;" .. package.path, "%s/build/%s/lib/?.so;" .. package.cpath
        local result, message = dofile("s.lua"):run { work_dir = "w" }
        local file = io.open("told", "w")
        file:write(result and result.status or message, "\n")
        file:close()]]):format(here, here, here, os.getenv "SKILLRT_MODE" or "release"))
      folder.file("s.lua", COMMAND)
      shell(folder, "lua5.4 own.lua " .. closed)
      assert.equal("completed\n", folder.read "told")
    end)
  end
  it("with 16 descriptors", function()
    completes 'for fd in {3..99}; do eval "exec $fd>&-"; done; ulimit -n 16; "$P" s.lua --work-dir w'
  end)
  it("where the parent ignores SIGCHLD", function() completes [[trap '' CHLD; "$P" s.lua --work-dir w]] end)
  it("where the parent left SIGTERM blocked, which stops it all the same", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", HEAD .. [[return skillrt.skill { name = "s", state = {}, actions = { { id = "a",
      run = function(_, ctx) ctx.await { kind = "sleep", seconds = 50 } end } } }]])
    local result = shell(folder, [[perl -MPOSIX -e 'sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGTERM)); exec @ARGV' \
      "$P" s.lua --work-dir w & sleep 0.5; kill -TERM $!; wait $!]])
    assert.equal(143, result.code)
  end)
  it("whatever SIGALRM comes from outside", function()
    completes([["$P" s.lua --work-dir w & for i in 1 2 3 4 5; do sleep 0.1; kill -ALRM $!; done; wait $!]],
      HEAD .. [[return skillrt.skill { name = "s", state = {}, actions = { { id = "a",
        run = function(_, ctx) ctx.await { kind = "sleep", seconds = 1 } end } } }]])
  end)
end)

-- A namespace of its own needs root, or a system that lets users have one.
local UNSHARE
for _, how in ipairs { "unshare -fp --mount-proc --kill-child ", "unshare -rfp --mount-proc --kill-child " } do
  UNSHARE = UNSHARE or (os.execute(how .. "true 2>/dev/null") and how)
end

describe("as process 1", function()
  if not UNSHARE then
    pending "no namespaces here"
    return
  end
  it("a run completes, and orphans are buried", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", HEAD .. [[return skillrt.skill { name = "s", state = {}, actions = { { id = "a", run = function(_, ctx)
      for i = 1, 3 do -- the shell ends, and what it leaves ends later: process 1 has it then
        ctx.await { kind = "command", argv = { "sh", "-c", "setsid sh -c 'sleep 0.1' & exit 0" } }
      end
      ctx.await { kind = "sleep", seconds = 0.6 }
      print("first " .. io.open "/proc/1/comm":read "l")
      local look = "cat /proc/[0-9]*/stat | sed 's/.*) \\(.\\).*/ \\1/' | tr -d '\\n'"
      print("states" .. ctx.await { kind = "command", argv = { "sh", "-c", look } }.stdout)
    end } } }]])
    local result = shell(folder, UNSHARE .. '"$P" s.lua --work-dir w')
    assert.equal(0, result.code, result.err)
    assert.truthy(result.out:find("first skillrt", 1, true), result.out)
    local states = result.out:match "states([^\n]*)"
    assert.truthy(states and #states > 2 and not states:find "Z", result.out)
  end)
  it("a signal stops it in order", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", HEAD .. [[return skillrt.skill { name = "s", state = {}, agents = { sh = skillrt.agent.command {
      "sh", "-c", "trap 'echo bye > bye; exit 0' TERM; while :; do sleep 0.02; done" } },
      actions = { { id = "a", agent = "sh", prompt = "hang there" } } }]])
    local result = shell(folder, UNSHARE .. [[sh -c '
      "$0" s.lua --work-dir w & sleep 0.5; echo; kill -TERM $!; wait $!; echo code $?' "$P"]])
    assert.truthy(result.out:find("code 143", 1, true), result.out .. result.err)
    -- and where it is the first itself: the signal comes from outside of its namespace
    os.remove(folder.path .. "/bye")
    result = shell(folder, UNSHARE .. [["$P" s.lua --work-dir v & sleep 0.7
      first=$(env -u LD_PRELOAD pgrep -P $!); kill -TERM $first; wait $!; echo code $?]])
    assert.truthy(result.out:find("paused (user_exit)", 1, true), result.out .. result.err)
    assert.equal("bye\n", folder.read "bye")
    assert.equal(0, kit.run(folder, { "status", "v" }).code)
  end)
end)

it("a run completes in 64 MB", function()
  if os.getenv "SKILLRT_MODE" == "asan" then return end -- needs terabytes
  completes 'ulimit -v 65536; "$P" s.lua --work-dir w'
end)

describe("descriptors", function()
  local COUNT = HEAD .. [[return skillrt.skill { name = "s", state = {}, actions = { { id = "a",
    run = function(_, ctx)
      print("agent " .. ctx.await { kind = "command", argv = { "sh", "-c", "ulimit -Sn" } }.stdout)
    end } } }]]
  it("are raised to what the system allows, and an agent gets the limit that was there", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", COUNT)
    folder.file("own.lua", HEAD .. [[return skillrt.skill { name = "s", state = {}, actions = { { id = "a",
      run = function() for line in io.lines "/proc/self/limits" do
        if line:find "open files" then print("soft " .. line:match "files%s+(%d+)") end end end } } }]])
    local result = shell(folder, 'ulimit -Sn 100; ulimit -Hn 500; "$P" own.lua --work-dir v; "$P" s.lua --work-dir w; "$P" log w')
    assert.truthy(result.out:find("soft 500", 1, true), result.out)
    assert.truthy(result.out:find("agent 100\n", 1, true), result.out)
  end)
end)

describe("output", function()
  it("that cannot be written is told by the exit code", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", COMMAND)
    for _, line in ipairs { '"$P" s.lua --work-dir w', '"$P" status w', '"$P" log w', '"$P" --help', } do
      local result = shell(folder, line .. " >/dev/full")
      assert.equal(74, result.code, line)
      assert.truthy(result.err:find("standard output: No space left on device", 1, true), result.err)
    end
    assert.truthy(kit.run(folder, { "status", "w" }).out:find("completed", 1, true))
  end)
  it("that cannot be written is told, too, where the exit code says something else already", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", COMMAND)
    assert.equal(0, kit.run(folder, { "s.lua", "--work-dir", "w" }).code)
    local result = shell(folder, '"$P" diff w@1 w >/dev/full')
    assert.equal(1, result.code, result.err)
    assert.truthy(result.err:find("standard output: No space left on device", 1, true), result.err)
  end)
  it("that a script prints, too", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", HEAD .. [[return skillrt.skill { name = "s", state = {}, actions = { { id = "a",
      run = function() for i = 1, 10000 do io.write(i, "\n") end end } } }]])
    assert.equal(74, shell(folder, '"$P" s.lua --work-dir w --quiet >/dev/full').code)
  end)
  it("to a reader that went away is no failure", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", HEAD .. [[return skillrt.skill { name = "s", state = {}, actions = { { id = "a",
      run = function() for i = 1, 20000 do print(i) end end } } }]])
    local result = shell(folder, '"$P" s.lua --work-dir w | true; echo ${PIPESTATUS[0]}')
    assert.equal("0\n", result.out, result.err)
  end)
  it("waits where its descriptor says that it must not, which the others who have it keep", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", HEAD .. [[return skillrt.skill { name = "s", state = {}, actions = { { id = "a",
      run = function() for i = 1, 40000 do print(i) end end } } }]])
    local result = shell(folder, [[{ perl -MFcntl -e '
      fcntl(STDOUT, F_SETFL, O_WRONLY | O_NONBLOCK); my $code = system(@ARGV) >> 8;
      my $kept = fcntl(STDOUT, F_GETFL, 0) & O_NONBLOCK; print STDERR "code $code ", $kept ? "kept" : "lost", "\n"' \
      "$P" s.lua --work-dir w; } | { sleep 1; cat; }]])
    assert.truthy(result.err:find("code 0 kept", 1, true), result.err)
    local count = select(2, result.out:gsub("%f[%d]%d+\n", ""))
    assert.truthy(result.out:find("40000\n", 1, true) and result.out:find("completed (task_completed)", 1, true))
    assert.truthy(count >= 40000, tostring(count))
  end)
end)

it("a folder that was removed is told in a line", function()
  local folder <close> = kit.folder()
  for _, words in ipairs { "s.lua", "status w", "resume w", "check ." } do
    local result = shell(folder, 'mkdir -p gone && cd gone && rmdir ../gone && "$P" ' .. words)
    assert.equal(2, result.code)
    assert.equal("skillrt: the current folder: No such file or directory\nit was removed, or may not be read: go to another one\n",
      result.err)
  end
end)
