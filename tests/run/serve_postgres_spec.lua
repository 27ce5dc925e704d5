-- serve_postgres_spec.lua: `skillrt serve` over the runs of a database: what it does with a folder.
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

local database, why = postgres.start()

local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "hello", description = "Says hello", state = {}, actions = {
  { id = "ask", run = function(_, ctx) return { said = ctx.ask { question = "Who?", options = { "Ada", "Grace" } } } end } } }
]]

describe("skillrt serve over a database", function()
  lazy_teardown(function()
    if database then getmetatable(database).__close() end
  end)

  it("starts, lists, answers, follows and shows runs there", function()
    if not database then return pending("PostgreSQL: " .. why) end
    local folder <close> = K.folder()
    os.execute(("mkdir -p '%s/skills/hello'"):format(folder.path))
    folder.file("skills/hello/skill.lua", SKILL)
    assert.equal(0, K.run(folder, { "fleet", "init", database.url }).code)
    local server = C.start(folder, { runs = database.url, "--socket", folder.path .. "/s", "--trust", "skills" })
    local status, value = server:post("/runs", { skill = "hello" })
    assert.equal(201, status, value.error and value.error.message)
    local run = value.run
    assert.equal("Who?", server:until_it(run, "paused").questions[1].question.question)
    local _, list = server:ask "/runs?waiting=true"
    assert.same({ 1, run, "paused" }, { #list.runs, list.runs[1].run, list.runs[1].status })
    assert.is_true((server:post("/runs/" .. run .. "/answer", { question = 1, value = "Ada" })) < 300)
    server:until_it(run, "completed")
    assert.equal("Ada", select(2, server:ask("/runs/" .. run .. "/data")).state.said)
    assert.is_true(#server:follow(run, 2) > 2)
    for _ = 1, 300 do
      _, list = server:ask "/runs?status=completed"
      if list.runs[1] then break end
      os.execute "sleep 0.03"
    end
    assert.equal(run, list.runs[1].run)
    assert.equal(404, (server:ask "/runs/none"))
    server:close()
  end)
end)
