-- transcripts.lua: what skillrt says of some runs, word by word: each step of a story is a line for the program; its
-- output is kept in tests/golden/transcripts.txt, without what differs between two runs (times, ids, sizes, folders).
--
-- Called by transcripts_spec.lua and tests/golden.lua (`make golden`), which writes it anew: read what changes.
local kit = require "tests.support.cli_kit"

local M = {}

M.GOLDEN = "tests/golden/transcripts.txt"

---@class transcripts.Story
---@field [1] string  its name
---@field [2] string  lines for the program; words without blanks
---@field [3] string?  its script, s.lua
local STORIES <const> = {
  { "a run that completes", [[
run hello.lua --work-dir r
status r
explain r
history r
log r
log r --verify
state r
list .
show r@4
check hello.lua
graph hello.lua --format text
graph r --format text
metrics r
replay r
fork r@5 --out f
diff r f
history f
log f
resume f
rollback r --to 4
diff r f
resume r --dry
resume r
prune . --all
]] },
  { "failures, retries and what is skipped", [[
run s.lua --work-dir r
status r
explain r
history r
log r
resume r --quiet
retry r --step later --quiet
explain r --at 2
state r
check s.lua
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "faulty", state = { n = 0 }, retry = { base = 0.001 }, limits = { max_errors = 5 },
  actions = {
    { id = "flaky", priority = 3, max_runs = 1, max_retries = 2, run = function(state, ctx)
        if ctx.attempt < 3 then return nil, "not yet", "transient" end
        return { n = state.n + 1 }
      end },
    { id = "hopeless", priority = 2, max_runs = 1, on_error = "skip", run = function()
        return nil, "it cannot be done", "permanent"
      end },
    { id = "later", priority = 1, max_runs = 1, on_error = "continue", run = function()
        return nil, "nor that", "timeout"
      end },
    { id = "raises", max_runs = 1, on_error = "fail", run = function(state) return { n = state.missing.field } end },
  } }
]] },
  { "a person is asked", [[
run s.lua --work-dir r
status r
answer r green
answer r 2 blue
answer r blue
answer r Ada
answer r Ada
log r
explain r
history r
list . --status completed
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "asks", state = { colour = "" }, actions = {
  { id = "ask", when = "!colour", run = function(_, ctx)
      local colour = ctx.ask { question = "Which colour?", header = "Colours", detail = "It is painted once.",
        options = { { id = "red", label = "Red", description = "warm" }, { id = "blue", label = "Blue" } } }
      local name = ctx.ask { question = "A name for it?" }
      ctx.log(("%s is %s"):format(name, colour))
      return { colour = colour, name = name }
    end } } }
]] },
  { "phases with conditions, inputs and outputs", [[
run s.lua --work-dir r
status r
explain r
skip r tell
history r
check s.lua
graph s.lua --format text
graph s.lua --format mermaid
run s.lua --work-dir r2 --set deep:=true --quiet
diff r r2
run s.lua --set deep=maybe
run s.lua --set depe:=true --work-dir r3
]], [[
local skillrt = require "skillrt"
local function write(name, text) return function(_, ctx) assert(ctx.write(name, text)) end end
return skillrt.skill { name = "phased",
  inputs = { deep = { type = "boolean", about = "looks twice", default = false } },
  phases = {
    { id = "gather", output = "facts.md", run = write("facts.md", "# Facts\n") },
    { id = "look", when = "input.deep", input = { "facts.md" }, output = "deep.md",
      run = write("deep.md", "# Deep\n") },
    { id = "tell", input = { "facts.md" }, output = "report.md", run = function(_, ctx)
        return nil, ctx.input.deep and "too deep" or "too flat", "permanent"
      end },
  } }
]] },
  { "rounds, branches and what is done once", [[
run s.lua --work-dir r
status r
log r
explain r
history r
state r
rollback r --to 1
status r
resume r --quiet
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "branches", state = { sum = 0 }, limits = { max_iterations = 5 }, actions = {
  { id = "work", max_runs = 1, run = function(_, ctx)
      local sum = 0
      local function say(n) return ctx.await { kind = "command", argv = { "echo", tostring(n) } } end
      for _, n in ipairs(ctx.map({ 1, 2, 3 }, say, { max_parallel = 1 })) do
        sum = sum + tonumber(n.stdout)
      end
      local once = ctx.once("twice", function() return sum * 2 end)
      local rounds = ctx.loop(1, function(n) return 2 * n, n > 2 end)
      local bad, why, class = ctx.await { kind = "command", argv = { "sh", "-c", "echo no >&2; exit 3" } }
      return { sum = once, rounds = rounds, why = why, class = class, bad = bad ~= nil }
    end, undo = function(_, ctx) ctx.log "undone" end } } }
]] },
  { "a machine", [[
run machine.lua --work-dir r --set target=notes
status r
explain r
history r
graph r --format text
graph machine.lua --run r --format text
check machine.lua
state r
simulate machine.lua
]] },
  { "limits", [[
run s.lua --work-dir r
status r
resume r
resume r --add max_iterations=1
resume r --add max_iterations=5
log r
explain r
run s.lua --limit max_iterations=2 --work-dir r2 --quiet
run s.lua --limit calls=x
simulate s.lua
check s.lua
graph s.lua --format text
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "long", state = { n = 0 }, limits = { max_iterations = 3 }, terminate = { "n > 4" },
  actions = { { id = "count", max_runs = 9, run = function(state) return { n = state.n + 1 } end } } }
]] },
  { "a plan", [[
plan s.lua
run s.lua --work-dir r
plan r
explain r
check s.lua
graph s.lua --format text
simulate s.lua
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "planned", strategy = "plan", goal = "built && tested",
  state = { built = false, tested = false, read = false },
  actions = {
    { id = "read", effects = { "read=true" }, run = function() return { read = true } end },
    { id = "build", when = "read && !built", effects = { "built=true" }, cost = 3,
      run = function() return { built = true } end },
    { id = "test", when = "built && !tested", effects = { "tested=true" },
      run = function() return { tested = true } end },
    { id = "buy", when = "!built", effects = { "built=true", "read=true" }, cost = 9,
      run = function() return { built = true } end },
  } }
]] },
  { "another run within one", [[
run s.lua --work-dir r
status r
log r
explain r
history r
state r
graph r --format text
]], [[
local skillrt = require "skillrt"
local inner = skillrt.skill { name = "inner", state = { n = 0 }, actions = {
  { id = "square", max_runs = 1, run = function(state) return { n = state.input.n * state.input.n } end } } }
return skillrt.skill { name = "outer", state = { n = 0 }, actions = {
  { id = "call", max_runs = 1, run = function(_, ctx) return { n = assert(ctx.run(inner, { n = 7 })).state.n } end },
  { id = "fail", max_runs = 1, on_error = "skip", run = function(_, ctx)
      local result, message, class = ctx.run("nowhere.lua", {})
      return { said = message, class = class, result = result ~= nil }
    end } } }
]] },
  { "prompts to an agent", [[
check plain
prompt plain --set task=x
run plain --agent ./stand_in.sh --work-dir r -- Explain it
status r
explain r
log r
tokens plain
run plain --work-dir r2
run plain --agent nobody -- x
run plain --dry-run --agent ./stand_in.sh --work-dir r3 -- x
]] },
}

-- What differs between two runs of the same, and a word for it.
local DIFFERS <const> = {
  { "%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.?%d*Z", "TIME" }, { "%d%d%d%d%d%d%d%d%-%d%d%d%d%d%d%-%x%x%x%x%x%x", "RUN" },
  { "%f[%x]%x%x%x%x%x%x%x%x%x%x%x%x+%f[%X]", "DIGEST" }, { "%f[%d]%d+%.?%d* m?s%f[%W]", "N s" },
  { "_seconds%S* %d[%d.e+-]*", "_seconds N" }, { '(_ms": )%d+', "%1N" },
}

local function settled(text, folder)
  text = text:gsub(folder:gsub("%p", "%%%0"), "DIR"):gsub("\r", "\n")
  for _, one in ipairs(DIFFERS) do
    text = text:gsub(one[1], one[2])
  end
  return text
end

-- Tells one story; the lines of it are performed one behind the other in a folder of their own.
local function told(story)
  local folder <close> = kit.folder()
  local here = folder.path
  assert(os.execute(("cd examples && cp hello/skill.lua '%s/hello.lua' && cp machine/skill.lua '%s/machine.lua' && "
    .. "cp -r machine/notes plain stand_in.sh '%s'"):format(here, here, here)))
  if story[3] then
    folder.file("s.lua", story[3])
  end
  local out = { ("##### %s\n"):format(story[1]) }
  local env = ("-u SKILLRT_AGENT HOME='%s/home' XDG_STATE_HOME='%s/home' NO_COLOR=1 TZ=UTC"):format(here, here)
  for line in story[2]:gmatch "[^\n]+" do
    local words = { env = env }
    for word in line:gmatch "%S+" do
      words[#words + 1] = word
    end
    local done = kit.run(folder, words)
    out[#out + 1] = ("$ skillrt %s\n%s%s%s"):format(line, settled(done.out, here), done.err ~= "" and "--\n" or "",
      settled(done.err, here))
    out[#out + 1] = done.code ~= 0 and ("= %d\n"):format(done.code) or nil
  end
  return table.concat(out)
end

---@return string
function M.golden()
  local out = { "# Written by `make golden`: what skillrt says of some runs; behind -- as errors, = a code.\n" }
  for _, story in ipairs(STORIES) do
    out[#out + 1] = told(story)
  end
  return table.concat(out, "\n")
end

return M
