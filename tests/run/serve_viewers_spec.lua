-- serve_viewers_spec.lua: 100 viewers of a run of 1,000 agents cost at most as much time of a processor as the run: a
-- ratio of the times of the same run in the same minute, not a time.
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"

local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "agents", state = {}, limits = { calls = 2000, max_parallel = 8 }, actions = {
  { id = "go", priority = 2, run = function(_, ctx) ctx.wait "go" return { went = true } end },
  { id = "work", when = "went && !found", run = function(_, ctx)
    local items = {}
    for i = 1, 1000 do items[i] = i end
    ctx.map(items, function(i)
      ctx.await { kind = "command", label = "agent " .. i, idempotent = true,
        argv = { "sh", "-c", "seq 200; i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done" } }
    end)
    return { found = true }
  end } } }
]]

-- Ticks of a process, and of its children that have ended.
local function ticks(pid)
  local fields, text = {}, K.read(("/proc/%s/stat"):format(pid)):match "%) (.*)"
  for field in text:gmatch "%S+" do fields[#fields + 1] = tonumber(field) or 0 end
  return fields[12] + fields[13] + fields[14] + fields[15]
end

describe("viewers of a run", function()
  it("(F100) cost, when there are 100 of them, at most as much time of a processor as the run", function()
    local folder <close> = K.folder()
    folder.file("skill.lua", SKILL)
    local function taken(name, viewers)
      assert.equal(5, K.run(folder, { "skill.lua", "--work-dir", "runs/" .. name, "--quiet", "--trust",
        env = ("HOME=%s XDG_STATE_HOME=%s/.state"):format(folder.path, folder.path) }).code)
      local server = C.start(folder, {})
      local pid = server.process.pid
      local out = folder.path .. "/viewers." .. name
      if viewers > 0 then
        os.execute(("node tests/support/viewers.mjs '%s' %s %d >'%s' 2>&1 &"):format(server.socket, name, viewers, out))
        for _ = 1, 3000 do
          if (K.read(out) or ""):find "open" then break end
          os.execute "sleep 0.02"
        end
      end
      local before = ticks(pid)
      assert.equal(200, (server:post("/runs/" .. name .. "/send", { event = "go" })))
      local status, value = server:post("/runs/" .. name .. "/resume", {})
      assert.is_true(status < 300, value.error and value.error.message)
      for _ = 1, 6000 do
        local said = K.read(out) or ""
        _, value = server:ask("/runs/" .. name)
        local is_over = value.status == "completed" and (viewers == 0 or said:find "open\n%d+\n")
        if is_over and not os.execute(("ps --ppid %d >/dev/null"):format(pid)) then break end -- its time is the server's now
        os.execute "sleep 0.1"
      end
      local spent = ticks(pid) - before -- the run is a child of the server
      server:close()
      assert.truthy(viewers == 0 or K.read(out):find "open\n%d+\n", K.read(out))
      return spent
    end
    local none, many = taken("none", 0), taken("many", 100)
    assert.is_true(none > 100, none)
    assert.is_true(many <= 2 * none, ("%d ticks without viewers, %d with 100"):format(none, many))
  end)
end)
