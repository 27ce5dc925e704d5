-- run/ctx/tools.lua: the skill's tools and MCP servers, used by a step's function without a model.
--
-- Loaded on first use. Part of ctx.lua.

local approval = require("skillrt.tool.approval")
local cut = require("skillrt.base.text").cut
local files = require("skillrt.base.files")
local privileges = require("skillrt.base.privileges")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local names = require("skillrt.base.names")
local result_of = require("skillrt.tool.result")
local task_of = require("skillrt.run.task")

local M = {}

-- The use of a tool of the skill as one entry in the journal.
local function use(ctx, task, tool, arguments)
  local text = assert(json.encode(arguments, { sorted = true }))
  local named = { name = tool.name, digest = files.digest(text):sub(1, 32), shown = cut(text, 200) }
  local said = privileges.of(ctx).use(named, function()
    local ok, why = json_schema.judge(tool.judged or tool.input, arguments, "the input")
    if ok then
      ok, why = approval.given(ctx, tool, arguments, task)
    end
    local given, message
    if ok then
      given, message = result_of.guarded(tool, ctx, arguments, task)
    end
    return { text = given, message = not given and tostring(message or why) or nil },
      given and tool.wrote and tool:wrote(task, arguments)
  end)
  return said.text, said.message, not said.text and "permanent" or nil
end

---Uses a tool of the skill, or one of a server (mcp__SERVER__TOOL): returns its result; or nil, message, class.
function M.tool(self, name, arguments, options)
  local run, ctx = self.run, self.ctx
  if type(name) ~= "string" then
    error("ctx.tool: needs the name of a tool, not " .. names.show(name), 2)
  end
  local tool = run.skill.tools and run.skill.tools[name]
  local task = task_of.new(run, self.step, self.steps:definition_of(self.step), options)
  if tool then
    return use(ctx, task, tool, arguments or {})
  elseif task.mcp and name:find("^mcp__") then
    return require("skillrt.tool.mcp").call(ctx, task, name, arguments or {}, options)
  end
  error(("ctx.tool: there is no tool %s%s"):format(names.show(name), names.suggest(name, run.skill.tools or {})), 2)
end

-- What a script may do with a server (docs/write/mcp.md). It gets no client, which has the ctx and the server's
-- declaration: by these a stranger's would reach what its own ctx refuses.
local OFFERED <const> = { "tools", "resources", "prompts", "call", "read", "prompt" }

---A server of the skill, for requests other than tools.
function M.mcp(self, name)
  if type(name) ~= "string" then
    error("ctx.mcp: needs the name of a server, not " .. names.show(name), 2)
  end
  local task = task_of.new(self.run, self.step, self.steps:definition_of(self.step))
  local client, message = require("skillrt.tool.mcp").client(self.ctx, name, { mcp = task.mcp or { servers = {} } })
  if not client then
    error("ctx.mcp: " .. message, 2)
  end
  local face = {}
  for _, method in ipairs(OFFERED) do
    face[method] = function(_, ...)
      return client[method](client, ...)
    end
  end
  return face
end

return M
