-- embed_host_spec.lua: examples/embed/host, a program that runs a skill in its own loop.
local kit = require "tests.support.cli_kit"
local core = require "skillrt.core"

local here = core.files.current()
local host = ("%s/build/%s/examples/embed/host"):format(here, os.getenv "SKILLRT_MODE" or "release")

local function run(folder, words)
  local command = ("cd %s && printf '%%s' %s | timeout 20 %s %s >.out 2>.err"):format(
    kit.quoted(folder.path), kit.quoted(words.input or ""), kit.quoted(host), table.concat(words, " "))
  local _, _, code = os.execute(command)
  return { code = code, out = folder.read ".out", err = folder.read ".err" }
end

describe("a program with the C library inside (examples/embed)", function()
  local script = kit.quoted(here .. "/examples/embed/count.lua")

  it("runs a skill in its own poll loop and hears of each record once it is durable", function()
    local folder <close> = kit.folder()
    local result = run(folder, { script, "run" })
    assert.equal(0, result.code, result.err)
    assert.equal("", result.err)
    assert.truthy(result.out:find("completed (task_completed)", 1, true))
    assert.truthy(result.out:find('"n":5', 1, true))
    local _, done = result.out:gsub('"t":"done"', "")
    assert.equal(6, done)
    local _, kept = folder.read("run/journal/00000001.sj"):gsub('"t":"done"', "")
    assert.equal(6, kept)
  end)

  it("says what is wrong in one line, and changes nothing", function()
    local folder <close> = kit.folder()
    local result = run(folder, { "missing.lua", "run" })
    assert.equal(1, result.code)
    assert.truthy(result.err:find("^host: missing.lua: No such file"), result.err)
    result = run(folder, { "--resume", "nowhere" })
    assert.equal(1, result.code)
    assert.truthy(result.err:find("nowhere", 1, true))
    assert.is_nil(folder.read "nowhere/run.lock")
  end)

  it("is a game, too: its creatures are runs in one loop of frames, and its functions move them", function()
    local folder <close> = kit.folder()
    local game = host:gsub("host$", "game")
    local command = ("cd %s && timeout 20 %s %s runs 5 >.out 2>.err"):format(
      kit.quoted(folder.path), kit.quoted(game), kit.quoted(here .. "/examples/embed/hunt.lua"))
    assert.equal(0, select(3, os.execute(command)), folder.read ".err")
    local _, full = folder.read(".out"):gsub("completed %(task_completed%), at %d+,%d+, ate 3\n", "")
    assert.equal(5, full, folder.read ".out")
    local journal = folder.read "runs/creature-4/journal/00000001.sj"
    assert.truthy(journal:find('"kind":"host"', 1, true))
    assert.truthy(journal:find("It rests under a tree.", 1, true))
    assert.equal(1, select(3, os.execute(command)))
    assert.truthy(folder.read(".err"):find "^game: .*creature%-0: the run is completed", folder.read ".err")
  end)

  it("sees no name of ours but skillrt_ and luaopen_, and may have any other itself", function()
    if os.getenv "SKILLRT_MODE" == "asan" or os.getenv "SKILLRT_MODE" == "cover" then return end -- have names of their own
    local folder <close> = kit.folder()
    local library = here .. "/build/" .. (os.getenv "SKILLRT_MODE" or "release") .. "/libskillrt.a"
    local names, count = io.popen("nm -g --defined-only " .. kit.quoted(library)), 0
    for line in names:lines() do
      local name = line:match " %u (%S+)$"
      if name then
        count = count + 1
        assert.truthy(name:find "^skillrt_" or name:find "^luaopen_", name)
      end
    end
    names:close()
    assert.truthy(count > 10)
    folder.file("own.c", [[
      #include <stdio.h>
      #include "skillrt.h"
      int crc32c(void) { return 1; }
      int loop_open(void) { return 2; }
      int main(void) {
        char error[200];
        struct skillrt_options options = {.size = sizeof options, .script = "s.lua", .work_dir = "w"};
        struct skillrt *run = skillrt_open(&options, error, sizeof error);
        while (run && skillrt_step(run) == SKILLRT_RUNNING) continue;
        printf("%d %s\n", crc32c() + loop_open(), run ? skillrt_status(run) : error);
        skillrt_close(run);
        return 0;
      } ]])
    folder.file("s.lua", [[return require "skillrt".skill { name = "s",
      actions = { { id = "a", run = function() return { n = 1 } end } } }]])
    local pipe <close> = io.popen(([[cd %s && { ${CC:-gcc} -I'%s/csrc' own.c '%s' -Wl,-E \
      $(pkg-config --cflags --libs lua5.4 libuv zlib libpcre2-8) -lm -ldl -o own && ./own; } 2>&1]]):format(folder.path, here, library))
    assert.equal("3 completed\n", pipe:read "a")
  end)

  it("is not ended by a script's os.exit", function()
    local folder <close> = kit.folder()
    folder.file("exit.lua", [[
      return require "skillrt".skill { name = "exit", limits = { max_errors = 1 },
        actions = { { id = "leave", run = function() os.exit(0) end } } }
    ]])
    local result = run(folder, { "exit.lua", "run" })
    assert.truthy(result.out:find("paused (script_error)", 1, true), result.out .. result.err)
    assert.truthy(folder.read("run/journal/00000001.sj"):find("a script must not end its host", 1, true))
  end)

  it("stops the run when the person says so, and goes on with it later", function()
    local folder <close> = kit.folder()
    folder.file("slow.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "slow", state = {}, actions = { { id = "wait", run = function(_, ctx)
        ctx.await { kind = "sleep", seconds = 1 }
        return { over = true }
      end } } }
    ]])
    local result = run(folder, { "slow.lua", "run", input = "stop\n" })
    assert.equal(3, result.code, result.err)
    assert.truthy(result.out:find("paused (user_exit)", 1, true))
    result = run(folder, { "--resume", "run" })
    assert.equal(0, result.code, result.err)
    assert.truthy(result.out:find('"over":true', 1, true))
  end)
end)
