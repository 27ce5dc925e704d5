-- sandbox_headers_spec.lua: credentials that skillrt adds to the requests of a program in a sandbox. The program asks in
-- plain HTTP, and skillrt asks by TLS; the other side is a server of this machine with a certificate made here. Whatever
-- the program tries, it never has the credential, and nobody else gets it.
local R = require "tests.support.runs"
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local KEY <const> = "sesame-open-4711"
local CERT <const> = "cd '%s' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out cert "
  .. "-days 2 -subj '/CN=skillrt test' -addext subjectAltName=IP:127.0.0.1 2>/dev/null"

-- What is said where it cannot be tested.
local function missing()
  local ok, why = core.jail()
  return not ok and "no sandbox works here: cannot " .. why
    or not os.execute "command -v openssl node curl >/dev/null" and "openssl, node and curl are needed" or nil
end

describe("a header of a sandbox", function()
  local folder, tls, plain, place, elsewhere

  before_each(function()
    if missing() then return end
    folder = kit.folder()
    assert(os.execute(CERT:format(folder.path)))
    local from = io.popen(("node tests/support/tls_server.js '%s' & echo $!"):format(folder.path))
    tls = { pid = from:read "l", port = from:read "l", from = from }
    place = "127.0.0.1:" .. tls.port
    plain = R.server "/head"
    elsewhere = plain.url:match "http://([%d.:]+)"
  end)
  after_each(function()
    if tls then
      os.execute("kill " .. tls.pid)
      tls.from:close()
      plain.stop()
      getmetatable(folder).__close(folder)
    end
    tls = nil
    R.clean()
  end)

  local function seen()
    return folder.read "seen" or ""
  end

  -- What a shell's line said in a sandbox with the header; the run, and its folder.
  local function said(line, sandbox, env)
    local dir = "w" .. core.uuid()
    sandbox = sandbox or ('headers = { [%q] = "Authorization: Bearer {secret.KEY}" }, ca_file = %q, network = { %q }')
      :format(place, folder.path .. "/cert", elsewhere)
    folder.file("a.lua", ([[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "keys", actions = { { id = "look", agent = skillrt.agent.command {
        "sh", "-c", %q, parse = "text", sandbox = { %s } } } } }]]):format(line, sandbox))
    local run = kit.run(folder, { "run", "a.lua", "--work-dir", dir, "--log", dir .. ".log",
      env = env or ("KEY=" .. KEY) })
    local result = R.exists(folder.path .. "/" .. dir) and R.records(folder.path .. "/" .. dir, "result")[1]
    return result and (result.reply.body or "") .. (result.reply.extra or "") or "", run, dir
  end

  local function ask(rest)
    return "curl -sS --noproxy '' " .. rest
  end

  local function test(name, body)
    it(name, function()
      local why = missing()
      if why then
        pending(why)
        return
      end
      body()
    end)
  end

  test("is added to plain requests to its place, and is in nothing that the program or the run has", function()
    local text, run, dir = said(ask(("-H 'authorization: mine' http://%s/a; "):format(place))
      .. ask(("-d hello http://%s/b; "):format(place)) .. "env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'")
    assert.equal(0, run.code, run.err)
    assert.equal(("GET /a Bearer %s 0\nPOST /b Bearer %s 5\n"):format(KEY, KEY), seen())
    assert.truthy(text:find "^served\nserved\n", text)
    assert.is_nil((text .. run.out .. run.err):find(KEY, 1, true))
    local status = os.execute(("cd '%s' && ! grep -rqF %s %s %s.log"):format(folder.path, KEY, dir, dir))
    assert.is_true(status)
    local call = R.records(folder.path .. "/" .. dir, "call")[1]
    assert.truthy(call.sandbox:find "^strict %x+$")
  end)

  test("is sent to no other place, and in no tunnel of the program's own", function()
    local text = said(ask(("http://%s/head; "):format(elsewhere)) .. ask(("http://127.0.0.1:1/; "))
      .. ask(("-k -p https://%s/tunnel; "):format(place)) .. ask(("-H 'Host: %s' http://%s/head"):format(place, elsewhere)))
    assert.is_nil(text:find(KEY, 1, true))
    assert.is_nil(text:find("Bearer", 1, true))
    assert.truthy(text:find("127.0.0.1:1 is not granted to this program", 1, true), text)
    assert.equal("GET /tunnel undefined 0\n", seen())
  end)

  test("is not sent where a redirect leads", function()
    folder.file("away", plain.url)
    local text = said(ask(("-L http://%s/away; "):format(place)))
    assert.truthy(text:find("redirect 307 to http://" .. elsewhere, 1, true), text)
    assert.is_nil(text:find(KEY, 1, true))
  end)

  test("does not come back to the program where its place says it", function()
    local text = said(ask(("http://%s/echo; "):format(place)) .. ask(("http://%s/words; "):format(place))
      .. ask(("-X TRACE http://%s/a"):format(place)))
    assert.is_nil(text:find(KEY, 1, true))
    assert.equal(2, select(2, text:gsub("sent the added header back: its answer is dropped", "")))
    assert.truthy(text:find("cannot be sent this request", 1, true), text)
    assert.is_nil(seen():find("TRACE", 1, true))
  end)

  test("is sent to whom the certificate names, else to nobody", function()
    local sandbox = ('headers = { [%q] = "Authorization: Bearer {secret.KEY}" }'):format(place)
    local text = said(ask(("http://%s/a"):format(place)), sandbox)
    assert.truthy(text:find("certificate", 1, true), text)
    assert.equal("", seen())
  end)

  test("is bounded: a request says its length, and that is at most 16 MiB", function()
    local text = said(ask(("-i -H 'Transfer-Encoding: chunked' -d x http://%s/a; "):format(place))
      .. ask(("-i -H 'Content-Length: 99999999' -d x http://%s/a; "):format(place))
      .. ask(("-i -H 'Content-Length: 1x' -d x http://%s/a"):format(place)))
    assert.truthy(text:find "411 Length Required.-413 Content Too Large.-400 Bad Request", text)
    assert.equal("", seen())
  end)

  test("whose secret is not there starts nothing, and says which", function()
    local _, run = said("touch made", nil, "KEY=")
    assert.equal(1, run.code)
    assert.truthy((run.out .. run.err):find("KEY: is not set in the environment", 1, true), run.out .. run.err)
    assert.is_nil(folder.read "made")
  end)

  test("is shown to the person who is asked about a stranger's folder, without the secret", function()
    folder.file("skill-config.json", assert(json.encode {
      skill_name = "keys", description = "d", execution_mode = "autonomous",
      autonomous_config = { actions = { { id = "look", agent_type = "looker" } } },
      x_skillrt = { agents = { looker = { kind = "command", argv = { "true" },
        sandbox = { headers = { ["api.example.com"] = "Authorization: Bearer {secret.KEY}" } } } } },
    }))
    local asked = kit.run(folder, { "run", ".", env = ("KEY=%s XDG_STATE_HOME=%s"):format(KEY, folder.path) })
    assert.equal(8, asked.code, asked.err .. asked.out)
    assert.truthy(asked.err:find("requests to api.example.com get Authorization: Bearer {secret.KEY}", 1, true), asked.err)
    assert.is_nil(asked.err:find(KEY, 1, true))
  end)

  test("that is none, or is added to any network, is refused when it is read", function()
    for wrong, why in pairs {
      ['headers = { ["a.org"] = "no header" }'] = 'headers of a.org: write "Name: value"',
      ['network = true, headers = { ["a.org"] = "A: b" }'] = "headers are added where network is a list",
      ['headers = { ["*.a.org"] = "A: b" }'] = "*.a.org is more than one place",
      ['headers = { ["a.org"] = "Host: b" }'] = "a place's header is none",
    } do
      local _, run = said("true", wrong)
      assert.truthy((run.out .. run.err):find(why, 1, true), run.out .. run.err)
    end
  end)
end)
