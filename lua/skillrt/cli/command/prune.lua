-- cli/command/prune.lua: `skillrt prune [FOLDER ...]`: removes runs that are over, with all their files.

local ending = require("skillrt.cli.ending")
local output = require("skillrt.report.output")
local selection = require("skillrt.cli.selection")
local store_of = require("skillrt.run.store")
local text_of = require("skillrt.base.terminal_text")

-- The full path of a run, as another one names it.
local function path_of(dir)
  local files = require("skillrt.base.files")
  return (files.join(files.current(), dir):gsub("/+$", ""))
end

-- Which of the runs that stay was forked from which run: the path of the one by that of the other.
local function origins_of(folders, going)
  local origins = {}
  for _, folder in ipairs(folders) do
    for _, one in ipairs(store_of.list(folder) or {}) do
      local first = not going[path_of(one.url)] and require("skillrt.run.look").first(one.url)
      if first and first.from then
        origins[path_of(first.from.dir)] = one.url
      end
    end
  end
  return origins
end

-- What of the runs goes: not those from which one that stays was forked.
local function chosen(list, folders)
  local going, dirs = {}, {}
  for _, one in ipairs(list) do
    going[path_of(one.dir)] = not one.status.held_by or nil
  end
  local origins = origins_of(folders, going)
  for _, one in ipairs(list) do
    local fork = origins[path_of(one.dir)]
    if one.status.held_by then
      output.say("info", ("%s stays: a process advances it"):format(text_of.escape(one.dir)))
    elseif fork then
      output.say("info", ("%s stays: %s was forked from it"):format(text_of.escape(one.dir), text_of.escape(fork)))
    else
      dirs[#dirs + 1] = one.dir
    end
  end
  return dirs
end

return {
  name = "prune",
  summary = "Removes finished runs with all their files, outputs included",
  description = "Without --status it removes runs that are completed, failed or aborted. A run that a process advances "
    .. "stays, and so does a run from which a run that stays was forked.",
  arguments = { { name = "FOLDER", many = true, optional = true, help = "folders of runs; default: runs" } },
  options = selection.options({}),
  ---@param args table
  ---@return integer code
  run = function(args)
    local filter, message = selection.filter(args)
    if message then
      return ending.refused(message, "invalid")
    end
    filter = filter or {}
    filter.statuses = filter.statuses or { completed = true, failed = true, aborted = true }
    local folders = args.folder or { "runs" }
    local list, problem, code = selection.listed(folders, filter)
    if not list then
      return ending.refused(problem, code)
    end
    for _, folder in ipairs(folders) do
      store_of.sweep(folder)
    end
    local dirs = chosen(list, folders)
    if not dirs[1] then
      output.say("info", "no run is to be removed")
      return 0
    end
    local ok, why = selection.confirmed(dirs, "remove", args.all)
    if not ok then
      return ending.refused(why, "invalid")
    end
    for _, dir in ipairs(dirs) do
      ok, problem, code = store_of.at(dir):discard()
      if not ok then
        return ending.refused(problem, code)
      end
      output.write(("removed %s\n"):format(text_of.escape(dir)))
    end
    return 0
  end,
}
