-- document/child.lua: submits a run that a step of another one waits for (ctx.run with a queue), next to that one.
--
-- run/call/kind/child.lua, which knows no skills, has it as its `submit`. Called by document/reopen.lua, with every
-- submitted run.

local files = require("skillrt.base.files")
local look = require("skillrt.run.look")
local open = require("skillrt.document.open")
local runner = require("skillrt.run.runner")
local seal = require("skillrt.base.seal")
local store_of = require("skillrt.run.store")
local submission = require("skillrt.document.submission")
local travel = require("skillrt.run.travel")

-- Stores the run under its name; the skill's files are those that the parent has here.
local function create(calls, call, place, given)
  local parent, own = calls.run, call.step.live.home.run.skill
  local path = files.join(own.dir, given.skill)
  if not files.stat(path) then
    return nil, ("%s: no such file was submitted with %s; submit the folder that has both"):format(given.skill,
      own.name), "invalid"
  end
  local first, message, code = look.first(parent.store.place)
  local skill
  if first then
    skill, message, code = open.see(path, { agent = calls.session.agent, is_stranger = own.guest ~= nil }, false)
  end
  if not skill then
    return nil, message, code
  end
  return runner.run(skill, { work_dir = place, input = given.input, agent = calls.session.agent,
    sandbox = parent.skill.sandbox_override, submit = function(new, store)
      new.child_of = { run = store_of.name(parent.store.place), depth = given.depth }
      local blobs, why, cause = submission.add(new)
      if not blobs then
        return nil, why, cause
      end
      new.seal = seal.is_ours(first) and new.seal or nil -- what a worker submits is no more ours than its parent
      return travel.create(store, new, { travel.stop("submitted", "waits for a worker", given.at) }, blobs,
        { queue = given.queue, prio = 0 })
    end })
end

-- Stores the child, unless that was done; `given`: { skill, input, queue, depth, at }. Nothing of it is performed here.
require("skillrt.run.call.kind.child").submit = function(calls, call, place, given)
  local there, message, code = look.first(place)
  if not there and code == "missing" then
    there, message, code = create(calls, call, place, given)
  end
  return there and true, message, code
end
