-- workflow_worktree_spec.lua: agents of workflow scripts in git worktrees of their own, which are never lost.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"
local PROGRAM = require("tests.support.cli_kit").program

describe("an agent in a worktree of its own", function()
  after_each(R.clean)

  local BODY = [[
    return await parallel(['write', 'look', 'commit', 'fail after write'].map(word => () =>
      agent(word, { label: word, isolation: 'worktree' })))
  ]]
  local WORKS = [[p=$(cat); case "$p" in *write*) echo new > made.txt;; *commit) echo more >> old.txt; git commit -qam more;; esac
    case "$p" in *fail*) exit 3;; esac; cat old.txt | tr '\n' ' '; ls | tr '\n' ' ']]

  -- A repository with one commit and something that is not committed; its folder, and a skill that works in it.
  local function repository()
    local folder = R.folder()
    R.write(folder .. "/old.txt", "old\n")
    assert(os.execute(("cd %s && git init -q && git config user.email t@t && git config user.name t && git add old.txt"
      .. " && git commit -qm one && echo half >> old.txt"):format(folder)))
    R.write(folder .. "/tried.js", W.META .. BODY)
    return folder
  end

  local function listed(folder)
    local pipe <close> = io.popen(("git -C %s worktree list --porcelain | grep -c ^worktree"):format(folder))
    return tonumber(pipe:read "a")
  end

  local function run_in(folder, script)
    local out = R.folder() .. "/run"
    local command = "cd %s && XDG_STATE_HOME=/dev/null/none %s run %s --trust --yes --work-dir %s --quiet --agent '%s' > /dev/null 2>&1"
    local words = json.encode { "sh", "-c", WORKS }
    local code = os.execute(command:format(folder, PROGRAM, script or "tried.js", out, (words:gsub("'", "'\\''"))))
    return out, code
  end

  it("works from the commit the run was begun on; it is removed where nothing changed, else kept and named (W8, W31)", function()
    local folder = repository()
    local dir = run_in(folder)
    local state = R.json(dir .. "/state.json")
    assert.same({ "old made.txt old.txt ", "old old.txt ", "old more old.txt ", json.null }, { table.unpack(state.result, 1, 4) })
    local kept = { table.unpack(state.agents.worktrees) }
    table.sort(kept)
    assert.same({ "commit", "fail after write", "write" }, kept)
    assert.equal(4, listed(folder)) -- with the repository itself
    local said = {}
    for _, record in ipairs(R.records(dir, "note")) do
      said[#said + 1] = record.text
    end
    said = table.concat(said, "\n")
    assert.matches("uncommitted, so not in them:  M old.txt", said)
    assert.matches("worktree kept: .*/worktrees/1%-", said)
  end)

  it("is found again after a crash at any record, and never lost (W31)", function()
    local folder = repository()
    local dir = run_in(folder)
    local kept = R.json(dir .. "/state.json").agents.worktrees
    for keep = 6, #R.records(dir) - 1, W.EACH * 5 do
      local copy = R.folder() .. "/cut"
      R.cut(dir, copy, keep)
      os.execute(("cd %s && %s resume %s --trust --decide retry --quiet > /dev/null 2>&1"):format(folder, PROGRAM, copy))
      local state = R.json(copy .. "/state.json")
      assert.truthy(state.agents, "cut behind " .. keep)
      assert.equal(#kept, #state.agents.worktrees, "cut behind " .. keep)
    end
  end)

  it("may use git while the worktrees of others are made and removed", function()
    local folder = repository()
    R.write(folder .. "/many.js", W.META .. [[
      const words = Array.from({ length: 40 }, (_, i) => i % 2 ? 'commit' : 'look')
      return await parallel(words.map(word => () => agent(word, { isolation: 'worktree' })))
    ]])
    local dir = run_in(folder, "many.js")
    local told = table.concat(R.json(dir .. "/state.json").result, ";")
    assert.equal(("old old.txt ;old more old.txt ;"):rep(20), told .. ";")
    assert.equal(21, listed(folder))
  end)
end)
