-- docs_tables_spec.lua: the tables of docs/write/skills.md, agents.md, steps.md and docs/reference name what there is, all
-- of it, and no more.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local json = require "skillrt.base.json"
local pages = require "tests.support.pages"
local prompt = require "skillrt.agent.prompt"
local request = require "skillrt.agent.request"
local schema = require "skillrt.skill.schema"
local skillrt = require "skillrt"

local page, agents, steps = pages.read "docs/write/skills.md", pages.read "docs/write/agents.md", pages.read "docs/write/steps.md"

-- The part of the page from here to there.
local function part(from, to, of)
  of = of or page
  local _, at = of:find(from, 1, true)
  local stop = at and of:find(to, at, true)
  return of:sub(assert(at, "no page says " .. from), assert(stop, "... nor " .. to) - 1)
end

-- The names in the first cells of the part's tables; `a.b`, `c` means a.b and a.c.
local function named(text)
  local names = {}
  for cell in text:gmatch "\n| ([^|]+) |" do
    local prefix = cell:match "^`([%w_]+%.)" or ""
    for name in cell:gmatch "`([%w_.]+)`" do
      names[name:find(".", 1, true) and name or prefix .. name] = true
    end
  end
  return names
end

local function flat(fields, prefix, into)
  for name, field in pairs(fields) do
    if field.fields then
      flat(field.fields, name .. ".", into)
    else
      into[prefix .. name] = not field.ours or nil
    end
  end
  return into
end

-- The fields that are known beside this one where `make` has a definition checked, but for those
-- nobody writes.
local function known(make, beside, left_out)
  local found, original = nil, schema.record
  schema.record = function(definition, fields, ...)
    found = fields[beside] and fields or found
    return original(definition, fields, ...)
  end
  make()
  schema.record = original
  local names = flat(found, "", {})
  for name in left_out:gmatch "%S+" do
    names[name] = nil
  end
  return names
end

local function skill_of(more)
  more.name = "tables"
  return function() skillrt.skill(more) end
end

local ONE = { { id = "a", run = function() end } }

describe("docs/write/mcp.md", function()
  it("names the fields of a server, and the manual those that it names", function()
    local server = require "skillrt.tool.mcp.server"
    local told = named(part("## What is said of a server", "\n## ", pages.read "docs/write/mcp.md"))
    local function make() assert(server.check("x", { url = "http://x" }, "s")) end
    assert.same(known(make, "max_restarts", "type"), told)
    local manual = pages.read "docs/skillrt.1":match '\n%.SH MCP SERVERS\n(.-)\n%.SH '
    for name in pairs(told) do assert.truthy(manual:find(name:gsub("-", "\\-"), 1, true), name) end
  end)
end)

describe("docs/write/skills.md", function()
  it("names the fields of a skill, of actions and of phases", function()
    local fields = named(part("## A skill", "### Inputs") .. part("## Limits", "## Exit codes", pages.read "docs/reference/ends.md"))
    fields.limits = nil
    assert.same(known(skill_of { actions = ONE }, "strategy", ""), fields)
    local action = named(part("## Actions", "## Phases"))
    assert.same(known(skill_of { actions = ONE }, "effects", ""), action)
    for _, name in ipairs { "priority", "max_runs", "repeatable", "resumable", "terminal", "optional", "cost" } do
      action[name] = nil
    end
    for name in pairs(named(part("## Phases", "## Steps and calls"))) do
      action[name] = true
    end
    assert.same(known(skill_of { phases = ONE }, "effects", ""), action)
  end)

  it("names the fields of agents and the placeholders", function()
    local function command() agent.command { "true" } end
    local function http() agent.http { url = "http://127.0.0.1/" } end
    local text = part("**`command`**", "**`http`**", agents)
    assert.same(known(command, "argv", "argv name kind"), named(text))
    local roots, told = require("skillrt.agent.values").ROOTS, {}
    for name in text:match("\nPlaceholders:(.*)"):gmatch "{([%l_]+)[%w_.]*}" do
      told[name] = true
    end
    assert.same(setmetatable({ env = true }, { __index = roots }).env, told.env)
    told.env = nil
    assert.same(roots, told)
    assert.same(known(http, "url", "name kind"), named(part("**`http`**", "The request carries", agents)))
  end)

  it("names what an HTTP agent is sent (R31)", function()
    local sent = {}
    for kind, step in pairs { action = { id = "a", tools = { "t" } }, phase = { id = "b", tools = { "t" } } } do
      local call = {
        kind = kind, [kind] = step, run_id = "r", skill = "s", step = 1, attempt = 1,
        store = require("skillrt.run.store").at "/w", inputs = { "/w/i" },
        output = "/w/o", item = { 1 }, index = 1,
        specs = { { name = "s", path = "/s", size = 1, text = "x" } }, context_strategy = "file", state_text = "{}",
      }
      local one = agent.http { url = "http://127.0.0.1/", tool = "t", mode = "m" }
      for name in pairs(json.decode((assert(prompt.task(call, "text", one))))) do
        sent[name] = true
      end
    end
    assert.same(named(part("The request carries", "What comes from the state", agents)), sent)
  end)

  it("names the fields of the requests that are awaited", function()
    local common = "idempotent usage expect judge secrets take retry key acts shown label phase"
      .. " pure declared prompt show gate theirs model converses"
    local rows = part("| request | more fields | reply |", "The members of a chain", steps)
    for kind, written in pairs { http = "kind url", command = "kind argv", sleep = "kind seconds until_ timeout idle_timeout" } do
      local more = rows:match("kind = \"" .. kind .. "\"[^|]*|([^|]*)|")
      local told = {}
      for name in more:gmatch "[%l_]+" do
        told[name] = true
      end
      local function check() request.check { kind = kind } end
      assert.same(known(check, "kind", written .. " " .. common), told, kind)
    end
    local all = {}
    for name in common:gmatch "%S+" do
      all[name] = true
    end
    assert.same(all, named(part("What every request may say:", "## Sub-runs", steps)))
    local retry = steps:match "| `retry` |[^|]*|([^|]*)|"
    for name in pairs(request.RETRY) do
      assert.truthy(retry:find("`" .. name .. "`", 1, true), "docs/write/steps.md: retry: says nothing of " .. name)
    end
  end)

  it("name every file that another system would have to replace", function()
    local architecture = pages.read "docs/inside/architecture.md"
    local said, there = {}, {}
    for cell in part("## Other systems", "## The simulator", architecture):gmatch "\n| ([^|]*) |" do
      for name in cell:gmatch "`([^`]+%.%l+)`" do said[name] = true end
    end
    for _, root in ipairs { "csrc", "lua/skillrt" } do
      local pipe <close> = assert(io.popen("find " .. root .. " -name '*.c' -o -name '*.lua'"))
      for path in pipe:lines() do
        local name, text = path:sub(#root + 2), pages.read(path):gsub("/%*.-%*/", ""):gsub("%-%-[^\n]*", "")
        local found = text:find "/proc/" or text:find "%f[%w_]inotify_[%w_]+%(" or text:find "%f[%w_]accept4%("
          or text:find "EPOLL" or text:find "%f[%w_]SYS_%l+" or text:find "memfd_create%(" or text:find "%f[%w_]pipe2%("
        there[name] = found and not name:find "^jail/" and true or nil
      end
    end
    assert.same(there, said)
  end)
end)
