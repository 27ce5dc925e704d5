-- refusals_spec.lua: what commands say of a line that they cannot follow: in one line, what is wrong, and where one can
-- say so, what to do. None of them is a fault of skillrt (exit code 70). More of them are in support/stories/wrong.lua.
local K = require "tests.support.cli_kit"

local SCRIPT <const> = [[
return require "skillrt".skill { name = "s", state = { n = 0 }, terminate = { "n > 1" },
  actions = { { id = "a", max_runs = 2, run = function(s) return { n = s.n + 1 } end } } }
]]
local ASKS <const> = [[
return require "skillrt".skill { name = "asks", state = {}, actions = { { id = "a", max_runs = 1, run = function(_, ctx)
  return { said = ctx.await { kind = "ask", question = "Which?" } }
end } } }
]]

-- A line, what is said, and the environment if it is another one.
local ROWS <const> = {
  { "", "skillrt runs agent skills durably: every step is recorded, a crash is resumed." },
  { "answer asks caf\xE9", 'question 1: "caf\\xE9" is not UTF-8' },
  { "run caf\xE9.lua", "the run cannot be recorded (record.script: cannot encode a string that is not valid UTF-8); rename that" },
  { "run s.lua --work-dir new --set who=caf\xE9", "the run cannot be recorded: input.who: cannot encode a string that is not" },
  { "submit q caf\xE9.lua", "the run cannot be recorded (record.script: cannot encode a string that is not valid UTF-8); rename that" },
  { "check five.lua", "five.lua: error: must return a skill, as in `return skillrt.skill { ... }`, but returned a number" },
  { "check like.lua", "like.lua: error: must return a skill" },
  { "fleet init postgres://x --lease 0", "--lease: must be from 1 to 3600 seconds" },
  { "fleet drop postgres://x --before 2026-13", "fleet drop URL needs --before with a month: --before 2026-08" },
  { "graph five.lua", "five.lua: must return a skill" },
  { "plan run", 'run: its journal holds no plan; its strategy is not "plan", or no step has started' },
  { "prompt s.lua a b", "b: one step at a time" },
  { "prompt s.lua a", "s: a is a function: no agent is sent a prompt for it" },
  { "prompt s.lua zzz", 's: has no step "zzz" (there are: a)' },
  { "receipt run", "there is no folder for a key: set HOME or XDG_STATE_HOME, or name one: --key", "-u HOME -u XDG_STATE_HOME" },
  { "run p.lua --strategy sequential", "p: its phases run in their order, and no strategy chooses one" },
  { "run s.lua --limit calls=3 --limit calls=4", "--limit calls=4: calls is limited twice" },
  { "run s.lua --session ../x", "--session: session must be letters, digits, '.', '_' and '-', begin with a letter" },
  { "submit q s.lua --missed all", "--missed belongs to --cron" },
  { "submit q s.lua --each in --cron '* * * * *'", "--each gives each run its input: it goes with neither --input nor" },
  { "test s.lua --timeout 0", "--timeout: must be seconds above 0, not 0" },
  { "test s.lua --filter [", "--filter: not a valid pattern: [" },
  { "worker q --processes 2", "--processes: the runs of a folder have one; only those of a database may have more" },
}

describe("a command", function()
  it("says what is wrong with a line that it cannot follow", function()
    local folder <close> = K.folder()
    folder.file("s.lua", SCRIPT)
    folder.file("five.lua", "return 5\n")
    folder.file("like.lua", "return { status = 'completed', name = 'like' }\n")
    folder.file("caf\xE9.lua", SCRIPT)
    folder.file("asks.lua", ASKS)
    folder.file("p.lua", "return require 'skillrt'.skill { name = 'p', phases = { { id = 'one', run = print } } }")
    local env = ("HOME='%s' XDG_STATE_HOME='%s/.state'"):format(folder.path, folder.path)
    assert.equal(0, K.run(folder, { "s.lua", "--work-dir", "run", "--quiet", env = env }).code)
    assert.equal(3, K.run(folder, { "asks.lua", "--work-dir", "asks", "--quiet", env = env }).code)
    for _, row in ipairs(ROWS) do
      local words = { env = row[3] or env }
      for quoted, word in row[1]:gmatch "(')([^']*)'?" do
        words.quoted = quoted and word or words.quoted
      end
      for word in row[1]:gsub("'.*'", "\0"):gmatch "%S+" do
        words[#words + 1] = word == "\0" and words.quoted or word
      end
      local done = K.run(folder, words)
      assert.equal(2, done.code, row[1] .. ": " .. done.err)
      assert.has_match(row[2], done.out .. done.err, 1, true)
    end
  end)
end)
