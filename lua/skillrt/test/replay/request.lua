-- test/replay/request.lua: how two requests differ, in words: where they go, arguments, headers, input, body.
--
-- What was declared is compared, as digests are (run/call/call.lua): no keys, no credentials. Pure.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")

local M = {}

---A value in few words.
---@param value any
---@return string
function M.shown(value)
  return value == nil and "nothing" or (json.encode(value, { sorted = true }) or tostring(value)):sub(1, 200)
end

---Where two texts differ first: "line 3: a -> b"; nil: nowhere.
---@param was string
---@param is string
---@return string|nil
function M.line(was, is)
  local a, b = was:gmatch("([^\n]*)\n?"), is:gmatch("([^\n]*)\n?")
  for number = 1, math.huge do
    local one, other = a(), b()
    if one ~= other then
      local from = 1 -- of long lines the part is shown in which they differ
      while one and other and one:byte(from) == other:byte(from) do
        from = from + 1
      end
      from = math.max(1, from - 30)
      return ("line %d: %s -> %s"):format(number, M.shown(one and one:sub(from, from + 80)),
        M.shown(other and other:sub(from, from + 80)))
    elseif not one then
      return nil
    end
  end
end

---A value or a body as lines: JSON one value a line.
---@param body any
---@return string
function M.lines_of(body)
  if type(body) == "table" and body.texts then
    body = (body.head or "") .. table.concat(body.texts, "\n")
  elseif body ~= nil and type(body) ~= "string" then
    return json.encode(body, { sorted = true, indent = 2 }) or tostring(body)
  end
  local value = body and body:find("^%s*[{%[]") and json.decode(body)
  return value and json.encode(value, { sorted = true, indent = 2 }) or body or ""
end

local SECRET <const> = { authorization = true, cookie = true, ["proxy-authorization"] = true, ["x-api-key"] = true,
  ["idempotency-key"] = true }

---What differs, each in a line.
---@param was table      a request, checked
---@param is table
---@param placeless fun(text: string): string  takes the runs' own folders out
---@return string[]
function M.differences(was, is, placeless)
  local out = {}
  local function field(request, name)
    local declared = request.declared or {}
    return declared[name] == nil and request[name] or declared[name]
  end
  local function differs(name, a, b)
    if a ~= b and placeless(M.shown(a)) ~= placeless(M.shown(b)) then
      out[#out + 1] = ("%s: %s -> %s"):format(name, M.shown(a), M.shown(b))
    end
  end
  for _, name in ipairs({ "method", "url", "cwd", "session", "name", "event", "seconds", "asked" }) do
    differs(name == "asked" and "question" or name, field(was, name), field(is, name))
  end
  local a, b = field(was, "argv") or {}, field(is, "argv") or {}
  for i = 1, math.max(#a, #b) do
    differs(("argument %d"):format(i - 1), a[i], b[i])
  end
  for _, name in ipairs({ "headers", "env" }) do
    local one, other, all = field(was, name) or {}, field(is, name) or {}, {}
    for _, map in ipairs({ one, other }) do
      for key in pairs(map) do
        all[key] = true
      end
    end
    for _, key in ipairs(names.sorted(all)) do
      if not SECRET[key:lower()] then
        differs(("%s %s"):format(name == "env" and "variable" or "header", key), one[key], other[key])
      end
    end
  end
  for _, name in ipairs({ "stdin", "body", "message" }) do
    local line = M.line(placeless(M.lines_of(field(was, name))), placeless(M.lines_of(field(is, name))))
    out[#out + 1] = line and ("%s, %s"):format(name == "stdin" and "input" or name, line)
  end
  return out
end

return M
