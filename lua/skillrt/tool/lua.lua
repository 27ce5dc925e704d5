-- tool/lua.lua: a tool that is a function of the script: run(arguments, ctx) returns a text or a value, or nil and a
-- message for the model.
--
-- It may wait, like an action's function. If it `acts` itself, it is performed as a call with its own intent, and
-- must not wait.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")

local M = {}

M.FIELDS = {
  run = { type = "function", required = true },
  description = { type = "text", required = true },
}

-- The function's result, as a text.
local function told(name, value, message)
  if value == nil and message ~= nil then
    return nil, names.said(message)
  elseif type(value) == "string" then
    return value
  elseif value == nil then
    return "done"
  end
  local text, why = json.encode(value, { sorted = true })
  if not text then
    return nil, ("%s returned a value that is not JSON: %s"):format(name, why)
  end
  return text
end

local function perform(tool, ctx, arguments)
  if not tool.acts then
    return told(tool.name, tool.run(arguments, ctx))
  end
  local reply, message = ctx.await({
    kind = "local", name = tool.name, idempotent = tool.idempotent,
    run = function() return told(tool.name, tool.run(arguments, ctx)) end,
  })
  return reply and reply.value, message
end

---@param given table
---@return table parts
function M.make(given)
  given.perform = perform
  return given
end

return M
