-- cli/command/mcp.lua: `skillrt mcp PATH ...`: serves skills as tools of the Model Context Protocol over standard input
-- and output, so that a coding agent or an editor starts and watches durable runs.

local core = require("skillrt.core")
local tables = require("skillrt.base.tables")

local M = {
  name = "mcp",
  summary = "Serves skills as MCP tools over stdio: list, run, status, answer, resume, stop, log, explain",
  description = "A client such as Claude Code or an editor starts it. Each run is a separate process that "
    .. "continues after the client disconnects. A folder's code runs only after a person has approved it, with --trust "
    .. "here or with skillrt run --trust; a client cannot approve it. A client may lower limits, but not raise them.",
  arguments = { { name = "PATH", many = true, help = "a skill, or a folder with skills" } },
  options = {
    { name = "runs", value = "DIR", help = "the folder for runs; default: runs" },
    {
      name = "limit",
      value = "LIMIT=NUMBER",
      many = true,
      help = "caps a limit of every run: calls=50, usage.dollars=2; a lower limit of the skill stays",
    },
    { name = "raise", help = "lets clients raise the limit that a run has paused at" },
    { name = "at-once", value = "N", help = "the most runs at the same time; default: 8" },
    require("skillrt.cli.agent").OPTION,
    require("skillrt.cli.agent").ENV_OPTION,
    require("skillrt.cli.trust").OPTION,
    { name = "list", help = "prints what is served as JSON, and exits" },
  },
}

local MOST_LINES <const> = 64 -- taken before others have their turn

-- The words that hand an option of ours on.
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

-- What may run is remembered for the processes of the runs; nobody is asked here.
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

local function show(skills, args)
  local list = core.json.array({})
  local agent = require("skillrt.cli.agent").read(args.agent, args.agent_env)
  for i, one in ipairs(skills) do
    list[i] = require("skillrt.cli.mcp.catalog").describe(one, agent)
  end
  require("skillrt.report.output").write(assert(core.json.encode({ skills = list })) .. "\n")
  return 0
end

-- Takes lines until none comes any more, and all that was asked is answered.
local function serve(server)
  local lines = core.serve.lines(require("skillrt.cli.mcp.server").LONGEST)
  while server.open do
    local left, why = MOST_LINES
    repeat
      local text
      text, why = lines:next()
      left = left - 1
      if text or why == "long" then
        server:take(text)
      end
    until left == 0 or why == "none" or why == "closed" or not server.open
    server:advance(why == "closed")
    if why == "closed" and server.count == 0 then
      break
    elseif not core.serve.wait(left == 0 and 0 or server:patience(), lines, server.runs:watched()) then
      return require("skillrt.cli.exit_codes").interrupted
    end
  end
  return 0
end

---@param args table
---@return integer code
function M.run(args)
  args.quiet = true -- standard output is a client's: the gate asks nobody
  local ending, settings = require("skillrt.cli.ending"), require("skillrt.cli.settings")
  local skills, message = require("skillrt.cli.mcp.catalog").find(args.path)
  local at_once = math.tointeger(tonumber(args.at_once or 8))
  local _, wrong = settings.amounts(args.limit, "--limit")
  if not skills or wrong then
    return ending.refused(wrong or message, "invalid")
  elseif not at_once or at_once < 1 or at_once > 40 then
    return ending.refused("--at-once: must be a whole number from 1 to 40", "invalid")
  end
  if args.trust then
    local ok, why = trust_all(skills, (require("skillrt.cli.agent").read(args.agent, args.agent_env)))
    if not ok then
      return ending.refused(why, "invalid")
    end
  end
  if args.list then
    return show(skills, args)
  end
  local agent = words_of(args, { "agent", "agent-env" })
  local words = tables.append({}, agent)
  for _, limit in ipairs(args.limit or {}) do
    words[#words + 1], words[#words + 2] = "--at-most", limit
  end
  local runs = require("skillrt.cli.mcp.runs").new({ folder = args.runs or "runs", at_once = at_once, words = words,
    agent = agent, raise = args.raise })
  return serve(require("skillrt.cli.mcp.server").new({ runs = runs, skills = skills, paths = args.path,
    agent = agent }))
end

return M
