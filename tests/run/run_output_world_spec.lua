-- run_output_world_spec.lua: an output that the world does not take: the reply is kept, the run pauses, and writing is
-- tried again; nobody works anew for it.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function skill(asked)
  return skillrt.skill {
    name = "writes", durability = "process", state = {},
    agents = { writer = skillrt.agent.command { "sh", "-c", ("echo asked >> %s; echo words"):format(asked), parse = "text" } },
    phases = { { id = "write", output = "out.md", agent = "writer", prompt = "write now please" } },
  }
end

local function asked(path)
  local count = 0
  for _ in io.lines(path) do
    count = count + 1
  end
  return count
end

describe("an output that the world does not take", function()
  after_each(R.clean)

  it("pauses the run where a folder stands in its place; when it is gone the kept reply is written", function()
    local folder = R.folder()
    local dir, book = folder .. "/run", folder .. "/asked"
    local one = skill(book)
    os.execute("mkdir -p " .. dir .. "/out.md/in-the-way")
    local result = assert(one:run { work_dir = dir })
    assert.same({ "paused", "output_failed" }, { result.status, result.reason })
    assert.equal(1, asked(book))
    result = assert(skillrt.resume(dir, { skill = one }))
    assert.same({ "paused", "output_failed", 1 }, { result.status, result.reason, asked(book) })
    os.execute("rm -r " .. dir .. "/out.md")
    result = assert(skillrt.resume(dir, { skill = one }))
    assert.same({ "completed", 1 }, { result.status, asked(book) })
    assert.matches("words", R.read(dir .. "/out.md"))
  end)
end)
