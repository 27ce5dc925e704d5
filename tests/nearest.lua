-- nearest.lua: which tests are the first to try when a file has changed: those that run its lines, as `make nearest`
-- found out and wrote to nearest.txt. Used by all.lua, which adds such tests of the full set to the quick one, and by
-- mutants/run.lua.

local M = {}

-- What tests that join the quick set may take together, of a processor: some six seconds on two.
local SECONDS <const> = 12

---The tests of each file, the best first, as sets.txt names them.
---@param path string of the list: a line a file, its path and its tests
---@return table<string, string[]>
function M.read(path)
  local of_file = {}
  local file <close> = io.open(path)
  for line in file and file:lines() or function() end do
    local name, tests = line:match "^(%S+) (.*)$"
    of_file[name or ""] = {}
    for test in (tests or ""):gmatch "%S+" do
      table.insert(of_file[name], test)
    end
  end
  return of_file
end

---The tests of the full set that join the quick one when these files have changed: each file's nearest in turn, as many
---as the time allows.
---@param changed string[] paths
---@param of_file table<string, string[]> the tests of each file
---@param seconds table<string, number> what each test takes, of a processor; others do not join
---@return string[]
function M.joining(changed, of_file, seconds)
  local joined, list, left, most = {}, {}, SECONDS, 0
  for _, path in ipairs(changed) do
    most = math.max(most, #(of_file[path] or {}))
  end
  for rank = 1, most do
    for _, path in ipairs(changed) do
      local test = (of_file[path] or {})[rank]
      if test and not joined[test] and (seconds[test] or left + 1) <= left then
        joined[test], left = true, left - seconds[test]
        list[#list + 1] = test
      end
    end
  end
  return list
end

---The files of the program that differ from the last commit; none where there is no repository.
---@return string[]
function M.changed()
  local list = {}
  local pipe <close> = assert(io.popen "git status --porcelain -uall -- csrc lua strategies templates 2>/dev/null")
  for line in pipe:lines() do
    list[#list + 1] = line:match "^.. .* %-> (.*)$" or line:match "^.. (.*)$"
  end
  return list
end

return M
