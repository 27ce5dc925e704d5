-- cli/command/graph.lua: `skillrt graph PATH`: draws a skill (actions, phases, states, and the transitions between
-- them) or a run (its steps and agents). Changes nothing.

local M = {
  name = "graph",
  looks = true,
  summary = "Shows a skill or a run as a graph: lines of text, Mermaid or SVG",
  description = "An edge between two actions means that an effect of the first can make a condition of the second "
    .. "true. A machine is drawn by its states, a run by its steps, phases and agents with results, "
    .. "durations and tokens, a workflow script by its phases and the agents that it asks in a dry run.",
  arguments = { { name = "PATH", is_skill = "first",
    help = "a skill's folder, script, skill-config.json, workflow.json or agent.yml; or "
      .. "the directory of a run" } },
  rest = "TASK ...",
  options = {
    {
      name = "format",
      value = "FORMAT",
      choices = { "text", "mermaid", "svg" },
      help = "text (the default on a terminal), mermaid (the default elsewhere) or svg; with --output the file's "
        .. "extension decides",
    },
    { name = "run", value = "DIR", help = "a run of the machine, whose path is drawn" },
    { name = "output", short = "o", value = "FILE", help = "writes to FILE instead of standard output" },
    require("skillrt.cli.trust").OPTION,
  },
}

local BY_NAME = { svg = "svg", txt = "text", mmd = "mermaid", md = "mermaid" }

local function put(text, args, output)
  if not args.output then
    output.write(text)
    return 0
  end
  local ok, message, code = require("skillrt.base.files").write(args.output, text)
  return ok and 0 or nil, message, code
end

---@param args table
---@return integer|nil code
function M.run(args)
  local graph_of = require "skillrt.document.graph"
  local output = require "skillrt.report.output"
  local columns = not args.output and output.is_terminal(1) and (output.size(1) or 80) or nil
  local format = args.format or BY_NAME[(args.output or ""):match "%.(%w+)$"] or columns and "text" or "mermaid"
  local run_of = require "skillrt.document.graph.run"
  local of = run_of.is_run(args.path) and run_of or graph_of
  local graph, message, code = of.of(args.path, args.run, args.rest)
  if not graph then
    return nil, message, code
  end
  return put(graph_of.text(graph, format, columns), args, output)
end

return M
