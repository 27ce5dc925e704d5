-- grant_spec.lua: what to grant a program whose sandbox refused something, read from the words of its errors.
local sandbox = require "skillrt.skill.sandbox"

describe("the grant that a refused program needs", function()
  local CASES <const> = {
    { "touch: cannot touch '/srv/out.txt': Read-only file system", 'write = { "/srv/out.txt" }' },
    { "Error: EROFS: read-only file system, open", 'write = { "." }' },
    { "curl: (6) Could not resolve host: api.example.org", 'network = { "api.example.org" }' },
    { "Error: getaddrinfo ENOTFOUND registry.example.org", 'network = { "registry.example.org" }' },
    { "Error: getaddrinfo EAI_AGAIN registry.example.org", 'network = { "registry.example.org" }' },
    { "ssh: Temporary failure in name resolution", "network = true" },
    { "error: failed to resolve", "network = true" },
    { "connect: Network is unreachable", "network = true" },
    { "Error: getaddrinfo ENOTFOUND localhost", "network = true" },
    { "cat: /etc/shadow: Permission denied", 'read = { "/etc/shadow" }' },
    { "Permission denied (publickey).", 'read = { "the path" }' },
    { "cat: /usr/bin: No such file or directory", 'read = { "/usr/bin" }' },
    { "sh: 1: cd: can't cd to /usr/lib", 'read = { "/usr/lib" }' },
    { "Error: Cannot find module '/usr/lib'", 'read = { "/usr/lib" }' },
    { "cat: /no/such/place: No such file or directory", false },
    { "it failed", false },
  }

  for _, case in ipairs(CASES) do
    it(("is %s where it says %q"):format(case[2] or "not known", case[1]), function()
      assert.equal(case[2], sandbox.grant { code = 1, extra = "a line\n" .. case[1] .. "\n" } or false)
      assert.is_nil(sandbox.grant { code = 0, extra = case[1] })
    end)
  end

  it("is what the network's report names, however the program ended", function()
    assert.equal('network = { "a.example", "b.example" }', sandbox.grant { code = 0, refused = "a.example b.example" })
  end)
end)
