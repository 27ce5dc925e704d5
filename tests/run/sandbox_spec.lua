-- sandbox_spec.lua: programs that run in a sandbox: whose they are, who says so, what is recorded and shown, and what is
-- said where there is none. What a program in one cannot do is proven by tests/c/test_jail_escapes.c.
local K = require "tests.support.mcp_kit"
local R = require "tests.support.runs"
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"

local HERE = io.popen("pwd"):read "l"

-- Whether it can be tested here; says what is missing.
local function works()
  local ok, why = core.jail()
  if not ok then
    pending("no sandbox works here: cannot " .. why)
  end
  return ok
end

-- A skill of one program.
local function script(folder, line, more)
  return folder.file("a.lua", ([[
    local skillrt = require "skillrt"
    return skillrt.skill { name = "boxed", %s actions = { { id = "look", agent = skillrt.agent.command {
      "sh", "-c", %q, parse = "text" %s } } } }]]):format(more and more.skill or "", line, more and more.agent or ""))
end

describe("a program", function()
  before_each(K.begin)
  after_each(R.clean)

  it("runs in a sandbox where its agent, its skill or the command line says so", function()
    if not works() then return end
    local folder <close> = kit.folder()
    local out = R.folder()
    local line = ("touch %s/made; touch made; exit 0"):format(out)
    local function wrote(words, more)
      os.remove(out .. "/made")
      os.remove(folder.path .. "/made")
      script(folder, line, more)
      local run = kit.run(folder, { "run", "a.lua", "--quiet", "--work-dir", "w" .. core.uuid(), table.unpack(words) })
      assert.equal(0, run.code, run.err)
      return (R.exists(out .. "/made") and "out " or "") .. (R.exists(folder.path .. "/made") and "in" or "")
    end
    assert.equal("out in", wrote {})
    assert.equal("in", wrote { "--sandbox", "work" })
    assert.equal("", wrote { "--sandbox", "strict" })
    assert.equal("in", wrote({}, { agent = ', sandbox = "work"' }))
    assert.equal("", wrote({}, { agent = ', sandbox = "strict"' }))
    assert.equal("in", wrote({}, { agent = ', sandbox = { write = "." }' }))
    assert.equal("in", wrote({}, { skill = 'sandbox = "work",' }))
    assert.equal("", wrote({}, { skill = 'sandbox = "work",', agent = ', sandbox = "strict"' }))
    assert.equal("out in", wrote({}, { skill = 'sandbox = "work",', agent = ', sandbox = "off"' }))
    -- the person who runs it lifts it, or makes it stricter
    assert.equal("out in", wrote({ "--sandbox", "off" }, { agent = ', sandbox = "strict"' }))
    assert.equal("", wrote({ "--sandbox", "work" }, { agent = ', sandbox = "strict"' }))
    assert.equal("", wrote({ "--sandbox", "strict" }, { agent = ', sandbox = "work"' }))
    assert.equal("in", wrote({ "--sandbox", "work" }, { agent = ', sandbox = "off"' }))
    assert.equal("in", wrote({ "--sandbox", "strict" }, { agent = ', sandbox = { level = "work", write = "." }' }))
  end)

  it("works in the folders of its run, out of which no link leads, and leaves there what others execute", function()
    if not works() then return end
    local folder <close> = kit.folder()
    local out = R.folder()
    os.execute(("cd '%s' && mkdir -p .git/hooks sub && ln -s '%s' out && ln -s . same && ln -s .git/hooks hooks && ln -s .git git")
      :format(folder.path, out))
    local function wrote(agent, name)
      script(folder, ("touch %s && echo it did"):format(name or "made"), { agent = ", " .. agent })
      local run = kit.run(folder, { "run", "a.lua", "--work-dir", "w" .. core.uuid() })
      return run.code == 0, run.err .. run.out
    end
    for _, cwd in ipairs { ".", "sub", "same", "same/sub" } do
      assert.is_true(wrote(('sandbox = "work", cwd = %q'):format(cwd)), cwd)
    end
    assert.is_true(R.exists(folder.path .. "/made") and R.exists(folder.path .. "/sub/made"))
    for cwd, name in pairs { [".git/hooks"] = "x", hooks = "x", ["same/.git"] = "hooks/x", git = "hooks/x",
      same = ".git/hooks/x" } do
      assert.is_false(wrote(('sandbox = "work", cwd = %q'):format(cwd), name), cwd)
      assert.is_false(wrote(('sandbox = { level = "work" }, cwd = "%s/%s"'):format(folder.path, cwd), name), cwd)
    end
    assert.is_false(R.exists(folder.path .. "/.git/hooks/x"))
    for _, agent in ipairs { 'sandbox = "work", cwd = "out"', 'sandbox = "strict", cwd = "same/out"',
      'sandbox = { read = "out" }', 'sandbox = { write = "out" }' } do
      local ok, told = wrote(agent)
      assert.is_false(ok, agent)
      assert.truthy(told:find("/out: a link leads out of its folder; grant where it leads", 1, true), told)
    end
    assert.is_false(R.exists(out .. "/made"))
    assert.is_true(wrote(('sandbox = { write = { "same", %q } }'):format(out), out .. "/made"))
    assert.is_true(wrote 'sandbox = { write = ".git/hooks" }, cwd = ".git/hooks"') -- it was granted by its name
  end)

  it("has the variables that are granted, and none that are not", function()
    if not works() then return end
    local folder <close> = kit.folder()
    script(folder, 'echo "$GIVEN-$OTHER-$LD_PRELOAD-$LD_LIBRARY_PATH" > made',
      { agent = ', sandbox = { write = ".", env = "GIVEN" }' })
    local run = kit.run(folder, { "run", "a.lua", "--quiet", env = "GIVEN=1 OTHER=2 LD_LIBRARY_PATH=/nowhere" })
    assert.equal(0, run.code, run.err)
    assert.equal("1---\n", folder.read "made")
  end)

  it("is not loaded with a library of its person's environment (LD_PRELOAD), unless it is granted", function()
    if not works() then return end
    local folder <close> = kit.folder()
    folder.file("hook.c", [[
      #include <fcntl.h>
      #include <unistd.h>
      extern char *program_invocation_short_name;
      __attribute__((constructor)) static void begin(void) {
        int fd = open("loaded", O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (write(fd, program_invocation_short_name, 4) < 4) _exit(9);
      }]])
    if not os.execute(("cc -D_GNU_SOURCE -shared -fPIC -o '%s/hook.so' '%s/hook.c'"):format(folder.path, folder.path)) then
      pending "no compiler is here"
      return
    end
    local function loaded(sandbox)
      os.remove(folder.path .. "/loaded")
      script(folder, "exec true", { agent = sandbox })
      local run = kit.run(folder, { "run", "a.lua", "--quiet", "--work-dir", "w" .. core.uuid(),
        env = ("LD_PRELOAD='%s/hook.so' ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"):format(folder.path) })
      assert.equal(0, run.code, run.err)
      return folder.read("loaded"):find("true", 1, true) ~= nil
    end
    assert.is_false(loaded ', sandbox = { write = "." }')
    assert.is_false(loaded ', sandbox = "work"')
    assert.is_true(loaded ', sandbox = { write = ".", env = "LD_PRELOAD" }')
  end)

  it("is recorded with what it was granted, in a run that keeps its level when it is resumed", function()
    if not works() then return end
    local folder <close> = kit.folder()
    script(folder, "touch /made-outside 2>/dev/null; test -e second || exit 1")
    local first = kit.run(folder, { "run", "a.lua", "--quiet", "--work-dir", "run", "--sandbox", "work" })
    assert.equal(1, first.code, first.out)
    folder.file("second", "")
    local second = kit.run(folder, { "retry", "run", "--quiet", "--yes" })
    assert.equal(0, second.code, second.err .. second.out)
    local calls = R.records(folder.path .. "/run", "call")
    assert.equal(2, #calls)
    for _, call in ipairs(calls) do
      assert.truthy(call.sandbox:find "^work %x+$", tostring(call.sandbox))
    end
    assert.equal(calls[1].sandbox, calls[2].sandbox)
    assert.equal("work", R.records(folder.path .. "/run", "run")[1].sandbox)
    assert.is_nil(R.read "/made-outside")
  end)

  it("that is refused something is told of with what would grant it", function()
    if not works() then return end
    local folder <close> = kit.folder()
    local function said(line)
      script(folder, line, { agent = ', sandbox = "work"' })
      local run = kit.run(folder, { "run", "a.lua", "--work-dir", "w" .. core.uuid() })
      assert.equal(1, run.code)
      return run.out .. run.err
    end
    local told = said "touch /usr/made"
    assert.truthy(told:find('its sandbox may be why: sandbox = { write = { "/usr/made" } } grants it', 1, true),
      told)
    assert.is_nil(said("exit 4"):find("sandbox", 1, true))
    local there = folder.file("there.sh", "true")
    for line, grant in pairs({
      ["echo 'curl: (6) Could not resolve host: far.example.com'"] = 'network = { "far.example.com" }',
      ["echo 'wget: unable to resolve host address ‘far.example.com’'"] = 'network = { "far.example.com" }',
      ["echo 'Error: getaddrinfo ENOTFOUND far.example.com'"] = 'network = { "far.example.com" }',
      ["echo 'fatal: cannot mkdir g: Read-only file system'"] = 'write = { "." }',
      ["cd " .. there] = ('read = { %q }'):format(there), -- its /tmp is its own
    }) do
      told = said(line .. " >&2; exit 4")
      assert.truthy(told:find("sandbox = { " .. grant .. " } grants it", 1, true), told)
    end
    for _, line in ipairs { "  at Module._resolveFilename: MODULE_NOT_FOUND", "ModuleNotFoundError: No module named x" } do
      told = said(("echo '%s' >&2; exit 1"):format(line))
      assert.is_nil(told:find("grants it", 1, true), told)
    end
  end)

  it("has the places of the network that are granted, and what it was refused is recorded with what grants it", function()
    if not works() then return end
    local folder <close> = kit.folder()
    local server = R.server "/say/hello\n"
    local at = server.url:match "http://([%d.:]+)"
    local ask = "curl -sSf --noproxy '' http://%s/plan"
    local function run(place)
      script(folder, ask:format(place), { agent = (', sandbox = { network = { %q, "api.example.com" } }'):format(at) })
      return kit.run(folder, { "run", "a.lua", "--work-dir", "w" .. place })
    end
    local fine = run(at)
    assert.equal(0, fine.code, fine.out .. fine.err)
    local held = run "evil.example.com:80"
    assert.equal(1, held.code)
    assert.truthy((held.out .. held.err):find(
      'its sandbox may be why: sandbox = { network = { "evil.example.com:80" } } grants it', 1, true), held.out)
    local reply = R.records(folder.path .. "/wevil.example.com:80", "result")[1].reply
    assert.equal("evil.example.com:80", reply.refused)
    assert.equal('network = { "evil.example.com:80" }', reply.grant)
    server.stop()
  end)

  it("of a tool or a server of MCP runs in one, too", function()
    if not works() then return end
    local out = R.folder()
    local line = ("touch %s/made 2>&1; echo told"):format(out)
    local function told(tool)
      local result = assert(R.run({ tools = { see = { command = { "sh", "-c", line }, description = "d", sandbox = tool } },
        actions = { { id = "a", run = function(_, ctx) return { told = (ctx.tool "see") } end } } }))
      assert.equal("completed", result.status, tostring(result.message))
      assert.truthy(result.state.told:find "told")
      local made = R.exists(out .. "/made")
      os.remove(out .. "/made")
      return made
    end
    assert.is_true(told(nil))
    assert.is_false(told "work")
    assert.is_false(told "strict")
    local servers = { our = K.server("good", { sandbox = { level = "strict", read = HERE, write = K.folder } }) }
    local result, dir = K.run(function(_, ctx) return { text = (ctx.tool("mcp__our__echo", { text = "hello" })) } end,
      servers)
    assert.equal("hello", result.state.text, json.encode(result.state.errors))
    assert.truthy(R.records(dir, "call")[1].sandbox:find "^strict ")
  end)

  it("of a workflow script runs in one", function()
    if not works() then return end
    local folder <close> = kit.folder()
    folder.file("flow.js", "export const meta = { name: 'flow', description: 'd' }\nreturn await agent('x')\n")
    local run = kit.run(folder, { "run", "flow.js", "--trust", "--agent", "cat", "--work-dir", "run", "--sandbox", "work" })
    assert.equal(0, run.code, run.err .. run.out)
    run = kit.run(folder, { "run", "flow.js", "--trust", "--agent", "cat", "--work-dir", "run2", "--sandbox", "strict" })
    assert.equal(0, run.code, run.err .. run.out)
  end)

  it("does not begin without its sandbox where there is none, and the line says what is missing", function()
    local folder <close> = kit.folder()
    script(folder, "touch made", { agent = ', sandbox = "work"' })
    -- a user namespace in which there are no more of them
    local none = "unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"' sh "
    if not os.execute(none .. "true 2>/dev/null") then
      pending "no user namespace can be made here"
      return
    end
    local out = folder.path .. "/told"
    os.execute(("cd '%s' && %s '%s' run a.lua --work-dir run > told 2>&1"):format(folder.path, none, kit.program))
    local told = R.read(out)
    assert.is_nil(folder.read "made")
    assert.truthy(told:find("sh: no sandbox works here: cannot begin with namespaces of its own", 1, true), told)
    assert.truthy(told:find("SKILLRT_SANDBOX=off runs it without one", 1, true), told)
    assert.truthy(told:find("`skillrt agents` says what is missing", 1, true), told)
    os.execute(("cd '%s' && %s '%s' agents > told 2>&1"):format(folder.path, none, kit.program))
    assert.truthy(R.read(out):find "sandbox    does not work here: cannot .-It needs user namespaces", R.read(out))
  end)

  it("is no sandbox's where that is misspelt", function()
    local _, message = pcall(skillrt.agent.command, { "true", sandbox = "strikt" })
    local ok, why = pcall(R.skill, { sandbox = "strikt", actions = { { id = "a", run = print } } })
    assert.is_false(ok)
    assert.truthy(tostring(why):find('is not a valid sandbox: field "level" must be one of strict, work, off', 1, true), why)
    assert.truthy(tostring(message))
  end)
end)

describe("a stranger's folder", function()
  it("is shown with what its programs may reach", function()
    local folder <close> = kit.folder()
    folder.file("skill-config.json", assert(json.encode {
      skill_name = "boxed", description = "d", execution_mode = "autonomous",
      autonomous_config = { actions = { { id = "look", agent_type = "looker" } } },
      x_skillrt = { agents = { looker = { kind = "command", argv = { "true" },
        sandbox = { write = { "out" }, network = true } } } },
    }))
    local asked = kit.run(folder, { "run", ".", env = "XDG_STATE_HOME=" .. folder.path })
    assert.equal(8, asked.code, asked.err .. asked.out)
    assert.truthy(asked.err:find("starts true, sandbox: strict; write out; network", 1, true), asked.err)
  end)
end)
