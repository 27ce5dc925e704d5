-- trust_spec.lua: what the digest holds by which a folder is trusted: whatever may start is asked about again when it
-- changes.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local trust = require "skillrt.document.trust"

describe("the digest of a config that starts programs", function()
  after_each(R.clean)

  local function digest_in(folder, argv)
    R.write(folder .. "/phases/01-a.md", "# A\n")
    R.write(folder .. "/skill-config.json", json.encode { skill_name = "calls", display_name = "C", description = "d",
      execution_mode = "sequential", x_skillrt = { agents = { x = { kind = "command", argv = argv } } },
      sequential_config = { phases = { { id = "01-a", name = "A", output = "a.json", agent = { type = "x" } } } } })
    return assert(trust.code(folder)).digest
  end

  it("is another one where a program has other words", function()
    local folder = R.folder()
    os.execute("mkdir " .. folder .. "/phases")
    assert.equal(digest_in(folder, { "sh", "-c", "true" }), digest_in(folder, { "sh", "-c", "true" }))
    assert.not_equal(digest_in(folder, { "sh", "-c", "true" }), digest_in(folder, { "sh", "-c", "false" }))
  end)

  it("is another one where a file that the words name has changed", function()
    local folder = R.folder()
    os.execute("mkdir " .. folder .. "/phases")
    R.write(folder .. "/tool.md", "true\n")
    local before = digest_in(folder, { "sh", "-c", "sh tool.md" })
    R.write(folder .. "/tool.md", "false\n")
    assert.not_equal(before, digest_in(folder, { "sh", "-c", "sh tool.md" }))
  end)
end)
