-- report/receipt.lua: the statements of a run's receipt: one in-toto statement for the run, and one for each act: a
-- call that left the run.
--
-- The head commits to every record: each digest covers the previous one, the record's number and its payload, and a
-- payload names its blobs by digest. The same records give the same bytes. Signs nothing.

local core = require("skillrt.core")
local json = require("skillrt.base.json")
local record_of = require("skillrt.run.record")
local places = require("skillrt.run.places")
local repeats = require("skillrt.mode.repeats")
local store_of = require("skillrt.run.store")
local story_of = require("skillrt.run.story")

local M = {}

local function encoded(value)
  return assert(json.encode(value, { sorted = true }))
end

-- The digests of bytes that came back, or were given.
local function digest_of(value)
  return value ~= nil and core.sha256(type(value) == "string" and value or encoded(value)) or nil
end

local TAKE <const> = {} -- what a record adds to a step of the story, by type

function TAKE.tool(_, record, _, step)
  step.tools[record.c] = record.name
end

-- The approvals given before a call, in its step, branch or use of a tool; and the tool.
local function leave_of(step, place)
  local approvals, tool = json.array({}), nil
  for _, one in ipairs(step.approvals) do
    approvals[#approvals + 1] = place:find(one.branch, 1, true) == 1 and one.said or nil
  end
  for at, name in pairs(step.tools) do
    tool = places.is_below(place, at) and name or tool
  end
  return approvals, tool
end

function TAKE.call(told, record, seq, step)
  local act = step.acts[record.c]
  if record.question and record.question.approval then
    step.asked[record.c] = record
  elseif repeats.ACTS[record.kind] and not record.pure then
    if not act or act.outcome.state ~= "unknown" then
      local approvals, tool = leave_of(step, record.c)
      act = { step = record.step, name = step.id, call = record.c, kind = record.kind, to = record.to,
        key = record.key, request = record.digest, sandbox = record.sandbox or told.story.run.sandbox, tool = tool,
        approvals = approvals, attempts = json.array({}), outcome = { state = "unknown" } }
      step.acts[record.c] = act
      told.acts[#told.acts + 1] = act
    end
    act.attempts[#act.attempts + 1] = { record = seq, at = record.at, outcome = "unknown" }
  end
end

function TAKE.attempt(_, record, _, step)
  local act = step.acts[record.c]
  if act then
    act.attempts[#act.attempts].outcome = record.class or "failed"
  end
end

function TAKE.result(_, record, seq, step)
  local act, asked, reply, failed = step.acts[record.c], step.asked[record.c], record.reply, record.failed
  if asked and record.value == "approve" then
    table.insert(step.approvals, { branch = places.prefix_of(record.c), said = { question = asked.q,
      what = asked.question.question, sha256 = record.approval or asked.question.approval, record = seq, at = record.at,
      arrival = record.arrival } })
  elseif act then
    local state = record.unknown and "unknown" or record.unsent and "not_executed" or failed and "failed" or "replied"
    act.outcome = { state = state, record = seq, at = record.at, decided = record.decided,
      class = failed and failed.class, status = reply and reply.status, code = reply and reply.code,
      sha256 = digest_of(reply and reply.body) }
    act.attempts[#act.attempts].outcome = state
  end
end

-- The content of the journal, up to a record.
local function read(place, last)
  local told = { head = "", acts = {}, story = story_of.new() }
  local wishes = { whole = true }
  local report, message, code = store_of.at(place):read(function(payload, seq)
    if last and seq > last then
      return false
    end
    told.head, told.last = core.sha256(("%s %d %s"):format(told.head, seq, payload)), seq
    local record, why, cause = require("skillrt.base.record").decode(payload, wishes.blob)
    why = why or record_of.problem_of(record)
    if not record or why then
      error({ message = ("%s: record %d: %s"):format(place, seq, why), code = cause or "corrupt" }, 0)
    end
    record_of.each(record, function(one)
      told.story:add(one)
      local step = told.story.by_number[one.step]
      if step and TAKE[one.t] then
        step.acts = step.acts or {}
        step.tools, step.asked, step.approvals = step.tools or {}, step.asked or {}, step.approvals or {}
        TAKE[one.t](told, one, seq, step)
      end
    end)
  end, wishes)
  if report and not told.story.run then
    return nil, require("skillrt.run.look").nothing(place), "missing"
  end
  return report and told, message, code
end

local function statement(kind, subjects, predicate)
  return encoded({ _type = "https://in-toto.io/Statement/v1", subject = json.array(subjects),
    predicateType = "urn:skillrt:receipt:" .. kind, predicate = predicate })
end

---The statements of a run: the first is the run's and names the others by digest.
---@param place string
---@param last integer?  the last record that counts
---@return string[]|nil statements
---@return string? message
---@return string? code
function M.statements(place, last)
  local told, message, code = read(place, last)
  if not told then
    return nil, message, code
  end
  local run, store = told.story.run, store_of.at(place)
  local head = { name = "journal " .. run.run, digest = { sha256 = told.head } }
  local list, subjects, digests, seen = {}, { head }, json.array({}), {}
  for i, act in ipairs(told.acts) do
    act.run = run.run
    list[i + 1] = statement("act", { head }, act)
    digests[i] = core.sha256(list[i + 1])
  end
  for _, step in ipairs(told.story.steps) do
    local name = step.file
    local text = name and not seen[name] and store:kept(name)
    seen[name or ""] = true
    subjects[#subjects + 1] = text and { name = name, digest = { sha256 = core.sha256(text) } } or nil
  end
  list[1] = statement("run", subjects, { run = run.run, skill = run.skill, version = run.version, skillrt = run.skillrt,
    at = run.at, pins = run.pins, input = digest_of(run.input), status = told.story.status, reason = told.story.reason,
    last = told.last, acts = digests })
  return list
end

return M
