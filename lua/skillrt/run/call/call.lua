-- run/call/call.lua: a call: what a step waits for, from its declaration until its branch has the result; its state,
-- and its identity.
--
-- Its digest covers what was declared: the request without credentials, keys, and the run's own paths and id, so that
-- a resume from another folder, with another key, makes the same call. Only the files of run/call/ write its fields.
-- Knows requests, no transports; pure but for SHA-256. Called by run/call/calls.lua.

local core = require("skillrt.core")
local names = require("skillrt.base.names")
local request_of = require("skillrt.agent.request")
local secrets = require("skillrt.base.secrets")

-- The states of a call. It is "asked" where no transport is involved: a person, a time, an event or a sub-run gives
-- its result.
--
--   from                          when                                           to
--   declared, waiting             a combinator above it has no room              waiting
--   waiting                       there is room                                  declared
--   declared, held, paced,        limits, gate and combinators let it be sent    due
--     unknown (to be repeated)    a limit has no room                            held
--                                 its agent's gate is closed                     paced
--   declared                      it asks                                        asked
--   declared                      an attempt failed before a resume              paced
--   declared                      it was sent before a resume, or maybe          unknown
--   due                           its intent is recorded                         sent
--   due                           its agent's gate is closed meanwhile           paced
--   sent                          it is tried again when its time has come       paced
--   sent                          it may have been executed: unknown outcome     unknown
--   sent                          its step gave it up, and it may be given up    canceling
--   sent                          a person skips it, or has it sent again        canceling
--   canceling                     ... and it has ended                           unknown
--   any but finished              its branch has its result, or it is dropped    finished
---@alias skillrt.CallState "declared"|"waiting"|"held"|"paced"|"due"|"sent"|"canceling"|"asked"|"unknown"|"finished"

---@type table<skillrt.CallState, table<skillrt.CallState, true>>
local NEXT <const> = {
  declared = { waiting = true, due = true, held = true, paced = true, asked = true, unknown = true, finished = true },
  waiting = { declared = true, waiting = true, finished = true },
  held = { due = true, paced = true, finished = true },
  paced = { due = true, held = true, paced = true, finished = true },
  due = { sent = true, paced = true, finished = true },
  sent = { paced = true, unknown = true, canceling = true, finished = true },
  canceling = { unknown = true, finished = true },
  asked = { finished = true },
  unknown = { due = true, held = true, paced = true, finished = true },
  finished = {},
}

---@class skillrt.Call
---@field state skillrt.CallState  changed only by `become`
---@field place string
---@field step skillrt.Step
---@field branch skillrt.Branch
---@field execution skillrt.Execution
---@field request table    checked
---@field kind string      the name of its file in run/call/kind/: "http", "sleep", ...
---@field ways skillrt.CallKind  that file
---@field to string        where it goes, in a form that may be shown
---@field digest string    of what was declared
---@field key string|nil    its idempotency key, once it was sent
---@field idem boolean     may be repeated when its outcome is unknown
---@field order integer    its position among all calls declared in this process
---@field attempt integer
---@field number integer|false       the engine's number, while it is due or sent
---@field reservation skillrt.Reservation|false  what its limits reserve for it
---@field has_turn boolean    it has taken its turn within the rates of its agent's gate
---@field world skillrt.World|false  what answers it instead of a transport
---@field doubt string|false  unknown: why
---@field decision "retry"|"skip"|nil  canceling: what a person decided about it
---@field interrupted boolean unknown: with others, by the same interruption
---@field renewed boolean     repeated by decision: also by another program of its session
---@field epoch integer|nil   of a session: the number of its program
---@field follows boolean|nil  ... it answers a question of that program
---@field talk skillrt.LiveSession|false  ... the live session that is to answer it
---@field w integer|nil       of a wait for an event: its position among all waits
---@field began integer|nil   of a sleep: its start, by steady.lua
---@field instant integer|nil  ... and its end, by the wall clock
local Call = {}
Call.__index = Call

---@param fields table  place, step, branch, execution, request, kind, ways, to, digest, idem, order
---@return skillrt.Call
function Call.new(fields)
  fields.state, fields.attempt = "declared", 1
  fields.number, fields.reservation, fields.has_turn, fields.world = false, false, false, false
  fields.doubt, fields.interrupted, fields.renewed, fields.talk = false, false, false, false
  return setmetatable(fields, Call)
end

---Changes its state, as the table above allows.
---@param state skillrt.CallState
function Call:become(state)
  if not NEXT[self.state][state] then
    error(("call %s of step %d: %s, and cannot become %s"):format(self.place, self.step.number, self.state, state))
  end
  self.state = state
end

---Whether a function will get its result.
---@return boolean
function Call:is_awaited()
  return self.state ~= "finished" and self.execution.state ~= "closed"
end

---The books' entry since its record `call`; nil: it has none, or has finished.
---@return table|nil
function Call:open()
  return self.step.calls[self.place]
end

---Shows people who watch the data that arrives for it, raw or as its request formats it. Not recorded.
---@param watcher table|nil
---@param text string
function Call:show(watcher, text)
  if watcher and watcher.progress then
    local show = self.request.show
    local shown = text
    if show then
      shown = show(text)
    end
    if shown then
      watcher.progress(self.step.id, shown, self.step.number, self.place)
    end
  end
end

-- ---- its identity ----

local TEXTS <const> = { "kind", "method", "url", "body", "stdin", "cwd", "session", "message", "name", "asked", "event",
  "instant" }
local SECRET <const> = {
  authorization = true,
  cookie = true,
  ["idempotency-key"] = true,
  ["proxy-authorization"] = true,
  ["x-api-key"] = true,
}
-- The environment of a program, wherever it runs.
local AROUND <const> = {}
for _, name in ipairs(request_of.AROUND) do
  AROUND[name] = true
end

-- Removes the run's own paths and id from a text; in a replay also those of the recording, as earlier answers may
-- contain them. The skill may be inside the run's folder (a copy of its script), or the run's folder inside the
-- skill's.
local function placeless(text, run)
  local recorded = run.recorded and run.recorded.place or ""
  local place, dir = run.store.place, run.skill.dir or ""
  if #dir > #place then
    place, dir = dir, place
  end
  for _, own in ipairs({ place, recorded, dir, run.books.run_id }) do
    if #own > 1 and text:find(own, 1, true) then
      text = text:gsub(own:gsub("%p", "%%%0"), "\1")
    end
  end
  return text
end

local function add_map(parts, name, map, left_out, run)
  for _, key in ipairs(map and names.sorted(map) or {}) do
    local plain = not left_out[name == "headers" and key:lower() or key]
    if plain or name == "headers" then
      parts[#parts + 1] = ("%s.%s=%s"):format(name, key, plain and placeless(tostring(map[key]), run) or "")
    end
  end
end

-- A body that is declared in pieces: each is hashed once, chained to those before it (agent/model.lua).
local function chained(chain, run)
  local texts, hashes = chain.texts, chain.hashes
  local count = #hashes
  local hash = hashes[count] or ""
  for i = count + 1, #texts do
    hash = core.sha256(hash .. placeless(texts[i], run))
    hashes[i] = hash
  end
  return placeless(chain.head, run) .. "\0" .. hash
end

---The digest of what a request declares.
---@param request table  checked
---@param run table  { store, skill, books }
---@return string digest  32 hex digits
function Call.digest_of(request, run)
  local declared, parts = request.declared or {}, {}
  for _, name in ipairs(TEXTS) do
    local text = declared[name] or request[name]
    if text then
      text = type(text) == "table" and chained(text, run) or placeless(text, run)
      parts[#parts + 1] = ("%s=%s"):format(name, text)
    end
  end
  for i, word in ipairs(declared.argv or request.argv or {}) do
    parts[#parts + 1] = ("argv.%d=%s"):format(i, placeless(word, run))
  end
  add_map(parts, "headers", declared.headers or request.headers, SECRET, run)
  add_map(parts, "env", declared.env or request.env, AROUND, run)
  if request.seconds then
    parts[#parts + 1] = ("seconds=%.17g"):format(request.seconds)
  end
  local text = table.concat(parts, "\0")
  return core.sha256(secrets.active and secrets.clean(text) or text):sub(1, 32)
end

---Where a request goes: without user, password and query.
---@param request table
---@return string
function Call.target_of(request)
  local to = request.shown or request.url or (request.argv and request.argv[1]) or request.kind
  return (to:gsub("//[^/@]*@", "//"):gsub("[?#].*$", ""))
end

return Call
