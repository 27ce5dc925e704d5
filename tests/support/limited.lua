-- limited.lua: what specs of limits have in common: requests that ask nobody, actions that call so often.
local R = require "tests.support.runs"

local M = {}

---A command that only answers.
function M.echo(more)
  local request = { kind = "command", argv = { "true" }, acts = false }
  for key, value in pairs(more or {}) do
    request[key] = value
  end
  return request
end

---How often the steps of a run called.
function M.calls_of(dir)
  return #R.records(dir, "call")
end

---An action that calls so often, side by side.
function M.mapping(count, request, options)
  return { id = "m", run = function(_, ctx)
    local list = {}
    for i = 1, count do list[i] = i end
    ctx.map(list, function()
      return assert(ctx.await(request)).code
    end, options)
    return { done = true }
  end }
end

return M
