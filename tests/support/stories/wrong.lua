-- wrong.lua: stories of definitions, calls and command lines that are wrong in each of their fields: transcripts.lua.
-- luacheck: no max line length

-- What the scripts below share.
local SHOWN <const> = [[
local skillrt, names = require "skillrt", require "skillrt.base.names"
local function shown(value)
  if type(value) ~= "table" then
    return type(value):find "^[fu]" and "a " .. type(value) or names.show(value)
  end
  local list = getmetatable(value) == nil and value[1] == nil and names.sorted(value)
  return list and "{ " .. names.listed(list, 12) .. " }" or "a list"
end
local function try(line, say, ...)
  local results = table.pack(pcall(assert(load("local skillrt, ctx, skill, itself = ... return " .. line, "=line")), skillrt, ...))
  local words = {}
  for i = 2, results.n do words[#words + 1] = type(results[i]) == "string" and results[i]:match "^[^\n]*" or shown(results[i]) end
  say((results[1] and "%s: %s" or "%s: raises %s"):format(line, table.concat(words, " | ")))
end
]]

local WALK <const> = SHOWN .. [[
local function below(whole, path)
  for _, key in ipairs(path) do whole = whole[key] end
  return whole
end
-- Puts each of these values into each field of what `base` gives, and prints what is said that is not said of `base`
-- itself; values of which the same is said stand together.
local function walk(path, base, said_of, values, words)
  local usual, keys = {}, {}
  for _, one in ipairs(said_of(base())) do usual[one] = true end
  for key in pairs(below(base(), path)) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local order, of = {}, {}
    for i, value in ipairs(values) do
      local whole, new = base(), {}
      below(whole, path)[key] = value
      for _, one in ipairs(said_of(whole)) do new[#new + 1] = not usual[one] and one or nil end
      local message = table.concat(new, " // "):gsub("\n", " // "):gsub("not " .. names.show(value):gsub("%p", "%%%0"), "not _")
      if new[1] and not of[message] then of[message], order[#order + 1] = {}, message end
      if new[1] then table.insert(of[message], words[i] or names.show(value)) end
    end
    for _, message in ipairs(order) do
      print(("%s %s: %s"):format(table.concat(path, ".") .. (path[1] and "." or "") .. key, table.concat(of[message], ", "), message))
    end
    if type(below(base(), path)[key]) == "table" then
      path[#path + 1] = key
      walk(path, base, said_of, values, words)
      path[#path] = nil
    end
  end
end
]]

return {
  { "fields with values of other kinds", "fields.lua", nil, { ["fields.lua"] = SHOWN .. [[
-- Tries values in each field, and prints what is said of them: those of which the same is said stand together.
local VALUES <const> = { true, -1, 0.5, 3, "", "word", "two words", "../x", {}, { 1 }, { a = 1 }, print }
local WORDS <const> = { [9] = "{}", [10] = "{ 1 }", [11] = "{ a = 1 }", [12] = "print" }
local function tried(what, fields, make)
  for field in fields:gmatch "%S+" do
    local order, of = {}, {}
    for i, value in ipairs(VALUES) do
      local ok, message = pcall(function() return skillrt.skill(make(field, value)) end)
      if not ok then
        message = tostring(message):gsub("^%S+:%d+: ", ""):gsub("not " .. names.show(value):gsub("%p", "%%%0"), "not _")
        if not of[message] then of[message], order[#order + 1] = {}, message end
        table.insert(of[message], WORDS[i] or names.show(value))
      end
    end
    for _, message in ipairs(order) do
      print(("%s.%s %s: %s"):format(what, field, table.concat(of[message], ", "), message))
    end
  end
end
local function run() end
local function in_skill(put)
  return function(field, value)
    local skill = { name = "s", actions = { { id = "x", run = run } } }
    put(skill, field, value)
    return skill
  end
end
-- Of a table at this key of the skill, which holds a field already.
local function below(key, base)
  return in_skill(function(skill, field, value)
    local one = base()
    one.is[field] = value
    skill[key] = one.whole or one.is
  end)
end
local function made(is, whole) return { is = is, whole = whole and whole(is) } end

tried("skill", "name version description mode state schema context durability sandbox agents tools roots mcp tool_sets bind switching optional_tools actions phases rounds inputs machine goal invariants terminate strategy limits retry on_error on_loop_failed on_indoubt records specs project interaction protocol timeouts notify ask_on_tie preconditions nmae",
  in_skill(function(skill, field, value) skill[field] = value end))
tried("action", "id name when effects run agent skill prompt tools tool_set keeps idempotent checkpoint timeout max_retries limits on_error max_errors output each writes_context priority cost max_runs repeatable resumable terminal optional prepare validate repair cleanup undo sources alternative interaction prompt_keys prompt_bytes precondition inputt",
  in_skill(function(skill, field, value) skill.actions[1][field] = value end))
tried("phase", "input output output_free answer parallel trailing objectives when each parallel_group", function(field, value)
  return { name = "s", phases = { { id = "x", run = run, [field] = value } } }
end)
tried("round", "first last over max_rounds frist", function(field, value)
  local round = { first = "a", last = "b", over = "n > 1" }
  round[field] = value
  return { name = "s", rounds = { round }, phases = { { id = "a", run = run, output_free = true }, { id = "b", run = run, output_free = true } } }
end)
local function machine(where)
  return below("machine", function()
    local whole = { initial = "one", states = { { name = "one" }, { name = "two", terminal = true } },
      edges = { { action = "x", from = "one", to = "two" } }, errors = { { class = "timeout", to = "one" } } }
    return { whole = whole, is = where and whole[where][1] or whole }
  end)
end
tried("machine", "initial states edges errors routes route handler history start", machine())
tried("machine.states", "name terminal description entry when", machine "states")
tried("machine.edges", "action from to when max_runs next", machine "edges")
tried("machine.errors", "class to max_runs severity recovery", machine "errors")
for _, row in ipairs {
  { "command", "argv stdin env cwd sandbox timeout parse ok_codes max_output acts idempotent agrv", { "true" } },
  { "http", "url headers timeout connect_timeout stall max_reply ca_file max_redirects body acts idempotent tool mode ulr", { url = "https://x.example/" } },
  { "claude", "program args model effort tools permission system output env cwd timeout stall on_stall max_output max_repairs max_budget" },
  { "codex", "permission model" }, { "gemini", "permission model" }, { "host", "call", {} }, { "dry", "x" },
  { "anthropic", "model url key_env key_file headers stream max_tokens tools max_turns prices compact system cache effort extra beta temperature" },
  { "openai", "model api url max_parallel_tools seed" }, { "lua", "name run", { run } }, { "chain", "on on_limit links", { skillrt.agent.lua(run) } },
} do
  tried("agent." .. row[1], row[2], function(field, value)
    local one = {}
    for key, default in pairs(row[3] or {}) do one[key] = default end
    one[field] = value
    return { name = "s", agents = { a = skillrt.agent[row[1] ](one) }, actions = { { id = "x", agent = "a" } } }
  end)
end
local function first(is) return { is } end
local function named(is) return { a = is } end
tried("sandbox", "level read write network headers ca_file unix env raed", below("sandbox", function() return made {} end))
tried("tool", "description approval acts idempotent alone outside max_result input run command builtin agent http name",
  below("tools", function() return made({ description = "d", run = run }, named) end))
tried("mcp", "command args env cwd sandbox url headers ca_file oauth protocol timeout max_reply roots elicitation sampling comand",
  below("mcp", function() return made({ command = { "x" } }, named) end))
local function behind_url(is) return { a = { url = "https://x.example/", oauth = is } } end
tried("mcp.oauth", "client_id client_secret scope port grant addresses clinet_id", below("mcp", function()
  return made({ client_id = "a" }, behind_url)
end))
tried("mcp.oauth of credentials", "client_id client_secret", below("mcp", function() return made({ grant = "client_credentials" }, behind_url) end))
tried("mcp.tools", "read", below("mcp", function() return made({}, function(is) return { a = { command = { "x" }, tools = is } } end) end))
tried("mcp.more", "type trusted tools approval resources max_restarts sandbox_default", below("mcp", function() return made({ command = { "x" } }, named) end))
for _, row in ipairs { { "read", "roots" }, { "read_file", "roots max_bytes" }, { "glob", "roots max" }, { "write_file", "roots" }, { "edit", "roots" },
  { "git_diff", "cwd" }, { "run", "allow cwd env timeout max_output", { { "ls" } } }, { "http_get", "hosts headers addresses timeout max_reply" } } do
  tried("tool." .. row[1], row[2], below("tools", function() return made({ builtin = row[1], allow = row[3] }, named) end))
end
tried("tool of words", "command stdin input cwd ok_codes", below("tools", function()
  return made({ description = "d", command = { "cat", "{file}" }, input = { type = "object", properties = { file = { type = "string" } } } }, named)
end))
tried("tool of names", "a..b two_words read " .. ("x"):rep(70), below("tools", function() return made {} end))
tried("input", "type required default about one_of secret", below("inputs", function() return made({}, named) end))
tried("schema", "i", below("schema", function() return made {} end))
tried("schema.i", "type merge", below("schema", function() return made({ type = "string" }, named) end))
tried("tool_set", "name description tools optional bind prompt", below("tool_sets", function() return made({ name = "t", tools = { "A" } }, first) end))
tried("switching", "by start next rules map window lead fallback summary", in_skill(function(skill, field, value)
  skill.tool_sets, skill.switching = { { name = "t" } }, { [field] = value }
end))
tried("limits", "max_iterations calls max_errors max_retries max_parallel run_timeout step_timeout usage max_prompt_state max_agents ask_above clals",
  below("limits", function() return made {} end))
tried("limits.usage", "tokens dollars", below("limits", function() return made({}, function(is) return { usage = is } end) end))
tried("retry", "base factor cap jitter", below("retry", function() return made {} end))
tried("timeouts", "context_load step run", below("timeouts", function() return made {} end))
tried("terminate", "when status reason whne", below("terminate", function() return made({ when = "n > 1" }, first) end))
tried("strategy", "name path select order options concurrent", below("strategy", function() return made { select = run } end))
tried("context", "name file library version requires optional alternative",
  below("context", function() return made({ file = "f.md" }, function(is) return { global = { is } } end) end))
tried("action.validate", "schema effects check agent prompt", in_skill(function(skill, field, value) skill.actions[1].validate = { [field] = value } end))
tried("action.each", "items as max_parallel on_error key", in_skill(function(skill, field, value)
  skill.actions[1].each = { items = "list" }
  skill.actions[1].each[field] = value
end))
tried("action.keeps", "at_start at_end counts needs writes takes", in_skill(function(skill, field, value) skill.actions[1].keeps = { [field] = value } end))
]] } },
  { "skills that contradict themselves", "skills.lua\n", nil, { ["skills.lua"] = SHOWN .. [==[
local function run() end
local function action(id, more)
  local one = { id = id, run = run }
  for key, value in pairs(more or {}) do one[key] = value end
  return one
end
local A <const>, B <const> = action "a", action "b"
local function phase(id, more)
  local one = action(id, more)
  one.output_free = true
  return one
end
local agent = skillrt.agent.command { "true" }
local TWO <const> = { initial = "one", states = { { name = "one" }, { name = "two", terminal = true } }, edges = { { action = "a", from = "one", to = "two" } } }
local function machine(change)
  local one = { initial = "one", states = { { name = "one" }, { name = "two", terminal = true } }, edges = { { action = "a", from = "one", to = "two" } } }
  change(one)
  return { machine = one, actions = { A } }
end
for _, one in ipairs {
  {}, { actions = {} }, { actions = { A }, phases = { phase "p" } }, { actions = { A, A } }, { actions = { A }, phases = { phase "a" }, mode = "hybrid" }, { mode = "sequential", actions = { A } },
  { mode = "autonomous", phases = { phase "p" }, actions = { A } }, { mode = "machine", actions = { A } }, { machine = TWO, mode = "autonomous", actions = { A } }, { machine = TWO, actions = { A }, phases = { phase "p" } },
  { actions = { A }, state = { status = 1 } }, { actions = { A }, state = { a = print } }, { actions = { A }, state = { n = 1 }, schema = { n = "string" } }, { actions = { A }, schema = { status = "string" } }, { actions = { A }, state = { l = { 1, "a" }, o = {} }, schema = { l = "number[]", o = "object" } },
  { actions = { A }, schema = { n = "number | string[]" } }, { actions = { A }, schema = { n = "text" } }, { actions = { A }, schema = { n = { type = "number", merge = "append" } } }, { actions = { A }, schema = { n = { type = "string[]", merge = "max" } } },
  { actions = { action("a", { run = 7 }) } }, { actions = { { id = "a" } } }, { actions = { { id = "a", agent = "gone" } } }, { actions = { { id = "a", agent = "x", run = run } }, agents = { x = agent } },
  { actions = { action("a", { output = "state.json" }) } }, { actions = { action("a", { output = "../x" }) } }, { actions = { action("a", { output = "x.md" }), action("b", { output = "x.md" }) } }, { actions = { action("journal", { output = "journal" }) } },
  { actions = { action("a", { repeatable = false, max_runs = 2 }) } }, { actions = { action("a", { terminal = "nothing" }) } }, { actions = { action("a", { alternative = "gone" }) } }, { actions = { action("a", { alternative = "a" }) } },
  { actions = { action("a", { effects = { "n" } }) } }, { actions = { action("a", { effects = { "n >" } }) } }, { actions = { action("a", { when = { "n >" } }) } }, { actions = { action("a", { when = { print } }) } }, { actions = { action("a", { undo = 7 }) } },
  { actions = { action("a", { sources = { "gone" } }) } }, { actions = { action("a", { tools = { "gone" }, agent = "x" }) }, agents = { x = agent } }, { actions = { action("a", { tool_set = "gone" }) } }, { actions = { action("a", { limits = { calls = 0 } }) } },
  { phases = { phase("p", { undo = 7 }) } }, { phases = { phase("p", { input = { "gone.md" } }) } }, { phases = { { id = "p", run = run, output = "x.md" }, { id = "q", run = run, output = "x.md" } } },
  { phases = { { id = "p", run = run, output = "x.md", parallel = true }, { id = "q", run = run, output = "x.md", parallel = true } } }, { phases = { phase("p", { when = "outputs.gone === 1" }) } },
  { phases = { phase "p", phase "q" }, rounds = { { first = "p", last = "q" } } }, { phases = { phase "p", phase "q" }, rounds = { { first = "q", last = "p", max_rounds = 2 } } }, { phases = { phase "p" }, rounds = { { first = "gone", last = "p", max_rounds = 2 } } },
  { phases = { phase "p", phase "q", phase "r" }, rounds = { { first = "p", last = "q", max_rounds = 2 }, { first = "q", last = "r", max_rounds = 2 } } },
  { phases = { phase("p", { parallel = true }), phase("q", { parallel = true }), phase "r" }, rounds = { { first = "q", last = "r", max_rounds = 2 } } }, { phases = { phase "p" }, rounds = { { first = "p", last = "p", over = "n >" } } },
  { phases = { phase "p" }, rounds = { { first = "p", last = "p", max_rounds = 2 }, { first = "p", last = "p", max_rounds = 3 } } }, { phases = { phase("p", { trailing = true }) } }, { phases = { phase "p" }, strategy = "priority" },
  { actions = { A }, terminate = { "n >" } }, { actions = { A }, terminate = { "task_complete" } }, { actions = { A }, terminate = { { when = "n > 1", status = "over" } } }, { actions = { A }, terminate = { { when = "task_completed", status = "failed" } } },
  { actions = { A }, terminate = { { when = "n > 1", reason = ("x"):rep(70) } } }, { actions = { A }, terminate = 7 }, { actions = { A }, goal = "n >" }, { actions = { A }, goal = {} }, { actions = { A }, invariants = "n >" }, { actions = { A }, strategy = "gone" },
  { actions = { A }, strategy = { select = 7 } }, { actions = { A }, strategy = "gone.lua" }, { actions = { A }, limits = { calls = -1 } }, { actions = { A }, limits = { ["a.calls"] = 3 } }, { actions = { A }, limits = { gone = { calls = 3 } } },
  { actions = { A }, limits = { run_timeout = 0 } }, { actions = { A }, limits = { usage = { tokens = 0 } } }, { actions = { A }, retry = { base = 9, cap = 1 } }, { actions = { A }, context = { global = { { file = "" } } } }, { actions = { A }, context = { session = { { file = "x" } } } },
  { actions = { A }, context = { global = { { file = "a" }, { file = "a" } } } }, { actions = { A }, context = { libraries = 7 } }, { actions = { A }, context = { nothing = {} } }, { actions = { A }, context = { global = { { file = "a", requires = { "gone" } } } } },
  { actions = { A }, context = { global = { { name = "a", file = "a", requires = { "b" } }, { name = "b", file = "b", requires = { "a" } } } } }, { actions = { A }, context = { session = { { name = "a", library = "x" } } } },
  { actions = { A }, inputs = { x = { required = true, default = 1 } } }, { actions = { A }, inputs = { x = { type = "number", default = "x" } } }, { actions = { A }, inputs = { x = { one_of = { "a" }, default = "b" } } }, { actions = { A }, inputs = { x = { type = "text" } } },
  { actions = { A }, inputs = { ["a b"] = {} } }, { actions = { A }, records = "fr" }, { actions = { A }, specs = { "../x" } }, { actions = { A }, documents = { 7 } }, { actions = { A }, notify = {} }, { actions = { A }, project = { "status", "status" } },
  { actions = { A }, roots = { read = { "" } } }, { actions = { A }, agents = { x = { kind = "nothing" } } }, { actions = { A }, agents = { x = 7 } }, { actions = { A }, agents = { ["a b"] = agent } }, { actions = { A }, tool_sets = { { name = "a", tools = { "x" } }, { name = "a", tools = { "x" } } } },
  { actions = { A }, switching = { by = "rules" }, tool_sets = { { name = "a", tools = { "x" } } } }, { actions = { A }, switching = { start = "gone" }, tool_sets = { { name = "a", tools = { "x" } } } }, { actions = { A }, mcp = { ["a b"] = { command = { "x" } } } },
  { actions = { A }, on_indoubt = "never" }, { actions = { A }, on_error = "never" }, { actions = { A }, durability = "none" }, { actions = { A }, sandbox = { network = true, headers = { ["x.example"] = { A = "b" } } } }, { actions = { A }, sandbox = { network = { "x.example" }, headers = { ["y.example"] = { A = "b" } } } },
  machine(function(it) it.initial = "gone" end), machine(function(it) it.states = {} end), machine(function(it) it.states[3] = { name = "one" } end), machine(function(it) it.states[1].terminal = true end), machine(function(it) it.states[2].terminal = nil end),
  machine(function(it) it.edges[1].to = "gone" end), machine(function(it) it.edges[1].action = "gone" end), machine(function(it) it.edges[2] = it.edges[1] end), machine(function(it) it.edges[1].when = "n >" end), machine(function(it) it.edges = {} end),
  machine(function(it) it.errors = { { class = "gone", to = "two" } } end), machine(function(it) it.errors = { { class = "timeout", to = "gone" } } end), machine(function(it) it.routes = { one = {} } it.route = run end), machine(function(it) it.routes = { gone = {} } end),
  machine(function(it) it.route = 7 end), machine(function(it) it.history = "x" end), { machine = TWO, actions = { action("a", { on_error = "skip" }) } }, { machine = TWO, actions = { A }, strategy = "priority" }, { machine = TWO, actions = { A }, state = { history = {} } },
  { machine = TWO, actions = { A }, terminate = { "n > 1" } }, { machine = TWO, actions = { A, B } }, { machine = TWO, actions = { action("a", { when = "n > 1" }) } }, { machine = TWO, actions = { action("a", { priority = 3 }) } },
} do
  one.name = "it"
  local ok, why = pcall(skillrt.skill, one)
  local words = {}
  for _, key in ipairs(names.sorted(one)) do words[#words + 1] = key ~= "name" and key .. " " .. shown(one[key]) or nil end
  print(("%s: %s"):format(table.concat(words, ", "), ok and "good" or tostring(why):gsub("^%S+:%d+: ", "")))
end
]==] } },
  { "what lies in an inbox", [[
run s.lua --work-dir r
! mkdir r/inbox; printf '[1]' >r/inbox/a.json; printf '{' >r/inbox/b.json; printf '{"x":1}' >r/inbox/c.json; printf '{"answer":"a","event":"b"}' >r/inbox/d.json; printf '{"event":"a b"}' >r/inbox/e.json; printf '{"event":"go","id":7}' >r/inbox/f.json
! printf '{"answer":"a","question":99}' >r/inbox/g.json; printf '{"answer":"a","nonce":"x"}' >r/inbox/h.json; printf '{"answer":"a","approval":"x"}' >r/inbox/i.json; printf '{"event":"go","value":{"deep":[1]},"id":"it"}' >r/inbox/j.json; printf '{"steer":"skip","agent":"x"}' >r/inbox/k.json
! mkdir r/inbox/l.json; ln -s /etc/passwd r/inbox/m.json; printf '\377' >r/inbox/n.json; : >r/inbox/o.json; printf 'x' >r/inbox/p.txt; printf '{"event":"go","id":"it"}' >r/inbox/q.json
resume r
log r
status r
! ls r/inbox
]], [[
return require "skillrt".skill { name = "waits", state = {}, actions = { { id = "x", max_runs = 1, run = function(_, ctx)
  return { came = ctx.wait "go", said = ctx.ask { question = "Which?", options = { "red", "blue" } } }
end } } }
]] },
  { "a config with values of other kinds", "config.lua", nil, { ["config.lua"] = WALK .. [==[
local VALUES <const> = { true, -1, 0.5, "", "word", "two words", "../x", {}, { 1 }, { a = 1 } }
local WORDS <const> = { [8] = "{}", [9] = "[1]", [10] = '{"a":1}' }
local mode = "hybrid"
local function base()
  return { skill_name = "sss", display_name = "S", description = "d", execution_mode = mode, allowed_tools = { "Read" }, triggers = { "t" }, version = "2",
    llm_integration = { enabled = false, default_tool = "gemini", fallback_chain = { "qwen" }, mode = "analysis" }, specs = { { path = "spec.md", purpose = "p" } },
    sequential_config = mode == "hybrid" and { phases = { { id = "01-a", name = "A", description = "d", input = skillrt.json.array {}, output = "a.json", parallel = true, condition = "n < 9",
      agent = { type = "universal-executor" }, objectives = { "o" } } } } or nil,
    autonomous_config = { state_schema = { fields = { { name = "n", type = "number", description = "d" } } }, termination_conditions = { "n > 3" },
      machine = mode ~= "hybrid" and { initial = "one", states = { { name = "one" }, { name = "two", terminal = true } }, conditions = { { name = "c", test = "n > 1" } },
        transitions = { { from = "one", action = "action-a", to = "two", when = "c", limit = 2 } }, errors = { { class = "timeout", to = "two", limit = 1 } } } or nil,
      actions = { { id = "action-a", name = "A", description = "d", purpose = "p", priority = 1, preconditions = { "n > 0" }, effects = { "n=2" }, agent = { type = "x" } } } },
    context_strategy = "file", x_skillrt = { limits = { calls = 3 }, agents = { x = { kind = "command", argv = { "true" } } }, hybrid = mode == "hybrid" and { on_loop_failed = "stop" } or nil,
      phases = mode == "hybrid" and { ["01-a"] = {} } or nil, actions = { ["action-a"] = {} } } }
end
-- What is said of a config: why it is refused, or what is reported.
local function said_of(config)
  local skill, message, _, findings = skillrt.from_config(config, { agents = { ["*"] = skillrt.agent.lua(function() end) } })
  local list = { not skill and message or nil }
  for _, one in ipairs(skill and findings or {}) do list[#list + 1] = one.level .. ": " .. one.what end
  return list
end
print("hybrid: " .. table.concat(said_of(base()), " // "))
walk({}, base, said_of, VALUES, WORDS)
mode = "autonomous"
print("autonomous: " .. table.concat(said_of(base()), " // "))
walk({ "autonomous_config", "machine" }, base, said_of, VALUES, WORDS)
]==] } },
  { "documents with values of other kinds", "! mkdir -p page flow/phases sets; for id in a b c; do echo \"# $id\" >flow/phases/$id.md; done\ndocuments.lua", nil, { ["flow/SKILL.md"] = "---\nname: flow\ndescription: Flows. Use it to flow.\n---\n# Flow\n",
    ["documents.lua"] = WALK .. [==[
local function written(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end
local function found(folder)
  local result, message = skillrt.check(folder)
  local list = { not result and message or nil }
  for _, one in ipairs(result and result.findings or {}) do
    list[#list + 1] = ("%s%s: %s [%s]"):format(one.file or "", one.line and ":" .. one.line or "", one.what, one.code)
  end
  return list
end
local PAGE <const> = { name = "page", description = "Does. Use it to do.", ["allowed-tools"] = "Read", ["disallowed-tools"] = "Write", model = "opus", effort = "high", context = "fork",
  agent = "Explore", hooks = "{}", ["argument-hint"] = "[x]", arguments = "[x]", ["user-invocable"] = "true", ["disable-model-invocation"] = "true", license = "MIT",
  compatibility = "all", sandbox = "strict", version = "1", metadata = "{}", when_to_use = "now", paths = "[x]" }
local YAML <const> = { "true", "-1", "''", "two words", "[]", "[1]", "{a: 1}", "../x", "[", "Read, Fly" }
walk({}, function()
  local copy = {}
  for key, value in pairs(PAGE) do copy[key] = value end
  return copy
end, function(page)
  local lines = {}
  for _, key in ipairs(names.sorted(page)) do lines[#lines + 1] = ("%s: %s"):format(key, page[key]) end
  written("page/SKILL.md", "---\n" .. table.concat(lines, "\n") .. "\n---\n# Page\nDo it.\n")
  return found "page"
end, YAML, YAML)
local VALUES <const> = { true, -1, 0.5, "", "two words", "../x", {}, { 1 }, { a = 1 } }
local WORDS <const> = { [7] = "{}", [8] = "[1]", [9] = '{"a":1}' }
walk({}, function()
  return { skill_name = "flow", display_name = "F", description = "d", version = "1", execution_mode = "sequential", context_strategy = "file", phases_to_run = { "a", "b", "c" },
    phases = { { id = "a", name = "A", order = 1, description = "d", output = "a.json", effects = { "n=1" } },
      { id = "b", input = { "a.json" }, output = "b.json", condition = "n < 3", parallel = true, agent = { type = "x" }, objectives = { "o" }, max_retries = 1, idempotent = true },
      { id = "c", question = "Which?", options = { "yes", "no" } } },
    rounds = { { first = "a", last = "b", ["until"] = "n > 2", at_most = 3 } }, inputs = { deep = { one_of = { "yes", "no" }, default = "no", question = "Deep?" } },
    termination = { on_error = "continue", max_retries = 2 } }
end, function(flow)
  written("flow/workflow.json", assert(skillrt.json.encode(flow, { sorted = true })))
  return found "flow"
end, VALUES, WORDS)
walk({}, function()
  return { name = "sets", description = "d", workflow = { ["max-retries"] = 2, ["max-stale-iterations"] = 3, interactive = false },
    skills = { { name = "analysis", description = "d", tools = { "A" }, optional = { "A" }, prompt = "p" }, { name = "repair", tools = {} } }, optional_tools = { "A" },
    switching = { by = "orchestrator", start = "analysis", fallback = "repair", order = { "analysis", "repair" }, verify = "analysis", repair = "repair", summary = 100 } }
end, function(sets)
  written("sets/agent.yml", assert(skillrt.json.encode(sets, { sorted = true })))
  return found "sets/agent.yml"
end, VALUES, WORDS)
]==] } },
  { "documents of other shapes", "documents.lua\n", nil, { ["documents.lua"] = SHOWN .. [==[
local files = require "skillrt.base.files"
-- Writes a folder, and prints what a check finds in it.
local function found(what, texts)
  os.execute "rm -rf it"
  for path, text in pairs(texts) do
    assert(files.make_folders(files.dirname("it/" .. path)))
    assert(files.write("it/" .. path, text))
  end
  local result, message = skillrt.check "it"
  print("# " .. what .. (result and "" or ": " .. message))
  for _, one in ipairs(result and result.findings or {}) do
    print(("%s%s: %s: %s [%s]"):format(one.file or "", one.line and ":" .. one.line or "", one.level, one.what, one.code))
  end
end
local function page(front, body)
  return { ["SKILL.md"] = ("---\nname: it\ndescription: Does it. Use it to do it.\n%s---\n%s"):format(front, body or "# It\nDo it.\n") }
end
for _, front in ipairs { "a: *gone\n", "a: !tag x\n", "a: !!python/object:os.system x\n", "a: &x 1\nb: *x\n", "a: &x {b: 1}\nc:\n  <<: *x\n", "a: [1, 2\n", "a: {b: 1\n", "a: 'open\n",
  "a: \"open\n", "a:b\n", "a: 1\na: 2\n", "\ta: 1\n", "a:\n\t- b\n", "- a\n", "a: |\n  text\n  more\n", "a: >-\n  text\n", "a: b: c\n", "? a\n: b\n", "a: @b\n", "a: `b`\n", "a: %b\n", "a: 0o17\n",
  "a: 2026-01-01\n", "a: ~\n", "a: yes\n", "a: .inf\n", "a: 1e400\n", "a: \\x\n", "a: \xff\n", "a: \1\n", "a: " .. ("["):rep(80) .. "\n", "...\n", "%YAML 1.1\n", ("k"):rep(2000) .. ": 1\n" } do
  found(front:sub(1, 40):gsub("\n", "\\n"):gsub("[\1\t]", "?"):gsub("\xff", "?"), page(front))
end
found("no front matter", { ["SKILL.md"] = "# It\nDo it.\n" })
found("an open front matter", { ["SKILL.md"] = "---\nname: it\n# It\n" })
found("a second front matter", page("", "---\nname: other\n---\n# It\n"))
found("no description", { ["SKILL.md"] = "---\nname: it\n---\n# It\n" })
found("nothing below it", page("", ""))
found("another name", { ["SKILL.md"] = "---\nname: Other Name\ndescription: x\n---\n# It\n" })
found("skill.md", { ["skill.md"] = page ""["SKILL.md"] })
found("two pages", { ["skill.md"] = "# It\n", ["SKILL.md"] = page ""["SKILL.md"] })
found("no UTF-8", page("", "# It\n\xff\xfe\n"))
found("a NUL", page("", "# It\n\0\n"))
found("an empty file", { ["SKILL.md"] = "" })
found("a table without a head", page("", "# It\n| a | b |\n| c | d |\n"))
found("a phase of no name", { ["SKILL.md"] = page("", "# It\n\n| Phase | Document |\n|---|---|\n| 1 | phases/01-a.md |\n| 2 | phases/02-b.md |\n")["SKILL.md"], ["phases/01-a.md"] = "# A\n", ["phases/b.md"] = "# B\n" })
found("phases that nobody names", { ["SKILL.md"] = page ""["SKILL.md"], ["phases/01-a.md"] = "# A\nWrite `a.json`.\n", ["phases/README.md"] = "# R\n", ["phases/x y.md"] = "# X\n", ["phases/02-b.txt"] = "b" })
found("actions", { ["SKILL.md"] = page ""["SKILL.md"], ["phases/actions/action-a.md"] = "# Action: A\n\n## Preconditions\n\n- [ ] `n >`\n- [ ] all is well\n\nn > 1\n\n## Execution\n\nGo.\n\n## State Updates\n\n```javascript\nreturn { stateUpdates: { n: n + 1, m: } }\n```\n\n## Next Actions\n\n- Success: action-gone\n",
  ["phases/actions/b.md"] = "# B\n", ["phases/state-schema.md"] = "# State\n\n```typescript\ninterface S {\n  n: number;\n  n: string;\n  status: string;\n  odd: Map<string, number>;\n}\n```\n\n## Initial State\n\n```json\n{ \"n\": }\n```\n" })
found("a config that is none", { ["skill-config.json"] = "[1]" })
found("a config that is open", { ["skill-config.json"] = '{"skill_name": "it"' })
found("a config and a page", { ["skill-config.json"] = '{"skill_name": "other", "execution_mode": "sequential", "description": "d"}', ["SKILL.md"] = page ""["SKILL.md"] })
found("a workflow that is none", { ["SKILL.md"] = page ""["SKILL.md"], ["workflow.json"] = "7", ["phases/01-a.md"] = "# A\n" })
found("a workflow of nothing", { ["SKILL.md"] = page ""["SKILL.md"], ["workflow.json"] = '{"phases": []}', ["phases/01-a.md"] = "# A\n" })
found("a workflow of phases that are not there", { ["SKILL.md"] = page ""["SKILL.md"], ["workflow.json"] = '{"phases": [{"id": "01-a"}, {"id": "01-a"}, {"id": "02-b"}, 7], "phases_to_run": ["03-c"]}', ["phases/01-a.md"] = "# A\n" })
found("a script that raises", { ["skill.lua"] = "error { message = 'no' }" })
found("files of others", { ["package.json"] = "{}", ["tsconfig.json"] = "{}", ["action.yml"] = "name: x\nruns:\n  using: node20\n" })
for _, one in ipairs { { "plugin.json", '{"plugins": []}' }, { "openapi.json", '{"openapi": "3.0.0"}' }, { "deployment.yml", "kind: Deployment\napiVersion: v1\n" }, { "agent.yml", "apiVersion: v1\nkind: Pod\n" },
  { "agent.yml", "skills: 7\n" }, { "agent.yml", "name: x\n" }, { "agent.yml", "tools: [a]\n" }, { "agent.yml", "skills:\n- name: a\n  tools: ['*']\napi_key: sk-1234567890abcdef\n" }, { "workflow.json", '{"nodes": [], "edges": []}' },
  { "it.yml", "a: 1\n" }, { "it.txt", "a" }, { "it.json", "{}" }, { "skill-config.json", "" } } do
  local path = one[1]
  assert(files.write(path, one[2]))
  local result, message = skillrt.check(path)
  print(("# %s %q: %s"):format(path, one[2], message or ""))
  for _, finding in ipairs(result and result.findings or {}) do
    print(("%s%s: %s: %s [%s]"):format(finding.file or "", finding.line and ":" .. finding.line or "", finding.level, finding.what, finding.code))
  end
end
]==] } },
  { "calls of a step", "run s.lua --work-dir r", SHOWN .. [==[
local TRIED <const> = [[
ctx.await()
ctx.await(7)
ctx.await {}
ctx.await { kind = "nothing" }
ctx.await { agent = "gone" }
ctx.await { agent = {} }
ctx.await { kind = "command" }
ctx.await { kind = "command", argv = {} }
ctx.await { kind = "command", argv = { 7 } }
ctx.await { kind = "command", argv = { "a\0b" } }
ctx.await { kind = "command", argv = { "true" }, stdin = 7 }
ctx.await { kind = "command", argv = { "true" }, timeout = -1 }
ctx.await { kind = "command", argv = { "true" }, env = { "x" } }
ctx.await { kind = "command", argv = { "true" }, env = { ["a=b"] = "x" } }
ctx.await { kind = "command", argv = { "true" }, cwd = "gone" }
ctx.await { kind = "command", argv = { "true" }, expect = "yaml" }
ctx.await { kind = "command", argv = { "true" }, expect = { sttus = "done" } }
ctx.await { kind = "command", argv = { "true" }, max_output = 0 }
ctx.await { kind = "command", argv = { "true" }, retry = 3 }
ctx.await { kind = "command", argv = { "true" }, retry = { max = -1 } }
ctx.await { kind = "command", argv = { "true" }, idempotent = "yes" }
ctx.await { kind = "command", argv = { "true" }, key = 7 }
ctx.await { kind = "command", argv = { "true" }, sandbox = "hard" }
ctx.await { kind = "command", argv = { "true" }, tiemout = 3 }
ctx.await { kind = "command", argv = { "no-such-program" } }
ctx.await { kind = "command", argv = { "./no-such-program" } }
ctx.await { kind = "command", argv = { "false" } }
ctx.await { kind = "command", argv = { "sh", "-c", "echo odd >&2; exit 75" } }
ctx.await { kind = "command", argv = { "sh", "-c", "kill -9 $$" }, idempotent = true }
ctx.await { kind = "command", argv = { "echo", "not json" }, expect = "json" }
ctx.await { kind = "command", argv = { "echo", '{"status":"failed","error":"odd"}' }, expect = { status = "done" } }
ctx.await { kind = "command", argv = { "sleep", "9" }, timeout = 0.05, idempotent = true }
ctx.await { kind = "command", argv = { "head", "-c", "99", "/dev/zero" }, max_output = 10, idempotent = true }
ctx.await { kind = "http" }
ctx.await { kind = "http", url = "ftp://x/" }
ctx.await { kind = "http", url = "http://x y/" }
ctx.await { kind = "http", url = "http://127.0.0.1:1/", method = "" }
ctx.await { kind = "http", url = "http://127.0.0.1:1/", method = "GE T" }
ctx.await { kind = "http", url = "http://127.0.0.1:1/", headers = { "x" } }
ctx.await { kind = "http", url = "http://127.0.0.1:1/", headers = { a = "x\ny" } }
ctx.await { kind = "http", url = "http://127.0.0.1:1/", headers = { ["a b"] = "x" } }
ctx.await { kind = "http", url = "http://127.0.0.1:1/", body = print }
ctx.await { kind = "http", url = "http://127.0.0.1:1/", max_redirects = -1 }
ctx.await { kind = "session" }
ctx.await { kind = "session", session = "x", message = "m" }
ctx.await { kind = "session", session = "x", argv = { "no-such-program" }, message = "hi" }
ctx.await { kind = "session", session = "x", argv = { "cat" }, message = "a\nb" }
ctx.await { kind = "host", name = "gone" }
ctx.await { kind = "sleep" }
ctx.await { kind = "local", name = "x" }
ctx.await_all()
ctx.await_all { 7 }
ctx.await_all { { kind = "x" } }
ctx.sleep()
ctx.sleep(-1)
ctx.sleep("x")
ctx.sleep_until("tomorrow")
ctx.sleep_until(1)
ctx.ask()
ctx.ask {}
ctx.ask { question = 7 }
ctx.ask { question = "q", options = {} }
ctx.ask { question = "q", options = { "a", "a" } }
ctx.ask { question = "q", options = { { label = "x" } } }
ctx.ask { question = "q", options = { "a" }, default = "b" }
ctx.ask { question = "q", options = { "a" }, edit = "b" }
ctx.ask { question = "q", multiple = true }
ctx.ask { question = "q", timeout = -1 }
ctx.ask { question = "q", qestion = 1 }
ctx.approve()
ctx.approve {}
ctx.approve { what = 7 }
ctx.wait()
ctx.wait("")
ctx.wait("a b")
ctx.wait { event = "e", timeout = -1 }
ctx.wait { evnt = "e" }
ctx.emit()
ctx.emit("gone", "e", 1)
ctx.emit("../x", "e", 1)
ctx.emit("gone", "", 1)
ctx.emit("gone", "e", print)
ctx.once()
ctx.once("a")
ctx.once(7, print)
ctx.once("a", function() return print end)
ctx.once("b", function() error "raised" end)
ctx.once("c", function() return nil, "failed", "transient" end)
ctx.once("a", function() return 1 end)
ctx.once("d", function() ctx.sleep(0) end)
ctx.spawn()
ctx.map()
ctx.map({}, 7)
ctx.map({ 1 }, function() return nil, "no", "permanent" end)
ctx.map({ 1 }, function() error "raised" end)
ctx.map({ 1 }, function() end, { max_parallel = 0 })
ctx.map({ 1 }, function() end, { parallel = 2 })
ctx.map({ 1 }, function() end, { on_error = "halt" })
ctx.map({ 1 }, function() end, { key = 7 })
ctx.map({ 1, 2 }, function() return 1 end, { key = function() return "same" end })
ctx.all()
ctx.all { 7 }
ctx.first()
ctx.first {}
ctx.first { function() return nil, "no", "permanent" end }
ctx.within()
ctx.within(-1, print)
ctx.within(1)
ctx.pipeline()
ctx.pipeline({ 1 }, 7)
ctx.gather()
ctx.gather(function(begin) begin() end)
ctx.gather(function(begin) begin("a", function() end) begin("a", function() end) end)
ctx.loop()
ctx.loop(1)
ctx.loop(1, function() return print, true end)
ctx.loop(1, function() return nil, "no more", "permanent" end)
ctx.run()
ctx.run("gone.lua")
ctx.run("s.lua", 7)
ctx.run("s.lua", {}, { queue = "" })
ctx.run("s.lua", {}, { quee = "x" })
ctx.tool()
ctx.tool("gone")
ctx.tool("add")
ctx.tool("add", { n = "x" })
ctx.tool("add", { n = 1, m = 2 })
ctx.tool("add", { n = 1 })
ctx.tool("raises", {})
ctx.tool("mcp__gone__x", {})
ctx.mcp("gone")
ctx.mcp()
ctx.agent()
ctx.agent("")
ctx.agent("do it", { agent = "gone" })
ctx.agent("do it", { schema = 7 })
ctx.agent("do it", { modle = "x" })
ctx.random("x", 1)
ctx.random(3, 1)
ctx.random(0)
ctx.used(3)
ctx.used { x = -1 }
ctx.checkpoint()
ctx.checkpoint "3"
ctx.budget()
ctx.budget "tokens"
ctx.glob()
ctx.glob("*", "../..")
ctx.write()
ctx.write("", "x")
ctx.write("../x", "x")
ctx.write("state.json", "x")
ctx.write("a/b.md", 7)
ctx.write("a/b.md", "x")
ctx.write("a/b.md/c", "x")
ctx.read()
ctx.read("gone.md")
ctx.read("../x")
ctx.nothing()
]]
return skillrt.skill { name = "s", state = { n = 0 }, limits = { max_errors = 1, max_retries = 0 },
  tools = {
    add = { description = "adds", input = { type = "object", properties = { n = { type = "number" } }, required = { "n" }, additionalProperties = false },
      run = function(input) return { n = input.n + 1 } end },
    raises = { description = "raises", run = function() local none; return none.field end },
  },
  actions = { { id = "x", max_runs = 1, run = function(_, ctx)
    for line in TRIED:gmatch "[^\n]+" do try(line, ctx.log, ctx) end
    local asked = ctx.ask { qestion = "Which?" }
    return { asked = asked }
  end } } }
]==] },
  { "the module", "! mkdir empty\nmodule.lua", nil, { ["bad.lua"] = "return nil +\n", ["returns.lua"] = "return 7\n", ["raises.lua"] = "local x; return x.y\n",
    ["module.lua"] = SHOWN .. [==[
local TRIED <const> = [[
skillrt.skill()
skillrt.skill(7)
skillrt.skill {}
skillrt.nothing()
skillrt.load()
skillrt.load(7)
skillrt.load("gone")
skillrt.load("empty")
skillrt.load("hello.lua", 7)
skillrt.load("bad.lua")
skillrt.load("returns.lua")
skillrt.load("raises.lua")
skillrt.resume()
skillrt.resume(7)
skillrt.resume("gone")
skillrt.resume("gone", 7)
skillrt.resume("gone", { wiat = true })
skillrt.retry()
skillrt.retry("gone")
skillrt.from_config()
skillrt.from_config(7)
skillrt.from_config {}
skillrt.from_config("gone.json")
skillrt.check()
skillrt.check("gone")
skillrt.check("hello.lua", 7)
skillrt.expr.compile()
skillrt.expr.compile("a >")
skillrt.json.encode(print)
skillrt.json.encode { 1, nil, 3 }
skillrt.json.encode { [1.5] = 1 }
skillrt.json.encode { a = 0/0 }
skillrt.json.encode("\xff")
skillrt.json.encode(itself)
skillrt.json.encode({ 1 }, { indent = "x" })
skillrt.json.encode { 1, a = 2 }
skillrt.json.decode()
skillrt.json.decode("")
skillrt.json.decode("{")
skillrt.json.decode("[1,]")
skillrt.json.decode("[1 2]")
skillrt.json.decode('{"a" 1}')
skillrt.json.decode('{"a":1,"a":2}')
skillrt.json.decode('"\\x"')
skillrt.json.decode('"a\nb"')
skillrt.json.decode("01")
skillrt.json.decode("1e999")
skillrt.json.decode("nul")
skillrt.json.decode("1 2")
skillrt.json.decode(('['):rep(2000))
skillrt.json.array(7)
skillrt.template.render()
skillrt.template.render("{{")
skillrt.template.render("{{#a}}x")
skillrt.template.render("{{/a}}")
skillrt.template.render("{{#a}}{{/b}}")
skillrt.template.render("{{>gone}}")
skillrt.template.render("{{=x}}")
skillrt.template.render("{{a.b.}}", {})
skillrt.template.render("{{#l}}{{.}},{{/l}}{{^l}}none{{/l}}", { l = { 1, 2 } })
skillrt.secret()
skillrt.secret("a b")
skillrt.strategy.check()
skillrt.strategy.resolve()
skillrt.tool_sets()
skillrt.tool_sets("gone.yml")
skillrt.workflow()
skillrt.workflow {}
skillrt.workflow { run = 7 }
skillrt.agent.nothing {}
skillrt.agent.command()
skillrt.agent.command {}
skillrt.agent.command { "" }
skillrt.agent.command { "x", 7 }
skillrt.agent.command { "x", "{nothing}" }
skillrt.agent.http { url = "http://x/{state.y}" }
skillrt.agent.http { url = "https://x/", headers = { a = "{state.z}" } }
skillrt.agent.lua()
skillrt.agent.lua(7)
skillrt.agent.chain()
skillrt.agent.chain {}
skillrt.agent.chain { 7 }
skillrt.agent.skill()
skillrt.agent.skill {}
skillrt.agent.host()
skillrt.agent.claude()
skill:run(7)
skill:run { wrok_dir = "x" }
skill:run { input = 7 }
skill:run { input = { f = print } }
skill:run { args = print }
skill:run { limits = { clals = 3 } }
skill:run { limits = { calls = "x" } }
skill:run { durability = "none" }
skill:run { sandbox = "hard" }
skill:run { strategy = "nothing" }
skill:run { strategy = "gone.lua" }
skill:run { agent = 7 }
skill:run { watcher = 7 }
skill:run { work_dir = "" }
skill:run { work_dir = 7 }
skill:run { work_dir = "hello.lua" }
skill:run { segment_bytes = -1 }
skill:open { wiat = 1 }
skill:open { resume = true }
]]
local itself = {}
itself.itself = itself
local skill = skillrt.skill { name = "good", actions = { { id = "x", max_runs = 1, run = function() end } } }
for line in TRIED:gmatch "[^\n]+" do try(line, print, nil, skill, itself) end
]==] } },
  { "conditions, templates and JSON", "texts.lua", nil, { ["texts.lua"] = SHOWN .. [==[
local STATE <const> = { n = 3, f = 0.5, t = "text", u = "h\u{e4}h\u{1F600}", e = "", y = true, no = false, l = { 1, 2, "x" }, none = skillrt.json.array(),
  o = { a = { b = 7 }, ["k k"] = 1 }, null = skillrt.json.null, items = { { id = "a", ok = true }, { id = "b", ok = false } } }
local CONDITIONS <const> = [[
n
n === 3 && t === 'text'
n == '3' || n != 3
n !== 3
null == undefined
null === undefined
missing === undefined
missing.deeper === 1
o.a.b === 7 && o['k k'] === 1
o?.a?.b > 6
o?.x?.y === undefined
l[0] === 1 && l[9] === undefined
l.length === 3 && none.length === 0
u.length
e.length === 0
u[3] === '\u{1F600}'
t[0] + t[1]
none
!none
e || 'other'
e ?? 'other'
null ?? 'other'
n > 2 ? 'more' : 'less'
n < 'x'
'a' < 'b'
t > 3
NaN === NaN
Infinity > 1e308
0xff === 255 && 1.5e3 === 1500
-n + 2 * 3 % 4 / 2
'1' + 2
1 + true
'5' * '2'
[1, 2] == '1,2'
[] + 'x'
typeof n + typeof t + typeof y + typeof l + typeof null + typeof missing
l.includes('x') && !l.includes(3)
t.includes('ex') && t.startsWith('te') && t.endsWith('xt')
l.some(x => x === 2) && l.every(x => x)
items.some(one => one.ok && one.id === 'a')
items.every(one => one.ok)
items.some(one => items.some(other => other.id !== one.id))
n.includes(1)
n()
t.trim()
state.n === 3
(n > 2) === true
!!n && !y === false
1 <= 1 && 2 >= 3
n = 3
n ===
n && || y
(n
n)
'open
a ?? b || c
n ** 2
n & 1
{ a: 1 }
x => x
a.b.
[1, 2
1e
n === 'x' "y"
n @ 3
n\u{2260}3
`a ${n}`
/n/.test(t)
n // three
n /* three */ > 2
[...l]
n <> 3
n += 1
n++
--n
not n
n and y
n.length()
t.includes
l.some(1)
l.every((a, b) => a)
l.some(x => { return x })
l.some(x => x = 1)
()
n ? 1
n ? : 2
n ?
if (n) y
n; y
function() {}
new Date()
n instanceof Object
delete n
await n
void n
n in l
this.n
l[
l[1
l.map(x => x)
Object.keys(o)
JSON.stringify(o)
Math.max(1, 2)
f(n)
t.slice(1)
'\ud800'
'\u12'
'\x1'
'\x41' === 'A'
'\012'
'\u0041' === 'A'
'a\
010
1n
0b11
0o17
0x
1_000
n .. 3
n =< 3
n => 3
\u{201C}a\u{201D} === t
n\u{FF1D}3
\u{FF08}n\u{FF09}
n \u{2264} 3
n\u{A0}> 2
&& n
n !
n ! == 3
n > > 2
n === === 3
"a' === t
.5 < 1
5. > 4
o.'a'
o.1
o?.[`a`]
o?.['k k']
l?.[0]
[1, , 2]
[1 2]
(n, y)
n, y
true.x
'a'.length
3.length
n===3&&
# n
@n
n \ 2
\u{1F600}
]]
for line in CONDITIONS:gmatch "[^\n]+" do
  line = line:gsub("\\u{(%x+)}", function(hex) return utf8.char(tonumber(hex, 16)) end)
  local condition, why = skillrt.expr.compile(line)
  if condition then
    local value, failed = condition:evaluate(STATE)
    print(("%s: %s | %s | %s | %s"):format(line, condition(STATE), shown(value), failed or "", condition:explain(STATE)))
  else
    print(("%s: %s"):format(line, why))
  end
end
for line in ([[
{{n}} {{f}} {{t}} {{y}} {{no}} {{missing}}.
{{o.a.b}} {{o.x}} {{l}}
{{#y}}yes{{/y}}{{^y}}no{{/y}}{{#no}}yes{{/no}}{{^no}}no{{/no}}{{^missing}}none{{/missing}}
{{#items}}{{id}}{{#ok}}!{{/ok}} {{/items}}{{#l}}<{{.}}>{{/l}}
{{#o}}{{a.b}}{{#a}}{{b}}{{/a}}{{/o}}
{{! a comment }}x{{!another}}y
{{=<% %>=}}<%n%> {{n}} <%={{ }}=%>{{n}}
{{{t}}} {{&t}} {{t}}
{{#l}}{{#y}}{{.}}{{/y}}{{/l}}
{{ n }} {{# y }} {{ t }} {{/ y }}
]]):gmatch "[^\n]+" do
  local text, why = skillrt.template.render(line, STATE)
  print(line .. " -> " .. (text or why))
end
print(skillrt.template.render("{{#items}}\n  - {{id}}\n  {{>one}}\n{{/items}}\nend {{>gone}}", STATE, { one = "({{id}})\n" }))
for _, options in ipairs { {}, { sorted = true }, { indent = 2, sorted = true }, { indent = 0, sorted = true }, { name = "it" } } do
  print(skillrt.json.encode({ a = { 1, 2, {} }, b = skillrt.json.array(), c = "\1\"\\/\u{e4}\u{1F600}\127", d = 1e300, e = -0.0, f = 2^33, g = 0.1, h = skillrt.json.null }, options.sorted and options or { sorted = true }))
end
print(skillrt.expr.compile(("("):rep(300) .. "n" .. (")"):rep(300)))
print(skillrt.expr.compile(("n && "):rep(3000) .. "n"))
print((select(2, skillrt.expr.compile(("x"):rep(70000)))))
local deep, chain = {}, {}
deep.deep = deep
for i = 1, 40 do chain["p" .. i] = ("{{>p%d}}"):format(i + 1) end
for _, one in ipairs { { "{{" .. ("n"):rep(300) .. "}}" }, { ("{{#y}}"):rep(200) .. ("{{/y}}"):rep(200) }, { "{{>p1}}", chain }, { "{{>again}}", { again = "{{>again}}" } },
  { "{{#y}}" }, { "{{/y}}" }, { "{{#y}}{{/n}}" }, { "{{" }, { "{{}}" }, { "{{=x}}" }, { "{{= = =}}" }, { "{{{n}}" }, { "{{>}}" }, { "{{a b}}" }, { "{{#l}}{{.}}" },
  { "{{t}}", nil, { escape = 1 } }, { "{{t}}", nil, { escape = function() return 7 end } }, { "{{t}}", nil, { escape = "none" } }, { "{{t}}", { gone = 7 } }, { 7 } } do
  local ok, text, why = pcall(skillrt.template.render, one[1], STATE, one[2], one[3])
  print((tostring(one[1]):sub(1, 40) .. " -> " .. tostring(not ok and text or why or text)):sub(1, 300))
end
local cron, instant, plain, schema_of = require "skillrt.base.cron", require "skillrt.base.instant", require "skillrt.base.plain", require "skillrt.base.json_schema"
for _, text in ipairs { "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *", "1-0 * * * *", "a * * * *", "* * * jan sun", "1,2,,3 * * * *",
  "@daily", "@often", "", "0 0 31 2 *", "1/2 * * * *", "*/5 1-3/2 1,15 * mon-fri" } do
  local at, why = cron.next(text, 1767225600000)
  print(("cron %q: %s"):format(text, why or (at - 1767225600000) // 60000 .. " minutes later"))
end
for _, text in ipairs { "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00+25:00", "now", "2026-01-01T00:00:00.5+01:00", "tomorrow", "" } do
  print(("instant %q: %s"):format(text, tostring(select(2, instant.read(text)) or instant.read(text) // 1000)))
end
for _, path in ipairs { "", "/", "a/", "/a", "a//b", "./a", "a/..", "../a", "a\0b", "a\nb", ("a"):rep(300), ("a/"):rep(600) .. "b", "a/b.c", 7 } do
  local good, why = names.confined(path)
  print(("path %s: %s"):format(names.show(path):sub(1, 60), (why or good):sub(1, 200)))
end
for _, id in ipairs { "", "a b", "..", "a..b", "-a", ("a"):rep(65), "a/b", "a.b-c_d", 7, true } do
  local good, why = names.id(id)
  print(("id %s: %s"):format(names.show(id):sub(1, 60), (why or good):sub(1, 200)))
end
local itself, far = {}, {}
itself.itself = itself
local at = far
for _ = 1, 200 do at.x = {} at = at.x end
for i, value in ipairs { { 1, 2, x = 1 }, { [2] = 1 }, { [1.5] = 1 }, { [true] = 1 }, itself, far, { a = { print } }, { a = 0/0 }, { a = { b = 1/0 } }, setmetatable({}, { __pairs = function() end }),
  { a = coroutine.create(print) }, { io.stdout }, "text", 7, print } do
  print(("value %d: %s"):format(i, tostring((select(2, plain.copy(value, "it"))))))
end
for _, text in ipairs { '{"type":"strin"}', '{"type":7}', '{"type":[]}', '{"enum":[]}', '{"enum":7}', '{"properties":[]}', '{"properties":{"a":7}}', '{"items":7}', '{"required":"a"}', '{"required":["a"],"additionalProperties":false}',
  '{"pattern":"("}', '{"pattern":7}', '{"minimum":"1"}', '{"multipleOf":0}', '{"minLength":-1}', '{"anyOf":[]}', '{"anyOf":{}}', '{"not":7}', '{"$ref":"#/gone"}', '{"$ref":"http://x.example/"}', '{"$ref":"#"}',
  '{"type":"string","enum":[1]}', '{"type":"string","const":1}', '{"format":"date"}', '{"if":7}', '{"dependentRequired":{"a":7}}', '{"contains":{}}', '{"uniqueItems":1}', '{"propertyNames":7}', "7", "[]", "true", '{"tpye":"string"}' } do
  print(("schema %s: %s"):format(text, tostring((select(2, schema_of.check(skillrt.json.decode(text), "it"))))))
end
for _, one in ipairs { { '{"type":"integer","minimum":2,"maximum":5,"multipleOf":2}', "1", "6", "3", "2.5", '"2"', "4" }, { '{"type":"number","exclusiveMinimum":1,"exclusiveMaximum":2}', "1", "2", "1.5" },
  { '{"type":"string","minLength":2,"maxLength":3,"pattern":"^a"}', '"a"', '"aaaa"', '"bb"', '"ab"', "7" }, { '{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"boolean"}}', "[]", "[true,false,true]", "[true,true]", "[1]", "[true]" },
  { '{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"additionalProperties":false,"minProperties":1,"maxProperties":2}', "{}", '{"a":1}', '{"a":"x","b":1}', '{"a":"x"}', "[]" },
  { '{"enum":["a",1,null]}', '"b"', "1", "null" }, { '{"const":{"a":[1]}}', '{"a":[1]}', '{"a":[2]}' }, { '{"anyOf":[{"type":"string"},{"type":"null"}]}', "7", "null" }, { '{"oneOf":[{"minimum":1},{"maximum":5}]}', "3", "7" },
  { '{"allOf":[{"minimum":1},{"maximum":5}]}', "7", "3" }, { '{"not":{"type":"string"}}', '"x"', "7" }, { '{"type":["string","null"]}', "7", "null" },
  { '{"type":"object","properties":{"l":{"type":"array","items":{"$ref":"#/$defs/n"}}},"$defs":{"n":{"type":"integer"}}}', '{"l":[1,"x"]}', '{"l":[1]}' } } do
  local form = skillrt.json.decode(one[1])
  for i = 2, #one do
    local problem, more = schema_of.judge(form, skillrt.json.decode(one[i]), "it")
    print(("fits %s %s: %s %s"):format(one[1], one[i], tostring(problem), tostring(more)))
  end
end
for _, text in ipairs { "[1,2.5,-0,1e3,1234567890]", '{"a":[],"b":{},"c":null}', ' "\\u00e4\\ud83d\\ude00\\n" ', '"\\ud83d"', "[1,2,]", "[true,fals]", '{"a":1,}', "-", "1.", '"\\u12"', "\u{FEFF}1", '{1:2}', "[\1]" } do
  local value, why = skillrt.json.decode(text)
  print(text .. " -> " .. (why or skillrt.json.encode(value, { sorted = true })))
end
]==] } },
  { "command lines", [[
run hello.lua --work-dir r --quiet
skillrt
nothing
run
run gone
run gone.lua
run r
run hello.lua x
run hello.lua --limit calls
run hello.lua --limit calls=x
run hello.lua --limit =3
run hello.lua --at-most calls=0
run hello.lua --set x
run hello.lua --set x:=nul
run hello.lua --input gone.json
run hello.lua --durability none
run hello.lua --sandbox hard
run hello.lua --strategy gone.lua
run hello.lua --log gone/log
run hello.lua --work-dir hello.lua
run hello.lua --work-dir r
run hello.lua --by-section
run hello.lua --quiet --nothing
submit
submit q
submit q gone.lua
submit q hello.lua --key a/b
submit q hello.lua --prio x
submit q hello.lua --each gone
submit q hello.lua --cron x
submit q hello.lua --at yesterday
submit q hello.lua --limit-key x
submit q hello.lua --missed none --cron @daily
submit q hello.lua --queue a/b
worker
worker q --concurrency 0
worker q --processes x
worker q --queue a/b
worker hello.lua --once
schedule
schedule nothing q
schedule list gone
schedule pause q/gone
list
list gone
list r
list hello.lua
list . --status nothing
list . --since x
list . --older-than x
prune
prune . --older-than x
du
du gone
rollback r
rollback r --to x
rollback r --to 99
fork r@99 --out f
fork r@x --out f
fork r@2 --out r
fork gone@2 --out f
show r
show r@99
show r@0
explain r nothing
explain r --at 99
explain r --at x
status gone
log gone --follow
state gone
history r --checkpoints
metrics gone
metrics hello.lua
report r --record fr
report r --html gone/x.html
receipt gone
verify gone
verify hello.lua
replay gone
recover gone
diff r
diff r gone
answer r
answer r 1 x
answer gone x
skip r x
again r x
tell r x words
send r
send r a b
send gone go
resume gone
resume r
resume r --add calls=x
resume r --add nothing=3
resume r --from nothing
resume r --decide x
resume . --due
retry r --step nothing
abort r
stop r
stop gone
watch r
graph
graph gone
graph hello.lua --format nothing
graph hello.lua --run gone
check
check gone
check hello.lua --format nothing
check hello.lua --max-states x
generate gone.json --out x
generate hello.lua --out x
new
new a/b --yes
new x --mode nothing --yes
tokens hello.lua
prompt hello.lua
prompt plain gone
context hello.lua
plan hello.lua
compile hello.lua
compile gone
test hello.lua
test hello.lua gone_spec.lua
test gone
simulate gone
notify r --url x --secret-file s
notify r --url http://127.0.0.1:1/ --secret-file s
move r f
move gone postgres://127.0.0.1:1/x
fleet init q
fleet pause q --queue a/b
fleet drop q
fleet nothing q
login
login gone
logout http://127.0.0.1:1/
serve --listen x
serve --listen 0.0.0.0:80
serve --socket gone/x
serve gone
mcp gone
mcp hello.lua --nothing
acp gone
adopt gone
agents --try gone
status r --nothing
status r x y
help nothing
run --help=x
run hello.lua --work-dir k --quiet
fork k@2 --out k2
fork k@2 --out k2
run hello.lua --agent-env X
run hello.lua --agent cat --agent-env A-B
run hello.lua --agent http://127.0.0.1:1/ --agent-env A
run hello.lua --agent [1]
run hello.lua --agent ["x",7]
run hello.lua --agent []
run hello.lua --quiet=yes
run hello.lua --reset
run hello.lua --work-dir=
run hello.lua --set task=a -- b
run hello.lua --set a..b=c
run hello.lua --log /dev/full --work-dir full --quiet
answer k x y z
answer k --every 1 x
answer k --file gone
answer k 1 --file hello.lua --every
answer k 1
send k go {"a":
send k go word
serve --socket a --listen 1
serve --socket a --at-once 50
submit q hello.lua --each gone --input x
submit q hello.lua --at 2020-01-01
new some-name --phases , --yes
new some-name --actions a,a --yes
login our hello.lua
log k --state --json
log k --verify
list --failed --status completed
list k --older-than 30x
tell k
report k --html k
report k --html k/journal/x.html
diff k@x k
diff k@2 hello.lua
replay k --skill gone.lua
replay k
move k gone/there
graph hello.lua --format svg --output gone/x.svg
check hello.lua --strict
check hello.lua --report
tokens k
prompt hello.lua greet
]] },
}
