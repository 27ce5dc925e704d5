-- cli/serve/links.lua: the page behind a question's link: whoever has the link sees the question and answers it once.
-- The page has no script.

local core = require("skillrt.core")
local look = require("skillrt.run.look")
local template = require("skillrt.base.template")

local M = {}

local HEADERS <const> = { ["Content-Type"] = "text/html; charset=utf-8", ["Content-Security-Policy"] =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'" }

local function page(status, values)
  local html = assert(template.render(assert(core.asset("templates/report/answer.mustache")), values, nil,
    { name = "answer.mustache", escape = "html" }))
  return status, html, HEADERS
end

-- The open question of a link; nil: the link is invalid or no longer valid.
local function asked(server, request)
  local books = look.books(request.dir)
  for _, one in ipairs(books and require("skillrt.run.books.questions").list(books) or {}) do
    local token = require("skillrt.cli.webhook").token(server.key, books.run_id, one)
    if tostring(one.q) == request.question and core.sha256(token) == core.sha256(request.token) then
      return one, books
    end
  end
end

local GONE <const> = { title = "This link is not valid",
  text = "The question has been answered, or the link is incomplete." }

-- The value of one field of a submitted form.
local function field(body, name)
  for key, value in body:gmatch("([^&=]+)=([^&]*)") do
    if key == name then
      return (value:gsub("+", " "):gsub("%%(%x%x)", function(two) return string.char(tonumber(two, 16)) end))
    end
  end
end

---Shows the question.
function M.show(server, request)
  local one, books = asked(server, request)
  if not one then
    return page(404, GONE)
  end
  local question, options = one.question, {}
  for i, option in ipairs(question.options or {}) do
    options[i] = { id = tostring(option.id), label = tostring(option.label or option.id),
      description = option.description }
  end
  return page(200, { title = tostring(question.header or books.skill), text = tostring(question.question or ""),
    detail = question.detail, options = options[1] and not question.multiple and options or nil,
    all = question.multiple and options or nil, is_text = not options[1] or question.multiple or nil,
    edit = type(question.edit) == "string" and question.edit or nil, is_open = true })
end

---Answers it, by `skillrt answer`.
function M.take(server, request, answer)
  local one = asked(server, request)
  local value = one and field(request.body, "value")
  if not one then
    return page(404, GONE)
  elseif not value or not utf8.len(value) then
    return page(422, { title = "No answer", text = "The form has no value." })
  end
  request.body = { question = one.q, value = value, approval = one.question.approval }
  local status, wait = answer(server, request)
  local function shown(code, said)
    local is_taken = code < 400
    return page(code, { title = is_taken and "Answered" or "Not answered",
      text = is_taken and "The run continues." or said.error.message })
  end
  if status then
    return shown(status, wait)
  end
  return nil, function(late)
    local code, said = wait(late)
    if code then
      return shown(code, said)
    end
  end
end

return M
