-- workflow_node_spec.lua: the node in which workflow scripts run: which flag it is given, what is said where it is
-- missing or ends.
local kit = require "tests.support.cli_kit"

local FLOW = "export const meta = { name: 'flow', description: 'd' }\nreturn await agent('x')\n"

-- A folder with a script and a `node` that does as this shell script says; its calls are in the file `called`.
local function folder_with(node)
  local folder = kit.folder()
  folder.file("flow.js", FLOW)
  local bin = folder.path .. "/bin"
  assert(os.execute(("mkdir '%s' && for p in sh cat timeout; do ln -s $(command -v $p) '%s'; done"):format(bin, bin)))
  if node then
    folder.file("bin/node", ("#!/bin/sh\nprintf '%%s\\n' \"$*\" >>'%s/called'\nreal=%s\n%s\n"):format(folder.path,
      io.popen("command -v node"):read "l", node))
    assert(os.execute(("chmod +x '%s/node'"):format(bin)))
  end
  return folder, "PATH=" .. bin
end

-- The lines with which node was called that began the script.
local function began(folder)
  local out = {}
  for line in (folder.read "called" or ""):gmatch "[^\n]+" do
    out[#out + 1] = line:match "^(.-) ?%-%-no%-warnings"
  end
  return out
end

local function run(folder, env, ...)
  return kit.run(folder, { "run", "flow.js", "--trust", "--agent", "cat", "--work-dir", "run", env = env, ... })
end

-- Flags that a node does not know end it with 9, as they end the real ones.
local function knows(flag)
  return ([[case "$1" in %s) shift ;; --*permission) echo "node: bad option: $1" >&2; exit 9 ;; esac
[ "$1" = --version ] && exit 0
exec "$real" "$@"]]):format(flag)
end

describe("the node of a workflow script", function()
  for name, flag in pairs { ["18"] = "none", ["20"] = "--experimental-permission", ["24 and 26"] = "--permission" } do
    it(("is given the permission flag that it knows, as node %s: %s"):format(name, flag), function()
      local folder <close>, env = folder_with(knows(flag))
      local done = run(folder, env)
      assert.equal(0, done.code, done.out .. done.err)
      assert.same({ flag == "none" and "" or flag }, { began(folder)[1] }, folder.read "called")
    end)
  end

  it("is not begun without a flag where asking for it failed for another reason", function()
    local folder <close>, env = folder_with "case $1 in --permission) exit 1; esac; exec $real \"$@\""
    run(folder, env)
    for _, flags in ipairs(began(folder)) do
      assert.equal("--permission", flags)
    end
    assert.is_true(#began(folder) > 0)
  end)

  it("is asked for where it is missing, once, in what run, status, log and check say", function()
    local folder <close>, env = folder_with()
    local done = run(folder, env)
    local MISSING = "exit code 127 before it answered: node was not found in PATH: install nodejs, 18 or later"
    assert.equal(1, done.code, done.err)
    assert.truthy(done.out:find(MISSING, 1, true), done.out)
    assert.falsy(done.out:find("Retry", 1, true), done.out)
    for _, words in ipairs { { "status", "run" }, { "log", "run" }, { "check", "flow.js" } } do
      words.env = env
      local told = kit.run(folder, words)
      assert.truthy(told.out:find(MISSING, 1, true), words[1] .. ": " .. told.out .. told.err)
      assert.equal(words[1] == "check" and 2 or 0, told.code)
    end
    assert.truthy(folder.read("run/journal/00000001.sj"):find('"class":"permanent"', 1, true))
  end)

  it("is told of with its exit code and its last words where it ends before it answered", function()
    local folder <close>, env = folder_with
      "[ \"$2\" = --version ] && exit 0; for i in 1 2 3 4 5; do echo line $i >&2; done; echo >&2; exit 3"
    local done = run(folder, env)
    local WORDS = "ended with exit code 3 before it answered: line 3; line 4; line 5\n"
    for _, words in ipairs { { "status", "run" }, { "log", "run" }, { "check", "flow.js" } } do
      words.env = env
      local told = kit.run(folder, words)
      assert.truthy(told.out:find(words[1] == "check" and WORDS:gsub("\n", "") or WORDS, 1, true), told.out .. told.err)
    end
    assert.truthy(done.out:find(WORDS, 1, true), done.out)
  end)
end)
