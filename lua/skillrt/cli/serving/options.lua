-- cli/serving/options.lua: what the serving commands, mcp and serve, share: their options, and the skills and runs
-- that these name.

local core = require("skillrt.core")
local tables = require("skillrt.base.tables")

local M = {}

---@type skillrt.Option[]
local COMMON <const> = {
  { name = "runs", value = "DIR", help = "the folder for runs, or the URL of a database; default: the project's" },
  {
    name = "limit",
    value = "LIMIT=NUMBER",
    many = true,
    help = "caps a limit of every run: calls=50, usage.dollars=2; a lower limit of the skill stays",
  },
  { name = "at-once", value = "N", help = "the most runs at the same time; default: 8" },
  require("skillrt.cli.agent").OPTION,
  require("skillrt.cli.agent").ENV_OPTION,
  require("skillrt.cli.trust").OPTION,
}

---The options of a serving command: the common ones and its own.
---@param own skillrt.Option[]
---@return skillrt.Option[]
function M.options(own)
  return tables.append(tables.append({}, COMMON), own)
end

-- The words that pass one of our options on.
local function words_of(args, names)
  local words = {}
  for _, name in ipairs(names) do
    local given = args[name:gsub("%-", "_")]
    for _, value in ipairs(type(given) == "table" and given or { given }) do
      words[#words + 1], words[#words + 2] = "--" .. name, value
    end
  end
  return words
end

-- Remembers what may run for the processes of the runs; asks no person here.
local function trust_all(skills, agent)
  local gate = require("skillrt.document.gate")
  for _, one in ipairs(skills) do
    local ok, message = gate.pass(one.path, nil, nil, { agent = agent })
    if not ok then
      return nil, message
    end
  end
  return true
end

---What a command line serves.
---@param args table  path: skills, and folders with skills
---@return { skills: table[], runs: table, paths: string[] }|nil served
---@return string? message
function M.read(args)
  args.quiet = true -- standard output is a client's or closed, so the gate cannot ask
  local paths = args.path or {}
  local skills, message = require("skillrt.cli.serving.catalog").find(paths)
  local at_once = math.tointeger(tonumber(args.at_once or 8))
  local _, wrong = require("skillrt.cli.settings").amounts(args.limit, "--limit")
  if not skills or wrong then
    return nil, wrong or message
  elseif not at_once or at_once < 1 or at_once > 40 then
    return nil, "--at-once: must be a whole number from 1 to 40"
  elseif args.trust then
    local ok, why = trust_all(skills, (require("skillrt.cli.agent").read(args.agent, args.agent_env)))
    if not ok then
      return nil, why
    end
  end
  local agent = words_of(args, { "agent", "agent-env" })
  local words = tables.append({}, agent)
  for _, limit in ipairs(args.limit or {}) do
    words[#words + 1], words[#words + 2] = "--at-most", limit
  end
  local runs = require("skillrt.cli.serving.runs").new({ folder = args.runs or require("skillrt.run.folder").path(),
    at_once = at_once, words = words, agent = agent, raise = args.raise })
  return { skills = skills, runs = runs, paths = paths }
end

---The descriptions of the served skills, as JSON.
---@param skills table[]
---@param args table
---@return string
function M.described(skills, args)
  local list, agent = core.json.array({}), require("skillrt.cli.agent").read(args.agent, args.agent_env)
  for i, one in ipairs(skills) do
    list[i] = require("skillrt.cli.serving.catalog").describe(one, agent)
  end
  return assert(core.json.encode({ skills = list }))
end

return M
