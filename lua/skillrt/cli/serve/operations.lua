-- cli/serve/operations.lua: the operations of `skillrt serve`: the one table from which the router, the OpenAPI
-- document and the table of docs/run/serve.md are made.
--
-- What changes a run is a command of our own program. An operation replies at once, or names what is waited for. Knows
-- no HTTP but its status codes.

local codes = require("skillrt.cli.exit_codes")
local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local selection = require("skillrt.cli.selection")
local store_of = require("skillrt.run.store")
local tables = require("skillrt.base.tables")

local M = {}

local MOST_EVENT <const> = 100 << 10 -- bytes of its value: a word of a command line
local MOST_FILE <const> = 64 << 20 -- bytes

local TEXT <const>, FLAG <const> = { type = "string" }, { type = "boolean" }
local WORD <const> = { type = "string", minLength = 1, maxLength = 200, pattern = "^[^\\x00-\\x1f]+$" }
local AMOUNTS <const> = { type = "object", additionalProperties = { type = "number", minimum = 0 } }

local function object(properties, ...)
  return { type = "object", properties = properties, required = json.array({ ... }), additionalProperties = false }
end

local function refused(status, code, message)
  return status, { error = { code = code, message = message } }
end
M.refused = refused

-- A run cannot be read.
local function unread(message, code)
  return refused(code == "missing" and 404 or 500, code or "system", message)
end

-- By which exit codes nothing was done, and what that is for a client.
local REFUSED <const> = {
  [codes.usage] = { 422, "invalid" },
  [codes.busy] = { 409, "busy" },
  [codes.damaged] = { 500, "damaged" },
  [codes.changed] = { 409, "changed" },
  [codes.answered] = { 409, "answered" },
  [codes.internal] = { 500, "internal" },
}

-- How a run is, in the form of `skillrt status --json`, and its name.
local function look_at(request)
  local books, report, code = look.books(request.dir)
  if not books then
    return unread(report, code)
  end
  local status = require("skillrt.report.status").of(request.dir, books, report --[[@as table]])
  status.run = request.run
  return 200, status
end

-- The number of a run's last record; it reads the journal's last file.
local function last_record(dir)
  local report = store_of.at(dir):read(function() return false end)
  return report and report.last or 0
end

-- What is waited for: a program that ends soon, or one that advances a run: it does once it holds the run and has
-- recorded something, for before that it may find that it cannot do what is asked.
local function await(request, program, why, created)
  if not program then
    return refused(503, "busy", why)
  end
  return nil, function(late)
    program.code = program.code or program.handle:code()
    local refusal, over = REFUSED[program.code], program.code or late
    if refusal then
      return refused(refusal[1], refusal[2], require("skillrt.cli.serving.runs").said(program, request.dir))
    elseif over or program.of and store_of.at(request.dir):holder()
      and last_record(request.dir) > (request.records or 0) then
      local status, value = look_at(request)
      if status == 200 then
        return created or program.code and 200 or 202, value
      elseif over then -- else its first record is not there yet
        return status, value
      end
    end
  end
end

-- A command that advances the run.
local function command(name, words_of)
  return function(server, request)
    local words, input
    if words_of then
      words, input = words_of(request.body)
    end
    request.records = store_of.at(request.dir):holder() and math.maxinteger or last_record(request.dir)
    local program, why = server.runs:command(name, request.dir, words, input)
    return await(request, program, why)
  end
end

local function start(server, request)
  local given = request.body
  local skill = server.skills[given.skill]
  if type(skill) ~= "table" or not skill.path then
    local shown = require("skillrt.base.names").show(given.skill)
    return refused(404, "missing", ("no skill %s is served here"):format(shown))
  end
  local id, program = server.runs:begin(skill, given)
  request.run, request.dir = id, id and store_of.inside(server.runs.where, id)
  return await(request, id and program, program, 201)
end

local function skills(server)
  if not server.paths[1] then
    return 200, { skills = json.array({}) }
  end
  local program, why = server.runs:start(server.runs:words_to_list(server.paths))
  if not program then
    return refused(503, "busy", why)
  end
  return nil, function(late)
    program.code = program.code or program.handle:code()
    local said = program.code and require("skillrt.cli.serving.runs").said(program)
    if program.code == 0 then
      return 200, json.decode(said)
    elseif said or late then
      return refused(500, "internal", said or "the skills could not be read in time")
    end
  end
end

local function list(server, request)
  local query = request.query
  local filter, wrong = selection.filter({ status = query.status, skill = query.skill, waiting = query.waiting,
    since = query.since, older_than = query.older_than })
  if wrong then
    return refused(400, "invalid", wrong)
  end
  local found, message = server.runs:list(filter, query.limit or 100)
  if not found then
    return unread(message)
  end
  return 200, found
end

local function data(_, request)
  local text, message, code = require("skillrt.cli.serve.pages").data(request.dir)
  if not text then
    return unread(message, code)
  end
  return 200, text
end

local function report(_, request)
  local html, why, code = require("skillrt.report.page").of(request.dir)
  if not html then
    return unread(why, code)
  end
  return 200, html, { ["Content-Type"] = "text/html; charset=utf-8", ["Content-Security-Policy"] = why }
end

local function receipt(_, request)
  local text, why, code = require("skillrt.cli.envelope").receipt(request.dir)
  if not text then
    return unread(why, code)
  end
  return 200, text, { ["Content-Type"] = "application/x-ndjson" }
end

-- The output files of a run, or one of them.
local function files(_, request)
  local store, wanted, all = store_of.at(request.dir), request.query.path, json.array({})
  local books, why, code = look.books(request.dir)
  if not books then
    return unread(why, code)
  end
  for _, path in ipairs(require("skillrt.base.names").sorted(books.outputs)) do
    local info = store:stat(path)
    all[#all + 1] = info and info.kind == "file" and { path = path, bytes = info.size } or nil
    if path == wanted and info and info.size > MOST_FILE then
      return refused(413, "large", ("%s has more than %d bytes"):format(path, MOST_FILE))
    elseif path == wanted and info then
      local text, message = store:kept(path, MOST_FILE)
      if not text then
        return refused(500, "system", message)
      end
      return 200, text, { ["Content-Type"] = "application/octet-stream" }
    end
  end
  if wanted then
    return refused(404, "missing", "the run has no such file")
  end
  return 200, { files = all }
end

local function stop(server, request)
  local ok, why = server.runs:stop(request.dir)
  if not ok then
    return refused(409, "invalid", why)
  end
  local store = store_of.at(request.dir)
  return nil, function(late)
    if late or not store:holder() then
      return look_at(request)
    end
  end
end

local function send(server, request)
  local given = request.body
  local value = given.value ~= nil and json.encode(given.value) or nil
  local problem = require("skillrt.base.names").problem_of_event(given.event)
  if problem or value and #value > MOST_EVENT then
    return refused(422, "invalid", problem or ("the value of an event has at most %d bytes"):format(MOST_EVENT))
  end
  local id = request.key and "--id=" .. request.key
  local words = tables.append({ "send", id }, { "--", request.dir, given.event, value })
  return await(request, server.runs:start(words))
end

-- An event of a server that has the secret: its id is the event's, so that the run takes it once.
local function hook(server, request)
  local id, why = require("skillrt.cli.webhook").opened(server.key, request.headers, request.body)
  if not id then
    return refused(401, "signature", why)
  end
  local value, wrong = json.decode(request.body)
  local problem = value == nil and "the body: " .. tostring(wrong)
    or require("skillrt.base.names").problem_of_event(request.event)
  if json.is_object(value) and value.specversion ~= nil then -- a CloudEvent
    problem = problem or value.specversion ~= "1.0" and "a CloudEvent has the specversion 1.0"
    value = value.data
  end
  local books = look.books(request.dir)
  if problem then
    return refused(422, "invalid", problem)
  elseif not books or look.has_ended(books) then
    return refused(409, "invalid", "the run accepts no events any more")
  end
  local name, message = store_of.at(request.dir):put({ event = request.event, id = id, value = value })
  local program, busy
  if name and not (look.first(request.dir) or {}).submitted then
    program, busy = server.runs:go_on(request.dir)
  end
  if not name or busy and not program then
    return refused(503, "busy", message or busy)
  end
  return 202, { run = request.run, id = id }
end

local function rollback(server, request)
  return await(request, server.runs:start({ "rollback", request.dir, "--to=" .. request.body.to }))
end

local function fork(server, request)
  local id = ("%s-fork-%s"):format(request.run:sub(1, 150), require("skillrt.base.files").random_name():sub(1, 6))
  local out, words = store_of.inside(server.runs.where, id), { "fork" }
  for key, value in pairs(request.body.set or {}) do
    words[#words + 1] = ("--set=%s:=%s"):format(key, json.encode(value))
  end
  local place = request.dir .. (request.body.at and "@" .. request.body.at or "")
  local program, why = server.runs:start(tables.append(words, { "--out=" .. out, "--", place }))
  request.run, request.dir = id, out
  return await(request, program, why, 201)
end

---@class skillrt.cli.serve.Operation
---@field method string
---@field path string            {id}: a run of the folder
---@field id string
---@field summary string
---@field query table<string, table>?  schemas of its parameters
---@field body table?            the schema of its body
---@field open boolean?          it needs no token: its signature, or its address, is the secret
---@field acts boolean?          it changes something: it takes an Idempotency-Key
---@field gives string           what it replies: a schema of the document
---@field streams boolean?
---@field perform nil|fun(server: table, request: table): integer?, any

-- An option's id or a text; the ids of several options as a list, or with commas.
local CHOICE <const> = { type = { "string", "array" }, items = { type = "string" } }

local answer = command("answer", function(body)
  local value = body.value
  return { tostring(body.question), "--file=-" }, type(value) == "table" and table.concat(value, ",") or value
end)

local tell_agent = command("tell", function(body)
  return { "--", body.agent, body.text }
end)

local function tell(server, request)
  local books = look.books(request.dir)
  if books and look.has_ended(books) then
    return refused(409, "ended", ("the run is %s: its agents take no message; retry a step, or roll it back, first")
      :format(books.status))
  end
  return tell_agent(server, request)
end

---@type skillrt.cli.serve.Operation[]
M.LIST = {
  { method = "GET", path = "/openapi.json", id = "describe", summary = "This API, as OpenAPI 3.1", gives = "Any",
    perform = function(server)
      return 200, server.description
    end },
  { method = "GET", path = "/skills", id = "listSkills", gives = "Skills", perform = skills,
    summary = "The skills that can be started, and what each takes" },
  { method = "GET", path = "/runs", id = "listRuns", gives = "Runs", perform = list,
    summary = "The runs of the folder, the newest first",
    query = {
      status = { type = "array", items = { type = "string", enum = json.array(selection.FILTERS[1].choices) } },
      skill = TEXT, waiting = FLAG, since = TEXT, older_than = TEXT,
      limit = { type = "integer", minimum = 1, maximum = 10000 },
    } },
  { method = "POST", path = "/runs", id = "startRun", gives = "Run", acts = true, perform = start,
    summary = "Starts a run of a skill; it is a process of its own",
    body = object({ skill = WORD, input = { type = "object" }, limits = AMOUNTS,
      args = { type = "array", items = TEXT, maxItems = 100 } }, "skill") },
  { method = "GET", path = "/runs/{id}", id = "getRun", gives = "Run",
    summary = "How a run is, in the form of skillrt status --json",
    perform = function(_, request)
      return look_at(request)
    end },
  { method = "GET", path = "/runs/{id}/data", id = "getData", gives = "Any", perform = data,
    summary = "All that the page of a run shows: steps, calls, texts, state" },
  { method = "GET", path = "/runs/{id}/report", id = "getReport", gives = "Page", perform = report,
    summary = "The report of a run: one page of HTML that loads nothing" },
  { method = "GET", path = "/runs/{id}/receipt", id = "getReceipt", gives = "Receipt", perform = receipt,
    summary = "The receipt of a run, as skillrt receipt writes it, signed with the server's key" },
  { method = "GET", path = "/runs/{id}/files", id = "getFiles", gives = "Any", perform = files,
    summary = "The names of the files that steps gave as their output; with path, one of the files",
    query = { path = TEXT } },
  { method = "GET", path = "/runs/{id}/events", id = "followRun", gives = "Any", streams = true,
    summary = "The records of a run as server-sent events, and those that come; id: the record's number" },
  { method = "POST", path = "/runs/{id}/answer", id = "answerQuestion", gives = "Run", acts = true,
    summary = "Answers an open question, and resumes the run",
    body = object({ question = { type = "integer", minimum = 1 }, value = CHOICE }, "question", "value"),
    perform = answer },
  { method = "POST", path = "/runs/{id}/resume", id = "resumeRun", gives = "Run", acts = true,
    summary = "Resumes a run that paused or was interrupted; add raises its limits", body = object({ add = AMOUNTS }),
    perform = command("resume", function(body)
      local words = {}
      for name, amount in pairs(body.add or {}) do
        words[#words + 1] = ("--add=%s=%s"):format(name, amount)
      end
      return words
    end) },
  { method = "POST", path = "/runs/{id}/retry", id = "retryStep", gives = "Run", acts = true,
    summary = "Retries the step that failed last, or another one", body = object({ step = WORD, from_scratch = FLAG }),
    perform = command("retry", function(body)
      local words = { body.step and "--step=" .. body.step }
      return body.from_scratch and tables.append(words, { "--from-scratch", "--yes" }) or words
    end) },
  { method = "POST", path = "/runs/{id}/stop", id = "stopRun", gives = "Run", acts = true, perform = stop,
    summary = "Stops the process that advances a run; it can be resumed", body = object({}) },
  { method = "POST", path = "/runs/{id}/abort", id = "abortRun", gives = "Run", acts = true,
    summary = "Ends a run for good, and undoes what can be undone", body = object({}), perform = command("abort") },
  { method = "POST", path = "/runs/{id}/send", id = "sendEvent", gives = "Run", acts = true, perform = send,
    summary = "Sends an event to a run, which takes it when it is resumed; the Idempotency-Key is its id",
    body = object({ event = WORD, value = json.decode("{}") }, "event") },
  { method = "POST", path = "/runs/{id}/tell", id = "tellAgent", gives = "Run", acts = true,
    summary = "Sends an agent of a run a further message; agent is its label, or the place of its call",
    body = object({ agent = WORD, text = { type = "string", minLength = 1, maxLength = MOST_EVENT } }, "agent", "text"),
    perform = tell },
  { method = "POST", path = "/hooks/{id}/{event}", id = "takeWebhook", gives = "Any", open = true, perform = hook,
    summary = "Takes a signed webhook as an event of a run, and resumes it; the webhook-id is the event's id" },
  { method = "GET", path = "/answer/{id}/{question}/{token}", id = "showQuestion", gives = "Page", open = true,
    summary = "The page of a question's link", perform = function(server, request)
      return require("skillrt.cli.serve.links").show(server, request)
    end },
  { method = "POST", path = "/answer/{id}/{question}/{token}", id = "answerByLink", gives = "Page", open = true,
    summary = "Answers a question once, by its link", perform = function(server, request)
      return require("skillrt.cli.serve.links").take(server, request, answer)
    end },
  { method = "POST", path = "/runs/{id}/rollback", id = "rollBack", gives = "Run", acts = true, perform = rollback,
    summary = "Takes a run back to a record or a checkpoint, and pauses it there",
    body = object({ to = { type = json.array({ "string", "integer" }), pattern = WORD.pattern } }, "to") },
  { method = "POST", path = "/runs/{id}/fork", id = "forkRun", gives = "Run", acts = true, perform = fork,
    summary = "Makes a new run from a place in the history of another one",
    body = object({ at = { type = json.array({ "string", "integer" }), pattern = WORD.pattern },
      set = { type = "object" } }) },
}

---The operation of a path, and what the path names; nil and the methods that the path has.
---@param method string
---@param path string
---@return skillrt.cli.serve.Operation|nil operation
---@return table<string, string>|string[] named_or_methods
function M.find(method, path)
  local methods = {}
  for _, one in ipairs(M.LIST) do
    local found = { path:match("^" .. one.path:gsub("%.", "%%."):gsub("{%l+}", "([^/]+)") .. "$") }
    if found[1] and one.method == method then
      local named, i = {}, 0
      for name in one.path:gmatch("{(%l+)}") do
        i = i + 1
        named[name] = found[i]
      end
      return one, named
    end
    methods[#methods + 1] = found[1] and one.method
  end
  return nil, methods
end

return M
