-- agents_matrix_spec.lua: a workflow of three agents, each a real coding agent against a stand-in of its server, and what
-- befalls it: what is recorded, what is asked again, what is paid for again. Runs where `make test-agents` has installed
-- them (SKILLRT_REAL_AGENTS names the folder).
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local folder_of_agents = os.getenv "SKILLRT_REAL_AGENTS"
if not folder_of_agents then
  describe("real coding agents in a workflow", function()
    it("are tried by make test-agents", function() end)
  end)
  return
end

local SCRIPT <const> = [[export const meta = { name: 'hellos', description: 'three agents' }
const one = await agent('Say hello to one.', { label: 'one' })
const more = await parallel(['two', 'three'].map(n => () => agent(`Say hello to ${n}.`, { label: n })))
return [one, ...more]
]]
local LONG_MS <const> = 600 * 1000 -- one of them takes half a minute to begin on a busy machine

-- Waits for what gives a value.
local function until_true(what, get)
  for _ = 1, LONG_MS // 50 do
    local value = get()
    if value then
      return value
    end
    os.execute "sleep 0.05"
  end
  error(what .. " did not come")
end

-- The last record of a run for which this holds.
local function recorded(dir, holds)
  local found
  for _, record in ipairs(R.exists(dir .. "/journal/00000001.sj") and R.records(dir) or {}) do
    found = holds(record) and record or found
  end
  return found
end

local function has_answered(folder, name)
  return recorded(folder.path .. "/r", function(record)
    return record.t == "result" and record.reply and (record.reply.body or ""):find("lo, " .. name, 1, true) -- Gemini says it in pieces
  end)
end

-- The one that is held is under way, and the other has answered.
local function until_two_is_out(folder)
  until_true("a request for two", function() return (folder.read "asked" or ""):find "two hold" end)
  until_true("an answer of three", function() return has_answered(folder, "three") end)
end

local function until_tried_again(folder)
  until_true("an attempt", function()
    return recorded(folder.path .. "/r", function(record) return record.t == "attempt" end)
  end)
  folder.file("mode.two", "ok")
end

-- What befalls it; how the server treats `two`; what happens until the first process ends with this code; what a person
-- does then, each with its exit code; the record of it: its type, its class; how often each is asked, by the journal; how
-- many answers the server gave, where that is not one for each.
local ROWS <const> = {
  { "kill -9 of skillrt", two = "hold", code = nil, happens = function(folder)
    until_two_is_out(folder)
    os.execute("kill -9 " .. folder.read "r/run.lock":match "^%d+")
    folder.file("mode.two", "ok")
  end, { 3, "resume", "r" }, { 0, "answer", "r", "retry" }, recorded = { "doubt" }, asked = { one = 1, two = 2, three = 1 } },

  { "kill -9 of the agent", two = "hold", code = 3, happens = function(folder)
    until_two_is_out(folder)
    local program = until_true("the pid of two", function()
      local call = recorded(folder.path .. "/r", function(record) return record.t == "call" and record.label == "two" end)
      return recorded(folder.path .. "/r", function(record) return record.t == "program" and record.c == call.c end)
    end)
    os.execute(("kill -9 -%d"):format(program.pid))
    folder.file("mode.two", "ok")
  end, { 0, "answer", "r", "retry" }, recorded = { "doubt" }, asked = { one = 1, two = 2, three = 1 } },

  { "an edited script", code = 0, happens = function() end, edit = { "Say hello to %${n}%.", "Say a warm hello to ${n}." },
    { 0, "resume", "r", "--trust", "--accept-changes" }, asked = { one = 1, two = 2, three = 2 }, paid = { two = 2, three = 2 } },

  { "a usage limit", agents = "claude", two = "429 usage_limit_reached Claude AI usage limit reached|{soon}", code = 5,
    happens = function(folder)
    until_true("its refusal", function()
      return recorded(folder.path .. "/r", function(record) return record.t == "stop" and record.reason == "waiting_for_time" end)
    end)
    folder.file("mode.two", "ok")
  end, { 0, "resume", "r", "--wait" }, recorded = { "attempt", "rate_limit" }, asked = { one = 1, two = 2, three = 1 } },

  -- with a key, Codex says of any 429 neither the words nor a time: it is asked as often as any that is refused
  { "a usage limit", agents = "codex", two = "429 usage_limit_reached The limit is reached", code = 1,
    happens = function(folder)
    until_true("its end", function()
      return recorded(folder.path .. "/r", function(record) return record.t == "stop" and record.reason == "agents_failed" end)
    end)
    folder.file("mode.two", "ok")
  end, { 0, "resume", "r" }, recorded = { "attempt", "rate_limit" }, asked = { one = 1, two = 5, three = 1 } },

  -- Gemini names no time: it waits a quarter of an hour, and asks nobody before that
  { "a usage limit", agents = "gemini:gemini-2.5-flash", two = "429 RESOURCE_EXHAUSTED The quota is used", code = 5,
    happens = function() end, waits = true, { 5, "resume", "r" }, recorded = { "attempt", "rate_limit" },
    asked = { one = 1, two = 1, three = 1 } },

  { "a usage limit with another agent behind it", agents = "gemini:gemini-2.5-flash", behind = ",codex",
    two = "429 RESOURCE_EXHAUSTED The quota is used", code = 0, happens = function(folder)
    until_true("its refusal", function() return (folder.read "asked" or ""):find "two 429" end)
    folder.file("mode.two", "ok")
  end, asked = { one = 1, two = 2, three = 1 } },

  { "OPENAI_API_KEY alone, which Codex does not read, and then its login", agents = "codex", alone = true, code = 1,
    happens = function(folder)
    until_true("its end", function()
      return recorded(folder.path .. "/r", function(record) return record.t == "stop" end)
    end)
    folder.file("home/.codex/auth.json", '{"auth_mode":"apikey","OPENAI_API_KEY":"sk-key-right"}')
  end, { 0, "resume", "r" }, asked = { one = 2, two = 2, three = 2 } },

  { "a cut stream", two = "cut", code = 0, happens = until_tried_again, recorded = { "attempt", "transient" },
    asked = { one = 1, two = 2, three = 1 } },
  { "HTTP 529", two = "529 overloaded_error Overloaded", code = 0, happens = until_tried_again,
    recorded = { "attempt", "rate_limit" }, asked = { one = 1, two = 2, three = 1 } },
  { "a wrong key", key = "wrong", code = 1, happens = function() end, { 0, "resume", "r" },
    recorded = { "note" }, asked = { one = 2, two = 2, three = 2 } },
}

-- What a program finds around it.
local function environment(folder, row, key)
  local server = "http://127.0.0.1:" .. folder.read "port":match "%d+"
  local env = { SKILLRT_SANDBOX = "off", HOME = folder.path .. "/home", ANTHROPIC_API_KEY = "sk-key-" .. key,
    CODEX_API_KEY = "sk-key-" .. key, GEMINI_API_KEY = "sk-key-" .. key, ANTHROPIC_BASE_URL = server,
    OPENAI_BASE_URL = server .. "/v1", GOOGLE_GEMINI_BASE_URL = server, CLAUDE_CODE_MAX_RETRIES = "0",
    GEMINI_CLI_TRUST_WORKSPACE = "true" }
  if row.alone then
    env.CODEX_API_KEY, env.OPENAI_API_KEY = nil, env.CODEX_API_KEY
  end
  local words = { ("PATH='%s/node_modules/.bin':$PATH"):format(folder_of_agents) }
  for name, value in pairs(env) do
    words[#words + 1] = ("%s='%s'"):format(name, value)
  end
  return table.concat(words, " "), row
end

local function befallen(row, agent)
  local folder <close> = kit.folder()
  assert(os.execute(("mkdir -p '%s/home/.gemini' '%s/home/.codex'"):format(folder.path, folder.path)))
  folder.file("home/.gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}}}')
  folder.file("hellos.js", SCRIPT)
  folder.file("mode.two", ((row.two or "ok"):gsub("{soon}", tostring(os.time() + 90))))
  local _ <close> = assert(io.popen(("node tests/support/model_server.js '%s'"):format(folder.path), "w"))
  until_true("the server", function() return folder.read "port" end)
  local run = kit.start(folder, { "run", "hellos.js", "--trust", "--agent", agent .. (row.behind or ""), "--work-dir", "r",
    env = environment(folder, row, row.key or "right") })
  row.happens(folder)
  local seen = run.wait(LONG_MS)
  assert.equal(row.code or 137, seen.code, seen.out .. seen.err)
  if row.edit then
    folder.file("hellos.js", (SCRIPT:gsub(row.edit[1], (row.edit[2]:gsub("%%", "%%%%")))))
  end
  for _, step in ipairs({ table.unpack(row, 2) }) do
    local words = { table.unpack(step, 2) }
    words.env = environment(folder, row, "right")
    seen = kit.start(folder, words).wait(LONG_MS)
    assert.equal(step[1], seen.code, table.concat(words, " ", 1, 2) .. "\n" .. seen.out .. seen.err)
  end
  local result = json.decode(folder.read "r/state.json").result
  assert.same(not row.waits and { "Hello, one.", "Hello, two.", "Hello, three." } or nil, result and { table.unpack(result) })
  local asked = { one = 0, two = 0, three = 0 }
  for _, record in ipairs(R.records(folder.path .. "/r")) do
    if record.t == "call" and record.label then
      asked[record.label] = asked[record.label] + 1
    end
  end
  assert.same(row.asked, asked)
  local type, class = table.unpack(row.recorded or {})
  assert.truthy(not type or recorded(folder.path .. "/r", function(record)
    return record.t == type and record.class == class
  end), type)
  local function answers(name) return select(2, folder.read "asked":gsub(name .. " ok\n", "")) end
  local each = answers "one" -- requests of one answer: Claude Code also asks for a title
  for _, name in ipairs { "two", "three" } do
    local paid = name == "two" and row.waits and 0 or row.paid and row.paid[name] or 1
    assert.equal(row.behind and name == "two" and 1 or each * paid, answers(name), name .. "\n" .. folder.read "asked")
  end
end

describe("a workflow of three agents", function()
  after_each(R.clean)
  for _, agent in ipairs { "claude", "codex", "gemini:gemini-2.5-flash" } do
    for _, row in ipairs(ROWS) do
      if (row.agents or agent):find(agent, 1, true) then
        it(("(%s) and %s: what was answered is asked and paid for once"):format(agent, row[1]), function()
          befallen(row, agent)
        end)
      end
    end
  end
end)
