-- unclosed_spec.lua: a run that has ended, whose process died before it had closed the journal: a worker closes it, once.
local K = require "tests.support.cli_kit"
local core = require "skillrt.core"

describe("a run whose process died between its end and the close of its journal", function()
  local function listed(folder)
    local status
    assert(core.list(folder.path .. "/q", function(_, of) status = of return true end))
    return status
  end

  for status, body in pairs { completed = "return { done = true }", failed = 'return nil, "no"' } do
    it("is closed by a worker as " .. status .. ", and not looked at again", function()
      local folder <close> = K.folder()
      folder.file("s.lua", ([[return require "skillrt".skill { name = "s", state = { done = false }, goal = "done",
        limits = { max_errors = 1, max_retries = 0 }, actions = { { id = "a", effects = "done", run = function() %s end } } }]])
        :format(body))
      assert.equal(status == "failed" and 1 or 0, K.run(folder, { "s.lua", "--trust", "--work-dir", "q/r" }).code)
      assert.equal(status, listed(folder))
      local journal = "q/r/journal/00000001.sj"
      folder.file(journal, (folder.read(journal):gsub("J1 [^\n]*\"closed\":true[^\n]*\n$", "")))
      assert.equal("executing", listed(folder))
      local first = K.run(folder, { "worker", "q", "--once" })
      assert.equal(0, first.code, first.err)
      assert.equal("", first.err)
      assert.matches("q/r: " .. status, first.out, 1, true)
      assert.equal(status, listed(folder))
      assert.equal("", K.run(folder, { "worker", "q", "--once" }).out)
      assert.equal(0, K.run(folder, { "log", "--verify", "q/r" }).code)
    end)
  end
end)
