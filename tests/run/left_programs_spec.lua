-- left_programs_spec.lua: programs that a killed process left running are ended by a resume, before anything
-- leaves again: by the group and start that the journal noted.
local core = require "skillrt.core"
local kit = require "tests.support.cli_kit"

-- Waits until a file holds what is looked for; its text.
local function wait_for(path, pattern)
  local deadline = core.mono_ns() + 15e9
  while core.mono_ns() < deadline do
    local text = kit.read(path)
    if text and text:find(pattern) then
      return text
    end
    os.execute "sleep 0.05"
  end
  error(path .. ": no " .. pattern)
end

local function runs(pid)
  local stat = kit.read("/proc/" .. pid .. "/stat")
  return stat ~= nil and not stat:find "%) Z"
end

-- The program of `request` begets a child that outlives it, and writes the child's pid.
local function killed_run(folder, request)
  folder.file("s.lua", ([[
    -- what binds a program's group to us is a descriptor: without it only the program itself dies with us
    local FREE = "for i in {3..99}; do eval \"exec $i>&-\"; done; "
    return require "skillrt".skill { name = "s", actions = { { id = "a", run = function(_, ctx)
      ctx.await %s
    end } } }
  ]]):format(request))
  local program = kit.start(folder, { "s.lua", "--quiet", "--work-dir", "run" })
  local child = wait_for(folder.path .. "/child", "%d+\n"):match "%d+"
  local journal = wait_for(folder.path .. "/run/journal/00000001.sj", '"t":"program"')
  program.signal "KILL"
  program.wait()
  return child, journal
end

describe("a program that a killed process left", function()
  it("is ended by a resume: of a call that was under way", function()
    local folder <close> = kit.folder()
    local child, journal = killed_run(folder,
      [[{ kind = "command", argv = { "bash", "-c", FREE .. "sleep 60 & echo $! > child; wait" } }]])
    assert.matches('"pid":%d+,"since":"[^"]+"', journal)
    assert.is_true(runs(child))
    local result = kit.run(folder, { "resume", "run", "--decide", "fail", "--quiet" })
    assert.is_false(runs(child), result.err)
    local after = folder.read "run/journal/00000001.sj" .. (folder.read "run/journal/00000002.sj" or "")
    assert.matches("was left running by a process that died; it was ended", after)
  end)

  it("is ended by a resume: of a session, whose call was answered", function()
    local folder <close> = kit.folder()
    local child = killed_run(folder, [[{ kind = "session", session = "peer", message = "go", argv = {
      "bash", "-c", FREE .. "read line; sleep 60 & echo $! > child; echo yes; wait" } }
      ctx.sleep(1.5)]])
    assert.is_true(runs(child))
    local result = kit.run(folder, { "resume", "run", "--quiet" })
    assert.equal(0, result.code, result.err)
    assert.is_false(runs(child))
  end)
end)
