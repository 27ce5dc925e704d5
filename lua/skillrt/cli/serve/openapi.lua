-- cli/serve/openapi.lua: the OpenAPI 3.1 document of the operations of `skillrt serve`.

local core = require("skillrt.core")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local operations = require("skillrt.cli.serve.operations")

local TEXT <const> = { type = "string" }
local NAMED <const> = { id = "the name of the run's directory", event = "the event's name",
  question = "the question's number", token = "what answers it once" }
local LAST <const> = { name = "Last-Event-ID", ["in"] = "header", schema = TEXT,
  description = "the number of the last record that was seen: those behind it are sent" }
local KEY <const> = { name = "Idempotency-Key", ["in"] = "header", schema = { type = "string", maxLength = 200 },
  description = "the same key gets the same reply, and acts once" }

local SCHEMAS <const> = {
  Any = { type = "object" },
  Page = TEXT,
  Receipt = TEXT,
  Error = { type = "object", required = json.array({ "error" }), properties = { error = { type = "object",
    required = json.array({ "code", "message" }), properties = { code = TEXT, message = TEXT } } } },
  Run = { type = "object", required = json.array({ "run", "status" }), properties = { run = TEXT, status = TEXT,
    reason = TEXT, message = TEXT, skill = TEXT, questions = { type = "array", items = { type = "object" } } } },
  Runs = { type = "object", required = json.array({ "runs" }), properties = {
    runs = { type = "array", items = { type = "object", properties = { run = TEXT, skill = TEXT, status = TEXT } } },
    more = { type = "integer", description = "runs that are left out" } } },
  Skills = { type = "object", required = json.array({ "skills" }), properties = {
    skills = { type = "array", items = { type = "object" } } } },
}

local KINDS <const> = { Page = "text/html", Receipt = "application/x-ndjson" } -- the others reply with JSON

local function content(schema, kind)
  return { [kind or "application/json"] = { schema = schema } }
end

local function refers(name)
  return { ["$ref"] = "#/components/schemas/" .. name }
end

local function parameters_of(one)
  local list = json.array({})
  for name in one.path:gmatch("{(%l+)}") do
    list[#list + 1] = { name = name, ["in"] = "path", required = true, schema = TEXT, description = NAMED[name] }
  end
  for _, name in ipairs(names.sorted(one.query or {})) do
    local is_list = one.query[name].type == "array"
    list[#list + 1] = { name = name, ["in"] = "query", schema = one.query[name], explode = not is_list and nil or false,
      style = is_list and "form" or nil }
  end
  list[#list + 1] = one.streams and LAST or one.acts and KEY or nil
  return list
end

local M = {}

---@param needs_token boolean
---@return table document
function M.of(needs_token)
  local paths = {}
  for _, one in ipairs(operations.LIST) do
    paths[one.path] = paths[one.path] or {}
    local kind = one.streams and "text/event-stream" or KINDS[one.gives]
    local done = { description = "done", content = content(refers(one.gives), kind) }
    paths[one.path][one.method:lower()] = {
      operationId = one.id,
      summary = one.summary,
      parameters = parameters_of(one),
      requestBody = one.body and { content = content(one.body), required = #one.body.required > 0 } or nil,
      responses = { ["2XX"] = done, default = { description = "refused", content = content(refers("Error")) } },
      security = one.open and needs_token and json.array({}) or nil,
    }
  end
  return {
    openapi = "3.1.0",
    info = { title = "skillrt", version = core.version },
    paths = paths,
    components = { schemas = SCHEMAS, securitySchemes = needs_token and { token = { type = "http", scheme = "bearer" } }
      or nil },
    security = needs_token and json.array({ { token = json.array({}) } }) or nil,
  }
end

return M
