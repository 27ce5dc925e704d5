-- nearest.lua: which tests to try first when lines of a file have changed: those that run them, as `make nearest`
-- found out. It wrote the tests of each file to nearest.txt, and those of each line below build, where it ran. Used by
-- all.lua, which adds such tests of the full set to the quick one, and by mutants/run.lua.

local M = {}

-- What tests that join the quick set may take together, of a processor: some eight seconds on two.
local SECONDS <const> = 15

-- How many lines away a line counts as close.
local NEAR <const> = 8

---@class skillrt.test.Nearest
---@field of table<string, string[]> the tests of a file, "csrc/a.c", or of a line, "csrc/a.c:12"; the best first
local Nearest = {}
Nearest.__index = Nearest

---@param ... string paths of lists: a line for each file or line of one, its name and its tests, as sets.txt names them
---@return skillrt.test.Nearest
function M.read(...)
  local of = {}
  for _, path in ipairs { ... } do
    local file <close> = io.open(path)
    for line in file and file:lines() or function() end do
      local name, tests = line:match "^(%S+) (.*)$"
      of[name or ""] = tests
    end
  end
  return setmetatable({ of = of }, Nearest)
end

-- The tests of a line; where none was recorded, as of C only calls are, those of the closest line that was.
local function of_line(self, path, number)
  for away = 0, NEAR do
    local tests = self.of[("%s:%d"):format(path, number - away)] or self.of[("%s:%d"):format(path, number + away)]
    if tests then
      return tests
    end
  end
end

---Whether every test that runs a line is known: of Lua each line was recorded, of C only calls. The simulator is none.
---@param path string
---@param number integer
---@return boolean
function Nearest:knows_all(path, number)
  local tests = self.of[("%s:%d"):format(path, number)]
  return tests ~= nil and path:find "%.lua$" ~= nil and not tests:find("...", 1, true)
end

---The tests to try when some lines of a file have changed, the best first: those of the lines in turn, then the file's.
---@param path string
---@param lines integer[]
---@return string[]
function Nearest:tests(path, lines)
  local lists, list, seen = {}, {}, {}
  local function add(names)
    local into = {}
    for name in (names or ""):gmatch "%w%S+" do
      into[#into + 1] = name
    end
    lists[#lists + 1] = into
  end
  for _, number in ipairs(lines) do
    add(of_line(self, path, number))
  end
  local of_lines = #lists
  add(self.of[path])
  local function take(from, to)
    local most = 0
    for i = from, to do
      most = math.max(most, #lists[i])
    end
    for rank = 1, most do
      for i = from, to do
        local name = lists[i][rank]
        if name and not seen[name] then
          seen[name], list[#list + 1] = true, name
        end
      end
    end
  end
  take(1, of_lines)
  take(of_lines + 1, #lists)
  return list
end

---The tests of the full set that join the quick one when these files have changed: each file's nearest in turn, as many
---as the time allows.
---@param changed { path: string, lines: integer[] }[]
---@param seconds table<string, number> what each test takes, of a processor; others do not join
---@return string[]
function Nearest:joining(changed, seconds)
  local joined, list, left, most, orders = {}, {}, SECONDS, 0, {}
  for i, one in ipairs(changed) do
    orders[i] = self:tests(one.path, one.lines)
    most = math.max(most, #orders[i])
  end
  for rank = 1, most do
    for _, order in ipairs(orders) do
      local test = order[rank]
      if test and not joined[test] and (seconds[test] or left + 1) <= left then
        joined[test], left = true, left - seconds[test]
        list[#list + 1] = test
      end
    end
  end
  return list
end

---The files of the program that differ from the last commit, with the lines there that changed; none where there is no
---repository.
---@return { path: string, lines: integer[] }[]
function M.changed()
  local list, at = {}, nil
  local pipe <close> = assert(io.popen("git -c diff.noprefix=false "
    .. "-c diff.mnemonicprefix=false diff HEAD -U0 --no-color "
    .. "--no-renames -- csrc lua strategies templates 2>/dev/null"))
  for line in pipe:lines() do
    local path, first, count = line:match "^%-%-%- a/(.*)$", line:match "^@@ %-(%d+),?(%d*)"
    if path then
      at = { path = path, lines = {} }
      list[#list + 1] = at
    elseif first and at then
      for number = first, first + math.min(tonumber(count) or 1, 50) do
        at.lines[#at.lines + 1] = math.tointeger(number)
      end
    end
  end
  return list
end

return M
