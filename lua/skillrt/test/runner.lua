-- test/runner.lua: runs the specs of a skill: finds their files, performs the tests one after the other, each with a
-- time limit and a folder of its own, and reports each result.
--
-- Knows the words of specs and the module skillrt.test; no command line.

local clock = require("skillrt.base.fake_clock")
local asserts = require("skillrt.test.asserts")
local files = require("skillrt.base.files")
local test = require("skillrt.test")
local words = require("skillrt.test.words")

local M = {}

---@class skillrt.test.Result
---@field name string
---@field file string
---@field line string?
---@field status "success"|"failure"|"error"|"pending"
---@field message string?
---@field seconds number

local function specs_in(dir, found, fits)
  local names = {}
  for _, entry in ipairs(files.list(dir) or {}) do
    if entry.name:find("_spec%.lua$") and fits(entry.name) then
      names[#names + 1] = entry.name
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    found[#found + 1] = dir == "." and name or dir .. "/" .. name
  end
end

---The specs of a skill: `*_spec.lua` in its folder and in tests/ there; for a script X.lua those next to it, and in
---tests/ there, whose name begins with X.
---@param path string
---@return string[]
function M.find(path)
  local found = {}
  local bare = files.bare(path)
  if files.is_folder(bare) then
    local function any() return true end
    specs_in(bare, found, any)
    specs_in(bare .. "/tests", found, any)
    return found
  end
  local dir, stem = files.dirname(bare), bare:match("([^/]*)$"):gsub("%.[%w.]*$", "")
  local function own(name)
    return name == stem .. "_spec.lua" or name:sub(1, #stem + 1) == stem .. "_"
  end
  specs_in(dir, found, own)
  specs_in(dir .. "/tests", found, own)
  return found
end

-- What went wrong, in words, and whether it is a failed assertion, an error, or neither.
local function judged(problem)
  if type(problem) == "table" and problem.pending then
    return "pending", problem.pending
  elseif type(problem) == "table" and problem.failure then
    return "failure", tostring(problem.failure)
  elseif type(problem) == "table" then
    return "error", tostring(problem.message or problem)
  end
  return "error", tostring(problem)
end

local function handler(problem)
  if type(problem) == "table" then
    return problem
  end
  local lines = { tostring(problem) }
  for line in debug.traceback("", 2):gmatch("[^\n]+") do
    if line:find("_spec%.lua:") then
      lines[#lines + 1] = line:gsub("^%s+", "  ")
    end
  end
  return { message = table.concat(lines, "\n") }
end

-- Limits the time of a test's own code; its runs are limited by their world.
local function bounded(seconds, fn)
  local until_ns = clock.real_ns() + seconds * 1e9
  debug.sethook(function()
    if clock.real_ns() > until_ns and not test.is_running then
      error({ failure = ("takes longer than %g s"):format(seconds) }, 0)
    end
  end, "", 100000)
  local ok, problem = xpcall(fn, handler)
  debug.sethook()
  return ok, problem
end

-- The functions of a kind around a test, the outermost block first.
local function around(above, kind, inner_first)
  local list = {}
  while above do
    for i = #above[kind], 1, -1 do
      table.insert(list, 1, above[kind][i])
    end
    above = above.above
  end
  if inner_first then
    for i = 1, #list // 2 do
      list[i], list[#list - i + 1] = list[#list - i + 1], list[i]
    end
  end
  return list
end

local Session = {}
Session.__index = Session

-- A folder for one test; all of them are removed when it has ended.
local function folder_maker(made)
  return function()
    local name = os.tmpname()
    os.remove(name)
    assert(files.make_folders(name))
    made[#made + 1] = name
    return name
  end
end

local function performed(self, one)
  if not one.body then
    return true, { pending = "" }
  end
  local made, finallies = {}, {}
  test.subject = { skill = self.skill, seconds = self.seconds, folder = folder_maker(made) }
  words.running = finallies
  local ok, problem = bounded(self.seconds, function()
    for _, fn in ipairs(around(one.above, "before")) do
      fn()
    end
    one.body()
  end)
  for _, list in ipairs({ finallies, around(one.above, "after", true) }) do
    for _, fn in ipairs(list) do
      local well, why = bounded(self.seconds, fn)
      if not well and ok then
        ok, problem = false, why
      end
    end
  end
  words.running = nil
  for _, path in ipairs(made) do
    files.remove_tree(path)
  end
  return ok, problem
end

function Session:tell(one, status, message, from)
  local result = { name = words.name_of(one), file = self.file, line = one.line, status = status, message = message,
    seconds = (clock.real_ns() - from) / 1e9 }
  self.counts[status] = self.counts[status] + 1
  self.report.test(result)
end

local function run_block(self, block)
  if block.problem ~= nil then
    local _, message = judged(block.problem)
    self:tell({ test = block.name ~= "" and block.name or self.file, above = block.above }, "error", message,
      clock.real_ns())
    return
  end
  local is_used = false
  for _, one in ipairs(block.children) do
    if not one.test or not self.filter or words.name_of(one):find(self.filter) then
      if one.test and not is_used then
        is_used = true
        for _, fn in ipairs(block.setup) do
          local ok, problem = bounded(self.seconds, fn)
          if not ok then
            block.broken = select(2, judged(problem))
          end
        end
      end
      if one.children then
        run_block(self, one)
      else
        local from = clock.real_ns()
        local ok, problem
        if block.broken then
          problem = { message = "setup: " .. block.broken }
        else
          ok, problem = performed(self, one)
        end
        if ok and not problem then
          self:tell(one, "success", nil, from)
        else
          local status, message = judged(problem)
          self:tell(one, status, message, from)
        end
      end
    end
  end
  for _, fn in ipairs(is_used and block.teardown or {}) do
    local ok, problem = bounded(self.seconds, fn)
    if not ok then
      self:tell({ test = "teardown", above = block }, "error", select(2, judged(problem)), clock.real_ns())
    end
  end
end

-- The environment of a spec: Lua's own, the words, and helpers next to it.
local function environment(path)
  local dir = files.dirname(path)
  local env = setmetatable({ assert = asserts.assert }, { __index = _G })
  env._G = env
  local loaded = {}
  function env.require(name)
    local beside = not name:find("^skillrt") and package.searchpath(name, dir .. "/?.lua;" .. dir .. "/?/init.lua")
    if not beside then
      return require(name)
    end
    loaded[name] = loaded[name] or assert(loadfile(beside, "t", env))(name, beside) or true
    return loaded[name]
  end
  return env
end

---@param skill string
---@param specs string[]
---@param options { seconds: number, filter: string?, report: table }
---@return table<string, integer> counts  success, failure, error, pending
function M.run(skill, specs, options)
  local self = setmetatable({ skill = skill, seconds = options.seconds, filter = options.filter,
    report = options.report, counts = { success = 0, failure = 0, error = 0, pending = 0 } }, Session)
  local from = clock.real_ns()
  for _, path in ipairs(specs) do
    self.file = path
    local text, message = files.read(path)
    local block = text and words.read(path, text, environment(path)) or { name = "", problem = message }
    run_block(self, block)
  end
  options.report.closed(self.counts, (clock.real_ns() - from) / 1e9)
  return self.counts
end

return M
