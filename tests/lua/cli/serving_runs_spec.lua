-- serving_runs_spec.lua: how long a server gives a list of its runs again.
local core = require "skillrt.core"
local runs_of = require "skillrt.cli.serving.runs"

describe("the list of a server's runs", function()
  local report, mono_ms = require "skillrt.report.runs", core.mono_ms
  local each = report.each
  after_each(function()
    report.each, core.mono_ms = each, mono_ms
  end)

  it("is read again after a while where a run in it could not be read, though nothing has changed", function()
    local runs = runs_of.new { folder = os.tmpname(), at_once = 1, words = {}, agent = {} }
    local now, given, read = 1000000, nil, 0
    runs.news = function() return 7 end
    core.mono_ms = function() return now end
    report.each = function(_, _, take)
      read = read + 1
      take(given)
      return true
    end
    local function list()
      return runs:list(nil, 100).runs[1].problem or "good"
    end
    given = { dir = "runs/a", at = 0, problem = "Input/output error" }
    assert.equal("Input/output error", list())
    given = { dir = "runs/a", at = 5, status = { status = "completed" } }
    now = now + 1999
    assert.equal("Input/output error", list())
    now = now + 1
    assert.equal("good", list())
    now = now + 86400000
    assert.equal("good", list())
    assert.equal(2, read)
    os.remove(runs.where)
  end)
end)
