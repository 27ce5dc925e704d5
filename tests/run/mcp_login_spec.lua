-- mcp_login_spec.lua: a person's login to a server of the Model Context Protocol: who gives tokens, what they must not be
-- believed, what is pasted back; skillrt login and logout.
local O = require "tests.support.mcp_oauth"
local R = require "tests.support.runs"
local address = require "skillrt.tool.mcp.oauth.address"
local base_files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local login = require "skillrt.tool.mcp.oauth"
local store = require "skillrt.tool.mcp.oauth.store"

local http, plan, refused = O.http, O.plan, O.refused
local web, url

describe("a login to a server of MCP", function()
  local metadata

  before_each(function()
    web, url = O.start()
    metadata = { issuer = web.url .. "/plan/as", authorization_endpoint = web.url .. "/plan/authorize?a=1",
      token_endpoint = web.url .. "/token", registration_endpoint = web.url .. "/register",
      code_challenge_methods_supported = { "S256" }, token_endpoint_auth_methods_supported = { "none" } }
  end)
  after_each(function()
    store.remove(url)
    web.stop()
    R.clean()
  end)

  -- In a run: what a login gives.
  local function with_ctx(fn)
    local value, message
    local result = assert(R.run({ context = "memory", limits = { max_retries = 0, max_errors = 1 },
      actions = { { id = "a", run = function(_, ctx) value, message = fn(ctx) end } } }))
    assert.equal("completed", result.status, result.message)
    return value, message
  end

  local function server(oauth) return { name = "far", url = url, headers = {}, oauth = oauth } end

  local function begin(replies, oauth)
    plan(replies)
    return with_ctx(function(ctx)
      return login.begin(ctx, server(oauth), { redirect = "http://127.0.0.1:1/callback", secrets = { "state", "verifier" },
        version = "1" })
    end)
  end

  local function resource(more)
    local one = { resource = url, authorization_servers = { metadata.issuer }, scopes_supported = { "read", "write" } }
    for name, value in pairs(more or {}) do one[name] = value end
    return http(200, one)
  end

  local function registered() return http(201, { client_id = "we", client_secret = "whatever" }) end

  local function with(more)
    for name, value in pairs(more) do metadata[name] = value end
    return http(200, metadata)
  end

  it("finds out who gives tokens in the order that is written down, and registers", function()
    local got = assert(begin { refused(), http(404), resource(), http(404), http(404), with {}, registered() })
    store.write(url, { want = {} })
    local targets = {}
    for i, line in ipairs(web.log()) do targets[i] = line:match "%u+ /[^ ]*" end
    assert.same({ "POST /plan/mcp", "GET /.well-known/oauth-protected-resource/plan/mcp",
      "GET /.well-known/oauth-protected-resource", "GET /.well-known/oauth-authorization-server/plan/as",
      "GET /.well-known/openid-configuration/plan/as", "GET /plan/as/.well-known/openid-configuration",
      "POST /register" }, targets)
    local _, sent = web.request(7)
    assert.same({ "http://127.0.0.1:1/callback", "none" }, { sent.redirect_uris[1], sent.token_endpoint_auth_method })
    assert.matches("/plan/authorize%?a=1&client_id=we&code_challenge=[%w_-]+&code_challenge_method=S256&redirect_uri="
      .. "http%%3A%%2F%%2F127.0.0.1%%3A1%%2Fcallback&resource=http.*&response_type=code&scope=read%%20write&state=state$",
      got.address)
    plan { http(200, { access_token = "first-access-token", token_type = "Bearer", refresh_token = "r" }) }
    assert.is_true(with_ctx(function(ctx) return login.finish(ctx, server(), got, "the code") end))
    assert.matches("client_id=we&code=the%%20code&code_verifier=verifier&grant_type=authorization_code", web.body(8))
    assert.equal("first-access-token", store.read(url).token.access)
    assert.is_nil(store.read(url).want)
    assert.is_false(base_files.is_open_to_others(O.path()))
  end)

  it("asks for a token over https alone, or on this machine", function()
    local far = { name = "far", url = "http://mcp.example/mcp" }
    local _, message = with_ctx(function(ctx) return login.begin(ctx, far, { secrets = {} }) end)
    assert.matches("tokens are sent over https alone", message)
  end)

  it("refuses what lies, by name", function()
    local function why(expected, ...)
      local _, message = begin { refused(), ... }
      assert.matches(expected, message)
    end
    why("another resource, \"https://evil.example/mcp\"", resource { resource = "https://evil.example/mcp" })
    why("another resource, \"http://127", resource { resource = url .. "/below" })
    why("another resource", resource { resource = url:sub(1, -2) })
    why("authorization server \"http://as.example\": https is needed", resource { authorization_servers = { "http://as.example" } })
    why("says that it is another one, \"https://evil.example\"", resource(), with { issuer = "https://evil.example" })
    metadata.issuer = web.url .. "/plan/as"
    why("does not announce PKCE", resource(), with { code_challenge_methods_supported = { "plain" } })
    metadata.code_challenge_methods_supported = { "S256" }
    why("its token_endpoint, \"http://evil.example/t\", is not https", resource(), with { token_endpoint = "http://evil.example/t" })
    metadata.token_endpoint = web.url .. "/token"
    why("its authorization_endpoint, \"javascript:1\", is not https", resource(), with { authorization_endpoint = "javascript:1" })
    metadata.authorization_endpoint = web.url .. "/plan/authorize"
    why("publishes no metadata", resource(), http(404), http(404), http(404))
    why("more than 262144 bytes", resource(), "/huge?bytes=400000")
    why("redirects, which is not followed", resource(), http(302, "", "Location: " .. web.url .. "/echo"))
    why("registration: refused: invalid_redirect_uri: no", resource(), with {},
      http(400, { error = "invalid_redirect_uri", error_description = "no" }))
    why("registration: refused: refused: it gives no client_id", resource(), with {}, http(201, {}))
    metadata.registration_endpoint = nil
    why("registers no clients: set oauth", resource(), with {})
    local _, message = begin { refused 'resource_metadata="http://evil.example/m"' }
    assert.matches("names \"http://evil.example/m\" for its metadata: https is needed", message)
  end)

  it("asks no address of a private network on behalf of a server of the internet", function()
    local allowed = address.allowed
    local far = { url = "https://mcp.example/mcp", oauth = { addresses = { "10.0.0.0/8" } } }
    assert.equal("public 10.0.0.0/8", allowed(far, "https://as.example/t"))
    assert.equal("public", allowed({ url = far.url }, "https://127.0.0.1/t"))
    assert.is_nil(allowed(far, "https://mcp.example/.well-known/x"))
    assert.is_nil(allowed({ url = url }, "https://as.example/t"))
  end)

  it("takes no address that is of another login or another server", function()
    local got = assert(begin { refused(), resource(), with { authorization_response_iss_parameter_supported = true },
      registered() })
    local back = "http://127.0.0.1:1/callback?"
    local iss = "&iss=" .. metadata.issuer:gsub("[:/]", { [":"] = "%3A", ["/"] = "%2F" })
    assert.equal("c d", login.code(got, back .. "code=c+d&state=state" .. iss))
    for query, expected in pairs {
      ["code=c&state=others" .. iss] = "belongs to another login", ["code=c" .. iss] = "belongs to another login",
      ["code=c&state=state"] = "its iss is nothing", ["code=c&state=state&iss=https%3A%2F%2Fevil"] = "its iss is \"https://evil\"",
      ["error=access_denied&error_description=no&state=state" .. iss] = "refuses: access_denied: no",
      ["state=state" .. iss] = "holds no code",
    } do
      local _, message = login.code(got, back .. query)
      assert.matches(expected, message, query)
    end
  end)

  it("is as whom the skill declares: a client of its own, or a document behind a URL where that is known", function()
    local got = assert(begin({ refused(), resource(), with { token_endpoint_auth_methods_supported = { "client_secret_post" } } },
      { client_id = "ours", client_secret = "s3cret-of-ours" }))
    assert.same({ "ours", "client_secret_post" }, { got.client.id, got.client.method })
    plan { http(200, { access_token = "t", token_type = "Bearer" }) }
    assert.is_true(with_ctx(function(ctx) return login.finish(ctx, server(), got, "c") end))
    assert.matches("client_id=ours&client_secret=s3cret%-of%-ours&code=c", web.body(#web.log()))
    local document = { client_id = "https://we.example/client.json" }
    got = assert(begin({ refused(), resource(), with { client_id_metadata_document_supported = true } }, document))
    assert.same({ "https://we.example/client.json", "none" }, { got.client.id, got.client.method })
    metadata.client_id_metadata_document_supported = nil
    store.remove(url)
    assert.equal("we", begin({ refused(), resource(), with {}, registered() }, document).client.id)
  end)

  -- The program, with a terminal's worth of patience: what it said, and its end. `paste`: what is pasted, by the address.
  local function typed(words, paste)
    local fifo = R.folder() .. "/in"
    assert(os.execute("mkfifo " .. fifo))
    local pipe = assert(io.popen(("timeout 30 %s %s <%s 2>&1"):format(kit.program, words, fifo)))
    local hold, text = assert(io.open(fifo, "w")), ""
    for line in pipe:lines() do
      text = text .. line .. "\n"
      if line:find "^http" then
        local pasted = paste(address.unescape(line:match "redirect_uri=([^&]*)"), line:match "&state=([%w-]+)")
        if pasted then -- else it has ended, and nobody reads
          hold:write(pasted, "\n")
          hold:flush()
        end
      end
    end
    local _, _, code = pipe:close()
    hold:close()
    return text, code
  end

  it("is typed: the address is shown, the one that comes back is pasted, and no token is shown", function()
    plan { refused(), resource(), with {}, registered(),
      http(200, { access_token = "first-access-token", token_type = "Bearer" }) }
    local text, code = typed("login " .. url, function(redirect, state)
      return "http://127.0.0.1/?code=c&state=others\n" .. redirect .. "?code=c&state=" .. state
    end)
    assert.equal(0, code, text)
    assert.matches("belongs to another login.*; paste the whole address\nlogged in to " .. url:gsub("%p", "%%%0"), text)
    assert.is_nil(text:find "first%-access")
    assert.equal("first-access-token", store.read(url).token.access)
    text, code = typed("logout " .. url)
    assert.same({ 0, "logged out of " .. url .. "\n" }, { code, text })
    assert.same({}, store.read(url))
    assert.matches("no login is stored", (typed("logout " .. url)))
  end)

  it("is typed: the browser comes back by itself; what else comes to the port is left", function()
    plan { refused(), resource(), with {}, registered(),
      http(200, { access_token = "first-access-token", token_type = "Bearer" }) }
    local page
    local text, code = typed("login " .. url, function(redirect, state)
      local port = redirect:match "^http://127%.0%.0%.1:(%d+)/callback$"
      local function get(line)
        local pipe = assert(io.popen(("timeout 10 bash -c 'exec 3<>/dev/tcp/127.0.0.1/%s; printf \"%s\" >&3; cat <&3'")
          :format(port, line .. "\\r\\nHost: x\\r\\n\\r\\n")))
        local got = pipe:read "a"
        pipe:close()
        return got
      end
      get "GET /favicon.ico HTTP/1.1"
      get "GET /callback?code=c&state=others HTTP/1.1"
      assert.equal("", get("POST /callback?code=c&state=" .. state .. " HTTP/1.1"))
      assert.equal("", get(("x"):rep(20000)))
      page = get("GET /callback?code=c&state=" .. state .. " HTTP/1.1")
    end)
    assert.equal(0, code, text)
    assert.matches("^HTTP/1.1 200 .*\r\n\r\nGo back to the terminal", page)
    assert.matches("\nlogged in to " .. url:gsub("%p", "%%%0") .. "\n$", text)
    assert.is_nil(text:find "belongs to another login")
    assert.equal("first-access-token", store.read(url).token.access)
  end)

  it("is typed with the name of a .mcp.json; where a person refuses it ends with that", function()
    local dir = R.folder()
    R.write(dir .. "/.mcp.json", json.encode { mcpServers = { far = { url = url, oauth = { client_id = "ours" } },
      near = { command = "true" } } })
    plan { refused(), resource(), with {} }
    local text, code = typed("login far " .. dir, function(redirect, state)
      return redirect .. "?error=access_denied&state=" .. state
    end)
    assert.equal(2, code)
    assert.matches("client_id=ours&.*far: .*refuses: access_denied", text)
    assert.matches('there is no mcp server "fat" %(did you mean "?far"?%?%)', (typed("login fat " .. dir)))
    assert.matches("near is a program", (typed("login near " .. dir)))
    plan { "/status/404" }
    assert.matches("HTTP 404", (typed("login " .. url)))
  end)
end)
