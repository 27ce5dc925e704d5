-- run/record/run.lua: a run or a sub-run starts: the first record of its journal, or of its scope.

local json = require("skillrt.base.json")
local instant = require("skillrt.base.instant")
local state_of = require("skillrt.skill.state")
local subs = require("skillrt.run.books.subs")

-- What the runtime writes into the state.
local function begin_state(record)
  local initial, list = state_of.copy(record.state), json.array
  initial.skill_name, initial.run_id, initial.status = record.skill, record.run, "pending"
  initial.started_at, initial.input = instant.iso(record.at), state_of.copy(record.input)
  initial.completed_actions, initial.errors, initial.error_count, initial.iteration_count = list({}), list({}), 0, 0
  initial.context, initial.outputs = {}, {}
  initial.phases_completed, initial.phases_skipped = list({}), list({})
  return state_of.new(initial)
end

return {
  doc = "a run begins, or a sub-run",
  fields = [[
    run string
    sub string? of a sub-run: its scope, whose state, ends and outputs are its own
    step integer? of a sub-run: the step whose call waits for it
    c string? ... and that call's place
    skill string
    version string?
    mode string
    input table
    args table? what the program was given
    state table the skill's own, as it begins
    pins table digests of everything that decides
    choices table? what may be chosen: actions, phases and routes with their conditions (skill/choices.lua)
    context any where its values lie: file or memory
    script string? where the skill is
    by_section boolean? each numbered step of its page is a call
    compiles boolean? it makes the workflow.json of its folder
    folder string?
    strategy any
    durability string?
    sandbox string? in which the person has all programs run: strict, work, off
    bounds table? which limits hold
    move table? of a machine: the state that it begins in
    session any the session that knows its contexts
    load any what the script drew while it was loaded
    cwd string?
    from table? the place of another run that it begins at
    drawn any of a sub-run: what its script drew while it was loaded
    specs list? documents that were read and handed on
    agent any who performs its steps, where somebody said so
    limits table? as they were given
    schedule table? its cron text, and of the runs that it begins the label (run/schedule.lua)
    submitted table? its skill's script, digests of its files by name, which are programs, digest of the approved code
    child_of table? the run whose step waits for it: run, its name; and how many runs it is nested in
    seal string? tells who began it
    skillrt string? the version that began it
  ]],

  apply = function(books, record, whole)
    if record.sub then
      books = subs.begin(whole, record)
    end
    books.run_id, books.skill, books.version = record.run, record.skill, record.version
    books.mode, books.input, books.pins = record.mode, record.input, record.pins
    books.context_strategy, books.started_at, books.opened_at = record.context, record.at, record.at
    books.args, books.cwd, books.bounds, books.session = record.args, record.cwd, record.bounds, record.session
    books.submitted, books.child_of = record.submitted and true, record.child_of
    books.state = begin_state(record)
    books.schedule = record.schedule and { cron = record.schedule.cron, begun = 0, missed = 0, firing = {} }
    return books
  end,

  line = function(lines, record)
    local version, mode = record.version or "?", record.mode or "?"
    if record.sub then
      lines:say(false, "info", "%s[Sub-run %s] %s %s (%s)", lines:indent(record.sub), record.sub, record.skill, version,
        mode)
      return
    end
    lines.status = "pending"
    lines:banner(record.pins, "info", "=== Orchestrator Started ===")
    lines:say(false, "info", "Skill: %s %s (%s), run %s%s", record.skill, version, mode, record.run,
      record.child_of and ", child of " .. record.child_of.run or "")
    lines:banner(record.pins, "info", "Context Strategy: %s", record.context or "file")
  end,

  story = function(story, record, step)
    if record.sub then
      local call = step and step.by_place[record.c]
      if call then
        call.skill = record.skill
      end
      return
    end
    story.run, story.is_machine = record, record.mode == "machine"
    story.sessions[1] = { from = record.at }
  end,

  log = function(record)
    if not record.sub then
      return "info", "Run started", { mode = record.mode, version = record.version }
    end
  end,

  point = function(record)
    return { what = "begun", text = record.from and ("forked from %s@%s"):format(record.from.dir, record.from.seq) }
  end,
}
