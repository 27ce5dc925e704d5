-- run_views_mended_spec.lua: views whose writer died before their last writing: who opens the run again
-- mends them, also where there is nothing to resume; and a run that never had a record.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

-- Pauses at its first phase, then completes.
local SKILL = [[
return require "skillrt".skill { name = "views", phases = {
  { id = "one", output = "one.json", run = function() return { output = { n = 1 } } end },
  { id = "two", output = "two.json", run = function(_, ctx)
    if not os.getenv("GO") then return nil, "not yet" end
    return { output = { n = 2 } }
  end } }, limits = { max_retries = 0 } }
]]

local VIEWS = { "state.json", "execution-state.json" }

-- A run that is over, with the views of a time before.
local function stale(folder)
  folder.file("views.lua", SKILL)
  assert.equal(1, kit.run(folder, { "views.lua", "--work-dir", "w" }).code)
  local before = {}
  for _, name in ipairs(VIEWS) do before[name] = folder.read("w/" .. name) end
  local over = kit.run(folder, { "retry", "w", env = "GO=1" })
  assert.equal(0, over.code, over.err)
  local whole = {}
  for _, name in ipairs(VIEWS) do
    whole[name] = folder.read("w/" .. name)
    folder.file("w/" .. name, before[name])
  end
  return whole
end

describe("views that show less than the journal has", function()
  it("are written again by every command that opens the run to go on, also if it is over (F41)", function()
    for _, words in ipairs { { "resume", "w" }, { "retry", "w" } } do
      local folder <close> = kit.folder()
      local whole = stale(folder)
      local run = kit.run(folder, words)
      assert.equal(2, run.code, run.out .. run.err)
      assert.equal("completed", json.decode(folder.read "w/state.json").status)
      for _, name in ipairs(VIEWS) do
        assert.equal(whole[name], folder.read("w/" .. name))
      end
    end
  end)
end)

describe("a run that ended before its first record", function()
  it("is told so by all commands, with advice that can be followed", function()
    local folder <close> = kit.folder()
    folder.file("views.lua", SKILL)
    kit.run(folder, { "views.lua", "--work-dir", "w" })
    local header = folder.read("w/journal/00000001.sj"):match "^[^\n]*\n"
    local clean <close> = io.popen(("cd %s && rm -r w && mkdir -p w/journal"):format(folder.path))
    clean:read "a"
    folder.file("w/journal/00000001.sj", header)
    for _, words in ipairs { { "status", "w" }, { "log", "w" }, { "state", "w" }, { "resume", "w" }, { "retry", "w" },
      { "answer", "w", "1" } } do
      local run = kit.run(folder, words)
      assert.equal(2, run.code, words[1] .. run.out .. run.err)
      assert.truthy(run.err:find("contains no run: one was started here, and ended before its first record", 1, true), run.err)
      assert.truthy(run.err:find("start the run again, in this directory or another", 1, true), run.err)
      assert.is_nil((run.out .. run.err):find("next", 1, true))
    end
    assert.equal(1, kit.run(folder, { "views.lua", "--work-dir", "w" }).code) -- and it can be begun there
  end)
end)

describe("the views of a run that is over", function()
  it("show its end, also where its last record is so large that all books would be written next", function()
    local folder <close> = kit.folder()
    folder.file("large.lua", [[
      return require "skillrt".skill { name = "large", actions = { { id = "one", terminal = true, run = function()
        local updates = {}
        for i = 1, 20000 do
          updates[("key_%06d"):format(i)] = i
        end
        return updates
      end } } }
    ]])
    assert.equal(0, kit.run(folder, { "large.lua", "--work-dir", "w" }).code)
    local state = assert(json.decode(folder.read("w/state.json")))
    assert.same({ "completed", 20000 }, { state.status, state.key_020000 })
  end)
end)
