-- cli/steering.lua: the common part of `skillrt skip`, `again` and `tell`: puts the command into the inbox of a run
-- that a process advances, or resumes the run with it.
--
-- The run decides which agent is meant and whether the command is possible (run/steering.lua).

local ending = require("skillrt.cli.ending")
local exit_codes = require("skillrt.cli.exit_codes")
local handing = require("skillrt.cli.handing")
local look = require("skillrt.run.look")
local steering = require("skillrt.run.steering")

local M = {}

-- Why the process refused it: read from the note after record `last`, once that is durable.
local function reason(dir, store, name, last)
  local begin, why = ("inbox/%s: "):format(name), nil
  store:wait(function()
    local held = store:holder()
    look.records(dir, function(entry)
      local text = tostring(entry.text)
      why = text:sub(1, #begin) == begin and text:sub(#begin + 1) or nil
      return not why
    end, last + 1)
    return why or not held
  end)
  return why or ("refused; see skillrt log %s"):format(dir)
end

local function steer(args, word)
  local dir = args.dir
  local books, report, code = look.books(dir)
  if not books then
    return nil, report, code, dir
  end
  local store, what = require("skillrt.run.store").at(dir), { steer = word, agent = args.label, text = args.text }
  if not store:holder() then
    if look.has_ended(books) then
      return ending.go_on(dir, { steer = what }, args)
    end
    local why = steering.problem(books, what)
    if why then
      return nil, ("%s: %s"):format(dir, why), "invalid"
    end
  end
  local handed, problem = handing.over(store, { what })
  if not handed then
    return not problem and exit_codes.interrupted or nil, problem, "system"
  end
  local name, fate = handed[1].name, handed[1].fate
  if fate == "waits" then -- no process advances the run, or it has ended
    code = ending.go_on(dir, {}, args)
    return store:fate(name) == "refused" and exit_codes.usage or code
  elseif fate == "refused" then
    return nil, ("%s: %s"):format(dir, reason(dir, store, name, report.last)), "invalid"
  end
  return 0
end

---The command of that name.
---@param word "skip"|"again"|"tell"
---@param summary string
---@param more skillrt.Argument|nil
---@return skillrt.Command
function M.command(word, summary, more)
  return {
    name = word,
    drives = true,
    summary = summary,
    arguments = {
      { name = "DIR", help = "the directory of the run" },
      { name = "LABEL", help = "the agent's label, or the place of its call; skillrt status shows both" },
      more,
    },
    options = ending.options({}),
    run = function(args)
      return steer(args, word)
    end,
  }
end

return M
