-- cli/command/prune.lua: `skillrt prune [FOLDER ...]`: removes finished runs with all their files.

local output = require("skillrt.report.output")
local selection = require("skillrt.cli.selection")
local store_of = require("skillrt.run.store")
local text_of = require("skillrt.base.terminal_text")

-- The full path of a run, as another one names it.
local function path_of(dir)
  local files = require("skillrt.base.files")
  return files.bare(files.join(files.current(), dir))
end

-- For the path of each forked run, the path of its origin.
local function origins_of(folders)
  local origins = {}
  for _, folder in ipairs(folders) do
    store_of.list(folder, function(dir)
      local first = require("skillrt.run.look").first(dir)
      origins[path_of(dir)] = first and first.from and path_of(first.from.dir)
    end)
  end
  return origins
end

-- The runs that may be removed: not those that a process advances, and not the direct or indirect origins of runs
-- that stay.
local function removable(list, folders)
  local going, dirs = {}, {}
  local function keep(dir, why)
    going[path_of(dir)] = nil
    output.say("info", ("%s stays: %s"):format(text_of.escape(dir), why))
  end
  for _, one in ipairs(list) do
    going[path_of(one.dir)] = one.dir
    if store_of.at(one.dir):holder() then
      keep(one.dir, "a process advances it")
    end
  end
  local origins = origins_of(folders)
  for run in pairs(origins) do
    local origin = not going[run] and origins[run]
    while origin and going[origin] do
      keep(going[origin], "a run that is kept was forked from it")
      origin = origins[origin]
    end
  end
  for _, one in ipairs(list) do
    dirs[#dirs + 1] = going[path_of(one.dir)]
  end
  return dirs
end

return {
  name = "prune",
  summary = "Removes finished runs with all their files, outputs included",
  description = "Without --status it removes runs that are completed, failed or aborted. A run that a process advances "
    .. "stays, and so does a run from which a run that stays was forked.",
  arguments = { selection.FOLDER },
  options = selection.options({}),
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local folders, list = args.folder or { require("skillrt.run.folder").path() }, {}
    args.status = args.status or not args.failed and { "completed", "failed", "aborted" } or nil
    local code = selection.chosen(args, function(one)
      list[#list + 1] = one
    end)
    if code ~= 0 then
      return code
    end
    for _, folder in ipairs(folders) do
      store_of.sweep(folder)
    end
    local dirs = removable(list, folders)
    if not dirs[1] then
      output.say("info", "there is no run to remove")
      return 0
    end
    local ok, why = selection.confirmed(dirs, "remove", args.all)
    if not ok then
      return nil, why, "invalid"
    end
    for _, dir in ipairs(dirs) do
      local removed, problem, cause = store_of.at(dir):discard()
      if not removed then
        return nil, problem, cause
      end
      output.write(("removed %s\n"):format(text_of.escape(dir)))
    end
    return 0
  end,
}
