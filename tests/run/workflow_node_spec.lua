-- workflow_node_spec.lua: the node in which workflow scripts run: which flag it is given, what is said where it is
-- missing or ends.
local kit = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

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
  return folder, "SKILLRT_SANDBOX=off PATH=" .. bin -- this node writes beside itself
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

  it("that ends with answers under way begins anew: what the script asks behind each is asked, and no agent twice", function()
    local folder <close>, env = folder_with ""
    folder.file("bin/node", ([[#!%s
const fs = require('fs'), [,, ...words] = process.argv
const ends = !words.includes('--version') && !fs.existsSync('ended')
const child = require('child_process').spawn(process.execPath, words, { stdio: [ends ? 'pipe' : 'inherit', 'inherit', 'inherit'] })
child.on('exit', (code) => process.exit(code ?? 1))
let lines = 0
if (ends) process.stdin.on('data', (bytes) => { // the first that runs a script: its end comes with the eighth message
  lines += String(bytes).split('\n').length - 1
  if (lines === 1) child.stdin.write(bytes)
  if (lines === 8) { fs.writeFileSync('ended', ''); child.kill('SIGKILL') }
})]]):format(io.popen("command -v node"):read "l"))
    folder.file("agent.sh", [[p=$(cat); p=${p##* }; echo "$p" >> asked
case $p in slow) while [ ! -e ended ]; do sleep 0.02; done;; esac; echo "$p"]])
    folder.file("flow.js", [[export const meta = { name: 'flow', description: 'd' }
const first = pipeline([0, 1, 2, 3, 4, 5, 6], i => agent('say a' + i), (said) => agent('then b' + said))
return await Promise.all([agent('be slow'), first])]])
    local done = kit.run(folder, { "run", "flow.js", "--trust", "--agent", '["sh","agent.sh"]', "--work-dir", "run", "--print",
      env = env })
    assert.equal('["slow",["ba0","ba1","ba2","ba3","ba4","ba5","ba6"]]', (done.out:gsub("%s", "")), done.err)
    local asked = {}
    for name in folder.read "asked":gmatch "%S+" do
      asked[#asked + 1] = name
    end
    table.sort(asked)
    assert.equal("a0 a1 a2 a3 a4 a5 a6 ba0 ba1 ba2 ba3 ba4 ba5 ba6 slow", table.concat(asked, " "))
  end)

  it("is told in any order what it was told before, gives each what it asked for then, and says how much it has", function()
    local folder <close> = kit.folder()
    local told = { { n = 1, start = { name = "flow.js", args = "", source = "export const meta = { name: 'flow', description: 'd' }\n"
      .. "return await pipeline(['a', 'b'], i => agent('say ' + i), s => agent('then ' + s))" } },
      { n = 2, answer = { at = "1/1/1", value = '"A"' } }, { n = 3, answer = { at = "1/2/1", value = '"B"' } } }
    local lines = {}
    for i, message in ipairs { { n = 3, since = { told[2], told[3] } }, { n = 3, since = told }, told[2], told[3], told[1] } do
      lines[i] = json.encode(message) .. "\n"
    end
    folder.file("in", table.concat(lines))
    local source = kit.quoted(kit.read "lua/skillrt/skill/workflow/child.js")
    local realm = kit.quoted(kit.read "lua/skillrt/skill/workflow/realm.js")
    local said = io.popen(("SKILLRT_REALM=%s node -e %s < '%s/in'"):format(realm, source, folder.path))
    local heard = {}
    for line in said:lines() do
      local one = json.decode(line)
      heard[#heard + 1] = one.have or ""
      for _, ask in ipairs(one.asks or {}) do
        heard[#heard] = heard[#heard] .. ask.prompt .. ";"
      end
    end
    assert.same({ 0, "then B;", "then A;", "then B;", "say a;say b;" }, heard)
  end)

  it("says what no script can say, as one may that got out of its realm: it fails in words, with no raw Lua error", function()
    local folder <close>, env = folder_with(('[ "$2" = --version ] || [ "$1" = --version ] && exit 0\n'
      .. 'while IFS= read -r line; do cat "%s"; done'):format("$FORGED"))
    env = env .. " FORGED=" .. folder.path .. "/forged"
    local node = folder.read "bin/node"
    folder.file("bin/node", (node:gsub("%$FORGED", folder.path .. "/forged")))
    local agent = '{"kind":"agent","at":"1","prompt":"x","options":{}}'
    for forged, words in pairs {
      ['{"n":1,"asks":[{"kind":"nothing"}]}'] = "asks for nothing", ['{"n":1,"asks":[5]}'] = "asks[0] must be object",
      ['{"n":1,"asks":7}'] = "asks must be array", ['{"n":1,"asks":[{"kind":"agent"}]}'] = 'agent has no "at"',
      ['{"n":1,"asks":[{"kind":"agent","at":"1","prompt":"x","options":7}]}'] = "options must be object",
      ['{"n":1,"asks":[{"kind":"threw"}]}'] = 'threw has no "at"', ['{"n":1,"asks":[{"kind":"log","text":{}}]}'] = "text must be",
      ['{"n":1,"asks":[{"kind":"workflow","at":"1","name":9}]}'] = "name must be string", ['{"n":1,"done":7}'] = "done fits 0",
      ['{"n":1,"meta":{"name":7}}'] = "meta.name must be string", ['{"n":1,"have":"x"}'] = "have must be integer",
      ["7"] = "it must be object", ["not json"] = "expected a value",
      [('{"n":1,"asks":[%s,%s]}'):format(agent, agent)] = "asks twice at 1",
    } do
      folder.file("forged", forged .. "\n")
      os.execute("rm -rf " .. folder.path .. "/run")
      local done = run(folder, env)
      local text = done.out .. done.err
      assert.truthy(text:find("flow.js: its process sent an invalid message: ", 1, true) and text:find(words, 1, true), text)
      assert.is_nil(text:find "%.lua:%d", text)
    end
  end)

  it("runs a TypeScript file where it can take out the types, and says which node that needs elsewhere", function()
    local folder <close> = kit.folder()
    folder.file("flow.ts", [[
import type { Options } from './options'
interface Found { bugs: string[] }
export type Kind = 'a' | 'b'
export const meta: { name: string, description: string } = { name: 'flow', description: 'typed' } as const

const names: Kind[] = ['a', 'b'];
const all = await parallel(names.map((name: Kind) => () => agent<string>(`say ${name}`)));
return { all, found: ({ bugs: [] } as Found).bugs.length } satisfies { all: unknown, found: number };
]])
    local may = os.execute [[node -e 'process.exit(require("module").stripTypeScriptTypes ? 0 : 1)' 2>/dev/null]]
    local done = kit.run(folder, { "run", "flow.ts", "--trust", "--agent", '["sh","-c","cat >/dev/null; echo said"]',
      "--work-dir", "run", "--print" })
    if may then
      assert.same({ 0, '{"all":["said","said"],"found":0}' }, { done.code, (done.out:gsub("%s", "")) }, done.err)
      folder.file("flow.ts", "export const meta = { name: 'flow', description: 'd' }\nenum Kind { A }\n")
      done = kit.run(folder, { "check", "flow.ts" })
      assert.matches("enum is not supported", done.out .. done.err)
    else
      assert.not_equal(0, done.code)
      assert.matches("flow%.ts: a TypeScript file needs node 22%.13 or later; this is node %d+", done.out .. done.err)
    end
  end)
end)
