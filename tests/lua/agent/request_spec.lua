-- agent_request_spec.lua: requests that a script wrote itself, checked before they are taken.
require "tests.support.json_shim"
local request = require "skillrt.agent.request"

local function message_of(given)
  local checked, message = request.check(given)
  assert.is_nil(checked)
  return message
end

describe("a script's request", function()
  it("is a copy with every default filled", function()
    local given = { kind = "http", url = "http://x/" }
    local checked = assert(request.check(given))
    assert.same({ "GET", {}, 0, "raw", true, "http://x/" },
      { checked.method, checked.headers, checked.max_redirects, checked.expect, checked.idempotent, checked.shown })
    assert.same({ kind = "http", url = "http://x/" }, given)
  end)

  it("may leave again by itself where it changes nothing: GET, HEAD, a sleep; or where it says so", function()
    for _, case in ipairs {
      { { kind = "http", url = "http://x/", method = "HEAD" }, true },
      { { kind = "http", url = "http://x/", method = "POST" }, false },
      { { kind = "http", url = "http://x/", idempotent = false }, false },
      { { kind = "http", url = "http://x/", method = "PUT", idempotent = true }, true },
      { { kind = "command", argv = { "x" } }, false },
      { { kind = "command", argv = { "x" }, idempotent = true }, true },
      { { kind = "sleep", seconds = 1 }, true },
    } do
      assert.equal(case[2], assert(request.check(case[1])).idempotent)
    end
  end)

  it("is shown without user, password and query", function()
    for url, shown in pairs {
      ["https://me:p@ss@x.example/a/b?key=1#c"] = "https://x.example/a/b",
      ["http://x/?a=b@c"] = "http://x/",
      ["http://x/a@b"] = "http://x/a@b",
    } do
      assert.equal(shown, assert(request.check { kind = "http", url = url }).shown)
    end
    assert.equal("git", assert(request.check { kind = "command", argv = { "git", "push" } }).shown)
    assert.is_nil(message_of({ kind = "http", url = "ftp://x/?key=secret" }):find("secret", 1, true))
  end)

  it("declares nothing of the environment that everybody has", function()
    local checked = assert(request.check { kind = "command", argv = { "x" } })
    assert.equal(os.getenv "PATH", checked.env.PATH)
    assert.same({ env = {} }, checked.declared)
    assert.same({ env = { A = "1" } },
      assert(request.check { kind = "command", argv = { "x" }, env = { A = "1" } }).declared)
  end)

  it("passes on more of what is around us without declaring it, and knows keys by their names", function()
    local getenv = os.getenv
    local _ <close> = setmetatable({}, { __close = function() os.getenv = getenv end }) -- luacheck: ignore
    os.getenv = function(name) -- luacheck: ignore
      return ({ PATH = "/bin", A_KEY = "12345678", MY_TOKEN = "abcdefghi", SHORT_KEY = "1", LANG = "C" })[name]
    end
    local checked = assert(request.check { kind = "command", argv = { "x" }, around = { "A_KEY", "SHORT_KEY", "NONE" },
      env = { MY_TOKEN = true } })
    assert.same({ PATH = "/bin", LANG = "C", A_KEY = "12345678", SHORT_KEY = "1", MY_TOKEN = "abcdefghi" }, checked.env)
    assert.same({ env = { MY_TOKEN = "{env.MY_TOKEN}" } }, checked.declared)
    assert.same({ "12345678", "abcdefghi" }, checked.secrets)
  end)

  it("adds to PATH, HOME and their like, passes on what is around us and takes away", function()
    for _, more in ipairs { { kind = "command" }, { kind = "session", session = "s", message = "m" } } do
      more.argv, more.env = { "x" }, { A = "1", USER = true, HOME = false, NO_SUCH_NAME = true, B = false }
      local checked = assert(request.check(more))
      assert.same({ "1", os.getenv "USER", os.getenv "PATH" }, { checked.env.A, checked.env.USER, checked.env.PATH })
      assert.same({}, { checked.env.HOME, checked.env.NO_SUCH_NAME, checked.env.B })
      assert.same({ A = "1", USER = "{env.USER}", HOME = "", NO_SUCH_NAME = "{env.NO_SUCH_NAME}", B = "" },
        checked.declared.env)
    end
    assert.has_match('env "A=B" is not a variable\'s name',
      message_of({ kind = "command", argv = { "x" }, env = { ["A=B"] = "x" } }), 1, true)
  end)

  it("is the call that it was before it had PATH beside its own variables", function()
    local Call = require "skillrt.run.call.call"
    local run = { store = require("skillrt.run.store").at "/w", skill = {}, books = { run_id = "r1" } }
    local checked = assert(request.check { kind = "command", argv = { "x", "1" }, env = { A = "1", PATH = "/bin" } })
    assert.equal("45afebbae0d9963e90be709bd846aaf7", Call.digest_of(checked, run))
    assert.not_equal(Call.digest_of({ kind = "sleep", seconds = 1 }, run), Call.digest_of({ kind = "sleep", seconds = 2 }, run))
  end)

  it("takes an expectation, a judge, retries, exit codes and a key", function()
    local judge = function() end
    local checked = assert(request.check {
      kind = "command", argv = { "x" }, expect = { status = { "done" } }, judge = judge, ok_codes = { 0, 1 },
      retry = { max = 3, base = 0.1, factor = 2, cap = 5, jitter = false }, key = "mine",
    })
    assert.same({ { status = { "done" } }, judge, { 0, 1 }, { max = 3, base = 0.1, factor = 2, cap = 5, jitter = false }, "mine" },
      { checked.expect, checked.judge, checked.ok_codes, checked.retry, checked.key })
  end)

  it("may say itself what is shown and declared, and that it does not act", function()
    local checked = assert(request.check {
      kind = "command", argv = { "login", "s3cret" }, shown = "login", acts = false, declared = { argv = { "login" } },
    })
    assert.same({ "login", true, { argv = { "login" }, env = {} } }, { checked.shown, checked.idempotent, checked.declared })
    checked = assert(request.check { kind = "command", argv = { "x" }, env = {}, declared = { argv = "y" } })
    assert.same({ argv = { "y" }, env = {} }, checked.declared) -- one text stands for a list, as in argv
    assert.has_match('its declared: unknown field "key"', message_of({ kind = "sleep", seconds = 1, declared = { key = "x" } }), 1, true)
  end)

  it("may send NUL bytes to a program whose messages are not fed again", function()
    assert(request.check { kind = "session", session = "s", argv = { "x" }, message = "m\0" })
  end)

  it("carries its own key, or ours, in one header", function()
    local function key_of(more)
      local checked = assert(request.check { kind = "http", url = "http://x/", headers = more.headers, key = more.key })
      return request.keyed(checked, "r1-1-1"), checked.headers
    end
    assert.same({ "r1-1-1", { ["Idempotency-Key"] = "r1-1-1" } }, { key_of {} })
    assert.same({ "mine", { ["Idempotency-Key"] = "mine" } }, { key_of { key = "mine" } })
    assert.same({ "mine", { ["idempotency-key"] = "mine" } }, { key_of { headers = { ["idempotency-key"] = "mine" } } })
  end)

  for _, case in ipairs {
    { { kind = "htpp", url = "http://x/" },
      'kind must be "http", "command", "session", "host", "sleep", "ask" or "wait", not "htpp"; or name an agent' },
    { { kind = "http", url = "x" }, 'url "x" does not begin with http:// or https://' },
    { { kind = "http" }, 'its request: field "url" is missing' },
    { { kind = "http", url = "http://x/", method = "get" }, 'method "get" must be capitals' },
    { { kind = "http", url = "http://x/", body = "x" }, "a GET request has no body; set method" },
    { { kind = "http", url = "http://x/", headers = { ["a b"] = "c" } }, 'header "a b" cannot be sent' },
    { { kind = "http", url = "http://x/", headers = { a = "b\nc" } }, 'header "a" cannot be sent' },
    { { kind = "command", argv = {} }, "argv names no program" },
    { { kind = "command", argv = { "a\0" } }, "must not hold NUL bytes" },
    { { kind = "command", argv = { "a" }, retri = 3 }, 'unknown field "retri" (did you mean "retry"?)' },
    { { kind = "sleep", seconds = -1 }, "seconds must be from 0 to 1e9, not -1" },
    { { kind = "sleep", seconds = 1, expect = "jsn" }, '"jsn" (did you mean "json"?)' },
    { { kind = "sleep", seconds = 1, retry = { tries = 1 } }, 'its retry: unknown field "tries"' },
    { { kind = "sleep", seconds = 1, retry = { max = -1 } }, 'its retry: field "max" must be' },
    { { kind = "command", argv = { "a" }, declared = { argv = { 1 } } }, 'its declared: field "argv"[1] must be a text, not 1' },
    { { kind = "http", url = "http://x/", declared = { headers = { a = false } } }, 'its declared: field "headers" "a" must be a text' },
    { { kind = "session", session = "a/b", argv = { "x" }, message = "m" }, "session " },
    { { kind = "session", session = "s", argv = { "x" }, message = "m", id = 1.5 }, "id must be a text or a whole number, not 1.5" },
    { { kind = "session", session = "s", argv = { "x" }, message = "m", opening = { "a\nb" } },
      "message must be one line; or set framed = true" },
    { { kind = "session", session = "s", argv = { "x" }, message = "m\0", again = "feed" }, "must not hold NUL bytes where it may be fed" },
    { { kind = "session", session = "s", message = "m" }, "it needs either argv (a program) or url" },
    { { kind = "session", session = "s", argv = { "x" }, url = "http://x/", message = "m" }, "it needs either argv (a program) or url" },
    { { kind = "session", session = "s", url = "http://x/", message = "m", id = 1 }, 'a session with a url needs id and opening' },
    { { kind = "session", session = "s", url = "http://x/", message = "m", id = 1, opening = { "o" }, again = "feed" },
      'again is not "feed"' },
    { { kind = "session", session = "s", url = "x", message = "m", id = 1, opening = { "o" } }, 'does not begin with http:// or https://' },
    { { kind = "sleep", seconds = 1, judge = "x" }, 'field "judge" must be a function' },
  } do
    it("is refused before it leaves: " .. case[2], function()
      assert.has_match(case[2], message_of(case[1]), 1, true)
    end)
  end
end)
