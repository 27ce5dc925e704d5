-- serve_reads_spec.lua: what clients of `skillrt serve` read of a run beside its status: its report and its files; and a
-- message to one of its agents.
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"

local WRITER <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "writer", mode = "sequential", phases = {
  { id = "text", output = "out/page.md", run = function() return "# Done\n" end },
  { id = "value", output = "value.json", run = function() return { n = 1 } end },
  { id = "long", output = "long.md", run = function() return "x" end },
} }
]]

-- As Claude Code: the first prompt is answered once `go` is there; in its session it repeats what it is told.
local CLAUDE <const> = [[#!/bin/sh
p=$(cat)
case "$*" in *"--resume s1"*) said="heard $(echo "$p" | tr '\n' ' ')";;
 *) touch begun; while [ ! -e go ]; do sleep 0.02; done; said=first;; esac
printf '{"type":"system","session_id":"s1"}\n{"type":"result","subtype":"success","session_id":"s1","result":"%s"}\n' "$said"]]

local folder, server

describe("a client of skillrt serve", function()
  before_each(function()
    folder = K.folder()
  end)
  after_each(function()
    if server then server:close() end
    server = nil
    getmetatable(folder).__close()
  end)

  it("(F92) reads the report of a run, the names of its files, and each of these files and no other", function()
    folder.file("writer.lua", WRITER)
    assert.equal(0, K.run(folder, { "writer.lua", "--work-dir", "runs/w", "--quiet" }).code)
    folder.file("runs/w/secret.txt", "no output of a step")
    os.remove(folder.path .. "/runs/w/long.md")
    os.execute(("ln -s /etc/hostname '%s/runs/w/long.md'"):format(folder.path))
    server = C.start(folder, {})
    local status, value = server:ask "/runs/w/files"
    assert.same({ 200, { { path = "out/page.md", bytes = 7 }, { path = "value.json", bytes = 13 } } }, { status, value.files })
    local code, text, head = server:ask "/runs/w/files?path=out/page.md"
    assert.same({ 200, "# Done\n" }, { code, text })
    assert.truthy(head:lower():find("content-type: application/octet-stream", 1, true), head)
    assert.equal(1, select(2, server:ask "/runs/w/files?path=value.json").n)
    for _, path in ipairs { "secret.txt", "../../writer.lua", "journal/00000001.sj", "long.md", "/etc/hostname", "" } do
      local refusal, reply = server:ask("/runs/w/files?path=" .. path)
      assert.same({ 404, "missing" }, { refusal, reply.error and reply.error.code })
    end
    local found, html, headers = server:ask "/runs/w/report"
    assert.equal(200, found)
    assert.truthy(html:find("^<!doctype html>") and html:find("out/page.md", 1, true), html:sub(1, 200))
    assert.truthy(headers:lower():find("content-type: text/html", 1, true))
    assert.truthy(headers:find("default-src 'none'", 1, true))
    assert.equal(404, (server:ask "/runs/none/report"))
  end)

  it("tells an agent of a run a further message, and gets the reason where none can be told", function()
    folder.file("claude", CLAUDE)
    os.execute(("chmod +x '%s/claude'; mkdir '%s/runs'"):format(folder.path, folder.path))
    folder.file("one.js", W.META .. "return await agent('work', { label: 'worker' })")
    local path = ("HOME=%s XDG_STATE_HOME=%s/.state PATH='%s':$PATH"):format(folder.path, folder.path, folder.path)
    local run = K.start(folder, { "run", "one.js", "--trust", "--work-dir", "runs/r", "--agent", "claude", env = path })
    for _ = 1, 6000 do
      if folder.read "begun" then break end
      os.execute "sleep 0.01"
    end
    server = C.start(folder, {})
    local status, value = server:post("/runs/r/tell", { agent = "nobody", text = "hello" })
    assert.equal(422, status, json.encode(value))
    assert.truthy(value.error.message:find('no agent "nobody"', 1, true), value.error.message)
    assert.equal(422, (server:post("/runs/r/tell", { agent = "worker" })))
    status, value = server:post("/runs/r/tell", { agent = "worker", text = "--be brief" })
    assert.equal(200, status, json.encode(value))
    folder.file("go", "")
    assert.equal(0, run.wait().code)
    assert.equal("heard --be brief ", json.decode(folder.read "runs/r/state.json").result)
    for _, agent in ipairs { "worker", "nobody" } do -- its end decides, whoever is meant
      status, value = server:post("/runs/r/tell", { agent = agent, text = "more" })
      assert.same({ 409, "ended" }, { status, value.error and value.error.code })
    end
  end)
end)
