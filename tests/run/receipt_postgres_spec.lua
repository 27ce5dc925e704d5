-- receipt_postgres_spec.lua: receipts of runs in a real PostgreSQL server: the same as of a directory.
local K = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

local server, why = postgres.start()

local SKILL <const> = [[
return require("skillrt").skill { name = "acts", phases = {
  { id = "work", output = "out.md", run = function(_, ctx)
    if not ctx.approve { what = "May it?", arguments = { a = 1 } } then return nil, "no" end
    ctx.await { kind = "command", idempotent = true, argv = { "sh", "-c", "head -c 100000 /dev/zero | tr '\\0' 1" } }
    return "the report"
  end },
} }
]]

describe("a receipt of a run in PostgreSQL", function()
  lazy_teardown(function()
    if server then getmetatable(server).__close() end
  end)

  it("(F97) holds while the run is as it was, and not once a large value was changed", function()
    if not server then pending("PostgreSQL: " .. why) end
    local folder <close> = K.folder()
    folder.file("skill.lua", SKILL)
    local place = server.run "r"
    local function run(...) return K.run(folder, { env = ("HOME=%s XDG_STATE_HOME=%s/.state"):format(folder.path, folder.path), ... }) end
    assert.equal(0, run("fleet", "init", server.url).code)
    local began = run("skill.lua", "--trust", "--work-dir", place, "--quiet")
    assert.equal(3, began.code, began.err)
    local answered = run("answer", place, "1", "approve", "--quiet")
    assert.equal(0, answered.code, answered.err)
    local made = run("receipt", place)
    assert.equal(0, made.code, made.err)
    folder.file("r.receipt", made.out)
    local verified = run("verify", "r.receipt", place)
    assert.equal(0, verified.code, verified.err)
    assert.matches("^2 valid statements: run .-, completed", verified.out)
    for _, part in ipairs { "the report", "ACCESS" } do
      assert.is_nil(made.out:find(part, 1, true))
    end
    assert.equal("1", server.query "UPDATE skillrt.blob SET value = set_byte(value, 9, 50) RETURNING 1")
    assert.equal(7, run("verify", "r.receipt", place).code)
    assert.equal(0, run("verify", "r.receipt").code)
  end)
end)
