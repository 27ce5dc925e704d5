-- document/compile/statements.lua: the meaning of prose lines as statements of few kinds; and a workflow.json made
-- from them and from the facts that the readers found. A statement that contradicts a fact is refused.
--
-- Pure. Called by document/compile/init.lua.
local expr = require "skillrt.expr"
local json = require "skillrt.base.json"
local json_schema = require "skillrt.base.json_schema"
local modes_of = require "skillrt.document.load.flow.modes"
local names = require "skillrt.base.names"
local state = require "skillrt.skill.state"
local tables = require "skillrt.base.tables"
local workflow = require "skillrt.document.load.workflow"

local M = {}

---The kinds of statements, as the prompt explains them.
M.KINDS = [[
order: "phases": all phases that run, in their order
only_if: "phases" run only if "condition" holds; "set_by": the earlier phase whose agent sets what it reads
repeat: "phases", neighbours, run again "until" or "while" a condition holds (until is asked before a round, while
  behind it), "at_most" so many times; the last of them sets what the condition reads
each: the one of "phases" runs for each item of the "list", a key of the state that the phase before sets
together: "phases", neighbours, run at the same time
choice: a run is given one word of several as input "name" (mode, entry, ...): "choices": for each word the phases that
  run, in their order, all of them from the first one on where it says where to begin; "default": a word, if it says so
ask: before the one of "phases" a person is asked "question" with "options" (left out: any text), as step "name";
  another statement may read the answer: outputs['NAME'] === 'yes'
skill: behind the one of "phases" another skill runs, "name": its path from this folder, as in ../other
leave_out: "phases" never run
nothing: the line says nothing of which phases run, when or how often: it introduces, describes or leads on]]

---Those about preconditions of actions.
M.OF_ACTIONS = [[
needs: the action of these lines, which belong together, may run only if "condition" holds; "set_by": the action whose
  agent sets what it reads, where no action says that it does
nothing: the line is no condition]]

local TEXT <const>, TEXTS <const> = { type = "string" }, { type = "array", items = { type = "string" } }

---What an agent answers.
M.SCHEMA = {
  type = "object", required = json.array { "statements" }, additionalProperties = false,
  properties = { statements = { type = "array", items = {
    type = "object", required = json.array { "lines", "says" }, additionalProperties = false,
    properties = {
      lines = { type = "array", items = { type = "integer" }, minItems = 1 },
      says = { enum = json.array { "order", "only_if", "repeat", "each", "together", "choice", "ask", "skill",
        "leave_out", "needs", "nothing" } },
      phases = TEXTS, condition = TEXT, set_by = TEXT, ["until"] = TEXT, ["while"] = TEXT,
      at_most = { type = "integer", minimum = 1 }, list = TEXT, name = TEXT,
      choices = { type = "object", additionalProperties = TEXTS }, default = TEXT, question = TEXT, options = TEXTS,
    },
  } } },
}

local ONE <const> = M.SCHEMA.properties.statements.items

---Whether a value is a statement in the form that agents give.
---@param value any
---@return boolean
function M.is_one(value)
  return json_schema.judge(ONE, value) == true
end

---@class skillrt.compile.Made  the result of facts and statements
---@field phases table[]    in the form of workflow.json, in the order that runs
---@field rounds table[]
---@field inputs table<string, table>
---@field actions table<string, table>  whose preconditions are prose
---@field asks table<string, table>     of the document, by place and text
---@field needs table<table, string>    conditions that stand for prose
---@field at table<table, table<string, string>>  of a phase, a round or an input: the source of each of its keys
---@field stated skillrt.load.Flow
---@field index table<string, integer>  the position of a phase in the flow, by id
local Made = {}
Made.__index = Made

-- A failure that the statement's author can fix.
local function refuse(text, ...)
  error({ refused = text:format(...) }, 0)
end

local function place_of(at)
  return ("%s:%d"):format(at.file, at.line or 1)
end

-- Sets a key and records its source.
function Made:set(object, key, value, place)
  object[key] = value
  self.at[object] = self.at[object] or {}
  self.at[object][key] = place
end

function Made:phase(id)
  for i, phase in ipairs(self.phases) do
    if phase.id == id then
      return phase, i
    end
  end
  refuse("%s is no phase%s", names.show(id), names.suggest(id, tables.set(self:ids())))
end

function Made:list(statement, most)
  local list = statement.phases or {}
  if #list == 0 then
    refuse("needs phases")
  elseif most and #list > most then
    refuse("needs one phase, not %d", #list)
  end
  for _, id in ipairs(list) do
    self:phase(id)
  end
  return list
end

-- The positions of phases that must be neighbours in the order that runs.
function Made:neighbours(statement)
  local indexes = {}
  for i, id in ipairs(self:list(statement)) do
    indexes[i] = select(2, self:phase(id))
  end
  table.sort(indexes)
  for i = 2, #indexes do
    if indexes[i] ~= indexes[i - 1] + 1 then
      refuse("%s do not follow each other in the order in which they run", table.concat(statement.phases, ", "))
    end
  end
  return indexes
end

local function text_of(statement, key)
  local text = statement[key]
  if type(text) ~= "string" or not text:find "%S" then
    refuse("needs %s", key)
  end
  return text
end

local function condition_of(statement, key)
  local text = text_of(statement, key)
  local _, why = expr.compile(text)
  if why then
    refuse("%s `%s` cannot be read: %s", key, text, why:match "^[^\n]*")
  end
  return text
end

-- The keys of the state that a condition reads and somebody must set.
local function promises(condition)
  local out = {}
  for _, key in ipairs((expr.compile(condition)).reads or {}) do
    out[#out + 1] = key ~= "input" and not state.is_reserved(key) and key .. "!=null" or nil
  end
  return out
end

function Made:promise(step, condition, place)
  local list, new = tables.append({}, step.effects or {}), promises(condition)
  for _, text in ipairs(new) do
    list[#list + 1] = not tables.has(list, text) and text or nil
  end
  if #list > 0 then
    self:set(step, "effects", json.array(list), place)
  end
end

local function same(a, b)
  return tostring(a):gsub("%s+", "") == tostring(b):gsub("%s+", "")
end

-- Adds a condition. The modes of a phase that a table gives hold; a statement may only repeat them.
function Made:narrow(phase, condition, place)
  local index, modes, before = self.index[phase.id], self.stated.modes, phase.condition
  local by_mode = index and condition:find("input." .. modes.word, 1, true) and modes_of.condition(modes, index)
  if by_mode and not same(by_mode, condition) then
    refuse("contradicts a fact: %s runs if %s", phase.id, by_mode)
  end
  self:set(phase, "condition", before and not same(before, condition) and ("(%s) && (%s)"):format(before, condition)
    or condition, place)
end

local APPLY = {}

function APPLY.nothing() end

function APPLY.leave_out(self, statement)
  for _, id in ipairs(self:list(statement)) do
    if self.stated.order then
      refuse("contradicts a fact: a table says that %s runs", id)
    end
    local _, i = self:phase(id)
    table.remove(self.phases, i)
  end
  if #self.phases == 0 then
    refuse("leaves no phase that runs")
  end
end

function APPLY.order(self, statement, place)
  local out, seen = {}, {}
  for i, id in ipairs(self:list(statement)) do
    if seen[id] then
      refuse("names %s twice", id)
    end
    seen[id], out[i] = true, self:phase(id)
  end
  for i, phase in ipairs(self.phases) do
    if not seen[phase.id] then
      refuse("does not name %s; leave_out says that a phase never runs", phase.id)
    elseif self.stated.order and out[i] ~= phase then
      refuse("contradicts a fact: a table has the order %s", table.concat(self:ids(), ", "))
    end
  end
  self.phases = out
  for _, phase in ipairs(out) do
    self.at[phase].id = place
  end
end

function APPLY.only_if(self, statement, place)
  local condition = condition_of(statement, "condition")
  for _, id in ipairs(self:list(statement)) do
    self:narrow(self:phase(id), condition, place)
  end
  if statement.set_by then
    self:promise(self:phase(statement.set_by), condition, place)
  elseif #promises(condition) > 0 then
    refuse("needs set_by: who sets what `%s` reads", condition)
  end
end

APPLY["repeat"] = function(self, statement, place)
  local indexes = self:neighbours(statement)
  local over = statement["until"] and condition_of(statement, "until")
  local again = statement["while"] and condition_of(statement, "while")
  local round = {}
  for key, value in pairs { first = self.phases[indexes[1]].id, last = self.phases[indexes[#indexes]].id,
    ["until"] = over, ["while"] = again, at_most = statement.at_most } do
    self:set(round, key, value, place)
  end
  for _, other in ipairs(self.rounds) do
    if other.first == round.first and other.last == round.last then
      for _, key in ipairs { "until", "while", "at_most" } do
        if round[key] ~= nil and other[key] ~= nil and not same(round[key], other[key]) then
          refuse("contradicts what %s says: %s is %s", self.at[other][key], key, names.show(other[key]))
        elseif round[key] ~= nil then
          self:set(other, key, round[key], self.at[other][key] or place)
        end
      end
      round = nil
      break
    end
  end
  if not over and not again and not statement.at_most then
    refuse("needs until, while or at_most")
  end
  local all = tables.append({}, self.rounds)
  all[#all + 1] = round
  local why = workflow.wrong_round(self.phases, all)
  if why then
    refuse("cannot go round: %s", why)
  end
  self.rounds[#self.rounds + 1] = round
end

function APPLY.each(self, statement, place)
  local id, list = self:list(statement, 1)[1], text_of(statement, "list")
  if not list:find "^[%a_][%w_]*$" then
    refuse("list must be a key of the state such as files, not %s", names.show(list))
  end
  self:set(self:phase(id), "each", list, place)
end

function APPLY.together(self, statement, place)
  for _, index in ipairs(self:neighbours(statement)) do
    self:set(self.phases[index], "parallel", true, place)
  end
end

function APPLY.choice(self, statement, place)
  local name, modes = text_of(statement, "name"), modes_of.new()
  if not name:find "^[%a_][%w_]*$" then
    refuse("name must be a word such as mode, not %s", names.show(name))
  elseif self.inputs[name] then
    refuse("contradicts what %s says: the words of %s are %s", self.at[self.inputs[name]].one_of, name,
      table.concat(self.inputs[name].one_of, ", "))
  end
  modes.word, modes.default = name, statement.default
  for _, word in ipairs(names.sorted(statement.choices or {})) do
    if not word:find "^[%w_-]+$" then
      refuse("a choice must be a word such as quick, not %s", names.show(word))
    end
    modes.order[#modes.order + 1], modes.seen[word] = word, true
    for _, id in ipairs(statement.choices[word]) do
      local _, i = self:phase(id)
      modes_of.add(modes, i, word)
    end
  end
  if #modes.order < 2 then
    refuse("needs choices, two or more")
  elseif modes.default and not modes.seen[modes.default] then
    refuse("default must be one of its choices, not %s", names.show(modes.default))
  end
  for i, phase in ipairs(self.phases) do
    local condition = modes_of.condition(modes, i)
    if condition then
      self:narrow(phase, condition, place)
    elseif not modes.by_phase[i] then
      refuse("no choice runs %s", phase.id)
    end
  end
  local input = {}
  self.inputs[name] = input
  self:set(input, "one_of", json.array(modes.order), place)
  self:set(input, "default", modes.default, place)
end

-- A phase beside the one that a statement names, with an id that none has.
local function insert(self, statement, name, offset, place)
  local _, at = self:phase(self:list(statement, 1)[1])
  local id, problem = names.id(name)
  if not id or self.index[id] ~= nil then
    refuse("name %s", problem or names.show(id) .. " is a phase's already")
  end
  local phase = {}
  self:set(phase, "id", id, place)
  self.index[id] = false
  table.insert(self.phases, at + offset, phase)
  return phase
end

function APPLY.ask(self, statement, place)
  local phase = insert(self, statement, text_of(statement, "name"), 0, place)
  self:set(phase, "question", text_of(statement, "question"), place)
  self:set(phase, "options", statement.options and #statement.options > 0 and json.array(statement.options) or nil,
    place)
end

function APPLY.skill(self, statement, place)
  local path = text_of(statement, "name")
  self:set(insert(self, statement, path:match "[^/]*$", 1, place), "skill", path, place)
end

function APPLY.needs(self, statement, place)
  local condition, setter = condition_of(statement, "condition"), statement.set_by
  for i, at in ipairs(statement.at) do
    local ask = self.asks[at .. " " .. statement.texts[i]]
    if not ask then
      refuse("applies only to an action's preconditions")
    end
    self.needs[ask.told] = i == 1 and condition or nil
  end
  if setter and not self.known[setter] then
    refuse("%s is no action%s", names.show(setter), names.suggest(setter, self.known))
  elseif setter then
    self.actions[setter] = self.actions[setter] or {}
    self:promise(self.actions[setter], condition, place)
  end
end

function Made:ids()
  return json.array(tables.column(self.phases, "id"))
end

-- What the readers found, in the form of workflow.json.
local function of_facts(document)
  local stated = document.stated
  local self = setmetatable({ phases = {}, rounds = {}, inputs = {}, actions = {}, asks = {}, needs = {}, at = {},
    index = {}, known = tables.by(document.definition.actions, "id"), stated = stated }, Made)
  for _, ask in ipairs(document.asks or {}) do
    self.asks[("%s %s"):format(place_of(ask), ask.text)], self.actions[ask.action] = ask, {}
  end
  for i, given in ipairs(stated and document.config.sequential_config.phases or {}) do
    local phase = {}
    local place = document.place(("sequential_config.phases[%d]"):format(i))
    for _, key in ipairs { "id", "condition" } do
      self:set(phase, key, given[key], place_of(place))
    end
    self.index[given.id] = stated.order and stated.order[i] or i
    self.phases[i] = phase
  end
  local modes = stated and stated.modes
  if modes and #modes.order > 1 then
    local input, place = {}, "SKILL.md:1"
    self:set(input, "one_of", json.array(table.move(modes.order, 1, #modes.order, 1, {})), place)
    self:set(input, "default", modes.default, place)
    self.inputs[modes.word] = input
  end
  return self
end

-- Statements in the order of their dependencies: first what is left out, then the order, then the rest.
local RANK <const> = { leave_out = 1, order = 2, choice = 3, only_if = 4, ["repeat"] = 5, together = 6, each = 7,
  ask = 8, skill = 9, needs = 10, nothing = 11 }

-- The preconditions of an action, with what stands for those in prose.
local function set_preconditions(self, document, id)
  local list, fact = document.prose.facts:best(id, "preconditions")
  local out = json.array {}
  for _, told in ipairs(list or {}) do
    out[#out + 1] = told.condition or self.needs[told]
  end
  self:set(self.actions[id], "preconditions", out, place_of(fact and fact.at or document.prose.actions[id].at))
end

-- The document, ready to be encoded.
local function written(self, document)
  for id in pairs(self.actions) do
    set_preconditions(self, document, id)
  end
  return {
    ["$schema"] = "urn:skillrt:schema:workflow",
    skill_name = document.name,
    phases = json.array(self.phases),
    actions = next(self.actions) and self.actions or nil,
    rounds = #self.rounds > 0 and json.array(self.rounds) or nil,
    inputs = next(self.inputs) and self.inputs or nil,
  }
end

---@class skillrt.compile.Document
---@field workflow table  workflow.json, ready to be encoded
---@field made skillrt.compile.Made

---The result of facts and statements; or nil and all that is wrong with the statements.
---@param document skillrt.load.Document
---@param statements table[]  each with `at`, the place of its lines
---@return skillrt.compile.Document? made
---@return string? problems
function M.document(document, statements)
  local self, problems, sorted = of_facts(document), {}, {}
  for i, one in ipairs(statements) do
    sorted[i] = { one, i }
  end
  table.sort(sorted, function(a, b)
    local x, y = RANK[a[1].says], RANK[b[1].says]
    return x < y or x == y and a[2] < b[2]
  end)
  for _, each in ipairs(sorted) do
    local one = each[1]
    local ok, problem = pcall(APPLY[one.says], self, one, one.at[1])
    if not ok and type(problem) == "table" and problem.refused then
      problems[#problems + 1] = ("%s (%s): %s"):format(one.says, table.concat(one.at, ", "), problem.refused)
    elseif not ok then
      error(problem, 0)
    end
  end
  if problems[1] then
    return nil, table.concat(problems, "\n")
  end
  return { workflow = written(self, document), made = self }
end

return M
