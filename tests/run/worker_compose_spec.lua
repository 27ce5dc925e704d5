-- worker_compose_spec.lua: examples/fleet/compose.yaml, its services as plain processes on a server of the spec's own.
local kit = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"
local lyaml = require "lyaml"

local URL <const> = "postgres://skillrt@database/skills"

local server, why = postgres.start()
if not server then
  print("left out: " .. why)
  describe("three workers and a database", function() pending("need a server: " .. why) end)
  return
end

describe("three workers and a database", function()
  local folder = kit.folder()
  local env = ("HOME=%s XDG_STATE_HOME=%s NO_COLOR=1"):format(folder.path, folder.path)
  local services = lyaml.load(kit.read "examples/fleet/compose.yaml").services

  -- The words of a service, behind the name of the program.
  local function command_of(service)
    local words = { env = env }
    for _, word in ipairs(service.command) do
      words[#words + 1] = word == URL and server.url or word
    end
    assert.equal("skillrt", table.remove(words, 1))
    return words
  end

  it("perform what is submitted, and end in order", function()
    assert.equal("service_healthy", services.tables.depends_on.database.condition)
    assert.equal(0, kit.run(folder, command_of(services.tables)).code)
    local workers = {}
    for i = 1, services.worker.deploy.replicas do
      workers[i] = kit.start(folder, command_of(services.worker))
    end
    assert.equal(3, #workers)
    folder.file("hello.lua", kit.read "examples/hello/skill.lua")
    for i = 1, 6 do
      local told = kit.run(folder, { env = env, "submit", server.url, "hello.lua", "--key", "hello" .. i })
      assert.equal(0, told.code, told.err)
    end
    for _ = 1, 1200 do
      if server.query "select count(*) from skillrt.run where status = 'completed'" == "6" then break end
      os.execute "sleep 0.05"
    end
    assert.equal("6", server.query "select count(*) from skillrt.run where status = 'completed'")
    for _, worker in ipairs(workers) do worker.signal "TERM" end
    for _, worker in ipairs(workers) do assert.equal(143, worker.wait().code) end
    assert.equal("0", server.query "select count(*) from skillrt.worker")
  end)

  teardown(function()
    getmetatable(server).__close()
    getmetatable(folder).__close()
  end)
end)
