-- A model that uses tools: functions, a program that may not be repeated, files written and edited, one that was not
-- present. What it says is written by the first action, as it names the run's folder; the server answers by the turns
-- that a request holds (/talk of tests/support/http_server.h).
local skillrt = require "skillrt"

local function call(id, name, arguments)
  return ('{"type":"tool_use","id":"%s","name":"%s","input":%s}'):format(id, name, arguments)
end

local function reply(content, stop)
  return ('{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[%s],'
    .. '"stop_reason":"%s","usage":{"input_tokens":9,"output_tokens":9}}'):format(content, stop)
end

local function says(notes)
  local path = ('{"path":"%s"'):format(notes)
  return {
    { call("a", "note", '{"n":"one"}'), call("b", "write_file", path .. ',"content":"one two"}'),
      call("c", "once", "{}") },
    { call("d", "edit", path .. ',"old":"two","new":"two two"}'), call("e", "once", "{}"),
      call("f", "echo", '{"text":"x"}'), call("g", "echo", '{"text":"y"}') },
    { call("h", "nowhere", "{}"), call("i", "note", '{"n":2}'), call("j", "note", '{"n":"two"}') },
    { call("k", "read_file", path .. "}"), call("l", "edit", path .. ',"old":"one","new":"1"}') },
  }
end

local function word(more)
  return { type = "object", properties = { [more] = { type = "string" } }, required = { more } }
end

return skillrt.skill {
  name = "crash-tools", mode = "autonomous", retry = { base = 0.001, jitter = false },
  tools = {
    note = { description = "Takes a note", input = word "n", run = function(input) return "noted " .. input.n end },
    once = { description = "Acts", command = { "printf", "%s", "acted" } },
    echo = { description = "Says it", input = word "text", command = { "printf", "%s", "{text}" }, acts = false },
    write_file = true, edit = true, read_file = true,
  },
  agents = { model = skillrt.agent.anthropic { url = os.getenv "CRASH_URL", stream = false } },
  actions = {
    { id = "prepare", priority = 20, run = function(_, ctx)
      for i, calls in ipairs(says(ctx.work_dir .. "/notes.md")) do
        local file <close> = assert(io.open(("%s/%d"):format(os.getenv "CRASH_TALK", i - 1), "w"))
        file:write(reply(table.concat(calls, ","), "tool_use"))
      end
      local file <close> = assert(io.open(os.getenv "CRASH_TALK" .. "/4", "w"))
      local answer = [[{"type":"text","text":"{\"status\":\"completed\",\"stateUpdates\":{\"ok\":true}}"}]]
      file:write(reply(answer, "end_turn"))
      return { prepared = true }
    end },
    { id = "work", priority = 10, when = "prepared", agent = "model", prompt = "do it well" },
  },
}
