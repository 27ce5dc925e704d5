-- cli/mcp/waiting.lua: requests of MCP that are under way: each waits for a run or for a program that is over soon.
-- Their progress, their end, a client that cancels, a question of the run that the client's person is asked.
--
-- Part of server.lua, which knows the protocol.

local elicitation = require("skillrt.cli.mcp.elicitation")
local codes = require("skillrt.cli.exit_codes")
local core = require("skillrt.core")
local json = require("skillrt.base.json")
local runs_of = require("skillrt.cli.mcp.runs")
local store = require("skillrt.run.store")
local tools = require("skillrt.cli.mcp.tools")

local M = {}

local MOST_TOLD <const> = 20 -- lines at once

-- Exit codes by which nothing was done: what was said tells why.
local REFUSED <const> = { [codes.usage] = true, [codes.busy] = true, [codes.damaged] = true, [codes.changed] = true,
  [codes.internal] = true }

---Nobody waits any more for what was begun: the run that the request drives stops, and can be resumed.
---@param self skillrt.tool.mcp.Server
---@param request table
function M.cancel(self, request)
  self:finish(request)
  local follow, program = request.wait.follow, request.wait.program
  if follow and request.stops then
    if follow.program then
      follow.program.handle:stop() -- it may not hold the run yet
    else
      self.runs:stop(follow.dir)
    end
  elseif program then
    program.handle:stop(true)
  end
end

-- The run of a request has a question: the client's person is asked, where it can ask. True: it is asked now.
local function ask(self, request, id, dir)
  local books = request.elicits and require("skillrt.run.look").books(dir)
  local one = books and require("skillrt.run.books.questions").list(books)[1]
  if not one then
    return false
  end
  local params = elicitation.elicitation(one, id)
  if request.stateless then
    local state = { run = id, question = one.q, approval = one.question.approval }
    self:finish(request, { resultType = "input_required", requestState = assert(json.encode(state)),
      inputRequests = { answer = { method = "elicitation/create", params = params } } })
    return true
  end
  if request.version < "2025-11-25" then
    params.mode = nil
  end
  self.last = self.last + 1
  request.asking, request.question = "skillrt-" .. self.last, one
  self.sent[request.asking] = request
  self:say({ id = request.asking, method = "elicitation/create", params = params })
  return true
end

---What the client's person said.
---@param self skillrt.tool.mcp.Server
---@param message table
function M.responded(self, message)
  local request = self.sent[message.id]
  if not request then
    return
  end
  self.sent[message.id], request.asking = nil, nil
  local follow, value, one = request.wait.follow, elicitation.given(message.result), request.question
  if value == nil then
    return self:finish(request, tools.standing(self, follow.id, follow.dir))
  end
  local program
  local ok, why = elicitation.answer(follow.dir, one.q, value, one.question.approval)
  if ok then
    program, why = self.runs:go_on(follow.dir)
  end
  if why then
    return self:finish(request, tools.refused(why))
  end
  request.wait.follow = runs_of.follow(follow.id, follow.dir, program)
  request.until_ns = core.mono_ns() + math.floor(request.wait.seconds * 1e9)
end

-- Tells of the run's lines, where the client gave a token.
local function progress(self, request, lines)
  local from = math.max(1, #lines - MOST_TOLD + 1)
  for i = from, #lines do
    request.told = (request.told or 0) + 1
    self:say({ method = "notifications/progress", params = { progressToken = request.token, progress = request.told,
      message = lines[i] } })
  end
end

-- Goes on with what waits for a run.
local function advance_run(self, request, late, ending)
  local follow = request.wait.follow
  local lines = {}
  local over = follow:advance(function(line)
    lines[#lines + 1] = request.token ~= nil and line or nil
  end)
  progress(self, request, lines)
  if over and not follow.program and request.stops and not request.again and store.at(follow.dir):waiting() > 0 then
    request.again = true -- who held it went before it took what lies there
    follow.program = self.runs:go_on(follow.dir)
    over = not follow.program
  end
  local begun = not follow.program or (over or late) and follow:begun()
  if not over and not (late and (begun or ending)) then
    return -- it is not waited for less than until it is there
  elseif not begun and not over then
    self:finish(request, tools.refused("it has not begun yet; status lists the runs"))
  elseif not begun or over and follow.program and REFUSED[follow.program.code] then
    local said = runs_of.said(follow.program)
    self:finish(request, tools.refused(said ~= "" and said or "it ended before it began"))
  elseif not over or not ask(self, request, follow.id, follow.dir) then
    self:finish(request, tools.standing(self, follow.id, follow.dir))
  end
end

local function advance_program(self, request, late)
  local program = request.wait.program
  program.code = program.code or program.handle:code()
  if program.code then
    self:finish(request, request.wait.finish(program.code, runs_of.said(program)))
  elseif late then
    program.handle:stop(true)
    self:finish(request, tools.refused("it took too long to say"))
  end
end

---Goes on with all that is under way.
---@param self skillrt.tool.mcp.Server
---@param ending boolean?  nobody asks any more: what waits for a run is told how that stands now
function M.advance(self, ending)
  local now = core.mono_ns()
  local list = {}
  for _, request in pairs(self.waiting) do
    list[#list + 1] = request
  end
  for _, request in ipairs(list) do
    local late = now >= request.until_ns
    if request.asking then
      if ending then
        self:finish(request, tools.standing(self, request.wait.follow.id, request.wait.follow.dir))
      end
    elseif request.wait.follow then
      advance_run(self, request, late or ending, ending)
    else
      advance_program(self, request, late)
    end
  end
end

---How long nothing need be done, in ms.
---@param self skillrt.tool.mcp.Server
---@return integer
function M.patience(self)
  local now, least = core.mono_ns(), 60000
  for _, request in pairs(self.waiting) do
    if not request.asking then
      local left = math.max(0, (request.until_ns - now) // 1000000 + 1)
      least = math.min(least, left, request.wait.follow and 1000 or 60000) -- whether somebody holds it still
    end
  end
  return least
end

return M
