-- document/check/codes.lua: every code a check may give: its level, why it matters, what to do about it.
--
-- docs/reference/checks.md shows this list and the tests prove each entry; a spec compares the three.
-- Knows nothing of how faults are found. Called by document/findings.lua and by the checks.
local M = {}

---@class skillrt.check.Code
---@field level "error"|"warning"|"note"
---@field why string  what happens when nobody mends it
---@field fix string  what to do

---@type table<string, skillrt.check.Code>
M.CODES = {}

local function code(name, level, why, fix)
  M.CODES[name] = { level = level, why = why, fix = fix }
end

-- the file itself ----------------------------------------------------------------------------------
code("skill.invalid", "error", "the skill is refused before its first step", "change the field that is named")

-- workflow scripts ---------------------------------------------------------------------------------
code("workflow.script", "error", "a script that cannot be begun runs nothing", "correct what is named")
code("workflow.schema", "error", "a schema that nothing fits is refused before its agent is asked",
  "correct the schema; docs/write/agents.md lists the keywords that are known")
code("workflow.reference", "error", "the name is not there, and the script throws",
  "correct the name")
code("workflow.option", "warning", "an option that is not known has no effect", "correct its name, or remove it")
code("workflow.refused", "error", "such an agent is refused and gives no result", "do as the message says")
code("workflow.phase", "note", "people who watch see a phase that was not announced", "declare it in meta.phases")
code("workflow.throws", "note", "tried without arguments, by agents that answer the least that fits, the script threw",
  "see whether it is the arguments; skillrt run SCRIPT --dry-run -- ARGS tries it with them")

-- conditions ---------------------------------------------------------------------------------------
code("condition.syntax", "error", "a condition that cannot be read stops the skill from loading",
  "write paths, literals, ! && || === !== < <= > >=, .length, .includes(...)")
code("condition.never", "error", "what waits for it never happens", "remove the contradiction or the condition")
code("condition.always", "warning", "it is asked every time and decides nothing", "remove it, or say what is meant")
code("effect.syntax", "error", "a promise that cannot be read cannot be kept",
  "write k=v, k!=null, k.length>0, k++, k--, k or !k")

-- keys ---------------------------------------------------------------------------------------------
code("key.undeclared", "warning", "a key that nobody declares is null unless an agent happens to set it",
  "declare it in the state or its schema, or name it in an effect of the action that sets it")
-- references ---------------------------------------------------------------------------------------
code("reference.action", "error", "what waits for it, or routes to it, comes to a halt there",
  "declare the action, or correct its name")
code("reference.phase", "error", "the outputs of a phase that does not exist are always null",
  "declare the phase, or correct its name")
code("reference.file", "error", "the step has no prompt: the file is not there",
  "write the file, or correct the path")
code("reference.template", "error", "the document cannot be rendered", "write the template, or correct its path")
code("reference.tool", "warning", "a step may call only the tools its skill allows",
  "add the tool to allowed_tools, or remove it from the step")
code("reference.tool-set", "error", "without its set the step is given no tools",
  "declare the set, or correct its name")
code("reference.strategy", "error", "nobody chooses the next action", "name a strategy that exists")
code("reference.orphan", "warning", "a document of an action that nothing declares is never used",
  "declare the action, or remove the file")
code("reference.node", "error", "the graph promises a step that cannot be taken",
  "write the action's file, or take the node out of the graph")

-- inputs, ids, ends --------------------------------------------------------------------------------
code("input.skippable", "note", "when the phase that makes it is skipped, this phase fails for want of its input",
  "give both the same condition, or make the input optional")
code("output.twice", "warning", "the second phase overwrites what the first wrote", "give each phase its own output")

-- transitions --------------------------------------------------------------------------------------
code("machine.forbidden", "error", "the route picks an action that the registry does not allow in that state",
  "add the state to the action's From States, or route to another action")
code("machine.unreachable", "error", "no chain of routed actions leads into this state",
  "make an action lead there, or remove the state")
code("machine.differs", "warning", "table, registry and diagram describe different machines",
  "keep one transition table and derive the others from it")
code("machine.no-route", "error", "in this state the route throws, though the table calls it a state",
  "give the state a case of its own; an end needs one that stops")
code("machine.never-routed", "warning", "an action that no route returns never runs", "route to it, or remove it")
code("machine.unregistered", "error", "the route returns an action that is not registered",
  "register the action, or route to one that is")
code("machine.falls-through", "warning", "a state without a case takes the default and its own work is left out",
  "give the state a case")
code("machine.no-failure", "warning", "a run that cannot go on has no state to end in",
  "add the end states failed and aborted")
code("machine.loop", "warning", "nothing says how often this edge may be taken, so it may go on for ever",
  "put a limit on the edge")
code("machine.leaves-end", "error", "the run is over in this state, so the action never comes",
  "remove the row, or give the state another name than that of an end")
code("machine.shadowed", "warning", "the rows of a state are asked in their order, and one above it is always taken",
  "give the row above a condition or a limit")
code("machine.ambiguous", "note", "the agent says by its state update where the action leads",
  "give each row a condition, if the state is to decide")
code("machine.undefined", "warning", "a name that the state does not hold is undefined when it is read",
  "add it to the state, or take it from the configuration")
code("machine.recovery", "warning", "nothing consumes the recovery that is returned",
  "say for each class of error which state comes next and how often")
code("machine.metric", "warning", "a metric under a name that the state does not hold is never counted",
  "use one set of names")

-- prompts and specs --------------------------------------------------------------------------------
code("prompt.placeholder", "warning", "the agent is sent the placeholder instead of what it stands for",
  "fill it in, or generate the document again")
code("prompt.todo", "warning", "the agent is sent an outline instead of instructions",
  "write what the step has to do")
code("prompt.empty", "warning", "the agent is sent nothing to do", "write what the step has to do")
code("spec.empty", "warning", "no run starts with it: a document that says nothing guides nobody",
  "write it, or take it out of the list")

-- the state space ----------------------------------------------------------------------------------
code("reach.never", "warning", "no sequence of actions makes its conditions true",
  "add an effect that makes the condition true, or change the condition")
code("reach.blocked", "warning", "the run pauses here: work is left and nothing can be chosen",
  "widen a precondition, or declare the effect that is missing")
code("reach.goal", "error", "no sequence of actions completes the run",
  "declare who makes the condition true, or make the last action reachable")
code("reach.over", "error", "the run ends at once and does nothing", "change the initial state, or the condition")
code("reach.loop", "warning", "nothing that a condition reads changes, so the run stops with no_progress",
  "give it an effect that ends the loop, or a max_runs")
code("reach.shadowed", "warning", "whenever it may run, an action of higher priority is taken instead",
  "raise its priority, or narrow the conditions of the other")
code("reach.limit", "warning", "the run stops at max_iterations and completes never",
  "raise max_iterations, or take fewer steps")
code("reach.unset", "warning", "every action declares what it changes, and none changes this: the run waits for ever",
  "name the key in the effect of the action that sets it, or have it given as input")
code("reach.bound", "note", "what is reported holds; beyond the bound there may be more",
  "split the skill, or read the bound as it is")

---The codes, sorted.
---@return string[]
function M.sorted()
  local list = {}
  for name in pairs(M.CODES) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

-- of a config, by its reader: why they matter, and what to do ------------------------------------------
---@type table<string, { why: string, fix: string }>
M.CONFIG = {}

local function of_config(name, why, fix)
  M.CONFIG["config." .. name] = { why = why, fix = fix }
end

of_config("choice", "a word that is not known decides nothing", "write one of the words that are named")
of_config("count", "one of the two is out of date", "correct the count, or leave it out")
of_config("description", "hosts refuse or cut a longer one", "shorten it; details belong into the body")
of_config("duplicate", "the second one is lost", "rename one, or remove it")
of_config("duplicate-id", "two ids that become one name cannot be told apart", "rename one")
of_config("empty", "there is nothing to run", "declare at least one")
of_config("field", "conditions could not name it", "use letters, digits and _")
of_config("id", "ids become file names and keys", "use letters, digits, '.', '_' and '-'")
of_config("input", "the phase fails before it starts: its input never exists", "name an output of a phase above")
of_config("machine", "the table leads to where nothing is", "correct the transition table")
of_config("machine-way", "a run stops there, loops for ever, or never comes there", "add a row, a limit or a way")
of_config("missing", "nothing can be made without it", "write it")
of_config("moved-key", "other readers of the config look for it in its new place", "move it there")
of_config("name", "the name becomes a folder's and a run's", "use small letters, digits and single hyphens")
of_config("order", "phases would run in another order than meant", "name every phase once, and the loop")
of_config("output", "one of the two would overwrite the other", "choose another name")
of_config("path", "a file outside its folder could be read or written", "name a file below the skill's folder")
of_config("type", "a value of another type cannot be used", "write a value of the type that is named")
of_config("unknown-key", "nothing reads it", "correct its name, remove it, or begin it with x_")
of_config("unknown-termination", "nothing decides such an end", "use a known reason or a field of the state")
of_config("unread", "it is for another program", "nothing has to be done")
of_config("unused", "it is left out of the run", "remove it, or change the execution mode")

-- For findings of the loader that only say what is the case.
local BY_LEVEL <const> = {
  error = { why = "what cannot be read cannot be run", fix = "mend the place that is named" },
  warning = { why = "it is read otherwise than it may be meant", fix = "write it as the documentation says" },
  note = { why = "it changes nothing in a run", fix = "nothing has to be done" },
}

---Says why a finding matters and what to do, where it does not say so itself.
---@param finding { code: string, level: string, why: string?, fix: string? }
function M.fill(finding)
  local known = M.CONFIG[finding.code] or M.CODES[finding.code] or BY_LEVEL[finding.level]
  finding.why, finding.fix = finding.why or known.why, finding.fix or known.fix
end

return M
