-- events_spec.lua: what a script prints while it is watched as JSON, and behind that.
require "tests.support.json_shim"
local events = require "skillrt.report.events"

describe("who watches a run as JSON", function()
  it("gives back what the script prints with, once the run is over", function()
    local print_was, write_was = print, io.write
    local watcher = events.new()
    local print_now, write_now = print, io.write
    watcher.closed()
    assert.equal(print_was, print)
    assert.equal(write_was, io.write)
    assert.not_equal(print_was, print_now)
    assert.not_equal(write_was, write_now)
  end)
end)
