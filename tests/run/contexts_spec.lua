-- contexts_spec.lua: what a run is given to know: global, project and session contexts loaded once in their order, and
-- the execution context they make; what a caller hands in and gets back; which part of the state a prompt carries.
local clock = require "tests.support.fake_clock"
local R = require "tests.support.runs"
local core = require "skillrt.core"
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local contexts = require "skillrt.run.contexts"

local function skill_in(folder, context, more)
  local definition = { dir = folder, context = context, actions = { { id = "a", run = function(state)
    return { seen = state.context }
  end } } }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  return definition
end

local function rows_of(dir)
  return R.records(dir, "contexts")[1].list
end

local function names_of(rows)
  local list = {}
  for i, row in ipairs(rows) do
    list[i] = row.name .. (row.skipped and "-" or "")
  end
  return table.concat(list, " ")
end

describe("the contexts of a skill", function()
  after_each(R.clean)

  it("are loaded once, in the order of their dependencies, the optional ones last (R164, R165)", function()
    local folder, dir = R.folder(), R.folder() .. "/run"
    R.write(folder .. "/style.md", "---\nversion: 2.3\n---\nshort")
    R.write(folder .. "/api.json", '{"version":"1.4","paths":["/a"]}')
    R.write(folder .. "/extra.md", "more")
    local definition = skill_in(folder, { global = {
      { file = "extra.md", optional = true }, { file = "gone.md", optional = true },
      { file = "api.json", version = "1.2", requires = { "style" } }, { file = "style.md", version = "2" },
      { name = "again", file = "style.md" },
    } })
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.equal("style api again- extra gone-", names_of(rows_of(dir)))
    assert.same({ version = "1.4", paths = { "/a" } }, result.state.seen.api)
    assert.equal("more", result.state.seen.extra)
    assert.equal(result.state.seen.style, result.state.seen.again)
    local style = rows_of(dir)[1]
    assert.same({ "global", folder .. "/style.md", "2.3", core.sha256(R.read(folder .. "/style.md")), 26 },
      { style.kind, style.file, style.version, style.digest, style.bytes })
    assert.matches("loaded already, as style", rows_of(dir)[3].skipped)
    R.write(folder .. "/style.md", "changed")
    definition.actions[1].run = function(_, ctx) ctx.ask "go on?" end
    dir = R.folder() .. "/run"
    R.write(folder .. "/style.md", "---\nversion: 2.3\n---\nshort")
    assert(R.run(definition, { work_dir = dir }))
    os.remove(folder .. "/style.md")
    assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "yes" }))
    assert.equal(1, #R.records(dir, "contexts")) -- a run that goes on reads nothing again
  end)

  it("of a project lie in the folder that the run is begun in (R161)", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run(skill_in(R.folder(), { project = "README.md" }), { work_dir = dir }))
    assert.matches("skillrt", result.state.seen.README)
  end)

  it("may lie in a library outside the skill: of another skill its page; a resume reads it no more (R199)", function()
    local base, dir = R.folder(), R.folder() .. "/run"
    os.execute(("mkdir -p %s/skill %s/lib/verseApiDigest"):format(base, base))
    R.write(base .. "/lib/verseApiDigest/SKILL.md", "---\nname: verseApiDigest\nversion: 1.2\n---\nthe API")
    R.write(base .. "/lib/rules.json", '{"most":3}')
    local context = { libraries = { verse = "../lib" }, global = {
      { library = "verse", file = "verseApiDigest", version = "1" }, { library = "verse", file = "rules.json" } } }
    local definition = skill_in(base .. "/skill", context)
    definition.actions[1].run = function(state, ctx)
      ctx.ask "go on?"
      return { seen = state.context }
    end
    assert(R.run(definition, { work_dir = dir }))
    local page = R.read(base .. "/lib/verseApiDigest/SKILL.md")
    assert.same({ base .. "/skill/../lib/verseApiDigest/SKILL.md", core.sha256(page), "1.2" },
      { rows_of(dir)[1].file, rows_of(dir)[1].digest, rows_of(dir)[1].version })
    os.execute(("rm -r %s/lib"):format(base))
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "yes" }))
    assert.same({ verseApiDigest = page, rules = { most = 3 } }, result.state.seen)
    local absent = assert(R.run(definition, { work_dir = R.folder() .. "/run" }))
    assert.same({ "failed", "preparing" }, { absent.status, absent.reason })
    assert.matches("context verseApiDigest: .*%(of the library %.%./lib%)", absent.message)
  end)

  it("that are needed and not there, or of another version, fail the run in preparing (R162, R163)", function()
    local folder = R.folder()
    R.write(folder .. "/old.json", '{"version":"1.4"}')
    R.write(folder .. "/plain.md", "of no version")
    for words, context in pairs {
      ["gone.md"] = { global = "gone.md" },
      ["is version unknown, and 1 is needed"] = { global = { { file = "plain.md", version = "1" } } },
      ["is version 1.4, and 2 is needed"] = { global = { { file = "old.json", version = "2" } } },
      ["is version 1.4, and 1.10 is needed"] = { global = { { file = "old.json", version = "1.10" } } },
    } do
      local dir, ran = R.folder() .. "/run", false
      local definition = skill_in(folder, context)
      definition.actions[1].run = function() ran = true end
      local result = assert(R.run(definition, { work_dir = dir }))
      assert.same({ "failed", "preparing", false }, { result.status, result.reason, ran })
      assert.truthy(result.message:find(words, 1, true), result.message)
    end
  end)

  it("that one can do without are taken from their alternative, and the record says degraded (R182)", function()
    local folder, dir = R.folder(), R.folder() .. "/run"
    R.write(folder .. "/small.md", "small")
    local result = assert(R.run(skill_in(folder, { global = { { file = "big.md", optional = true,
      alternative = "small.md" } } }), { work_dir = dir }))
    assert.equal("small", result.state.seen.big)
    assert.matches("big.md", rows_of(dir)[1].degraded)
  end)

  it("must not need each other, nor what is not declared", function()
    for words, context in pairs {
      ["context x needs itself"] = { global = { { name = "x", file = "x.md", requires = "y" },
        { name = "y", file = "y.md", requires = "x" } } },
      ["requires \"z\", which is not declared"] = { global = { { file = "x.md", requires = "z" } } },
      ["there is no kind \"globl\""] = { globl = "x.md" },
      ["libraries names no folder for \"vers\" (did you mean \"verse\"?)"] = { libraries = { verse = "../lib" },
        global = { { library = "vers", file = "x.md" } } },
      ["only a global context lies in a library"] = { libraries = { verse = "../lib" },
        project = { { library = "verse", file = "x.md" } } },
      ["libraries must be a table of folders by name"] = { libraries = "../lib" },
      ["two contexts are called x"] = { global = { "x.md", "x.txt" } },
    } do
      assert.error_matches(function() R.skill(skill_in(".", context)) end, words, 1, true)
    end
  end)

  it("are read again once where that takes too long, then the run fails in preparing (R177, R180)", function()
    local folder = R.folder()
    R.write(folder .. "/x.md", "x")
    local read, slow = files.read, 1
    finally(function() files.read = read end)
    function files.read(path, ...)
      if path:find "/x.md$" and slow > 0 then
        slow = slow - 1
        clock.pass(31)
      end
      return read(path, ...)
    end
    assert.equal("completed", assert(R.run(skill_in(folder, { global = "x.md" }))).status)
    slow = 2
    local result = assert(R.run(skill_in(folder, { global = "x.md" })))
    assert.same({ "failed", "preparing" }, { result.status, result.reason })
    assert.matches("loading it took 31.0 seconds, 30 at most", result.message)
    slow = 2
    assert.equal("completed", assert(R.run(skill_in(folder, { global = "x.md" }, { timeouts = { context_load = 0 } }))).status)
  end)

  it("of a session are kept over runs that name it, and of others they are not (R161)", function()
    local home = R.folder()
    local file = contexts.session_file
    finally(function() contexts.session_file = file end)
    function contexts.session_file(name)
      return ("%s/sessions/%s.json"):format(home, name)
    end
    local definition = skill_in(R.folder(), { session = "talk" })
    definition.actions[1].run = function(state, ctx)
      local list = { table.unpack(state.context.talk or {}) }
      list[#list + 1] = #list + 1
      ctx.context.set("talk", list)
      ctx.context.set("mine", 1)
    end
    for n = 1, 3 do
      local dir = R.folder() .. "/run"
      local result = assert(R.run(definition, { work_dir = dir, session = "one" }))
      assert.equal(n, #result.state.context.talk)
      assert.same({}, R.records(dir, "note")) -- it says nothing of a session that is kept
    end
    assert.same({ talk = { 1, 2, 3 } }, R.json(home .. "/sessions/one.json"))
    local other = skill_in(R.folder(), { session = "mood" })
    other.actions[1].run = function(_, ctx) ctx.context.set("mood", "good") end
    assert(R.run(other, { session = "one" })) -- what another skill keeps in it stays
    assert.same({ talk = { 1, 2, 3 }, mood = "good" }, R.json(home .. "/sessions/one.json"))
    assert.equal(1, #assert(R.run(definition, { session = "two" })).state.context.talk)
    assert.equal(1, #assert(R.run(definition)).state.context.talk)
    assert.is_nil(file "../x")
  end)

  it("do not wait for what is no file and might never end", function()
    local dir = R.folder()
    assert(os.execute("mkfifo " .. dir .. "/style.md"))
    local result = assert(R.run(skill_in(dir, { global = { "style.md" } })))
    assert.same({ "failed", "preparing" }, { result.status, result.reason })
    assert.matches("style.md: is not a regular file", result.message)
  end)

  it("of a session that several runs change at once lose nothing, and a damaged file is not overwritten", function()
    local home = R.folder()
    local file = contexts.session_file
    finally(function() contexts.session_file = file end)
    function contexts.session_file(name)
      return ("%s/sessions/%s.json"):format(home, name)
    end
    local path, dir, skills, runs = home .. "/sessions/one.json", skill_in(R.folder(), { session = "talk" }), {}, {}
    for i = 1, 3 do
      skills[i] = R.skill { name = dir.name, dir = dir.dir, context = dir.context, actions = { { id = "a",
        run = function(_, ctx)
          ctx.context.set("talk", { "run " .. i })
          ctx.ask "?"
          ctx.context.set("talk", { "run " .. i, "again" })
        end } } }
      runs[i] = R.folder() .. "/run"
    end
    local function start(i)
      return assert(skills[i]:run { work_dir = runs[i], session = "one" })
    end
    local function resume(i)
      return assert(require("skillrt").resume(runs[i], { skill = skills[i], answer = "yes" }))
    end
    local first, second = start(1), start(2)
    assert.equal("completed", resume(1).status)
    assert.same({ talk = { "run 1", "again" } }, R.json(path)) -- over what it kept itself when it paused
    assert.equal("completed", resume(2).status)
    assert.same({ talk = { "run 1", "again" } }, R.json(path))
    assert.same({ talk = { "run 2", "again" } }, R.json(path .. "." .. second.run_id))
    assert.not_equal(first.run_id, second.run_id)
    local note = R.records(runs[2], "note")
    assert.matches("another run changed it meanwhile; this run's version of talk is saved in ", note[#note].text)
    R.write(path, "{ half")
    local refused = start(3)
    assert.same({ "failed", "preparing" }, { refused.status, refused.reason })
    assert.matches("one.json: is damaged", refused.message)
    assert.equal("{ half", R.read(path))
  end)

  it("are shown by skillrt context: order, origin, digest, bytes, what is left out", function()
    local folder = R.folder()
    R.write(folder .. "/style.md", "short")
    R.write(folder .. "/s.lua", [[return require("skillrt").skill { name = "s", actions = { { id = "a", run = function() end } },
      context = { global = { "style.md", { file = "gone.md", optional = true } }, session = "talk" } }]])
    local program = (os.getenv "SKILLRT_BUILD" or "build/release") .. "/skillrt"
    local pipe <close> = io.popen(("%s context %s/s.lua 2>&1"):format(program, folder))
    local text = pipe:read "a"
    assert.truthy(text:find("1. global style from " .. folder .. "/style.md: sha256 "
      .. core.sha256("short"):sub(1, 12) .. ", 5 bytes", 1, true), text)
    assert.matches("2. global gone from gone.md: left out: .*gone.md", text)
    assert.matches("3. session talk: left out: no %-%-session is named", text)
  end)

  it("are asked for where a line names a session that the skill keeps nothing in", function()
    local folder = R.folder()
    local program = (os.getenv "SKILLRT_BUILD" or "build/release") .. "/skillrt"
    for kept, told in pairs { ["global = 'style.md'"] = true, ["session = 'talk'"] = false } do
      R.write(folder .. "/style.md", "short")
      R.write(folder .. "/s.lua", ([[return require("skillrt").skill { name = "s", context = { %s },
        actions = { { id = "a", run = function() end } } }]]):format(kept))
      local pipe <close> = io.popen(("XDG_STATE_HOME=%s %s %s/s.lua --session one 2>&1"):format(folder, program, folder))
      local found = pipe:read "a":find("--session one: s itself keeps nothing in it; that takes context = { session", 1, true)
      assert.equal(told, found ~= nil, kept)
    end
  end)
end)

describe("a skill that another one runs", function()
  after_each(R.clean)

  it("is told its sub-task, references and constraints; result, changes and suggestions come back (R167, R168)", function()
    local folder = R.folder()
    local agent = skillrt.agent.command { "sh", "-c", ([[printf '%%s' "$1" > %s/prompt
      echo '{"status":"completed","stateUpdates":{"found":3,"suggestions":["look again"]},"summary":"did it"}']]):format(folder),
      "sh", "{prompt}", parse = "json", idempotent = true }
    local inner = R.skill { name = "inner", agents = { one = agent }, guide = { body = "An inner skill" },
      actions = { { id = "look", agent = "one" } } }
    local result = assert(R.run { actions = { { id = "outer", run = function(_, ctx)
      local back = ctx.run(inner, { task = "look at part two", references = { "a.md" }, constraints = { "no network" } })
      return { status_of = back.status, found = back.state.found, suggestions = back.state.suggestions }
    end } } })
    local prompt = R.read(folder .. "/prompt")
    for _, words in ipairs { "[TASK]\nlook at part two", '"a.md"', '"no network"' } do
      assert.truthy(prompt:find(words, 1, true), prompt)
    end
    assert.same({ "completed", 3, { "look again" } }, { result.state.status_of, result.state.found, result.state.suggestions })
  end)

  it("has contexts of its own, and those of its caller that it is referred to, over every kill (R166, R167)", function()
    local folder, home, dir = R.folder(), R.folder(), R.folder() .. "/run"
    local file = contexts.session_file
    finally(function() contexts.session_file = file end)
    function contexts.session_file(name) return ("%s/sessions/%s.json"):format(home, name) end
    R.write(folder .. "/style.md", "short")
    R.write(folder .. "/inner.md", "of the inner one")
    local function skill()
      local inner = R.skill { name = "inner", dir = folder, state = { n = 1, same = true },
        context = { global = { "inner.md", { file = "gone.md", optional = true } }, session = "talk" },
        actions = { { id = "look", run = function(state, ctx)
          ctx.context.set("talk", (state.context.talk or 0) + 1)
          return { n = 2, saw = state.context, suggestions = { "look again" } }
        end } } }
      return R.skill { name = "outer", dir = folder, context = { global = "style.md" },
        actions = { { id = "outer", run = function(_, ctx)
          ctx.context.set("own", { 1 })
          local back = assert(ctx.run(inner, { references = { "style", "nowhere" } }))
          return { back = back }
        end } } }
    end
    local whole = assert(skill():run { work_dir = dir, session = "one" })
    assert.equal("completed", whole.status, whole.message)
    local back = whole.state.back
    assert.same({ inner = "of the inner one", style = "short" }, back.state.saw)
    assert.same({ n = 2, saw = back.state.saw, suggestions = { "look again" } }, back.changes)
    assert.same({ "look again" }, back.suggestions)
    local list = R.records(dir, "contexts")
    assert.same({ "style", "inner gone- talk- style" }, { names_of(list[1].list), names_of(list[2].list) })
    assert.equal("caller", list[2].list[4].kind)
    assert.same({ talk = 1 }, R.json(home .. "/sessions/one.json"))
    os.remove(folder .. "/inner.md")
    local records, _, began = R.records(dir)
    for keep, record in ipairs(records) do
      if record.t == "contexts" and record.sub or began[record] and record.step > 1 or record.t == "done" then
        local copy = R.folder() .. "/cut"
        R.cut(dir, copy, keep)
        local kept = R.records(copy, "contexts")
        local result = kept[2] and assert(skillrt.resume(copy, { skill = skill() }))
        assert.same(kept[2] and back.state or nil, result and result.state.back.state, "cut behind " .. keep)
      end
    end
  end)

  it("keeps its version of a session apart that another run changes meanwhile, and says so", function()
    local home, dir = R.folder(), R.folder() .. "/run"
    local file = contexts.session_file
    finally(function() contexts.session_file = file end)
    function contexts.session_file(name) return ("%s/%s.json"):format(home, name) end
    local inner = R.skill { name = "inner", dir = R.folder(), context = { session = "talk" },
      actions = { { id = "look", run = function(_, ctx)
        ctx.context.set("talk", "ours")
        R.write(home .. "/one.json", '{"talk":"another\'s"}')
      end } } }
    local outer = R.skill { name = "outer", actions = { { id = "outer", run = function(_, ctx)
      return { status_of = ctx.run(inner, {}).status }
    end } } }
    assert.equal("completed", assert(outer:run { work_dir = dir, session = "one" }).state.status_of)
    assert.same({ talk = "another's" }, R.json(home .. "/one.json"))
    local note = R.records(dir, "note")
    assert.matches("^the session is not kept: .*this run's version of talk is saved in ", note[#note].text)
  end)

  it("fails in preparing where a context that it needs is missing, also after a kill (R163, R183)", function()
    local function skill()
      local inner = R.skill { name = "inner", dir = R.folder(), context = { global = "gone.md" },
        actions = { { id = "look", run = function() error "it ran" end } } }
      return R.skill { name = "outer", actions = { { id = "outer", run = function(_, ctx)
        local _, message, class = ctx.run(inner, {})
        return { message = message, class = class }
      end } } }
    end
    local dir = R.folder() .. "/run"
    local result = assert(skill():run { work_dir = dir })
    assert.matches("inner: failed %(preparing%): context gone: .*gone.md", result.state.message)
    for keep, record in ipairs(R.records(dir)) do
      if record.t == "contexts" then
        local copy = R.folder() .. "/cut"
        R.cut(dir, copy, keep)
        result = assert(skillrt.resume(copy, { skill = skill() }))
        assert.matches("failed %(preparing%)", result.state.message)
      end
    end
  end)
end)

describe("a prompt", function()
  after_each(R.clean)

  it("carries the keys that its action names, and no more bytes than it says (F43)", function()
    local folder = R.folder()
    local agent = skillrt.agent.command { "sh", "-c", ([[printf '%%s' "$1" > %s/prompt; echo '{"status":"completed"}']])
      :format(folder), "sh", "{prompt}", parse = "json", idempotent = true }
    local state = { a = "first", b = ("x"):rep(500), c = "third", d = "fourth" }
    assert(R.run { state = state, agents = { one = agent }, actions = { { id = "x", agent = "one",
      prompt_keys = { "a", "b", "c" }, prompt_bytes = 100 } } })
    local shown = assert(json.decode(R.read(folder .. "/prompt"):match "BEGIN UNTRUSTED STATE[^\n]*\n(.-)\nEND UNTRUSTED"))
    assert.equal("first", shown.a)
    assert.matches("left out: 502 bytes", shown.b)
    assert.is_nil(shown.d)
  end)
end)
