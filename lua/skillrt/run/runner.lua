-- run/runner.lua: starts and resumes runs: folder, pinned files, turn, core, result.
--
-- The one place where a skill, a work directory and the core's engine meet. Knows no command line and no terminal;
-- callers may pass a watcher (report/*). Called by init.lua and cli/command/.

local core = require("skillrt.core")
local choices = require("skillrt.skill.choices")
local drawn = require("skillrt.base.drawn")
local files = require("skillrt.base.files")
local folder = require("skillrt.run.folder")
local json = require("skillrt.base.json")
local asked = require("skillrt.run.books.questions")
local books_of = require("skillrt.run.books")
local limits = require("skillrt.skill.limits")
local look = require("skillrt.run.look")
local needs = require("skillrt.run.runner.needs")
local turn = require("skillrt.run.turn")
local prepare = require("skillrt.run.runner.prepare")
local seal = require("skillrt.base.seal")
local skill_of = require("skillrt.skill")
local run_of = require("skillrt.run.run")
local store = require("skillrt.run.store")
local tables = require("skillrt.base.tables")
local watchers = require("skillrt.run.watchers")

local M = {}

---@class skillrt.Session  how the run was opened this time
---@field by string           the program
---@field pins table<string, string>
---@field agent any
---@field wait boolean?
---@field attended boolean?
---@field park_ms integer?
---@field edited table?       { state, seq } of a state.json that a person edited
---@field [string] any        options of a resume, see OF_SESSION

---@class skillrt.RunOptions
---@field work_dir string?     default: <name>-<run id> in the folder of run/folder.lua
---@field input table?         values the skill reads as state.input and ctx.input
---@field args string[]?       ctx.args
---@field strategy any?        instead of the skill's own
---@field agent string|string[]|nil  the agent for steps without one: recorded for a resume
---@field durability "power"|"process"|nil
---@field sandbox "strict"|"work"|"off"|nil  of all programs, whatever the skill says
---@field context "file"|"memory"|nil
---@field wait boolean?        waits even if the run only waits for a person, an event or a time
---@field attended boolean?    a person is there to answer when it pauses with a question
---@field at_most table?       limits by name that it may only lower
---@field watcher table|table[]|nil  one or several, see watchers.lua
---@field submit nil|fun(first: table, store: table): skillrt.Result|nil, string?, string?  stores the run, by its
---  first record, for others to perform: nothing is performed here

---@class skillrt.Result
---@field status string   completed failed aborted paused
---@field reason string
---@field message string? more about the reason
---@field state table     the final state, the caller's own
---@field run_id string
---@field steps integer   finished steps
---@field work_dir string
---@field trouble string?  what went wrong in the engine itself: a full disk, an error in a question
---@field question table? the oldest open question,
---  which a person must answer before the run continues
---@field questions table[]?  all of them: { q = its number, question, nonce, step, c, due }
---@field in_memory boolean   there is no work directory to resume from
---@field interrupted boolean  stopped from outside
---@field limit string?       the full name of the limit that it reached, as --add takes it
---@field answer any         the text of a plain skill, or what a workflow returned
---@field used table<string, number>  by name
---@field failed_step string? the last action or phase that failed
---@field failed string[]  actions and phases that failed for good, and never succeeded
---@field stats table     { seq, bytes, syncs } of the journal

local function absolute(path)
  return files.join(files.current(), path)
end

-- The result proper: what a workflow returned, or the text of a plain skill's single step that ran.
local function answer_of(skill, books)
  local first = skill.actions[1]
  if first and first.resumable then
    return books.state.root.result
  end
  local outputs = skill.guide and skill.guide.is_plain and books.state and books.state.root.outputs or {}
  for i = #skill.phases, 1, -1 do
    local text = outputs[skill.phases[i].id]
    if type(text) == "string" and text:find("%S") then
      return text
    end
  end
end

-- The actions and phases that failed for good, and never succeeded.
local function failed_ones(root)
  local seen, list = {}, {}
  for _, name in ipairs({ "completed_actions", "phases_completed" }) do
    for _, id in ipairs(root[name] or {}) do
      seen[id] = true
    end
  end
  for _, one in ipairs(root.errors or {}) do
    local id = one.action or one.phase
    if id and not seen[id] then
      seen[id], list[#list + 1] = true, id
    end
  end
  return list
end

-- The usage of all its calls, by name.
local function used_of(books)
  local used = {}
  for name, amount in pairs(books.spent or {}) do
    local what = name:match("^usage%.(.+)$")
    used[what or name] = what and amount or nil
  end
  return used
end

local function result_of(run, self)
  local status, reason, message = run:status()
  local books = self.books
  local open = asked.list(books)
  return {
    status = status,
    reason = reason,
    message = message or books.message,
    state = books.state and books.state.root or {}, -- no copy: the run has ended
    question = open[1] and open[1].question,
    questions = open[1] and open,
    run_id = books.run_id,
    steps = self.lost and self.durable_steps or books.finished,
    work_dir = self.run.store.place,
    in_memory = self.skill.context == "memory",
    trouble = message or self.trouble,
    interrupted = status == "paused" and self.interruption ~= nil and not message and not limits.ended_by(reason),
    limit = books.limit,
    failed_step = books.last_failed and books.last_failed.id,
    failed = failed_ones(books.state and books.state.root or {}),
    answer = (status == "completed" or status == "failed") and answer_of(self.skill, books) or nil,
    used = used_of(books),
    stats = run:stats(),
  }
end

-- Opens the run in the core.
local function open(parts, options, mode)
  local skill, session = parts.run.skill, parts.session
  local module, missing, code = needs.check(skill, parts.run.functions, options.http_module)
  if missing then
    return nil, missing, code
  end
  local self = turn.new(parts.run, session, {
    first = parts.first,
    make_mode = prepare.mode,
    watcher = parts.watcher,
    books_bytes = options.books_bytes,
  })
  local run, report, cause = parts.run.store:open(self, {
    mode = mode,
    durability = skill.durability,
    run_id = parts.run_id,
    accept_edits = session.accept_edits,
    segment_bytes = options.segment_bytes,
    http_module = module, interrupt = options.interrupt, apart = options.apart,
  })
  self.first = nil -- the books have it
  if run and options.world then
    options.world:opened(run, self)
  end
  if run and skill.loaded then
    skill.loaded.told[self] = true
  end
  return run, report, run and self or cause
end

---Waits for a run, or turns it; afterwards a script or step that does so draws for itself again.
---@param run userdata
---@param method "wait"|"turn"
---@return boolean? going
function M.advance(run, method)
  local step, loading = drawn.step, drawn.loading
  local _ <close> = setmetatable({}, { __close = function() drawn.step, drawn.loading = step, loading end })
  drawn.step, drawn.loading = nil, nil
  return (run[method](run))
end

---Reports to the watcher that a run is open.
---@param report table
---@param self skillrt.Turn
function M.announce(report, self)
  if self.watcher and self.watcher.opened then
    self.watcher.opened(report, self.books, self)
  end
end

---The result of a run that has stopped; its watcher gets nothing more.
---@param run userdata
---@param self skillrt.Turn
---@return skillrt.Result
function M.result(run, self)
  if select(2, run:status()) == "sync_failed" then
    self:forget()
  end
  local result = result_of(run, self)
  if self.watcher and self.watcher.closed then
    self.watcher.closed(result)
  end
  return result
end

local function finish(run, report, self)
  local open_run <close> = run
  M.announce(report, self)
  M.advance(open_run, "wait")
  return M.result(run, self)
end

local function first_record(parts, given)
  local run = parts.run
  local skill, args = run.skill, run.args
  local first = {
    t = "run",
    run = parts.run_id,
    skill = skill.name, version = skill.version,
    mode = skill.mode, move = skill.machine and skill.machine.begins,
    input = parts.input, state = skill.state,
    args = #args > 0 and json.array(args) or nil,
    pins = parts.session.pins, choices = choices.of(skill),
    load = skill.loaded and skill.loaded.drawn, -- what the script has drawn so far
    specs = skill.specs and json.array(skill.specs), -- read and passed on; their digests are pins (F15)
    context = skill.context, session = given.session,
    script = skill.source and absolute(skill.source) or nil,
    by_section = skill.guide and skill.guide.steps and true or nil,
    compiles = skill.compiles,
    folder = skill.folder and absolute(skill.folder) or nil,
    strategy = prepare.strategy_name(given.strategy),
    agent = prepare.agent_name(given.agent),
    limits = given.limits, bounds = limits.bounds(skill),
    durability = skill.durability, sandbox = skill.sandbox_override,
    cwd = given.cwd or files.current(),
    skillrt = core.version,
  }
  local problem
  first.seal, problem = seal.of(first)
  return not problem and first or nil,
    problem and ("the run cannot be recorded (%s); rename that file or folder"):format(problem)
end

-- The parts of a turn, for a new run with this id or a resumed one; or nil, message, code.
local function parts_of(skill, options, settings, run_id)
  local prepared, pins, prompts = prepare.skill(skill, settings)
  if not prepared then
    return nil, pins, prompts
  elseif options.world then
    options.world:dress(prepared)
  end
  local watcher = watchers.of(options.watcher)
  local place = store.absolute(options.work_dir or ("%s/%s-%s"):format(folder.path(), skill.name, run_id), run_id)
  return {
    run = run_of.new({ skill = prepared, books = books_of.new(), prompts = prompts, args = options.args or {},
      store = store.at(place, prepared.context == "memory"), shift = options.shift, world = options.world,
      functions = core.functions(), unwatched = not (watcher and watcher.progress) or nil,
      accept_changes = options.accept_changes }),
    session = { pins = pins, agent = options.agent, attended = options.attended, wait = options.wait,
      park_ms = options.park_ms, by = "skillrt " .. core.version },
    watcher = watcher,
    input = options.input or {},
  }
end

-- The parts of a new run; or nil, message, code.
local function new_parts(skill, options)
  if options.at_most then
    options.limits = limits.lowered(skill.limits, options.limits, options.at_most)
  end
  local run_id = options.run_id
    or require("skillrt.base.names").new_run()
  local parts, message, cause = parts_of(skill, options, options, run_id)
  if not parts then
    return nil, message, cause
  end
  if skill.inputs then
    parts.input, message = require("skillrt.skill.inputs").take(skill, parts.input)
    if not parts.input then
      return nil, message, "invalid"
    end
  end
  parts.run_id = run_id
  parts.first, message = first_record(parts, options)
  return parts.first and parts or nil, message, "invalid"
end

---Prepares a new run without waiting for it.
---@param skill skillrt.Skill
---@param options skillrt.RunOptions
---@return userdata|nil run  the core's; step, wait, close it
---@return table|string report_or_message
---@return skillrt.Turn|string self_or_code
function M.begin(skill, options)
  local parts, message, cause = new_parts(skill, options)
  if not parts then
    return nil, message, cause
  elseif parts.run.skill.context ~= "memory" then
    folder.make(files.dirname(parts.run.store.place))
  end
  local run, report, self = open(parts, options, "create")
  local own = parts.run.store
  if self == "system" and own.folder == own.place and own:exists() then -- a database may be gone, and is not asked
    report = ("%s; the run has begun: skillrt resume %s"):format(report, own.place)
  end
  return run, report, self
end

---Runs a skill to its end, or until it pauses.
---@param skill skillrt.Skill
---@param options skillrt.RunOptions?
---@return skillrt.Result|nil result
---@return string? message
---@return string? code
function M.run(skill, options)
  if options and options.submit then
    local parts, message, code = new_parts(skill, tables.fill({}, options))
    if parts and parts.run.keeps_nothing then
      return nil, skill.name .. ': cannot be submitted: with context = "memory" nothing of it is stored', "invalid"
    elseif not parts then
      return nil, message, code
    end
    return options.submit(parts.first, parts.run.store)
  end
  local run, report, self = M.begin(skill, tables.fill({}, options))
  if not run then
    return nil, report, self
  end
  return finish(run, report, self)
end

---A skill of one function, whose run is not stored.
---@param name string
---@param perform fun(state: table, ctx: table): any ...
---@return skillrt.Skill
function M.once(name, perform)
  return assert(skill_of.check({ name = name, context = "memory", limits = { max_errors = 1, max_retries = 1 },
    actions = { { id = name, run = perform } } }))
end

---Performs a function of ctx on its own.
---@param name string  of its run
---@param perform fun(ctx: table): any, string?
---@param options skillrt.RunOptions?
---@return any value  nil: and why there is none
---@return string? message
function M.perform(name, perform, options)
  local value, message
  local result, why = M.run(M.once(name, function(_, ctx)
    value, message = perform(ctx)
  end), options)
  return value, message or why or result and result.message or "it was interrupted"
end

---What skill:run does in a script that a command runs: the script's first run takes the command's options where it
---has none of its own, and every run its watcher.
---@param options skillrt.RunOptions
---@return { run: function, last: skillrt.Result|nil } own  `last` is the newest result
function M.own(options)
  local own, more = {}, options
  function own.run(skill, given)
    local all = tables.fill(tables.fill({}, more), given)
    more = { watcher = options.watcher }
    local result, message, code = M.run(skill, all)
    own.last = result
    return result, message, code
  end
  return own
end

-- A hand-edited state.json, read before the core checks it.
local function edited_state(parts)
  local there = parts.run.store
  local text, message, code = there:kept("state.json")
  if not text then
    return nil, message, code
  end
  local value, why = json.decode(text)
  if type(value) ~= "table" or type(value._skillrt) ~= "table" then
    why = why or "has no _skillrt entry; delete the file; skillrt writes it again"
    return nil, ("%s: %s"):format(there:path("state.json"), why), "invalid"
  end
  local seq = value._skillrt.seq
  value._skillrt = nil
  return { state = value, seq = seq }
end

---Options of a resume that apply to this session only.
M.OF_SESSION = { "accept_changes", "accept_edits", "answer", "question", "nonce", "answers", "answer_all",
  "approval", "abort", "retry", "from_scratch", "from", "decide", "steer", "yes", "add", "attended", "wait",
  "note" } -- note: how it was opened, in words

---Opens the run in `options.work_dir` again, without waiting for it.
---@param skill skillrt.Skill
---@param options table  { work_dir, accept_changes, accept_edits, answer, question, answers, answer_all, retry, from,
---                        watcher }; answers: { { question = number, value, nonce }, ... }
---@return userdata|nil run
---@return table|string report_or_message
---@return skillrt.Turn|string self_or_code
function M.take_up(skill, options)
  if not skill_of.is(skill) then
    error("skillrt: resume needs a skill made by skillrt.skill", 2)
  end
  local first, why, cause = options._first, nil, nil
  if not first then
    first, why, cause = M.first(options.work_dir)
  end
  if not first then
    return nil, why, cause
  end
  if first.schedule and not options.abort then
    return nil, options.work_dir .. ": is a schedule: it starts runs, and has no steps of its own", "invalid"
  end
  local parts, message, code = parts_of(skill, options, {
    strategy = options.strategy or first.strategy,
    durability = options.durability or first.durability,
    sandbox = options.sandbox or first.sandbox,
    context = first.context,
    limits = first.limits,
  })
  if not parts then
    return nil, message, code
  end
  for _, name in ipairs(M.OF_SESSION) do
    parts.session[name] = options[name]
  end
  if options.accept_edits then
    parts.session.edited, message, code = edited_state(parts)
    if not parts.session.edited then
      return nil, message, code
    end
  end
  return open(parts, options, "resume")
end

---Resumes the run in `options.work_dir`.
---@param skill skillrt.Skill
---@param options table  as for take_up
---@return skillrt.Result|nil result
---@return string? message
---@return string? code
function M.go_on(skill, options)
  local run, report, self = M.take_up(skill, options)
  if not run then
    return nil, report, self
  end
  return finish(run, report, self)
end

M.first, M.read = look.first, look.read

return M
