-- A run that is taken back and forked while it is killed (tests/c/test_crash_travel.c). TRAVEL says what this script
-- does when it is read: without it it is the skill; else what came of it is told as an error, and no run is opened.
local files = require "skillrt.base.files"
package.path = files.current() .. "/?.lua;" .. package.path -- nothing is looked for in the current folder by itself
local F = require "tests.support.fake_ctx"
local skillrt = require "skillrt"

local dir, out = os.getenv "TRAVEL_DIR", os.getenv "TRAVEL_OUT"
local project = dir .. "-project"

-- Writes the project's file as a model's tool would.
local function write(ctx, content)
  local tool = require "skillrt.tool"
  files.make_folders(project)
  local one = assert(tool.check("write_file", { roots = { write = { project } } }, "s"))
  local task = F.task(ctx, { store = require("skillrt.run.store").at(dir), dir = project, project_dir = project })
  return assert(one:perform(ctx, { path = "a.txt", content = content }, task))
end

-- A phase tells what it found: nothing of its own, and the project's file as the phase before has left it.
local function phase(id)
  local output = id .. ".md"
  return { id = id, output = output, checkpoint = true, run = function(state, ctx)
    local found = ("%s found %s and %s."):format(id, files.read(dir .. "/" .. output), files.read(project .. "/a.txt"))
    write(ctx, id)
    return found, { n = state.n + 1 }
  end }
end

-- What there is of a run: its books, and with `files` what lies in its folder and the project's.
local function look(at, with_files)
  local books, message = require("skillrt.run.look").books(at)
  if not books or not books.state then
    return "no run: " .. tostring(message)
  end
  local root = books.state.root
  local told = { ("%s %s n=%d"):format(root.status, books.reason, root.n), #root.phases_completed .. " phases" }
  for _, entry in ipairs(with_files and files.list(at) or {}) do
    if entry.name:find "%.md" then
      told[#told + 1] = entry.name .. ": " .. tostring(files.read(at .. "/" .. entry.name))
    end
  end
  table.sort(told)
  told[#told + 1] = with_files and tostring(files.read(project .. "/a.txt")) or nil
  return table.concat(told, " ")
end

local travel = os.getenv "TRAVEL"
if travel == "look" or travel == "look at files" then
  error("\1" .. look(dir, travel ~= "look") .. " | " .. look(out), 0)
elseif travel then
  local travels = require "skillrt.run.travel"
  local done, message
  if travel == "rollback" then
    done, message = travels.rollback(dir, "first")
  else
    done, message = travels.fork(dir, "first", out, { forked = true })
  end
  error("\1" .. (done and (done.left and done.left[1] and "left" or "done") or "not done: " .. message), 0)
end

return skillrt.skill {
  name = "travels",
  mode = "sequential",
  state = { n = 0 },
  retry = { base = 0.001, jitter = false },
  phases = { phase "first", phase "second", phase "third" },
}
