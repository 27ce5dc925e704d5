-- manual.lua: writes the man page from the commands' own tables: make manual
--
-- What --help says and what the page says cannot differ; tests/run/cli_manual_spec.lua checks that
-- the page is current and runs its examples. Needs the built core (SKILLRT_MODE, default release).

local mode = os.getenv "SKILLRT_MODE" or "release"
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
package.cpath = ("./build/%s/lib/?.so;"):format(mode) .. package.cpath

local exit_codes = require "skillrt.cli.exit_codes"
local help = require "skillrt.cli.help"
local limits = require "skillrt.skill.limits"
local version = require("skillrt.core").version

local out = {}

local function roff(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (("\n" .. text):gsub("\n([.'])", "\n\\&%1"):sub(2))
end

local function put(line) out[#out + 1] = line end
local function section(name) put(".SH " .. name) end
local function say(text) put(roff(text)) end
local function paragraph(text) put ".PP" say(text) end

local function example(text, lines)
  paragraph(text)
  put ".RS 4"
  put ".EX"
  say((lines:gsub("\n$", "")))
  put ".EE"
  put ".RE"
end

-- "--work-dir DIR" in bold and italics
local function option_head(option)
  local head = ".B " .. roff("--" .. option.name)
  return option.value and ('.BI "%s " "%s"'):format(roff("--" .. option.name), roff(option.value)) or head
end

local function command(one)
  put(".SS " .. one.name)
  put(".B " .. roff(help.usage(one)))
  paragraph(one.summary .. "." .. (one.description and " " .. one.description or ""))
  for _, argument in ipairs(one.arguments) do
    put ".TP"
    put(".I " .. roff(argument.name))
    say(argument.help)
  end
  for _, option in ipairs(one.options) do
    put ".TP"
    put(option_head(option))
    say(help.words(option))
  end
end

-- The rows of a page's first table: what is said in one place is shown in both.
local function pages(path)
  local file <close> = assert(io.open(path))
  local rows = file:read("a"):match "\n|%-%-%-|%-%-%-|%-%-%-|\n(.-)\n\n"
  return coroutine.wrap(function()
    for row in (rows .. "\n"):gmatch "(.-)\n" do
      local cells = row:gsub(",? see %[[^]]*%]%b()", ""):gsub("%[([^]]*)%]%b()", "%1"):gsub("`", "")
      coroutine.yield(cells:match "^| (.-) | ?(.-) ?| (.*) |$")
    end
  end)
end

put((".TH SKILLRT 1 \"\" \"skillrt %s\" \"User Commands\""):format(version))
section "NAME"
say "skillrt - run agent skills to the end"
section "SYNOPSIS"
put(".B skillrt")
put(".I SCRIPT")
say "[OPTION ...] [-- ARG ...]"
put ".br"
put ".B skillrt"
put ".I COMMAND"
say "[OPTION ...]"
section "DESCRIPTION"
say [[A skill, written in Lua, says what may happen: actions with preconditions and effects, phases,
agents, limits. skillrt sees to it that it happens: it chooses the next step, records it before it
is reported, and stops at the limits. A run that was killed at any moment goes on where it was.]]
paragraph [[A word that is no command is the path of a script; ./status runs a script named status.
Every command shows its options with --help.]]
section "COMMANDS"
for _, one in ipairs(help.commands()) do
  command(one)
end
section "OUTPUT"
say [[On a terminal a run shows its lines and, below them, what is under way; elsewhere plain lines.
Lines and the closing line go to standard output; problems, and the command to type next, to
standard error. A record is shown once it is durable; that a function begins, once it is written.
With --json every line is an object: a record of the journal with its run_id, the last one
{"t":"result", ...}. What agents and files say is shown with its control characters escaped.]]
paragraph [[When a run has to ask a person, it asks on the terminal; elsewhere, or after an empty
answer, it pauses, and skillrt answer goes on with it, at any time and in another process.]]
section "EXIT STATUS"
for _, row in ipairs(exit_codes.TABLE) do
  put ".TP"
  put(".B " .. row.code)
  say(row.text)
end
section "LIMITS"
say "A skill says them as limits = { NAME = ... }; a configuration in x_skillrt.limits."
for _, row in ipairs(limits.TABLE) do
  put ".TP"
  put(".B " .. roff(row.name))
  local default = row.default ~= nil and ("; default %s"):format(row.default) or ""
  local ends = row.status and ("; the run ends %s (%s), exit code %d"):format(row.status, row.reason,
    limits.code(row)) or ""
  say((row.text:gsub("`", "")) .. default .. ends)
end
section "TOOLS"
say [[A model that is an agent may use tools, which skillrt performs: functions and programs of the skill, those that
are built in, and those of MCP servers. They are declared in the skill, their arguments are checked, what acts may need
a person's leave, and each use is in the journal. Only those that are present are sent; a call to another is recorded
and answered, never performed.]]
paragraph [[A tool set names the tools of a phase of the work. Which set is active follows the steps of the skill, what
the agent reports (the tool switch_phase, or a last line <<phase: NAME>>), or the pattern of its calls. Sets stand in
the skill (tool_sets), in an agent.yml, which runs by itself (skillrt run agent.yml --agent claude), or in a
configuration (x_skillrt.skills, x_skillrt.phase_detection). The runtime keeps the phase, what was verified and how
often was repaired; status and log show the set, prompt shows what an agent is told of it.]]
section "MCP SERVERS"
say [[The tools of servers that speak the Model Context Protocol are used beside a skill's own: those that a script
declares (mcp = { NAME = { command = { ... } } }), and those of a folder's .mcp.json in the form of coding agents and
editors: { "mcpServers": { NAME: { "command", "args", "env" } } }, or "url", "headers". A tool is named
mcp__SERVER__TOOL. What a .mcp.json starts and sends to is shown in full, and starts once a person has said --trust, here
or for skillrt mcp; a change of it is asked about again. skillrt check tells what in such a file has no meaning here.
What a server offers is shown when it is first used, and remembered: when it offers other tools later, a person is asked
before any of it is sent to a model. A server behind a URL that wants to know who asks is logged in to by skillrt login.]]
paragraph "${NAME} and ${NAME:-default} in command, args, env, cwd, url and headers are of the environment. Of a server:"
for cell, default, text in pages "docs/mcp.md" do
  put ".TP"
  put(".B " .. roff(cell))
  say(text .. (default ~= "" and ("; default %s"):format(default) or ""))
end
section "SIGNALS"
say [[SIGINT and SIGTERM pause the run within 100 ms, also inside an endless loop of the script, and
leave it resumable. A second one ends the process at once; the journal survives that, too.]]
section "ENVIRONMENT"
put ".TP"
put ".B NO_COLOR"
say "where set and not empty, nothing is coloured"
put ".TP"
put ".B TERM"
say "where dumb or not set, plain lines are written to a terminal, too"
put ".TP"
put ".B SKILLRT_AGENT"
say "as --agent: performs steps that are words where --agent and the skill name nobody"
put ".TP"
put ".B ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL"
say "keys and addresses of models, as the official clients read them"
put ".TP"
put ".B XDG_STATE_HOME"
say "below it lies what is remembered of a person, in skillrt/; default: ~/.local/state"
section "FILES"
for _, row in ipairs {
  { "journal/*.sj", "the truth of a run: one line per record" },
  { "blobs/*", "values over 64 KiB, by their SHA-256" },
  { "state.json, context/*.json, execution-state.json", "views of it, written now and then" },
  { ".prompts/*.md", "the words that agents were sent" },
  { "~/.config/skillrt/config.json", "a person's own settings: {\"agent\": \"claude\"}" },
  { ".mcp.json", "of a skill's folder: the MCP servers whose tools its steps may use" },
  { "~/.local/state/skillrt/mcp/*.json", "what each MCP server offered when it was first used, or last agreed to" },
  { "~/.local/state/skillrt/trusted", "what a person has said may run" },
  { "run.lock", "held while a process advances the run; says which" },
  { "journal.cut-*", "bytes cut from a torn end" },
} do
  put ".TP"
  put(".I " .. roff(row[1]))
  say(row[2])
end
section "EXAMPLES"
example("A skill that counts, run, looked at, and its log:", [[
$ cat count.lua
local skillrt = require "skillrt"
return skillrt.skill {
  name = "count",
  state = { n = 0 },
  actions = {
    { id = "more", when = "n < 2", max_runs = 2,
      run = function(state) return { n = state.n + 1 } end },
  },
}
$ skillrt count.lua --work-dir runs/one
...
[Iteration 2] Completed: more
=== All actions completed ===
=== Orchestrator Finished ===
completed (task_completed): 2 steps in ..., in runs/one
$ skillrt status runs/one
skill      count (autonomous)
...
status     completed (task_completed)
...
$ skillrt log runs/one
...  [Iteration 1] Executing: more
...
]])
example("Input, and arguments of the skill's own:", [[
$ skillrt --quiet count.lua --work-dir runs/two --set dir=src --set limits.deep:=3 -- --all
completed (task_completed): 2 steps in ..., in runs/two
]])
example("A person chooses, later and in another process:", [[
$ skillrt count.lua --work-dir runs/three --strategy user_driven
...
paused (waiting_for_person): 0 steps in ..., in runs/three
next: skillrt answer runs/three more   (answers the question)
$ skillrt answer runs/three 1
...
[Iteration 1] Completed: more
...
$ skillrt answer runs/three more
...
completed (task_completed): 2 steps in ..., in runs/three
]])
example("A failed step, tried again once the trouble is over:", [[
$ cat fetch.lua
local skillrt = require "skillrt"
return skillrt.skill {
  name = "fetch",
  limits = { max_errors = 1, max_retries = 0 },
  actions = {
    { id = "fetch", run = function(_, ctx)
        local text, why = ctx.read("input.txt")
        if not text then
          return nil, why
        end
        return { text = text }
      end },
  },
}
$ skillrt --quiet fetch.lua --work-dir runs/four
...
next: skillrt retry runs/four   (tries fetch again)
$ echo hello > input.txt
$ skillrt --quiet retry runs/four
completed (task_completed): 2 steps in ..., in runs/four
]])
example("The events of a run, for another program:", [[
$ skillrt log runs/one --json
{"at":...,"t":"run","version":"1.0.0","run_id":"..."}
...
]])
section "SEE ALSO"
put ".BR lua (1)"
print(table.concat(out, "\n"))
