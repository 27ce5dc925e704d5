-- template.lua: templates and generated folders: bytes a second, and beside writing the same bytes.
--
-- Writing the same bytes: each generated file, in folders that are there, is opened, written whole
-- and closed by plain stdio, and nothing is synced; skillrt syncs nothing here either (an
-- interrupted generation leaves nothing or all, a power cut may cost what was just generated).
-- Two things stand beside it: generate(), which makes the texts, and the command from its start to
-- its end, which also reads the config, digests every file for the manifest, writes all aside and
-- renames the folder. Both by processor time and by the clock, all sides in turn, the least of each.
-- Nothing is removed before the end: for minutes after, ext4 searches a place for a new file among
-- those removed, and a plain write takes ten times its processor time.
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
local build = os.getenv "SKILLRT_BUILD" or "build/release"
package.cpath = ("%s/lib/?.so;"):format(build) .. package.cpath

local ACTIONS = 1000
local ROUNDS = 9

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
  local clock = require("skillrt.core").mono_ns
  local generate = require("skillrt.document.generate").generate
  local json = require "skillrt.base.json"
  local template = require "skillrt.base.template"

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

  -- Keeps the least of what a side took, in nanoseconds.
  local function keep(side, cpu, wall)
    side.cpu, side.wall = math.min(side.cpu or cpu, cpu), math.min(side.wall or wall, wall)
  end

  local function take(side, work)
    collectgarbage()
    local wall, cpu = clock(), os.clock()
    work()
    keep(side, (os.clock() - cpu) * 1e9, clock() - wall)
  end

  local function write_file(path, text)
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(text))
  end

  local function write_plainly(base, files)
    for _, file in ipairs(files) do
      write_file(base .. file.path, file.text)
    end
  end

  local function take_round(path, round, raw, files, sides)
    take(sides.texts, function()
      assert(generate(raw))
    end)
    local source, out = path .. "/config.json", ("%s/skill-%d"):format(path, round)
    local words = { measure.program, "generate", measure.quoted(source), "--quiet --out", measure.quoted(out) }
    local wall, _, cpu = measure.spawn(1, table.concat(words, " "))
    keep(sides.command, cpu, wall)
    local base = ("%s/plain-%d/"):format(path, round)
    measure.run("mkdir -p " .. measure.quoted(base .. "phases/actions") .. " " .. measure.quoted(base .. "specs"))
    take(sides.plain, function()
      write_plainly(base, files)
    end)
  end

  local function against(what, ours, theirs, count, bound)
    local detail = ("%s against %s, %d files"):format(measure.time(ours), measure.time(theirs), count)
    return measure.finding(what, ours / theirs, "<=", bound, detail)
  end

  local function take_all(where, raw, files)
    local folder <close> = measure.folder(where)
    write_file(folder.path .. "/config.json", assert(json.encode(raw)))
    local sides = { texts = {}, command = {}, plain = {} }
    for round = 1, ROUNDS do
      take_round(folder.path, round, raw, files, sides)
    end
    return sides.texts, sides.command, sides.plain
  end

  -- The command from its start to its end, and what a disk hides: tmpfs, where a write costs least.
  local function told(what, texts, command, plain)
    local got = "%.3g x, the command %.3g x (%s and %s against %s)"
    local times = { measure.time(texts.cpu), measure.time(command.cpu), measure.time(plain.cpu) }
    local of_texts, of_command = texts.cpu / plain.cpu, command.cpu / plain.cpu
    return measure.told(what, got:format(of_texts, of_command, table.unpack(times)))
  end

  local function generating()
    local raw = config()
    local files = assert(generate(raw))
    local texts, command, plain = take_all("disk", raw, files)
    local what = "generating 1,000 actions, against writing the same bytes: "
    return {
      against(what .. "processor time", texts.cpu, plain.cpu, #files, 10),
      against(what .. "by the clock", texts.wall, plain.wall, #files, 10),
      told("the same and `skillrt generate` from start to end, processor time", texts, command, plain),
      told("both with all files in memory (tmpfs)", take_all("memory", raw, files)),
    }
  end

  return { rendering(), table.unpack(generating()) }
end
