-- check.lua: checking a skill: states a second in the search, a skill of a thousand actions, and
-- the folder that is generated of one. In this process; the folder is made here and removed.
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
local build = os.getenv "SKILLRT_BUILD" or "build/release"
package.cpath = ("%s/lib/?.so;"):format(build) .. package.cpath

local AGENTS = { worker = { kind = "command", argv = { "true" } } }

-- Counters and flags that a dozen actions move in any order.
local function wide()
  local actions = {}
  for i = 1, 16 do
    actions[i] = { id = "flag" .. i, agent = "worker", when = ("!f%d"):format(i), effects = { ("f%d=true"):format(i) } }
  end
  local state = {}
  for i = 1, 16 do
    state["f" .. i] = false
  end
  local all = { name = "wide", agents = AGENTS, actions = actions, state = state, strategy = "user_driven" }
  all.schema = {}
  for key in pairs(state) do
    all.schema[key] = "boolean"
  end
  return all
end

local function thousand()
  local actions = {}
  for i = 1, 1000 do
    local after = i > 1 and ("completed_actions.includes('action-%d')"):format(i - 1) or nil
    actions[i] = { id = "action-" .. i, agent = "worker", when = { after, "files.length > 0" }, priority = i % 100,
      effects = { "done_count++" } }
    if i == 1 then
      actions[i].when = { "files.length > 0" }
    end
  end
  return { name = "thousand", agents = AGENTS, actions = actions, state = { files = { "a" }, done_count = 0 } }
end

-- The config of a folder: each action waits for the one before.
local function config()
  local actions = {}
  for i = 1, 1000 do
    local after = i > 1 and ("completed_actions.includes('action-%d')"):format(i - 1) or nil
    actions[i] = { id = "action-" .. i, name = "Action " .. i, description = ("does part %d of the work"):format(i),
      preconditions = { "files.length > 0", after }, effects = { ("done_%d=true"):format(i) }, priority = i % 10 }
  end
  return { skill_name = "thousand-actions", description = "A folder of a thousand actions",
    execution_mode = "autonomous", autonomous_config = { actions = actions } }
end

-- Its documents below a folder; gives their number and bytes.
local function write_folder(dir)
  local files = require "skillrt.base.files"
  local made = assert(require("skillrt.document.generate").generate(config(), { templates = "templates" }))
  local bytes = 0
  for _, one in ipairs(made) do
    local path = dir .. "/" .. one.path
    assert(files.make_folders(files.dirname(path)))
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(one.text))
    bytes = bytes + #one.text
  end
  return #made, bytes
end

return function(measure)
  local check = require "skillrt.document.check"
  local found_of = require "skillrt.document.check.found"
  local model_of = require "skillrt.document.check.model"
  local rounds = require "skillrt.document.check.reach.rounds"
  local search = require "skillrt.document.check.reach.search"
  local space_of = require "skillrt.document.check.reach.space"

  local function searching()
    local space = space_of.of(model_of.of(wide(), found_of.new(), function()
      return {}
    end))
    local states
    local best = measure.cpu(3, function()
      local result = search.run(space, { max_tests = 1 << 40 })
      states = result.looked
      rounds.stuck(result)
    end)
    local detail = ("%d states"):format(states)
    return measure.finding("searching the state space", states / best * 1e6, ">=", 50, detail, "thousand states/s")
  end

  local function checking()
    local definition = thousand()
    local best = measure.cpu(3, function()
      assert(check.check(definition))
    end)
    return measure.finding("checking 1,000 actions", best / 1e9, "<=", 1, nil, "s")
  end

  local function checking_folder()
    local base <close> = measure.folder()
    local dir = base.path .. "/thousand-actions"
    local count, bytes = write_folder(dir)
    local best = measure.cpu(3, function()
      assert(check.check(dir))
    end)
    local detail = ("%d files, %.1f MB"):format(count, bytes / 1e6)
    return measure.finding("checking a folder of 1,000 actions", best / 1e9, "<=", 1, detail, "s")
  end

  return { searching(), checking(), checking_folder() }
end
