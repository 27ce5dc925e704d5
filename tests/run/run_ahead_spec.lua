-- run_ahead_spec.lua: choices made while the disk takes the result before them: where that is done,
-- and what is left of a step whose function ends the program.
local kit = require "tests.support.cli_kit"
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function next_one(_, available)
  return available[1] and available[1].id, "nothing may run"
end

-- How the start of each step but the first, which has no result before it, stands to its batch:
-- 2 is the front of one.
local function marks(change)
  local definition = {
    durability = "power",
    state = { n = 0 },
    actions = {
      { id = "a", when = "n === 0", priority = 2, run = R.sets { n = 1 } },
      { id = "b", when = "n === 1", priority = 1, run = R.sets { n = 2 } },
      { id = "c", when = "n === 2", run = R.sets { n = 3 } },
    },
  }
  change(definition)
  local dir = R.folder() .. "/run"
  local result, message = R.run(definition, { work_dir = dir })
  assert.equal("completed", assert(result, message).status, result and result.message)
  local found, count = {}, 0
  for mark in R.read(dir .. "/journal/00000001.sj"):gmatch 'J1 %S+ %S+ %S+ (%d) [^\n]*"t":"start"' do
    count = count + 1
    found[count - 1] = mark
  end
  found[0] = nil
  return table.concat(found)
end

describe("a choice", function()
  after_each(R.clean)

  it("that follows from the records alone is made while the disk takes the result (R193)", function()
    for _, name in ipairs { "priority", "sequential" } do
      assert.equal("22", marks(function(skill) skill.strategy = name end))
    end
    assert.equal("22", marks(function(skill) skill.strategy = { select = next_one, repeatable = true } end))
  end)

  it("that may come out otherwise after a power cut is durable before its step begins (F41)", function()
    for what, change in pairs {
      ["a strategy of one's own"] = function(skill) skill.strategy = next_one end,
      ["a condition that is a function"] = function(skill)
        skill.actions[3].when = function(state) return state.n == 2 end
      end,
      ["a termination that is a function"] = function(skill)
        skill.terminate = { "task_completed", function() return false end }
      end,
      ["an agent"] = function(skill)
        skill.agents = { echo = skillrt.agent.command { "echo", '{"status":"completed"}' } }
        skill.actions[4] = { id = "d", when = "n === 9", agent = "echo" }
        skill.actions[4].optional = true
      end,
    } do
      assert.equal("11", marks(change), what)
    end
  end)

  it("needs no disk to wait for where the durability asks for none", function()
    assert.equal("11", marks(function(skill) skill.durability = "process" end))
  end)
end)

describe("a function that ends the program", function()
  local SCRIPT = [[
    local skillrt = require "skillrt"
    return skillrt.skill {
      name = "deadly",
      state = { n = 0 },
      actions = {
        { id = "first", when = "n === 0", run = function() return { n = 1 } end },
        { id = "second", when = "n === 1", run = function(_, ctx)
          if not ctx.read(ctx.work_dir .. "/seen") then
            ctx.write("seen", "yes")
            os.execute "kill -9 $PPID"
          end
          return { n = 2 }
        end },
      },
    }]]

  it("was told of before, stands open in the journal, and is performed again (F41)", function()
    local folder <close> = kit.folder()
    folder.file("deadly.lua", SCRIPT)
    local run = kit.run(folder, { "deadly.lua", "--work-dir", "w" })
    assert.truthy(run.out:find("[Iteration 2] Executing: second", 1, true), run.out)
    local status = kit.run(folder, { "status", "w" })
    assert.truthy(status.out:find("1 over, 1 open", 1, true), status.out)
    local journal = folder.read "w/journal/00000001.sj"
    assert.truthy(journal:find ' 2 %x+ %x+ {"action":"second"')
    run = kit.run(folder, { "resume", "w" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("2 steps", 1, true), run.out)
    assert.is_nil(run.out:find("cut", 1, true) or run.err:find("cut", 1, true))
    assert.equal(1, select(2, (folder.read "w/journal/00000002.sj"):gsub('"t":"done"', "")))
  end)
end)
