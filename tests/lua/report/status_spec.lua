-- status_spec.lua: how a run stands, in a few words.
local status = require "skillrt.report.status"

describe("a run that a process advances", function()
  it("is shown with the process, its machine and since when, or without them where its lock cannot be read", function()
    local one = { status = "running", held_by = { pid = 7, host = "here\27", since = "2026-12-01T00:00:00Z" } }
    assert.equal("running, process 7 on here\\x1B since 2026-12-01T00:00:00Z", status.stands(one))
    one.held_by = { host = "?", since = "?" }
    assert.equal("running, held by a process that cannot be named", status.stands(one))
  end)
end)
