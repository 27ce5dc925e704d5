-- run_resume_spec.lua: going on with a run: pinned files, a person's edits, other folders, scripts
-- that run themselves; values on their way through the journal; runs without one.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local ROOT = io.popen("pwd"):read "l"

-- A script of its own with a prompt; it pauses before its second action until `go` is there.
local SCRIPT = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "pinned", durability = "process", strategy = "mine.lua", state = { n = 1, list = { 1 } },
  terminate = { { when = "n === 2 && !go", status = "paused", reason = "tea" } },
  agents = { model = skillrt.agent.command { "cat", stdin = "{prompt}" } },
  actions = {
    { id = "a", priority = 2, run = function(state) return { n = state.n + 1 } end },
    { id = "b", agent = "model", prompt = "ask.md", idempotent = true },
  },
}
]]

local function paused_script()
  local folder = R.folder()
  R.write(folder .. "/skill.lua", SCRIPT)
  R.write(folder .. "/ask.md", "please do")
  R.write(folder .. "/mine.lua", "return { select = function(_, a) return a[1].id end }")
  local result = assert(assert(skillrt.load(folder .. "/skill.lua")):run { work_dir = folder .. "/run" })
  assert.same({ "paused", "tea" }, { result.status, result.reason })
  return folder
end

local function edit(dir, change)
  local state = R.json(dir .. "/state.json")
  change(state)
  R.write(dir .. "/state.json", assert(json.encode(state, { indent = 2 })) .. "\n")
end

describe("the files that decide", function()
  after_each(R.clean)

  it("are pinned: the one that changed is named and refused, unless accepted (F23)", function()
    for file, name in pairs { ["skill.lua"] = "skill.lua", ["ask.md"] = "ask.md", ["mine.lua"] = "strategy mine" } do
      local folder = paused_script()
      R.write(folder .. "/" .. file, R.read(folder .. "/" .. file) .. "\n")
      local result, message, code = skillrt.resume(folder .. "/run")
      assert.is_nil(result)
      assert.equal("changed", code)
      assert.matches(name, message, nil, true)
      assert.matches("--accept-changes", message, nil, true)
      result = assert(skillrt.resume(folder .. "/run", { accept_changes = true }))
      assert.equal("tea", result.reason)
      assert.same({ name }, R.records(folder .. "/run", "accept")[1].changed)
      assert(skillrt.resume(folder .. "/run")) -- accepted is pinned anew
    end
  end)

  it("are refused when they are gone, with the file's name", function()
    local folder = paused_script()
    os.remove(folder .. "/ask.md")
    local result, message = skillrt.resume(folder .. "/run")
    assert.is_nil(result)
    assert.matches("ask.md: No such file", message)
  end)

  it("belong to one skill: another's script is refused", function()
    local folder = paused_script()
    local other = R.skill { name = "other", actions = { { id = "a", run = print } } }
    local result, message = skillrt.resume(folder .. "/run", { skill = other })
    assert.is_nil(result)
    assert.matches("is a run of pinned, not of other", message)
  end)
end)

describe("a state.json edited by hand", function()
  after_each(R.clean)

  it("is refused, and taken over only when accepted (F41)", function()
    local folder = paused_script()
    edit(folder .. "/run", function(state) state.go = true end)
    local result, message, code = skillrt.resume(folder .. "/run")
    assert.is_nil(result)
    assert.equal("edited", code)
    assert.matches("state.json", message)
    result = assert(skillrt.resume(folder .. "/run", { accept_edits = true }))
    assert.equal("completed", result.status, result.message)
    assert.is_true(result.state.go)
    assert.same({ go = true }, R.records(folder .. "/run", "edit")[1].set)
  end)

  it("is a patch of what it showed: removed and changed keys count, the runtime's are left with a note (F34)", function()
    local folder = paused_script()
    edit(folder .. "/run", function(state)
      state.list, state.go, state.error_count, state.completed_actions = nil, 1, 7, {}
    end)
    local result = assert(skillrt.resume(folder .. "/run", { accept_edits = true }))
    assert.is_nil(result.state.list)
    assert.equal(0, result.state.error_count)
    assert.same({ "a", "b" }, result.state.completed_actions)
    assert.same({ "completed_actions", "error_count" }, R.records(folder .. "/run", "edit")[1].ignored)
  end)

  it("does not take back what the journal gained after it was written", function()
    local folder = paused_script()
    local dir = folder .. "/run"
    local shown = R.read(dir .. "/state.json")
    local early = shown:gsub('"seq": %d+', '"seq": 1'):gsub('"n": 2', '"n": 1'):gsub('"list": %[%s*1%s*%]', '"list": [5]')
    R.write(dir .. "/state.json", early)
    local result = assert(skillrt.resume(dir, { accept_edits = true }))
    assert.equal(2, result.state.n)
    assert.same({ 5 }, result.state.list)
  end)

  it("that is no JSON is refused with its place, deleted it is written anew (F48)", function()
    local folder = paused_script()
    R.write(folder .. "/run/state.json", '{"n": ')
    local result, message = skillrt.resume(folder .. "/run", { accept_edits = true })
    assert.is_nil(result)
    assert.matches("state.json: ", message)
    os.remove(folder .. "/run/state.json")
    assert(skillrt.resume(folder .. "/run"))
    assert.equal(2, R.json(folder .. "/run/state.json").n)
  end)
end)

describe("a run taken up elsewhere", function()
  after_each(R.clean)

  it("keeps its folder, input and arguments wherever the program is started", function()
    local folder = R.folder()
    assert(os.execute(("mkdir '%s/src' '%s/elsewhere'"):format(folder, folder)))
    R.write(folder .. "/src/a.txt", "found")
    R.write(folder .. "/skill.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill {
        name = "moved", durability = "process",
        terminate = { { when = "!go && said", status = "paused", reason = "tea" } },
        actions = {
          { id = "a", max_runs = 2, run = function(state, ctx)
            local reply = ctx.await { kind = "command", argv = { "cat", "src/a.txt" } }
            return { said = reply.stdout, text = ctx.read "a.txt", go = state.said ~= nil, arg = ctx.args[1] }
          end },
        },
      }]])
    local program = ([[
      package.path = "%s/lua/?.lua;%s/lua/?/init.lua;" .. package.path
      package.cpath = "%s/build/%s/lib/?.so;" .. package.cpath
      local skillrt = require "skillrt"
      local result, message
      if arg[1] == "run" then
        result, message = assert(skillrt.load "%s/skill.lua"):run {
          work_dir = "run", input = { dir = "src" }, args = { "first" } }
      else
        result, message = skillrt.resume "%s/run"
        if result and result.reason == "tea" then error "still tea" end
      end
      print(skillrt.json.encode(result and { r = result.reason, s = result.state } or { message = message }))
    ]]):format(ROOT, ROOT, ROOT, os.getenv "SKILLRT_MODE" or "release", folder, folder)
    R.write(folder .. "/do.lua", (program:gsub("if result and.-end\n", "")))
    local function start(where, what)
      local pipe <close> = assert(io.popen(("cd '%s' && lua5.4 '%s/do.lua' %s 2>&1"):format(where, folder, what)))
      return pipe:read "a"
    end
    assert.matches('"r":"tea"', start(folder, "run"))
    R.write(folder .. "/src/a.txt", "again")
    local said = start(folder .. "/elsewhere", "resume")
    assert.matches("tea", said) -- the condition still holds: nothing was done
    edit(folder .. "/run", function(state) state.go = true end)
    local result = assert(skillrt.resume(folder .. "/run", { accept_edits = true }))
    assert.same({ "completed", "again", "again", "first" },
      { result.status, result.state.said, result.state.text, result.state.arg })
  end)

  it("goes on through a script that calls skill:run itself, which gets the result", function()
    local folder = R.folder()
    R.write(folder .. "/self.lua", ([[
      local skillrt = require "skillrt"
      local skill = skillrt.skill { name = "selfish", durability = "process",
        terminate = { { when = "n === 1 && !go", status = "paused", reason = "tea" } },
        actions = { { id = "a", priority = 1, run = function() return { n = 1 } end }, { id = "b", run = function() end } } }
      local result = assert(skill:run { work_dir = "%s/run" })
      io.open("%s/seen", "a"):write(result.status, " "):close() -- its globals are its own
      return result]]):format(folder, folder))
    local result = assert(skillrt.load(folder .. "/self.lua"))
    assert.equal("paused", result.status)
    edit(folder .. "/run", function(state) state.go = true end)
    result = assert(skillrt.resume(folder .. "/run", { accept_edits = true }))
    assert.equal("completed", result.status)
    assert.same({ "a", "b" }, result.state.completed_actions)
    assert.equal("paused completed ", R.read(folder .. "/seen"))
    local refused, message = skillrt.resume(folder .. "/run")
    assert.is_nil(refused)
    assert.matches("nothing to resume", message)
  end)

  it("says what is wrong with a folder that contains no run", function()
    local folder = R.folder()
    local result, message = skillrt.resume(folder .. "/nothing")
    assert.is_nil(result)
    assert.matches(folder .. "/nothing", message, nil, true)
    local skill = R.skill { actions = { { id = "a", run = print } } }
    assert.is_nil((skillrt.resume(folder .. "/nothing", { skill = skill })))
    assert.has_error(function() skillrt.resume(folder, { skill = {} }) end)
  end)
end)

describe("values on their way through the journal", function()
  after_each(R.clean)

  it("come back as they were: integers, floats, lists, objects, null, text of any kind (F70)", function()
    local values = {
      int = 9007199254740993, min = math.mininteger, max = math.maxinteger, zero = 0, float = 0.1, whole = 2.0,
      tiny = 5e-324, huge = 1.7976931348623157e308, neg = -0.5, third = 1 / 3, yes = true, no = false,
      text = "ä€😀 \0 \" \\ / \n \u{2028}", empty = "", list = json.array {}, object = {},
      mixed = { 1, 2.0, "x", json.null, { json.array {}, {} } }, nested = { a = { b = { c = json.array {} } } },
    }
    local function definition()
      return {
        terminate = { { when = "paused_once !== true", status = "paused", reason = "tea" } },
        actions = {
          { id = "first", priority = 1, run = function() return values end },
          { id = "a", run = function(state)
            return { same = math.type(state.whole) == "float" and math.type(state.int) == "integer" }
          end },
        },
      }
    end
    local dir = R.folder() .. "/run"
    local d = definition()
    d.terminate = { { when = "int && !same", status = "paused", reason = "tea" } }
    local first = assert(R.run(d, { work_dir = dir })).state
    d.terminate = nil
    local second = assert(skillrt.resume(dir, { skill = R.skill(d) })).state
    for key, value in pairs(values) do
      assert.same(value, first[key], key)
      assert.same(value, second[key], key)
      assert.equal(math.type(value), math.type(second[key]), key)
      assert.equal(json.encode(value), json.encode(second[key]), key)
    end
    assert.is_true(second.same)
    assert.is_true(json.is_array(second.list))
    assert.is_false(json.is_array(second.object))
  end)

  it("may be large: what is over 64 KiB lies in a blob of its own", function()
    local dir = R.folder() .. "/run"
    local big = ("0123456789abcdef"):rep(20000)
    local function definition()
      return {
        terminate = { { when = "big && !over", status = "paused", reason = "tea" } },
        phases = nil,
        actions = {
          { id = "a", priority = 1, run = function(_, ctx)
            local reply = ctx.await { kind = "command", argv = { "cat" }, stdin = big, idempotent = true }
            ctx.context.set("large", { text = reply.stdout })
            return { big = { text = reply.stdout, sha256 = "not a reference", bytes = 1 }, small = "s" }
          end },
          { id = "b", run = function(state, ctx)
            return { over = #state.big.text + #ctx.context.get("large").text }
          end },
        },
      }
    end
    assert(R.run(definition(), { work_dir = dir }))
    assert.is_true(#R.read(dir .. "/journal/00000001.sj") < 16000)
    local d = definition()
    d.terminate = nil
    local result = assert(skillrt.resume(dir, { skill = R.skill(d) }))
    assert.equal("completed", result.status, result.message)
    assert.equal(big, result.state.big.text)
    assert.equal("not a reference", result.state.big.sha256)
    assert.equal(2 * #big, result.state.over)
  end)

  it("write no more than their change, however large the state is (F27)", function()
    local dir = R.folder() .. "/run"
    local records, sizes = 0, {}
    assert(R.run({
      state = { items = { ("x"):rep(300000) }, n = 0 },
      actions = { { id = "a", when = "n < 20", max_runs = 30, run = function(state) return { n = state.n + 1 } end } },
    }, { work_dir = dir }))
    for line in R.read(dir .. "/journal/00000001.sj"):gmatch "[^\n]*\n" do
      records = records + 1
      sizes[records] = #line
    end
    table.sort(sizes)
    assert.is_true(sizes[records - 1] < 300)
  end)
end)

describe("the memory context", function()
  after_each(R.clean)

  it("leaves nothing behind: no run directory, no files; context and outputs in the state (R6, R44)", function()
    local folder = R.folder()
    local result = assert(R.run({
      context = "memory",
      phases = {
        { id = "01-a", output = "a.json", run = function(_, ctx)
          ctx.context.set("shared", { x = 1 })
          return { v = 7 }
        end },
        { id = "02-b", run = function(state, ctx)
          return state.outputs["01-a"].v + ctx.context.get("shared").x + ctx.context.get("01-a_output").v
        end },
      },
    }, { work_dir = folder .. "/run" }))
    assert.equal("completed", result.status, result.message)
    assert.equal(15, result.state.outputs["02-b"])
    assert.same({ shared = { x = 1 }, ["01-a_output"] = { v = 7 }, ["02-b_output"] = 15 }, result.state.context)
    assert.is_nil(R.read(folder .. "/run/state.json"))
    assert.is_true(result.in_memory)
    assert.equal("", io.popen(("ls -A '%s'"):format(folder)):read "a")
  end)

  it("passes values to agents in the prompt, not paths (R21, F4)", function()
    local result = assert(R.run({
      context = "memory",
      phases = {
        { id = "a", output = "a.json", run = function() return { secret = 42 } end },
        { id = "b", output = "b.md", agent = skillrt.agent.command { "cat", stdin = "{prompt}" } },
      },
    }))
    local prompt = result.state.outputs.b
    assert.matches('a.json:\n{\n  "secret": 42\n}', prompt, nil, true)
    assert.matches("BEGIN UNTRUSTED INPUT", prompt)
    assert.matches("[INPUT] None", prompt, nil, true)
    assert.matches("[OUTPUT] None", prompt, nil, true)
  end)

  it("refuses an option that it does not know, and names the nearest", function()
    local skill = R.skill { actions = { { id = "a", run = function() end } } }
    local ok, message = pcall(skill.run, skill, { work_dri = "x" })
    assert.is_false(ok)
    assert.matches('unknown field "work_dri" %(did you mean "work_dir"%?%)', message)
  end)

  it("raises where skill:run is called, if what is given cannot be recorded", function()
    local skill = skillrt.skill { name = "s", context = "memory", actions = { { id = "a", run = function() end } } }
    for wanted, options in pairs {
      ["skill:run: input.f: cannot encode a function"] = { input = { f = print } },
      ['skill:run: field "input" must be a table, not "x"'] = { input = "x" },
      ["skill:run: args[2]: cannot encode a function"] = { args = { "a", print } },
    } do
      local ok, message = pcall(function() local _ = skill:run(options) end)
      assert.is_false(ok)
      assert.truthy(message:find("^tests/run/run_resume_spec.lua:%d+: ") and message:find(wanted, 1, true), message)
    end
  end)

  it("does not grow over many steps", function()
    local steps, weights = 20000, {}
    local skill = R.skill {
      context = "memory",
      limits = { max_iterations = steps + 1 },
      state = { n = 0 },
      actions = {
        { id = "a", when = ("n < %d"):format(steps), repeatable = true, run = function(state)
          if state.n == 2000 or state.n == steps - 1 then
            collectgarbage()
            collectgarbage()
            weights[#weights + 1] = collectgarbage "count"
          end
          return { n = state.n + 1 }
        end },
      },
    }
    local result = assert(skill:run())
    assert.equal("completed", result.status, result.message)
    assert.equal(steps, result.state.n)
    assert.is_true(weights[2] - weights[1] < 64, ("it grew by %.0f KiB"):format(weights[2] - weights[1]))
  end)
end)
