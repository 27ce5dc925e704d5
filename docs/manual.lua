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

local JSON <const> = "prints one JSON object per event and line" -- or one object, where there is one

-- Options that several commands take together, by the word for them in the first line of a command.
local GROUPS = {
  { "RUN-OPTION", require("skillrt.cli.command.run").options },
  { "RESUME-OPTION", require("skillrt.cli.ending").options {} },
  { "SERVE-OPTION", require("skillrt.cli.serving.options").options {} },
  { "FILTER", require("skillrt.cli.selection").FILTERS },
}

-- The first line of a command, with the words of the groups of which it takes all.
local function usage(one)
  local left, arguments = {}, table.move(one.arguments, 1, #one.arguments, 1, {})
  for _, option in ipairs(one.options) do
    left[option.name] = option
  end
  for _, group in ipairs(GROUPS) do
    local has_all = true
    for _, option in ipairs(group[2]) do
      has_all = has_all and left[option.name] ~= nil
    end
    if has_all then
      arguments[#arguments + 1] = { name = group[1], many = true, optional = true }
      for _, option in ipairs(group[2]) do
        left[option.name] = nil
      end
    end
  end
  local options = {}
  for _, option in ipairs(one.options) do
    options[#options + 1] = left[option.name]
  end
  return help.usage { name = one.name, arguments = arguments, options = options, rest = one.rest }
end

-- The arguments and options of a command: what is put for each, its head and its words.
local function items(one)
  local list = {}
  for _, argument in ipairs(one.arguments) do
    list[#list + 1] = { ".I " .. roff(argument.name .. (argument.many and " ..." or "")), roff(help.words(argument)) }
  end
  for _, option in ipairs(one.options) do
    local words = help.words(option):gsub("^prints one JSON object$", JSON)
    list[#list + 1] = { option_head(option), roff(words) }
  end
  return list
end

-- Those that several commands have, each head with the words that most of them say; and these words by head.
local function shared(commands)
  local heads, counts = {}, {}
  for _, one in ipairs(commands) do
    for _, item in ipairs(items(one)) do
      local words = counts[item[1]] or {}
      heads[#heads + 1] = not counts[item[1]] and item[1] or nil
      counts[item[1]], words[item[2]] = words, (words[item[2]] or 0) + 1
    end
  end
  local list, said = {}, {}
  for _, head in ipairs(heads) do
    local most, count = nil, 1
    for words, times in pairs(counts[head]) do
      if times > count or times == count and most and words < most then
        most, count = words, times
      end
    end
    list[#list + 1] = most and { head, most }
    said[head] = most
  end
  return list, said
end

local function put_items(list, but)
  for _, item in ipairs(list) do
    if (but[item[1]] or ""):sub(1, #item[2]) ~= item[2] then -- what the shared words begin with is said there
      put ".TP"
      put(item[1])
      put(item[2])
    end
  end
end

local function command(one, but)
  put(".SS " .. one.name)
  put(".B " .. roff(usage(one)))
  paragraph(one.summary .. "." .. (one.description and " " .. one.description or ""))
  put_items(items(one), but)
end

-- The first cells of a page's first table.
local function pages(path)
  local file <close> = assert(io.open(path))
  local rows = file:read("a"):match "\n|%-%-%-|%-%-%-|%-%-%-|\n(.-)\n\n"
  return ("\n" .. rows):gsub("`", ""):gmatch "\n| (.-) |"
end

put((".TH SKILLRT 1 \"\" \"skillrt %s\" \"User Commands\""):format(version))
section "NAME"
say "skillrt - run agent skills durably"
section "SYNOPSIS"
put(".B skillrt")
put(".I SCRIPT")
say "[OPTION ...] [-- ARG ...]"
put ".br"
put ".B skillrt"
put ".I COMMAND"
say "[OPTION ...]"
section "DESCRIPTION"
say [[A skill is a folder with a SKILL.md, a workflow script that calls agents, or a Lua script with actions, phases and
conditions. skillrt chooses the next step, records every call before it is sent and when it is answered, and stops at the
limits. A run that was killed at any moment resumes where it stopped.]]
paragraph [[A first word that is not a command is the path of a script; ./status runs a script named status. Every
command prints its options with --help.]]
local common, elsewhere = shared(help.commands())
section "COMMANDS"
say "What several commands take is described once, in the section OPTIONS OF SEVERAL COMMANDS."
for _, one in ipairs(help.commands()) do
  command(one, elsewhere)
end
section "OPTIONS OF SEVERAL COMMANDS"
say "The first line of a command says which of these it takes, some by one word:"
for _, group in ipairs(GROUPS) do
  local list = {}
  for i, option in ipairs(group[2]) do
    list[i] = "--" .. option.name
  end
  put ".TP"
  put(".I " .. roff(group[1]))
  say(table.concat(list, ", "))
end
paragraph "Where an option means something else, the command says so."
put_items(common, {})
section "OUTPUT"
say [[On a terminal a run shows its lines and, below them, the steps in progress; elsewhere it prints plain lines. Lines and
the closing line go to standard output; errors, warnings and the suggested next command go to standard error. A record
is shown once it is durable; the start of a function, once it is written. With --json every line is an object: a
record of the journal with its run_id, and at the end {"t":"result", ...}. Control characters in texts of agents and
files are escaped.]]
paragraph [[When a run has a question for a person, it asks on the terminal. Elsewhere, or after an empty answer, it
pauses; skillrt answer resumes it, at any time and in another process.]]
section "EXIT STATUS"
for _, row in ipairs(exit_codes.TABLE) do
  put ".TP"
  put(".B " .. row.code)
  say(row.text)
end
section "LIMITS"
say "A skill sets them with limits = { NAME = ... }, a configuration with x_skillrt.limits."
for _, row in ipairs(limits.TABLE) do
  put ".TP"
  put(".B " .. roff(row.name))
  local default = row.default ~= nil and ("; default %s"):format(row.default) or ""
  local ends = row.status and ("; the run ends %s, exit code %d"):format(row.status, limits.code(row)) or ""
  say((row.text:gsub("`", "")) .. default .. ends)
end
section "MCP SERVERS"
say [[A skill can use the tools of MCP servers (Model Context Protocol): servers that a script declares, and servers in its
folder's .mcp.json, in the form that coding agents and editors use. skillrt shows in full which programs and URLs a
.mcp.json names, and uses them only after a person approved them with --trust; a changed file needs approval again. If a
server later offers other tools, a person has to agree before they are sent to a model.]]
local fields = {}
for cell in pages "docs/write/mcp.md" do
  fields[#fields + 1] = cell
end
paragraph("Fields of a server, explained in docs/write/mcp.md: " .. table.concat(fields, ", ") .. ".")
section "SIGNALS"
say [[SIGINT and SIGTERM pause the run within 100 ms, even in an endless loop of the script; it can be resumed. A second
signal ends the process at once; the journal survives that, too.]]
section "ENVIRONMENT"
put ".TP"
put ".B NO_COLOR"
say "if set and not empty, output has no colours"
put ".TP"
put ".B TERM"
say "if unset or dumb, a terminal gets plain lines, too"
put ".TP"
put ".B SKILLRT_AGENT"
say "the agent for steps that are prompts, if neither --agent nor the skill names one"
put ".TP"
put ".B ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL"
say "API keys and base URLs of models, as the official clients read them"
put ".TP"
put ".B XDG_STATE_HOME"
say "the parent of skillrt/, where approvals, logins and runs outside of projects are stored; default: ~/.local/state"
section "FILES"
for _, row in ipairs {
  { "journal/*.sj", "the journal, the only truth of a run: one line per record" },
  { "blobs/*", "values over 64 KiB, named by their SHA-256" },
  { "state.json, context/*.json, execution-state.json", "views of the journal, written from time to time" },
  { ".prompts/*.md", "the prompts that agents were sent" },
  { "~/.config/skillrt/config.json", "your settings: {\"agent\": \"claude\"}" },
  { ".mcp.json", "in a skill's folder: the MCP servers whose tools its steps may use" },
  { "~/.local/state/skillrt/mcp/*.json", "the tools of each MCP server that you last agreed to" },
  { "~/.local/state/skillrt/trusted", "digests of approved code" },
  { "run.lock", "locked while a process advances the run; names the process" },
  { "journal.cut-*", "bytes that recovery cut from a torn end" },
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
example("A failed step, retried after the cause was fixed:", [[
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
next: skillrt retry runs/four   (retries fetch)
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
