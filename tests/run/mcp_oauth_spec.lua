-- mcp_oauth_spec.lua: servers of the Model Context Protocol that want to know who asks: tokens that go along, are
-- refreshed, got for a secret, and asked of a person.
local O = require "tests.support.mcp_oauth"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local base_files = require "skillrt.base.files"
local kit = require "tests.support.cli_kit"
local oauth = require "skillrt.tool.mcp.oauth"
local skillrt = require "skillrt"
local store = require "skillrt.tool.mcp.oauth.store"

local http, plan, refused = O.http, O.plan, O.refused
local web, url

local function opened()
  return http(200, { jsonrpc = "2.0", id = "open",
    result = { protocolVersion = "2025-11-25", capabilities = { tools = {} } } })
end

local function said(place, text)
  return http(200, { jsonrpc = "2.0", id = "1-" .. place, result = { content = { { type = "text", text = text } } } })
end

local function definition(fn, settings)
  return { mcp = { far = { url = url, oauth = settings } }, actions = { { id = "a", run = fn } },
    limits = { max_errors = 1, max_retries = 0 } }
end

describe("an address", function()
  local address = require "skillrt.tool.mcp.oauth.address"

  it("may be sent secrets over TLS, or on this machine, and is nothing that could be read in two ways", function()
    for _, one in ipairs { "https://a.org", "HTTPS://A.org/x", "http://127.0.0.1:80/x", "http://localhost", "http://[::1]:9/" } do
      assert.is_true(address.is_safe(one), one)
    end
    for _, one in ipairs { "http://a.org", "http://127.evil.org", "http://localhost.evil.org", "https://u@a.org",
      "https://a.org\\b", "https://a.org/b\\c", "https://a b", "https://a\u{e9}.org", "ftp://a.org", "https://a.org:8:9",
      "https://", "https://x/" .. ("y"):rep(4096), 7 } do
      assert.is_false(address.is_safe(one), tostring(one))
    end
    assert.same({ origin = "https://a.org", host = "a.org", scheme = "https", path = "" }, address.parts "https://A.org:443/?q#f")
    assert.equal("http://a.org:443", address.parts("http://a.org:443/p").origin)
  end)

  it("of a resource covers what lies below its path, on the same origin alone", function()
    for _, one in ipairs { "https://a.org", "https://a.org/", "https://a.org/mcp", "https://a.org/mcp/" } do
      assert.is_true(address.covers(one, "https://a.org/mcp"), one)
    end
    for _, one in ipairs { "https://a.org/mc", "https://a.org/mcp/x", "http://a.org", "https://a.org:8443", "https://a.org/#", 7 } do
      assert.is_false(address.covers(one, "https://a.org/mcp"), tostring(one))
    end
  end)

  it("of the internet names none of a private network but its own, and what its declaration allows", function()
    local server = { url = "https://a.org/mcp", oauth = { addresses = { "10.1.0.0/16" } } }
    assert.equal("public 10.1.0.0/16", address.allowed(server, "https://b.org"))
    assert.is_nil(address.allowed(server, "https://a.org:8443/token"))
    assert.equal("public", address.allowed({ url = "https://a.org" }, "http://10.0.0.1/"))
    assert.is_nil(address.allowed({ url = "http://127.0.0.1:1/mcp" }, "http://10.0.0.1/"))
  end)
end)

local function echo(_, ctx)
  local text, message, class = ctx.tool("mcp__far__echo", { text = "x" }, { idempotent = true })
  return { text = text, message = text == nil and message or nil, class = class }
end

local function run(replies, fn, settings)
  plan(replies)
  local dir = R.folder() .. "/run"
  return assert(R.run(definition(fn or echo, settings), { work_dir = dir })), dir
end

local function keep(more)
  local token = { access = "first-access-token", refresh = "first-refresh-token", issuer = web.url .. "/as",
    endpoint = web.url .. "/token", resource = url, client = { id = "we", method = "none" } }
  for name, value in pairs(more or {}) do token[name] = value end
  assert(store.write(url, { token = token }))
end

local function bearer(n) return (web.request(n)):match "\r\nAuthorization: Bearer ([^\r]*)" end

-- Whether a text stands anywhere below a folder.
local function holds(dir, text)
  local pipe <close> = io.popen(("grep -rlF -- '%s' '%s'"):format(text, dir))
  return pipe:read "a" ~= ""
end

describe("a server of MCP that wants a token", function()
  before_each(function()
    web, url = O.start()
  end)
  after_each(function()
    store.remove(url)
    web.stop()
    R.clean()
  end)

  it("has a person asked to log in, shown the command; what they did is used by the run that goes on", function()
    local result, dir = run { opened(), http(202), refused('error="invalid_token", scope="read write"') }
    assert.same({ "paused", "waiting_for_person" }, { result.status, result.reason })
    assert.matches("skillrt login " .. url:gsub("%p", "%%%0") .. " ", result.question.question)
    assert.matches("%(read write%)", result.question.question)
    assert.same({ scope = "read write" }, store.read(url).want)
    keep()
    plan { opened(), http(202), said("0", "hello") }
    local before = #web.log()
    result = assert(skillrt.resume(dir, { skill = R.skill(definition(echo)), answer = "done" }))
    assert.equal("hello", result.state.text, result.state.message)
    assert.equal(before + 3, #web.log()) -- in a session begun anew
    for n = 1, 3 do assert.equal("first-access-token", bearer(before + n)) end
    assert.is_false(holds(dir, "first-access-token"))
  end)

  it("is left where a person does not log in, asks again where they did not, and not without an end", function()
    local function answered(dir, answer)
      return assert(skillrt.resume(dir, { skill = R.skill(definition(echo)), answer = answer }))
    end
    local _, dir = run { refused() }
    assert.matches("a person did not log in", answered(dir, "fail").state.message)
    local result
    result, dir = run { refused() }
    for _ = 1, 3 do
      assert.equal("paused", result.status)
      result = answered(dir, "done")
    end
    assert.matches("refuses every token", answered(dir, "done").state.message)
  end)

  it("is given another token where one has expired, and no call that was over is made again", function()
    keep()
    local result, dir = run({ opened(), http(202), said("0", "one"), refused(),
      http(200, { access_token = "second-access-token", refresh_token = "second-refresh-token", token_type = "bearer",
        expires_in = 60 }, "X-Token: second-access-token"), said("1", "two of second-access-token") }, function(_, ctx)
      return { one = ctx.tool("mcp__far__echo", {}), two = ctx.tool("mcp__far__echo", {}) }
    end)
    assert.same({ "one", "two of {key}" }, { result.state.one, result.state.two }, json.encode(result.state.errors))
    assert.equal(6, #web.log())
    assert.equal("client_id=we&grant_type=refresh_token&refresh_token=first-refresh-token&resource="
      .. url:gsub("[:/]", { [":"] = "%3A", ["/"] = "%2F" }), web.body(5))
    assert.same({ "first-access-token", "second-access-token" }, { bearer(4), bearer(6) })
    local kept = store.read(url)
    assert.same({ "second-access-token", "second-refresh-token" }, { kept.token.access, kept.token.refresh })
    assert.is_nil(kept.claimed)
    for _, text in ipairs { "first-access", "first-refresh", "second-access", "second-refresh" } do
      assert.is_false(holds(dir, text), text)
    end
  end)

  it("is resumed behind every record of that: nothing that was answered is sent again", function()
    keep()
    local replies = { opened(), http(202), refused(), http(200, { access_token = "second-access-token",
      token_type = "Bearer" }), said("0", "hello") }
    local _, dir = run(replies)
    assert.equal("first-refresh-token", store.read(url).token.refresh) -- a new one was not given
    for cut, record in ipairs(R.records(dir)) do
      if record.t == "stop" then break end
      local copy = R.folder() .. "/cut"
      R.cut(dir, copy, cut)
      local done = #R.records(copy, "result")
      keep(done < 2 and { access = "first-access-token" } or { access = "second-access-token" })
      local before = #web.log()
      local left = ({ [0] = replies, { replies[4], opened(), http(202), replies[5] }, { opened(), http(202), replies[5] },
        {} })[done]
      plan(left)
      local resumed = assert(skillrt.resume(copy, { skill = R.skill(definition(echo)) }))
      assert.equal("hello", resumed.state.text, ("%d: %s"):format(cut, json.encode(resumed.state)))
      assert.equal(#left, #web.log() - before, cut)
    end
  end)

  it("is replayed as it was, where nothing is kept of it, and nothing is then", function()
    keep()
    local dir = R.folder()
    R.write(dir .. "/skill.lua", ([[return require "skillrt".skill { name = "s", mcp = { far = { url = %q } },
      limits = { max_retries = 0, max_errors = 1 }, actions = { { id = "a", run = function(_, ctx)
        local text, message = ctx.tool("mcp__far__echo", { text = "x" }, { idempotent = true })
        return { text = text, message = message } end } } }]]):format(url))
    plan { opened(), http(202), refused(), http(200, { access_token = "second-access-token", token_type = "Bearer" }),
      said("0", "hello") }
    local place <close> = kit.folder()
    local words = { "run", dir .. "/skill.lua", "--work-dir", "d", env = "XDG_STATE_HOME=$OLDPWD/build/state" }
    local ran = kit.run(place, words)
    assert.equal(0, ran.code, ran.err)
    store.remove(url)
    local replayed = kit.run(place, { "replay", "d", env = words.env })
    assert.equal(0, replayed.code, replayed.out .. replayed.err)
    assert.same({}, store.read(url))
    assert.equal(5, #web.log())
  end)

  it("is not refreshed by two at once: who comes second waits for the first, unless that has died", function()
    keep()
    local kept, dir = store.read(url), R.folder()
    kept.token.access, kept.token.refresh = "second-access-token", "second-refresh-token"
    R.write(dir .. "/new", json.encode(kept))
    kept.token.access, kept.token.refresh, kept.claimed = "first-access-token", "first-refresh-token", os.time()
    assert(store.write(url, kept))
    os.execute(("(sleep 0.7; chmod 600 %s/new; mv %s/new %s) &"):format(dir, dir, O.path()))
    local result = run { refused(), opened(), http(202), said("0", "hello") }
    assert.equal("hello", result.state.text, result.state.message)
    assert.same({ 4, "second-access-token" }, { #web.log(), bearer(2) })
    kept = store.read(url)
    kept.claimed = os.time() - 60
    assert(store.write(url, kept))
    result = run { refused(), http(200, { access_token = "third-access-token", token_type = "Bearer" }), opened(),
      http(202), said("0", "hello") }
    assert.equal("hello", result.state.text, result.state.message)
  end)

  it("has a person asked where nothing refreshes any more, and fails where that is another's fault", function()
    keep()
    local result = run { refused(), http(400, { error = "invalid_grant", error_description = "first-refresh-token" }) }
    assert.equal("waiting_for_person", result.reason)
    assert.is_nil(store.read(url).token.refresh)
    keep()
    local dir
    result, dir = run { refused(), http(400, { error = "invalid_target", error_description = "no first-refresh-token" }) }
    assert.matches("a new token: refused: invalid_target: no {key}", result.state.message)
    assert.is_false(holds(dir, "first-refresh"))
    assert.equal("first-refresh-token", store.read(url).token.refresh)
    for reply, why in pairs {
      [http(200, { access_token = "x", token_type = "mac" })] = 'its token is no bearer token, but "mac"',
      [http(200, { token_type = "Bearer" })] = "it gives no access token",
      [http(200, { access_token = "a b", token_type = "Bearer" })] = "it gives no access token",
      [http(200, "hm")] = "it gives no access token",
      [http(307, "", "Location: " .. web.url .. "/echo")] = "30[27]",
      ["/huge?bytes=300000"] = "more than %d+ bytes",
    } do
      keep()
      assert.matches(why, run({ refused(), reply }).state.message)
    end
  end)

  it("is sent no token that was got for somebody else, nor its own over plain http", function()
    keep()
    local result = run({ refused() }, echo, { client_id = "others" })
    assert.is_nil(bearer(1))
    assert.equal("waiting_for_person", result.reason)
    local other = definition(echo)
    other.mcp.far.url = url .. "/other"
    plan { refused() }
    assert.equal("waiting_for_person", R.run(other).reason)
    assert.is_nil(bearer(#web.log()))
    store.remove(other.mcp.far.url)
    local far = "http://mcp.example/mcp"
    store.write(far, store.read(url))
    assert.is_nil(oauth.token({ live = {}, server = { url = far } }, { url = far }))
    store.remove(far)
    os.execute(("cp %s %s.json"):format(O.path(), O.path():gsub("[^/]*$", base_files.digest(far):sub(1, 32))))
    assert.same({}, store.read(far)) -- of somebody else
    store.remove(far)
    os.execute("chmod 644 " .. O.path())
    assert.equal("waiting_for_person", run({ refused() }).reason) -- others may have read it
    assert.is_nil(bearer(#web.log()))
  end)

  it("refuses for want of scopes: a person is asked for those besides, and not for what was given", function()
    keep { scope = "read" }
    local narrow = refused('error="insufficient_scope", scope="write read", error_description="a, b"', 403)
    local result = run { narrow }
    assert.matches("%(write read%)", result.question.question)
    assert.equal("read write", store.read(url).want.scope)
    keep { scope = "read write" }
    assert.matches("refuses what it has authorized %(write read%)", run({ narrow }).state.message)
    assert.matches("HTTP 403", run({ http(403, "{}") }).state.message)
  end)

  it("is given a token for a secret, without a person", function()
    local settings = { client_id = "we", client_secret = "${PATH}", grant = "client_credentials", scope = "all" }
    local result, dir = run({ refused(), http(404), http(404), http(404), http(404),
      http(200, { access_token = "second-access-token", token_type = "Bearer" }), opened(), http(202),
      said("0", "hello") }, echo, settings)
    assert.equal("hello", result.state.text, result.state.message)
    assert.matches("^POST /token ", (web.request(6)))
    assert.matches("\r\nAuthorization: Basic ", (web.request(6)))
    assert.matches("grant_type=client_credentials&.*&scope=all$", web.body(6))
    assert.is_false(holds(dir, os.getenv "PATH"))
    assert.is_false(holds(dir, "second-access"))
    local both = "we:" .. os.getenv "PATH":gsub("[^%w._~-]", function(c) return ("%%%02X"):format(c:byte()) end)
    local said_back = require "skillrt.base.base64".encode(both) .. " " .. os.getenv "PATH"
    result = run({ refused(), http(404), http(404), http(404), http(404), http(401, { error = "invalid_client",
      error_description = said_back }) }, echo, settings)
    assert.matches("a token: refused: invalid_client: {key} {key}", result.state.message)
    assert.has_error(function() R.skill(definition(echo, { grant = "client_credentials" })) end)
  end)
end)
