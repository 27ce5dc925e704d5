-- agent/expect.lua: whether a reply is what was expected, and the value it holds.
--
-- raw: 2xx or an accepted exit code. text: a non-empty text that is no error. json: JSON that is no error. A contract
-- { status = { words }, schema = { field = type } }: an object with one of these words as its status and these
-- fields; an unknown shape or a missing status is a failure. Pure: knows no agents, no runs.

local cut = require("skillrt.base.text").cut
local failure = require("skillrt.agent.failure")
local extract = require("skillrt.agent.extract")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local schema_of = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")
local types = require("skillrt.skill.types")

local M = {}

---@alias skillrt.Expect "raw"|"text"|"json"|{ status: string[]?, schema: table<string, string>? }

---@class skillrt.Expected  what the judge may know about the request
---@field ok_codes integer[]?  exit codes that are success; default 0
---@field shown string?        where it went, as it may be shown
---@field argv string[]?

local WORDS = { raw = true, text = true, json = true }

local CONTRACT <const> = { status = { type = "text", list = true }, schema = { type = "text", map = true } }

---Whether an expectation can be judged at all.
---@param expect any
---@return boolean|nil ok
---@return string? message
function M.check(expect)
  if WORDS[expect] then
    return true
  elseif type(expect) ~= "table" then
    local near = type(expect) == "string" and names.suggest(expect, WORDS) or ""
    return nil, ('expect must be "raw", "text", "json" or a contract, not %s%s'):format(names.show(expect), near)
  end
  local contract, message = schema_of.record(expect, CONTRACT, "expect")
  for name, declared in pairs(contract and contract.schema or {}) do
    local known, problem = types.check((declared:gsub("%?$", "")))
    message = not known and ("expect.schema: field %s %s"):format(names.show(name), problem) or message
  end
  return not message or nil, message
end

local function is_among(codes, code)
  return tables.has(codes or { 0 }, code)
end

-- What went wrong in transit, or with the status code; nil: it arrived well.
local function arrived_badly(kind, reply, request)
  local code = reply.code or 0
  if reply.status ~= "ok" then
    local why = reply.message ~= "" and reply.message or "the exchange ended: " .. tostring(reply.status)
    if request.argv and reply.status ~= "too_large" and (reply.extra or "") ~= "" then
      why = failure.of_program(why, reply)
    end
    return { class = failure.of_transport(reply), message = why, form = false }
  elseif (kind == "http" or kind == "session" and code > 0) and (code < 200 or code > 299) then
    local text = cut(reply.body or "", 200, ""):gsub("[%s%c]+", " "):match("^ ?(.-) ?$")
    local from = request.shown and " from " .. request.shown or ""
    local message = ("HTTP %d%s%s"):format(code, from, text ~= "" and ": " .. text or "")
    return { class = failure.of_http(code), message = message, form = false }
  elseif kind == "command" and not is_among(request.ok_codes, code) then
    local name = request.argv and request.argv[1] or "the program"
    local message = failure.of_program(("%s exited with %d"):format(name, code), reply)
    return { class = failure.of_exit(code), message = message, form = false }
  elseif kind == "host" and code ~= 0 then
    local class, message = failure.claimed(reply.extra ~= "" and reply.extra or nil, reply.message)
    return { class = class, message = message, form = false }
  end
  return nil
end

local function wrong(message, form)
  return nil, { class = "invalid_output", message = message, form = form ~= false }
end

local function judge_text(_, reply)
  local body = reply.body or ""
  if not body:find("%S") then
    return wrong("the reply is empty")
  end
  local value = body:find("^%s*[{`]") and extract.whole(body) or nil
  local problem = failure.in_value(value)
  if problem then
    return nil, problem
  end
  return true, body
end

-- The JSON of a reply; or nil and why there is none.
local function decoded(kind, reply)
  local body = reply.body or ""
  if kind == "command" then
    local value = extract.at_end(body)
    return value, value == nil and "its output does not end with JSON" or nil
  elseif extract.is_stream(reply.extra) then
    return extract.last_event(body, extract.whole)
  end
  return extract.whole(body)
end

local function judge_json(kind, reply)
  local value, why = decoded(kind, reply)
  if value == nil then
    return wrong(why)
  end
  local problem = failure.in_value(value)
  if problem then
    return nil, problem
  end
  return true, value
end

local function judge_status(words, object)
  local status = object.status
  if type(status) ~= "string" then
    return wrong(status == nil and 'the reply has no "status"' or '"status" must be a text, not ' .. names.show(status))
  end
  for _, word in ipairs(words) do
    if status:lower() == word:lower() then
      return true
    end
  end
  local why = failure.reason(object)
  return nil, failure.told(object, ("status %s%s"):format(names.show(status), why and ": " .. why or ""))
end

local function judge_fields(schema, object)
  for _, name in ipairs(names.sorted(schema)) do
    local declared, value = schema[name], object[name]
    local optional = declared:sub(-1) == "?"
    declared = optional and declared:sub(1, -2) or declared
    if value == json.null and declared ~= "any" then
      value = nil
    end
    if value == nil and not optional then
      return wrong(("the reply has no %s"):format(names.show(name)))
    elseif value ~= nil and (not types.fits(declared, value)
      or types.is_list(declared) and not json.is_array(value)) then
      return wrong(("%s must be %s, not %s"):format(names.show(name), declared, names.show(value)))
    end
  end
  return true
end

local function judge_contract(kind, reply, expect)
  local good, value = judge_json(kind, reply)
  if not good then
    return nil, value
  elseif not json.is_object(value) then
    return wrong("the reply must be a JSON object")
  end
  local problem
  if expect.status then
    good, problem = judge_status(expect.status, value)
  end
  if good and expect.schema then
    good, problem = judge_fields(expect.schema, value)
  end
  if not good then
    return nil, problem
  end
  return true, value
end

local JUDGES = { text = judge_text, json = judge_json }

---Judges a reply: true and its value, or nil and the failure.
---@param expect skillrt.Expect?
---@param kind string              of the request: "http", "command" ...
---@param reply table              { status, code, body, extra, message }
---@param request skillrt.Expected?
---@return boolean|nil good
---@return any value_or_failure    raw: nil
function M.judge(expect, kind, reply, request)
  local problem = arrived_badly(kind, reply, request or {})
  if problem then
    return nil, problem
  elseif expect == nil or expect == "raw" then
    return true
  end
  return (JUDGES[expect] or judge_contract)(kind, reply, expect)
end

return M
