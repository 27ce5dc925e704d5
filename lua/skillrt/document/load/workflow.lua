-- document/load/workflow.lua: workflow.json (R11-R15) as the part of a skill-config that defines which phases run.
--
-- Documents that state modes and rounds end in the same form. Old places and shapes are accepted and reported. Called
-- by document/load/init.lua, sources.lua and folder.lua.
local effect = require "skillrt.skill.effect"
local files = require "skillrt.base.files"
local form = require "skillrt.document.form"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"
local rounds = require "skillrt.skill.rounds"
local state = require "skillrt.skill.state"
local tables = require "skillrt.base.tables"

local M = {}

-- The positions of the phases in the order of phases_to_run, each found by its id (R28).
local function chosen(document, at, found)
  local by_id, out, seen, order = {}, {}, {}, document.phases_to_run
  for i, phase in ipairs(document.phases) do
    by_id[phase.id], out[i] = i, not order and i or nil
  end
  for i, id in ipairs(order or {}) do
    local place = at(("phases_to_run[%d]"):format(i))
    if not by_id[id] then
      local hint = names.suggest(tostring(id), by_id)
      found:error("workflow", place, ("phases_to_run names %s, which is not a phase%s"):format(names.show(id), hint))
    elseif seen[id] then
      found:error("workflow", place, ("phases_to_run names %s twice"):format(names.show(id)), "a phase runs once")
    else
      seen[id] = true
      out[#out + 1] = by_id[id]
    end
  end
  for _, phase in ipairs(order and document.phases or {}) do
    if not seen[phase.id] then
      found:note("workflow", at "phases_to_run", ("phase %s is not in phases_to_run"):format(phase.id),
        "it does not run")
    end
  end
  return out
end

-- `input` is what R13 writes, `inputs` the whole list; a name no phase writes is user input.
local function phase_of(phase, own)
  local out, inputs = form.taken("workflow_phase", phase), phase.inputs or phase.input
  if phase.skill then
    own.agents = own.agents or {}
    own.agents[phase.skill], out.agent = { kind = "skill", skill = phase.skill }, { type = phase.skill }
  end
  out.input = inputs and json.array {}
  for _, name in ipairs(inputs or {}) do
    out.input[#out.input + 1] = name ~= "user input" and name or nil
  end
  return out
end

---@class skillrt.load.WorkflowFlow  what configs have no keys for
---@field phases table[]        of workflow.json, in the order that runs
---@field rounds table[]?
---@field inputs table<string, table>?
---@field compiled table?
---@field actions table<string, { preconditions: string[], effects: string[]? }>?

-- The rounds as skill/rounds.lua takes them.
local function rounds_of(given)
  local out = {}
  for i, one in ipairs(given) do
    out[i] = { first = one.first, last = one.last or one.first, over = one["until"], again = one["while"],
      max_rounds = one.at_most, asks_first = one["until"] ~= nil }
  end
  return out
end

local WORDS <const> = { over = "until", again = "while", max_rounds = "at_most" }

---Why one of the rounds cannot go round; nil: all can.
---@param phases table[]  of workflow.json
---@param given table[]   its rounds
---@return string? problem
---@return integer? index  of the round
function M.wrong_round(phases, given)
  local skill = { phases = {}, rounds = rounds_of(given) }
  for i, phase in ipairs(phases) do
    skill.phases[i] = { id = phase.id, parallel = phase.parallel }
  end
  local index, why = (rounds.check(skill) or ""):match "^rounds%[(%d+)%]: (.*)$"
  why = why and why:gsub("`([%l_]+)`", WORDS):gsub("^%l+", WORDS)
  return why, math.tointeger(tonumber(index))
end

-- Who reads a key must be told who sets it: the phase that ends a round, or stands before a list, promises it.
local function promise(phase, condition)
  local key = condition:match "^!?%s*([%a_][%w_]*)"
  local text = key and not state.is_reserved(key) and key ~= "input" and key .. "!=null"
  if text and effect.list { text } then
    phase.effects = tables.append({ text }, phase.effects or {})
  end
end

---Adds to a definition what a config has no keys for.
---@param definition table  what skillrt.skill takes
---@param flow skillrt.load.WorkflowFlow
function M.apply(definition, flow)
  local by_id = {}
  for i, phase in ipairs(definition.phases) do
    local given = flow.phases[i]
    by_id[phase.id], phase.effects, phase.each = phase, given.effects, given.each
    if given.each and i > 1 then
      promise(definition.phases[i - 1], given.each)
    end
    phase.output_free = given.output == nil or nil
    phase.input = given.input and phase.input or given.inputs and phase.input or nil
    if given.question then
      local question = { header = phase.name, question = given.question, options = given.options }
      phase.agent, phase.run = nil, function(_, ctx)
        return ctx.ask(question)
      end
    end
  end
  for name, one in pairs(flow.inputs or {}) do
    definition.inputs = definition.inputs or { ["*"] = {} }
    -- another word would skip all phases; if only one is named there are others
    local about = one.question or "which of its phases run"
    definition.inputs[name] = one.one_of[2] and { one_of = one.one_of, about = about } or nil
  end
  definition.rounds = flow.rounds and flow.rounds[1] and rounds_of(flow.rounds) or nil
  for _, one in ipairs(definition.rounds or {}) do
    promise(by_id[one.last], one.over or one.again or "")
  end
end

---The digests of the documents that say how the steps of a folder follow each other.
---@param tree skillrt.load.Tree
---@param phases skillrt.load.PhaseFile[]
---@param documents string[]  of its actions
---@return table<string, string> by_path
function M.digests(tree, phases, documents)
  local out, paths = {}, tables.append({ "SKILL.md", "workflow.md" }, documents)
  for _, one in ipairs(phases) do
    paths[#paths + 1] = one.path
  end
  for _, path in ipairs(paths) do
    out[path] = tree:has(path) and files.digest(tree:read(path) or "") or nil
  end
  return out
end

---The documents that changed since a workflow.json was compiled, and those that are new or gone.
---@param compiled { sources: table<string, string> }
---@param digests table<string, string>
---@return string[] paths
function M.changed(compiled, digests)
  local out = {}
  for path in pairs(tables.fill(tables.fill({}, compiled.sources), digests)) do
    out[#out + 1] = compiled.sources[path] ~= digests[path] and path or nil
  end
  table.sort(out)
  return out
end

-- Adds a phase before all others that asks for an input, and uses its answer as if it had been given.
local function add_question(definition, word, input)
  local phases, options, i = definition.phases, tables.append({}, input.one_of), 1
  local id, header = "choose-" .. word, word:gsub("^%l", string.upper)
  for _, phase in ipairs(phases) do
    if type(phase.when) == "string" then
      phase.when = phase.when:gsub("input%." .. word .. " === ('[^']*')", function(name)
        return ("(input.%s === %s || outputs['%s'] === %s)"):format(word, name, id, name)
      end)
    end
  end
  repeat
    phases[i].input, i = phases[i].input or json.array {}, i + 1 -- nothing is made before the first phases
  until not (phases[i] and phases[i].parallel and phases[i - 1].parallel)
  options[2] = options[2] or "other" -- where one alone is named there are others
  table.insert(phases, 1, { id = id, name = header, when = "!input." .. word, run = function(_, ctx)
    return ctx.ask { header = header, options = options,
      question = ("%s (--set %s=%s says it at once)"):format(input.question or "Which mode?", word, options[1]) }
  end })
end

---Lets a run ask for a missing input without a default.
---@param definition table  what skillrt.skill takes
---@param flow skillrt.load.WorkflowFlow?
function M.ask(definition, flow)
  for _, name in ipairs(names.sorted(flow and flow.inputs or {})) do
    if not flow.inputs[name].default then
      add_question(definition, name, flow.inputs[name])
    end
  end
end

---What a workflow.json says, as keys of a skill-config.
---@param document any  decoded
---@param at fun(key: string): { file: string, line: integer? }
---@param found skillrt.Findings
---@return table? raw  skill_name, version, execution_mode, context_strategy, sequential_config, x_skillrt; of actions
---  that were compiled none of these
---@return (fun(key: string): { file: string, line: integer? })? place  the place of a key of raw
---@return skillrt.load.WorkflowFlow? flow
function M.config(document, at, found)
  if not json.is_object(document) then
    found:error("workflow", at "", "must be an object with phases", "nothing of it was read")
    return nil
  elseif not form.check("workflow", document, found, at) then
    return nil
  elseif document.actions and #document.phases == 0 then
    return {}, at, { phases = {}, actions = document.actions, compiled = document.compiled }
  elseif #document.phases == 0 then
    local fix = 'write "phases": [ { "id": "01-...", ... } ]'
    found:error("workflow", at "phases", "has no phases", "nothing of it can run", fix)
    return nil
  end
  for name, one in pairs(document.inputs or {}) do
    if one.default and not tables.set(one.one_of)[one.default] then
      found:error("workflow", at(("inputs.%s"):format(name)), ("its default %s is none of its words%s"):format(
        names.show(one.default), names.meant(one.default, one.one_of)), "no phase would run")
      return nil
    end
  end
  local loop, errors = document.loop, found:counts().error
  local raw = form.taken("workflow", document, { sequential_config = { phases = json.array {} },
    x_skillrt = { termination = document.termination,
      hybrid = loop and { order = loop.order, on_loop_failed = loop.on_loop_failed } } })
  local origin, phases = {}, {}
  for i, place in ipairs(chosen(document, at, found)) do
    raw.sequential_config.phases[i], origin[i] = phase_of(document.phases[place], raw.x_skillrt), place
    phases[i] = document.phases[place]
  end
  local flow = { phases = phases, inputs = document.inputs, compiled = document.compiled, rounds = document.rounds }
  local why, index = M.wrong_round(phases, document.rounds)
  if why then
    found:error("workflow", at(("rounds[%d]"):format(index)), "cannot go round: " .. why)
  end
  if found:counts().error > errors then
    return nil -- what it says of the order is wrong: nothing of it runs
  end
  return raw, function(key)
    local n, rest = key:match "^sequential_config%.phases%[(%d+)%](.*)$"
    local i = n and origin[math.tointeger(tonumber(n))]
    local own = i and ("phases[%d]%s"):format(i, rest)
      or key:gsub("^sequential_config%.", ""):gsub("^x_skillrt%.termination", "termination")
    return at(own), own
  end, flow
end

return M
