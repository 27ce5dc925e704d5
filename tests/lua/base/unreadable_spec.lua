-- unreadable_spec.lua: a file of a person that cannot be read just now is not taken for one that is not there: nothing
-- replaces it, and nothing goes on as if it were empty.
local R = require "tests.support.runs"
local envelope = require "skillrt.cli.envelope"
local files = require "skillrt.base.files"
local person = require "skillrt.agent.person"
local tokens = require "skillrt.tool.mcp.oauth.store"
local trust = require "skillrt.document.trust"
local webhook = require "skillrt.cli.webhook"

describe("a file that cannot be read", function()
  local read, write, create, stat = files.read, files.write, files.create, files.stat
  local written

  before_each(function()
    written = nil
    files.read = function(path) return nil, path .. ": Input/output error", "system" end
    files.write = function(path) written = path return true end
    files.create = files.write
    files.stat = files.read
  end)
  after_each(function()
    files.read, files.write, files.create, files.stat = read, write, create, stat
    R.clean()
  end)

  it("of approvals is not written anew with the newest one alone", function()
    local ok, message = trust.remember({ digest = "d" }, ".")
    assert.is_nil(ok)
    assert.matches("/trusted: Input/output error", message, 1, true)
    assert.is_nil(written)
  end)

  it("of a secret is not replaced by another secret", function()
    local secret, message = webhook.secret("kept", "whsec_")
    assert.is_nil(secret)
    assert.equal("kept: Input/output error", message)
    assert.is_nil(written)
  end)

  it("of a key for receipts is not replaced by another key", function()
    local key, message = envelope.key(nil, true)
    assert.is_nil(key)
    assert.matches("/receipt.key: Input/output error", message, 1, true)
    assert.is_nil(written)
  end)

  it("of settings is an error; one that is not there has none", function()
    local settings, message = person.read()
    assert.is_nil(settings)
    assert.matches("/config.json: Input/output error", message, 1, true)
    files.read = function() return nil, "none", "missing" end
    assert.same({}, person.read())
  end)

  it("of tokens is not written anew without them", function()
    local kept = tokens.read "http://127.0.0.1:1/mcp"
    kept.claimed = 1
    local ok, message = tokens.write("http://127.0.0.1:1/mcp", kept)
    assert.is_nil(ok)
    assert.matches(": Input/output error", message, 1, true)
    assert.is_nil(written)
  end)

  it("is told from one that is not there, which is made: by one of two processes alone", function()
    files.read, files.write, files.create, files.stat = read, write, create, stat
    local path = R.folder() .. "/secret"
    local secret = assert(webhook.secret(path, "whsec_"))
    assert.equal(secret, webhook.secret(path, "whsec_"))
    files.read = function() return nil, "none", "missing" end -- another process makes it meanwhile
    local other, message = webhook.secret(path, "whsec_")
    files.read = read
    assert.is_nil(other)
    assert.matches("File exists", message, 1, true)
    assert.equal(secret, webhook.secret(path, "whsec_"))
  end)
end)
