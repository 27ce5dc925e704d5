-- template.lua: templates and generated folders: bytes a second, and beside writing the same bytes.
-- Pure computing happens in this process; the files are written by the core, as skillrt would.
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
local build = os.getenv "SKILLRT_BUILD" or "build/release"
package.cpath = ("%s/lib/?.so;"):format(build) .. package.cpath

local ACTIONS = 1000

local function config()
  local actions = {}
  for i = 1, ACTIONS do
    actions[i] = {
      id = "action-" .. i,
      name = "Action number " .. i,
      description = "Reads what the one before it left, does its part and says so in one line.",
      preconditions = { ("completed_actions.includes('action-%d')"):format(i - 1), "files.length > 0" },
      effects = { "done_count++" },
      priority = i % 100,
    }
  end
  local fields = { { name = "files", type = "string[]" }, { name = "done_count", type = "number" } }
  return {
    skill_name = "many-actions",
    description = "A thousand actions",
    execution_mode = "autonomous",
    autonomous_config = { actions = actions, state_schema = { fields = fields } },
  }
end

return function(measure)
  local generate = require("skillrt.generate").generate
  local files_of = require "skillrt.files"
  local template = require "skillrt.template"

  local clock = require("skillrt.core").mono_ns

  local function nanoseconds(run)
    local start = clock()
    run()
    return clock() - start
  end

  local function rendering()
    local text = "| {{id}} | {{priority}} | {{name}} | {{description}} |\n"
    local all = assert(template.compile("# {{skill_name}}\n\n{{#actions}}\n" .. text .. "{{/actions}}\n"))
    local raw = config()
    local data = { skill_name = raw.skill_name, actions = raw.autonomous_config.actions }
    local size = #all:render(data)
    local best = measure.cpu(15, function()
      all:render(data)
    end)
    return measure.finding("rendering a table of 1,000 rows", size / best * 1e3, ">=", 20, nil, "MB/s")
  end

  local function generating()
    local raw, files = config(), nil
    local folder <close> = measure.folder "disk"
    local function generating_once()
      collectgarbage()
      return nanoseconds(function()
        files = assert(generate(raw))
      end)
    end
    local function writing_once(round)
      local base = ("%s/%d/"):format(folder.path, round)
      for _, name in ipairs { "phases/actions", "specs" } do
        files_of.make_folders(base .. name)
      end
      return nanoseconds(function()
        for _, file in ipairs(files) do
          assert(files_of.write(base .. file.path, file.text))
        end
      end)
    end
    local of_ours, of_theirs = {}, {}
    for round = 1, 7 do
      of_ours[round], of_theirs[round] = generating_once(), writing_once(round)
    end
    local ours, theirs = measure.least(of_ours), measure.least(of_theirs)
    local detail = ("%s against %s, %d files"):format(measure.time(ours), measure.time(theirs), #files)
    return measure.finding("generating 1,000 actions, against writing the same bytes", ours / theirs, "<=", 10, detail)
  end

  return { rendering(), generating() }
end
