-- document/check/codes.lua: all codes of findings: their level, why they matter, what to do about them.
--
-- docs/reference/checks.md shows this list and the tests prove each entry; a spec compares the three. Knows nothing
-- of how errors are found. Called by document/findings.lua and by the checks.
local M = {}

---@class skillrt.check.Code
---@field level "error"|"warning"|"note"|nil  nil: whoever reports it decides
---@field why string  what happens unless it is fixed
---@field fix string  what to do

-- A code with its level, below it why it matters and what to do.
local TABLE <const> = [[
skill.invalid error
  the skill is refused before its first step
  change the field that is named
workflow.script error
  a script that cannot be begun runs nothing
  correct what is named
workflow.schema error
  a schema that nothing fits is refused before its agent is asked
  correct the schema; docs/write/agents.md lists the keywords that are known
workflow.reference error
  the name is not there, and the script throws
  correct the name
workflow.option warning
  an option that is not known has no effect
  correct its name, or remove it
workflow.refused error
  such an agent is refused and gives no result
  do as the message says
workflow.phase note
  people who watch see a phase that was not announced
  declare it in meta.phases
workflow.throws note
  the script threw in a dry run (no arguments, stub agents)
  if it needs arguments, try: skillrt run SCRIPT --dry-run -- ARGS
condition.syntax error
  a condition that cannot be read stops the skill from loading
  write paths, literals, ! && || === !== < <= > >=, .length, .includes(...)
condition.never error
  what waits for it never happens
  remove the contradiction or the condition
condition.always warning
  it is asked every time and decides nothing
  remove it, or say what is meant
effect.syntax error
  a promise that cannot be read cannot be kept
  write k=v, k!=null, k.length>0, k++, k--, k or !k
key.undeclared warning
  an undeclared key is null unless an agent happens to set it
  declare it in the state or its schema, or name it in an effect of the action that sets it
reference.action error
  what waits for it, or routes to it, comes to a halt there
  declare the action, or correct its name
reference.phase error
  the outputs of a phase that does not exist are always null
  declare the phase, or correct its name
reference.file error
  the step has no prompt: the file is not there
  write the file, or correct the path
reference.template error
  the document cannot be rendered
  write the template, or correct its path
reference.tool warning
  a step may call only the tools its skill allows
  add the tool to allowed_tools, or remove it from the step
reference.tool-set error
  without its set the step is given no tools
  declare the set, or correct its name
reference.strategy error
  no strategy chooses the next action
  name a strategy that exists
reference.orphan warning
  a document of an action that nothing declares is never used
  declare the action, or remove the file
input.skippable note
  when the phase that makes it is skipped, this phase fails for want of its input
  give both the same condition, or make the input optional
output.twice warning
  the second phase overwrites what the first wrote
  give each phase its own output
machine.forbidden error
  the route picks an action that the registry does not allow in that state
  add the state to the action's From States, or route to another action
machine.unreachable error
  no chain of routed actions leads into this state
  make an action lead there, or remove the state
machine.no-route error
  in this state the route says nothing of what is next
  give the state a route of its own, or make it terminal
machine.never-routed warning
  an action that no route returns never runs
  route to it, or remove it
machine.unregistered error
  the route returns an action that is not registered
  register the action, or route to one that is
machine.no-failure warning
  a run that cannot continue has no state to end in
  add the end states failed and aborted
machine.loop warning
  nothing limits how often this edge is taken, so the run may never end
  put a limit on the edge
machine.leaves-end error
  the run ends in this state, so the action never runs
  remove the row, or give the state another name than that of an end
machine.shadowed warning
  the rows of a state are asked in their order, and one above it is always taken
  give the row above a condition or a limit
machine.ambiguous note
  the agent says by its state update where the action leads
  give each row a condition, if the state is to decide
prompt.placeholder warning
  the agent is sent the placeholder instead of what it stands for
  fill it in, or generate the document again
prompt.todo warning
  the agent is sent an outline instead of instructions
  write what the step has to do
prompt.empty warning
  the agent is sent nothing to do
  write what the step has to do
spec.empty warning
  no run starts while a required document is empty
  write it, or take it out of the list
reach.never warning
  no sequence of actions makes its conditions true
  add an effect that makes the condition true, or change the condition
reach.blocked warning
  the run pauses here: work is left and nothing can be chosen
  widen a precondition, or declare the effect that is missing
reach.goal error
  no sequence of actions completes the run
  declare who makes the condition true, or make the last action reachable
reach.over error
  the run ends at once and does nothing
  change the initial state, or the condition
reach.loop warning
  nothing that a condition reads changes, so the run stops with no_progress
  give it an effect that ends the loop, or a max_runs
reach.shadowed warning
  whenever it may run, an action of higher priority is taken instead
  raise its priority, or narrow the conditions of the other
reach.limit warning
  the run stops at max_iterations and completes never
  raise max_iterations, or take fewer steps
reach.unset warning
  every action declares what it changes, and none changes this: the run waits for ever
  name the key in the effect of the action that sets it, or have it given as input
reach.bound note
  what is reported holds; beyond the bound there may be more
  split the skill, or read the bound as it is
config.choice any
  a word that is not known decides nothing
  write one of the words that are named
config.description any
  hosts refuse or cut a longer one
  shorten it; details belong into the body
config.duplicate any
  the second one is lost
  rename one, or remove it
config.duplicate-id any
  two ids that become one name cannot be told apart
  rename one
config.empty any
  there is nothing to run
  declare at least one
config.field any
  conditions could not name it
  use letters, digits and _
config.id any
  ids become file names and keys
  use letters, digits, '.', '_' and '-'
config.input any
  the phase fails before it starts: its input never exists
  name an output of a phase above
config.machine any
  the table leads to where nothing is
  correct the transition table
config.machine-way any
  a run stops there, loops for ever, or never comes there
  add a row, a limit or a way
config.missing any
  nothing can be made without it
  write it
config.moved-key any
  other readers of the config look for it in its new place
  move it there
config.name any
  the name becomes a folder's and a run's
  use small letters, digits and single hyphens
config.order any
  phases would run in another order than meant
  name every phase once, and the loop
config.output any
  one of the two would overwrite the other
  choose another name
config.path any
  a file outside its folder could be read or written
  name a file below the skill's folder
config.type any
  a value of another type cannot be used
  write a value of the type that is named
config.unknown-key any
  nothing reads it
  correct its name, remove it, or begin it with x_
config.unknown-termination any
  nothing decides such an end
  use a known reason or a field of the state
config.unread any
  it is for another program
  nothing has to be done
config.unused any
  it is left out of the run
  remove it, or change the execution mode
load.action-id any
  the row was not read
  rename it
load.agent-unread any
  its tool sets and limits are no part of the skill
  fix the place that is named
load.command-unrun any
  the agent reads the command, not what it prints
  have the agent run it, or give what it prints in the task
load.condition-unread any
  what cannot be read lets nothing through
  write it into a table `| Condition | Evaluation |`, as in `files.length > 0`
load.config any
  nothing of it was read
  fix the place that is named
load.decision-code any
  it is not run: actions are chosen by their preconditions and priorities
  write what it tests as preconditions, or as a strategy in Lua
load.dotted-key any
  an update under a key with a dot is refused (F36)
  fix the place that is named
load.effect-unread any
  it is not checked
  write `key=value`, `key++` or `key.length>0`
load.encoding any
  it was not read
  save it as UTF-8
load.fence any
  all below was read as code
  close it
load.foreign any
  nothing of it was read
  give a skill's folder, script, config, command or agent's file
load.front-matter any
  nothing of it was read
  write `key: value` lines
load.front-matter-yaml any
  its lines were read one by one, as `key: text`; other tools refuse the file
  put such values in "quotes"
load.hybrid-order any
  it runs before the last phase
  write x_skillrt.hybrid.order into a skill-config.json, as in ["01-init", "@autonomous", "02-end"]
load.json any
  nothing of it was read
  fix the place that is named
load.no-document any
  its agent gets only its name and description
  fix the place that is named
load.machine-unread any
  actions run by their preconditions
  write it as autonomous_config.machine of a skill-config.json, or in a skill.lua
load.no-preconditions any
  it may run at any time, in the order of the documents
  add a section Preconditions with items such as - [ ] `status === 'running'`
load.nothing any
  nothing in it can run
  give a skill's folder
load.phase-input any
  it runs without it
  fix the place that is named
load.phase-order any
  the order of the table is what runs
  number table and files alike
load.phase-other any
  it is not run by itself
  fix the place that is named
load.reference-missing any
  the phase does not run
  add the file or correct the row
load.repeat-unread any
  it runs once
  write the precondition that ends it as a condition, or give max_runs in a skill-config.json
load.reserved-field any
  the update is refused and recorded
  call the field something else
load.router any
  without one SKILL.md is what runs
  fix the place that is named
load.secret any
  anyone who reads the file has the key
  write ${env:NAME} and set NAME in the environment
load.skill-folder any
  hosts that follow the specification refuse it
  give both one name
load.spec-missing any
  the run does not start without it
  write it, or remove it here
load.state-unread any
  the run begins without it
  write a literal value
load.table-row any
  it was not read
  name the action by its id
load.termination-unread any
  it ends nothing
  write a condition between backticks
load.unreadable any
  it was not read
  fix the place that is named
load.workflow any
  it cannot be run
  add it to phases, or remove it here
load.workflow-differs any
  workflow.json is what runs
  generate the folder anew
load.workflow-place any
  it was taken from there
  move it
load.yaml any
  nothing of it was read
  fix the place that is named
]]

---@type table<string, skillrt.check.Code>
M.CODES = {}

for name, level, why, fix in TABLE:gmatch "([%w.-]+) (%l+)\n  ([^\n]+)\n  ([^\n]+)\n" do
  M.CODES[name] = { level = level ~= "any" and level or nil, why = why, fix = fix }
end

-- Codes of a loader's findings that state the whole case themselves.
local BY_LEVEL <const> = {
  error = { why = "skillrt does not run what it cannot read", fix = "fix the place that is named" },
  warning = { why = "it may be read differently from how it is meant", fix = "write it in the documented form" },
  note = { why = "it has no effect on a run", fix = "nothing" },
}

---Adds why a finding matters and what to do, if it does not say so itself.
---@param finding { code: string, level: string, why: string?, fix: string? }
function M.fill(finding)
  local known = M.CODES[finding.code] or BY_LEVEL[finding.level]
  finding.why, finding.fix = finding.why or known.why, finding.fix or known.fix
end

---The codes of the checks themselves, sorted.
---@return string[]
function M.sorted()
  local list = {}
  for name, code in pairs(M.CODES) do
    list[#list + 1] = code.level and name or nil
  end
  table.sort(list)
  return list
end

return M
