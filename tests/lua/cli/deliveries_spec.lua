-- deliveries_spec.lua: which runs webhooks are told of, where the list of the runs fails for once.
local deliveries = require "skillrt.cli.serve.deliveries"

describe("webhooks", function()
  it("do not tell of runs that were interrupted before, nor miss one, where the list fails once", function()
    local version, list, told = 1, {}, {}
    local runs = {
      folder = os.tmpname(),
      news = function() return version end,
      patience = function() return 1000 end,
      each = function(_, _, take)
        for _, one in ipairs(list or {}) do take(one) end
        return list and true, "Input/output error"
      end,
      start = function(_, words)
        told[#told + 1] = words[2]
        return { code = 0 }
      end,
    }
    local self = deliveries.new { runs = runs, urls = { "http://127.0.0.1:9/" }, secret_file = "secret" }
    local function advance(new)
      version, list = version + 1, new
      self:advance(1)
      self:advance(2)
      return table.concat(told, " ")
    end
    local old = { dir = "old", at = 5, status = { status = "interrupted" } }
    local new = { dir = "new", at = self.since + 9, status = { status = "completed" } }
    assert.equal("", advance { old })
    assert.equal("", advance(nil))
    list = { old, new } -- nothing else changed
    self:advance(3)
    assert.equal("new", table.concat(told, " "))
    assert.equal("new", advance { old, new })
    os.remove(runs.folder)
  end)
end)
