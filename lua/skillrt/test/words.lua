-- test/words.lua: the words of a spec, as in busted: describe, it, pending, before_each, after_each, setup, teardown,
-- finally; and the tests that they define.
--
-- Small and our own: an installation has no busted, and a skill's tests must run where the skill does. Knows no
-- skills and no runs.

local environment = require("skillrt.base.environment")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.test.Block
---@field name string
---@field above skillrt.test.Block|nil
---@field children table[]  blocks and tests, in their order
---@field before function[]
---@field after function[]
---@field setup function[]
---@field teardown function[]

local function block(name, above)
  return { name = name, above = above, children = {}, before = {}, after = {}, setup = {}, teardown = {} }
end

---The words that add to a block, for the environment of a spec.
---@param root skillrt.test.Block
---@return table<string, any>
local function words(root)
  local current, out = root, {}
  local function nested(name, body)
    local inner = block(name, current)
    table.insert(current.children, inner)
    local before = current
    current = inner
    local ok, problem = pcall(body)
    current = before
    if not ok then
      inner.problem = problem
    end
  end
  local function test(name, body)
    local at = debug.getinfo(2, "Sl")
    table.insert(current.children, { test = name, body = body, above = current,
      line = ("%s:%d"):format(at.short_src, at.currentline) })
  end
  local function pending(name)
    if M.running then
      error({ pending = name or "" }, 0)
    end
    table.insert(current.children, { test = name, above = current })
  end
  out.describe, out.it, out.pending = nested, test, pending
  for word, list in pairs({ before_each = "before", after_each = "after", setup = "setup", teardown = "teardown" }) do
    out[word] = function(fn)
      table.insert(current[list], fn)
    end
  end
  function out.finally(fn)
    table.insert(M.running or error("finally: call it inside a test", 2), fn)
  end
  function out.fail(message)
    error({ failure = message or "failed" }, 0)
  end
  return out
end

---The tests of a file, as one block.
---@param path string
---@param text string
---@param env table  the environment of a spec, besides the words
---@return skillrt.test.Block
function M.read(path, text, env)
  local root = block("")
  root.file = path
  tables.fill(env, words(root))
  local chunk, problem = environment.chunk(text, "@" .. path, env)
  local ok = chunk ~= nil
  if chunk then
    ok, problem = xpcall(chunk, function(raised)
      return type(raised) == "table" and raised or debug.traceback(tostring(raised), 2)
    end)
  end
  root.problem = not ok and problem or nil
  return root
end

---The full name of a test.
---@param test table
---@return string
function M.name_of(test)
  local names = { test.test }
  local at = test.above
  while at and at.name ~= "" do
    table.insert(names, 1, at.name)
    at = at.above
  end
  return table.concat(names, " ")
end

return M
