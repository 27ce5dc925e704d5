-- cli_terminal_spec.lua: the live view and the questions, looked at in a real terminal (tmux).
local core = require "skillrt.core"
local kit = require "tests.support.cli_kit"

local has_tmux = kit.has_terminal() and os.execute "command -v tmux >/dev/null 2>&1"

-- A terminal of tmux with a server of its own; ends with its scope.
local function terminal(folder, columns, rows)
  local tmux = ("TERM=xterm env -u TMUX tmux -f /dev/null -S %s/tmux "):format(folder.path)
  local self = {}
  local function call(words) return os.execute(tmux .. words .. " 2>/dev/null") end
  function self.screen(escapes)
    local pipe <close> = io.popen(tmux .. "capture-pane -p -S -200 " .. (escapes and "-e " or ""))
    return (pipe:read("a"):gsub("%s+$", "\n"))
  end
  function self.type(text)
    call("send-keys -l " .. kit.quoted(text))
    call "send-keys Enter"
  end
  function self.key(name) call("send-keys " .. name) end
  function self.resize(x, y) call(("resize-window -x %d -y %d"):format(x, y)) end
  function self.shows(text, ms)
    local deadline, screen = core.mono_ns() + (ms or 20000) * 1000000, ""
    while core.mono_ns() < deadline do
      screen = self.screen()
      if screen:find(text, 1, true) then return screen end
      os.execute "sleep 0.03"
    end
    error(text .. " is not on the screen:\n" .. screen, 2)
  end
  assert(call(("new-session -d -x %d -y %d 'cd %s && PS1=\"> \" exec sh'"):format(columns, rows, folder.path)))
  return setmetatable(self, { __close = function() call "kill-server" end })
end

local SLOW = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "slow", state = { n = 0 },
  agents = { sh = skillrt.agent.command { "sh", "-c",
    'i=0; while [ ! -e go ]; do i=$((i+1)); printf "line %d \033[31m日本日本日本日本日本日本日本日本日本日本日本日本日本\n" $i; sleep 0.1; done; echo {}' } },
  actions = {
    { id = "fast", run = function() print("said\27[2J so") return { n = 1 } end },
    { id = "sleepy", when = "n === 1", agent = "sh", prompt = "sleep a while" } } }]]

local ASK = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "ask", state = { n = 0 }, strategy = "user_driven", actions = {
  { id = "left", name = "To the left", max_runs = 2, when = "n < 2", run = function(s) return { n = s.n + 1 } end },
  { id = "right", when = "n < 2", optional = true, run = function(s) return { n = s.n + 1 } end } } }]]

describe("on a terminal", function()
  local function see(name, columns, rows, act)
    it(name, function()
      if not has_tmux then return pending "no pseudo-terminals here, or no tmux" end
      local folder <close> = kit.folder()
      folder.file("slow.lua", SLOW)
      folder.file("ask.lua", ASK)
      local screen <close> = terminal(folder, columns, rows)
      act(screen, folder)
    end)
  end

  see("asks no longer than a question's own time: the run goes on with what was to hold then", 80, 24,
    function(screen, folder)
      folder.file("late.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "late", actions = { { id = "a", run = function(_, ctx)
  ctx.log("taken: " .. ctx.ask { question = "Go on?", options = { "yes", "no" }, timeout = 1, default = "no" })
end } } }]])
      screen.type(kit.program .. " run late.lua --work-dir run")
      screen.shows "answer (Enter: later)>"
      screen.key "y" -- typed, and not entered
      screen.shows "no answer in time"
      screen.shows "taken: no"
      screen.shows "completed (task_completed)"
    end)

  see("an answer is edited within its line; ^C leaves it, and the terminal as it was", 80, 24, function(screen, folder)
    if not package.loadlib("libedit.so.2", "*") then return pending "no libedit here" end
    folder.file("name.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "name", actions = { { id = "a", run = function(_, ctx)
  ctx.log("taken: " .. ctx.ask { question = "Which name?" })
end } } }]])
    screen.type(kit.program .. " run name.lua --work-dir left; stty -a | grep -o -- -*icanon")
    screen.shows "answer (Enter: later)>"
    screen.key "never C-c"
    screen.shows "\nicanon"
    assert.equal("waiting_for_person", core.json.decode(kit.run(folder, { "status", "left", "--json" }).out).reason)
    screen.type("clear; " .. kit.program .. " resume left; echo code $?")
    screen.shows "(question 1 is open)\nWhich name?\nanswer (Enter: later)>"
    screen.key "C-d"
    screen.shows "\ncode 3"
    screen.type("clear; expr 40 + 2; " .. kit.program .. " resume left")
    screen.shows "42\nResuming from: a" -- what stood there before is cleared
    screen.shows "(question 1 is open)\nWhich name?\nanswer (Enter: later)>"
    screen.key "grxen Left Left BSpace" -- gr|en
    screen.key "ü C-e r C-a A Space" -- A |grüenr
    screen.shows "> A grüenr"
    screen.key "Enter"
    screen.shows "taken: A grüenr"
  end)

  see("a run shows a line for each agent under way and for each that failed, folded at the terminal's height", 100, 30,
    function(screen, folder)
      folder.file("agent.sh", [[
        p=$(cat); n=${p##* }
        case $n in
          3) echo "no such file" >&2; exit 3;;
          5) echo '{"status":"completed","output":"x","used":{"tokens":1500,"dollars":0.05}}'; exit;;
        esac
        echo "reading $n"; while [ ! -e go ]; do sleep 0.05; done]])
      folder.file("many.js", "export const meta = { name: 'many', description: 'twelve agents' }\n"
        .. "await parallel(Array.from({ length: 12 }, (_, i) => () => agent('work on ' + i, { label: 'n' + i })))")
      screen.type(kit.program .. [[ run many.js --trust --work-dir w --agent '["sh","agent.sh"]']])
      screen.shows "agents: 10 working, 1 done, 1 failed"
      screen.shows "reading 11"
      local text = screen.shows "reading 0"
      for i = 0, 11 do
        assert.equal(i ~= 3 and i ~= 5, text:find(("\n  * n%d  sh  [%%d.]+ m?s  reading %d\n"):format(i, i):gsub("%*", "%%*")) ~= nil, text)
      end
      assert.truthy(text:find('\n  x agent n3 failed: agent "sh": sh exited with 3: no such file\n', 1, true), text)
      local status = kit.run(folder, { "status", "w" })
      assert.equal(10, select(2, status.out:gsub("\n +%* n%d+  sh  [%d.]+ %l+  call 1%./1/%d+/1%.1", "")), status.out)
      screen.resize(100, 9)
      text = screen.shows "and 6 more"
      assert.matches("agents: 10 working, 1 done, 1 failed\n> workflow [^\n]*\n  %* n0 [^\n]*\n", text)
      folder.file("go", "")
      screen.resize(100, 30)
      assert.is_nil(screen.shows "failed (agents_failed): 1 step in ":find("* n0", 1, true))
    end)

  see("a run shows what is under way, what it says, and how long; it survives a resize", 80, 24, function(screen, folder)
    screen.type(kit.program .. " slow.lua --work-dir w")
    local text = screen.shows "| line 4 "
    assert.truthy(text:find "\nslow  [%d.]+ m?s  1 done, 0 failed, 0 retries\n> sleepy  [%d.]+ m?s  command sh\n  | line %d+ ")
    assert.truthy(text:find("said\\x1B[2J so\n", 1, true))
    screen.resize(40, 10)
    screen.shows "| line 9 "
    screen.resize(100, 30)
    screen.shows "| line 14 "
    folder.file("go", "")
    text = screen.shows "completed (task_completed): 2 steps in "
    assert.is_nil(text:find("  | line", 1, true), text)
    assert.is_nil(text:find("> sleepy", 1, true), text)
    assert.equal(1, select(2, text:gsub("Executing: sleepy", "")))
    assert.truthy(text:find("[Iteration 2] Completed: sleepy\ncompleted (task_completed)", 1, true), text)
  end)

  see("what a script writes by its file handles stays among the lines of the live view", 80, 24, function(screen, folder)
    folder.file("wrote.lua", SLOW:gsub('print%b()', [[
      io.write("by io\27[2J\n") io.stdout:write("by ", 1, " out\27[2J\n"):write("twice\27[2J\n")
      io.stderr:write("by err\27[2J\n") local f <close> = io.open("own", "w") f:write("whole\27[2J\n")]]))
    screen.type(kit.program .. " wrote.lua --work-dir w")
    local text = screen.shows "| line 3 "
    assert.truthy(text:find("by io\\x1B[2J\nby 1 out\\x1B[2J\ntwice\\x1B[2J\nby err\\x1B[2J\n", 1, true), text)
    assert.equal("whole\27[2J\n", kit.read(folder.path .. "/own"))
    folder.file("go", "") -- and what goes elsewhere is not held
    screen.shows "completed (task_completed)"
    screen.type(kit.program .. " wrote.lua --work-dir v 2>err; echo code $?")
    screen.shows "code 0"
    assert.equal("by err\27[2J\n", kit.read(folder.path .. "/err"))
  end)

  see("a small terminal shows what fits", 40, 5, function(screen, folder)
    screen.type(kit.program .. " slow.lua --work-dir w")
    screen.shows "| line "
    folder.file("go", "")
    screen.shows "completed"
  end)

  see("Ctrl-C pauses the run and leaves the screen in order", 80, 24, function(screen)
    screen.type(kit.program .. " slow.lua --work-dir w; echo code $?")
    screen.shows "| line 3 "
    screen.key "C-c"
    local text = screen.shows "code 130"
    assert.truthy(text:find "paused %(user_exit%): 1 step in [^\n]+, in w\nnext: skillrt resume w   %(resumes%)\ncode 130\n")
  end)

  see("a question is asked, wrong answers are told, and the run goes on in the same process", 80, 24, function(screen)
    screen.type(kit.program .. " ask.lua --work-dir w; echo code $?")
    screen.shows "  1. To the left\n  2. right\nanswer (Enter: later)>"
    screen.type "7"
    screen.shows "there is no option \"7\""
    screen.type "1"
    screen.shows "[Iteration 1] Completed: left"
    screen.type "left"
    screen.shows "code 0"
  end)

  see("an empty answer leaves the run paused, and Ctrl-C at the question too", 80, 24, function(screen)
    screen.type(kit.program .. " ask.lua --work-dir w; echo code $?")
    screen.shows "answer (Enter: later)>"
    screen.type ""
    local text = screen.shows "code 3"
    assert.truthy(text:find("next: skillrt answer w left|right", 1, true))
    screen.type(kit.program .. " resume w; echo again $?")
    screen.shows "Resuming from: start"
    screen.shows "answer (Enter: later)>"
    screen.key "C-c"
    local left = screen.shows "again 130"
    assert.equal(2, select(2, left:gsub("next: skillrt answer w left|right", "")), left)
  end)

  see("a stranger's workflow begins with a yes, and is remembered (W23)", 80, 24, function(screen, folder)
    folder.file("two.js", "export const meta = { name: 'two', description: 'asks two', phases: [{ title: 'Scan' }] }\n"
      .. "return [await agent('a'), await agent('b')]\n")
    local run = ("XDG_STATE_HOME=$PWD/s %s run two.js --agent cat --work-dir w; echo code $?"):format(kit.program)
    screen.type(run)
    local text = screen.shows "[y/N]"
    assert.truthy(text:find("two: asks two\n  phases: Scan\n  agents: 2 in a dry run", 1, true), text)
    screen.type "n"
    screen.shows "code 8"
    for _, option in ipairs { "--quiet", "--json" } do -- whoever says so is not asked
      screen.type("clear; " .. run:gsub("; echo", " " .. option .. "; echo"))
      assert.is_nil(screen.shows("code 8"):find("[y/N]", 1, true), option)
    end
    screen.type("clear; " .. run)
    screen.type "y"
    screen.shows "code 0"
    screen.type "clear; rm -r w"
    screen.type(run)
    assert.is_nil(screen.shows("code 0"):find("[y/N]", 1, true))
  end)

  see("lines are coloured", 80, 24, function(screen, folder)
    folder.file("go", "")
    screen.type(kit.program .. " slow.lua --work-dir w")
    screen.shows "completed (task"
    assert.truthy(screen.screen(true):find("\27[32m", 1, true))
  end)

  see("NO_COLOR and TERM=dumb are respected", 80, 24, function(screen, folder)
    folder.file("go", "")
    screen.type("NO_COLOR=1 " .. kit.program .. " slow.lua --work-dir v")
    screen.shows ", in v"
    screen.type("TERM=dumb " .. kit.program .. " slow.lua --work-dir u; echo end")
    screen.shows "\nend"
    assert.is_nil(screen.screen(true):find("\27[3", 1, true))
  end)
end)
