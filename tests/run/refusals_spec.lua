-- refusals_spec.lua: what commands say of a line that they cannot follow: in one line, what is wrong, and where one can
-- say so, what to do. None of them is a fault of skillrt (exit code 70).
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
local NOTHING <const> = "nothere: contains no run"

-- A line, what is said, and the environment if it is another one.
local ROWS <const> = {
  { "", "skillrt runs agent skills durably: every step is recorded, a crash is resumed." },
  { "adopt run", "run: is no workflow run of Claude Code or qwen-code; these are named wf_..." },
  { "answer run", "give the answer, or use --file or --edit" },
  { "answer run 1 yes", "run: no question is open in this run (it is completed)" },
  { "answer asks caf\xE9", 'question 1: "caf\\xE9" is not UTF-8' },
  { "run caf\xE9.lua", "the run cannot be recorded (record.script: cannot encode a string that is not valid UTF-8); rename that" },
  { "run s.lua --work-dir new --set who=caf\xE9", "the run cannot be recorded: input.who: cannot encode a string that is not" },
  { "submit q caf\xE9.lua", "the run cannot be recorded (record.script: cannot encode a string that is not valid UTF-8); rename that" },
  { "check nothere", "nothere: No such file or directory" },
  { "check five.lua", "five.lua: error: must return a skill, as in `return skillrt.skill { ... }`, but returned a number" },
  { "check like.lua", "like.lua: error: must return a skill" },
  { "compile s.lua", "s.lua: only a folder with phases or actions in documents is compiled" },
  { "diff run nothere", NOTHING },
  { "explain run --at x", "--at: x is not the number of an iteration" },
  { "fleet init postgres://x --lease 0", "--lease: must be from 1 to 3600 seconds" },
  { "fleet drop postgres://x", "fleet drop URL needs --before with a month: --before 2026-08" },
  { "fleet drop postgres://x --before 2026-13", "fleet drop URL needs --before with a month: --before 2026-08" },
  { "fork run@zz --out x", 'run: has no checkpoint "zz" (there are none)' },
  { "graph five.lua", "five.lua: must return a skill" },
  { "history nothere", NOTHING },
  { "list nothere", "nothere: No such file or directory" },
  { "log nothere", NOTHING },
  { "list run", "run: is a run; name the folder that holds it" },
  { "login nothing", "/.mcp.json: No such file or directory" },
  { "mcp nothere", "/nothere: No such file or directory" },
  { "new s.lua", "NAME must be lower-case letters, digits and single hyphens between them" },
  { "notify run --url nope --secret-file key", "--url: must begin with http:// or https://" },
  { "plan run", 'run: its journal holds no plan; its strategy is not "plan", or no step has started' },
  { "plan s.lua", 's.lua: names no goal; a plan leads to one: goal = "condition"' },
  { "prune run --all", "run: is a run; name the folder that holds it" },
  { "prompt s.lua a b", "b: one step at a time" },
  { "prompt s.lua a", "s: a is a function: no agent is sent a prompt for it" },
  { "prompt s.lua zzz", 's: has no step "zzz" (there are: a)' },
  { "receipt run", "there is no folder for a key: set HOME or XDG_STATE_HOME, or name one: --key", "-u HOME -u XDG_STATE_HOME" },
  { "replay nothere", NOTHING },
  { "report nothere", NOTHING },
  { "resume nothere", NOTHING },
  { "retry run", "no step of this run has failed; there is nothing to retry" },
  { "rollback run --to zz", 'run: has no checkpoint "zz"' },
  { "run p.lua --strategy sequential", "p: its phases run in their order, and no strategy chooses one" },
  { "run s.lua --limit calls=3 --limit calls=4", "--limit calls=4: calls is limited twice" },
  { "run s.lua --session ../x", "--session: session must be letters, digits, '.', '_' and '-', begin with a letter" },
  { "schedule list nothere", "nothere: No such file or directory" },
  { "send run", "name the event: skillrt send DIR NAME" },
  { "send run go", "run: the run is completed and accepts no more events" },
  { "serve --listen nowhere", "--listen nowhere: write an address of this machine and a port: 127.0.0.1:8700" },
  { "show run", "run: name a place: run@SEQ, or run@NAME of a checkpoint" },
  { "skip run x", 'run: no agent "x" can be steered now; there are none' },
  { "stop nothere", NOTHING },
  { "submit q s.lua --prio 3x", "--prio must be a whole number, not \"3x\"" },
  { "submit q s.lua --missed all", "--missed belongs to --cron" },
  { "submit q s.lua --each in --cron '* * * * *'", "--each gives each run its input: it goes with neither --input nor" },
  { "submit q s.lua --each in", "in: No such file or directory" },
  { "test s.lua", "s.lua: has no tests; write NAME_spec.lua next to it or in tests/" },
  { "test s.lua --timeout 0", "--timeout: must be seconds above 0, not 0" },
  { "test s.lua --filter [", "--filter: not a valid pattern: [" },
  { "tokens s.lua", "s: has neither tools nor tool sets" },
  { "tokens nothere", "nothere: No such file or directory" },
  { "verify nothere", "nothere: No such file or directory" },
  { "verify s.lua", "receipt.key: you have no key here; name the signer's: --key FILE" },
  { "worker q --concurrency 0", "--concurrency must be a whole number from 1 to 1000, not \"0\"" },
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
