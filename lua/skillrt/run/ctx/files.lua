-- run/ctx/files.lua: the files that a step's function may list, read and write.
--
-- What is read is recorded, so that a function that runs again reads the same; what is written stays below the run's
-- folder. Part of ctx.lua.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local draws = require("skillrt.run.branch.draws")
local names = require("skillrt.base.names")

-- The absolute path of a path in a folder, which a relative path may not leave.
local function source(base, path, what, is_confined)
  if type(path) ~= "string" then
    error(("ctx.%s: the path must be a text, not %s"):format(what, names.show(path)), 3)
  elseif files.is_absolute(path) and not is_confined then
    return path
  end
  local ok, why = files.is_confined(path)
  if not ok then
    error(("ctx.%s: path %s %s%s"):format(what, names.show(path), why,
      is_confined and "" or "; give an absolute path to look elsewhere"), 3)
  end
  return files.join(base, path)
end

local M = {}

---Files that match, sorted, relative to input.dir (or the current folder); recorded. Untrusted code sees only its own
---folders.
function M.glob(self, pattern, dir, guest)
  if type(pattern) ~= "string" then
    error("ctx.glob: the pattern must be a text, not " .. names.show(pattern), 2)
  end
  local base = source(self.run.input_dir, dir or ".", "glob")
  local refused = guest and guest:refused(self.run.input_dir, base)
  if refused then
    error("ctx.glob: " .. refused, 2)
  end
  local text, message, code = draws.read(self.steps.journal, self.step, function()
    local list, problem, cause = files.glob(base, pattern)
    return list and table.concat(list, "\0") .. (list[1] and "\0" or ""), problem, cause
  end)
  if not text then
    return nil, message, code
  end
  local list = json.array({})
  for name in text:gmatch("([^%z]*)%z") do
    list[#list + 1] = name
  end
  return list
end

---The text of a file; a relative path is resolved against input.dir (or the current folder); recorded. Untrusted code
---reads only its own folders.
function M.read(self, path, guest)
  local from = source(self.run.input_dir, path, "read")
  return draws.read(self.steps.journal, self.step, function()
    if guest then
      return guest:text(self.run.input_dir, path)
    end
    return files.read(from)
  end)
end

---Writes a file below the work directory, completely or not at all; with durability "power" it survives a power cut.
function M.write(self, path, text)
  source("", path, "write", true)
  if names.is_taken(path) then
    error(("ctx.write: %q would replace a file of the run itself; choose another name"):format(path), 2)
  elseif type(text) ~= "string" then
    error("ctx.write: what is written must be a text, not " .. names.show(text), 2)
  end
  return self.run.store:keep(path, text, files.lasts(self.run.skill))
end

return M
