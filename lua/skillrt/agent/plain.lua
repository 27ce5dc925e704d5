-- agent/plain.lua: the prompt of a task that is a page of instructions: the page with its placeholders filled in and
-- its commands run, the files it refers to, the task that a person gave.
--
-- The page is the skill's own text; what a person gave is kept apart from it. Knows no providers.

local cut = require("skillrt.base.text").cut
local data_marks = require("skillrt.base.data_marks")
local plugin_folder = require("skillrt.base.files").plugin_folder
local sandbox = require("skillrt.skill.sandbox")

local M = {}

local MAX_BODY <const> = 256 * 1024

---An agent asks a question by a line that begins with this.
M.QUESTION = "NEEDS_CONTEXT"

-- A word of the arguments, counted from 0; "a b" is one.
local function argument(text, index)
  local n, pos = 0, 1
  while true do
    pos = text:find("%S", pos)
    if not pos then
      return ""
    end
    local quote = text:match("^[\"']", pos)
    local word, stop
    if quote then
      word, stop = text:match("^([^" .. quote .. "]*)" .. quote .. "?()", pos + 1)
    else
      word, stop = text:match("^(%S+)()", pos)
    end
    if n == index then
      return word
    end
    n, pos = n + 1, stop
  end
end

-- What placeholders of other hosts stand for, by their name; `given`: the task.
local function values_of(task, given)
  local dir, page = task.dir, task.guide.placeholders or {}
  local values = {
    CLAUDE_SKILL_DIR = dir, SKILL_DIR = dir, SKILL_ROOT = dir, CLAUDE_PLUGIN_ROOT = plugin_folder(dir),
    CLAUDE_PROJECT_DIR = task.project_dir, CLAUDE_SESSION_ID = task.run_id,
    ["skill-root"] = dir, ["skill_root"] = dir, ["skill-dir"] = dir, ["skill_dir"] = dir, ["skillDir"] = dir,
    ["baseDir"] = dir, ["base_dir"] = dir, ["project-root"] = task.project_dir, ["project_root"] = task.project_dir,
    ["workDir"] = task.store:path(), ["work_dir"] = task.store:path(),
  }
  for i, name in ipairs(page.arguments or {}) do
    values[name] = values[name] or argument(given, i - 1)
  end
  return values
end

-- ---- the commands of a page: !`git status`, and blocks of them ----

local MAX_PRINTED <const> = 64 * 1024
local MAX_INLINE <const> = 200 -- bytes of one line that needs no marks

---The commands in a page, each once; a block that begins with "```!" is one command. Examples are not commands: text
---in another fenced block, or directly after a word.
---@param body string
---@return string[]
---@return table<integer, { command: string, stop: integer }> places  where they begin; `stop`: the byte after one
function M.commands(body)
  local list, seen, places, fence, block = {}, {}, {}, nil, nil
  local function add(from, stop, command)
    places[from] = { command = command, stop = stop }
    if not seen[command] then
      list[#list + 1], seen[command] = command, true
    end
  end
  for from, line, stop in body:gmatch("()([^\n]*)()\n?") do
    local at, mark = line:match("^%s*()(```+)")
    mark = mark or line:match("^%s*(~~~+)")
    if mark and not fence then
      fence, block = mark, line:find("^%s*```!%s*$") and { from = from + at - 1, first = stop + 1 }
    elseif mark and mark:sub(1, #fence) == fence then
      if block and block.first < from then
        add(block.from, stop, body:sub(block.first, from - 2))
      end
      fence = nil
    elseif not fence then
      for before, bang, command, last in (" " .. line):gmatch("(.)()!`([^`]+)`()") do
        if not before:find("[%w`]") then
          add(from + bang - 2, from + last - 2, command)
        end
      end
    end
  end
  return list, places
end

-- The words of the task as the arguments of a shell, so that none is read as code: $0, $1, $ARGUMENTS, $name.
local function request_of(command, task, given)
  local page, env = task.guide.placeholders, { ARGUMENTS = given }
  for name, value in pairs(values_of(task, given)) do
    env[name] = name:find("^[%a_][%w_]*$") and value or nil
  end
  local argv = { "sh", "-c", command, page.first ~= 0 and "sh" or nil }
  for i = 0, 9 do
    argv[#argv + 1] = argument(given, i)
  end
  while #argv > 4 and argv[#argv] == "" do
    argv[#argv] = nil
  end
  return { kind = "command", argv = argv, env = env, shown = cut(command, 60),
    sandbox_default = sandbox.read("strict"), max_output = MAX_PRINTED }
end

---The commands to run before the agent of a task is asked.
---@param task skillrt.Task
---@return string[]
function M.commands_of(task)
  local guide = task.guide
  return guide and guide.is_plain and guide.placeholders and guide.placeholders.commands or {}
end

---Runs the page's commands that have not run for this task yet, one call each, before its agent is asked.
---@param ctx table  await
---@param task skillrt.Task
---@return boolean|nil ok
---@return string? message
---@return skillrt.FailureClass? class
function M.run_commands(ctx, task)
  task.printed = task.printed or {}
  for _, command in ipairs(M.commands_of(task)) do
    if not task.printed[command] then
      local reply, message, class = ctx.await(request_of(command, task, M.task(task) or ""))
      if not reply then
        return nil, ("!`%s` of the page: %s"):format(command:match("[^\n]*"), message), class
      end
      local text = reply.body:gsub("%s+$", "")
      local is_short = #text <= MAX_INLINE and not text:find("\n")
      task.printed[command] = is_short and text or "\n" .. data_marks.marked(text, "OUTPUT")
    end
  end
  return true
end

---The page with its placeholders filled in, each once; what was filled in is not expanded again.
---@param body string
---@param task skillrt.Task
---@return string
function M.filled(body, task)
  local given, printed = M.task(task) or "", task.printed or {}
  local values, first = values_of(task, given), (task.guide.placeholders or {}).first
  local _, places = M.commands(body)
  local function arguments(bracket)
    local index = bracket:match("^%[(%d+)%]$")
    return index and argument(given, tonumber(index)) or given
  end
  local out, pos = {}, 1
  while true do
    local at = body:find("[$%%{!`]", pos)
    if not at then
      break
    end
    local rest, stop, value = body:sub(at, at + 80), nil, nil
    local place = places[at]
    local name, last = rest:match("^%${([%a_][%w_-]*)}()")
    if not name then
      name, last = rest:match("^{([%a_][%w_-]*)}()")
    end
    if place then
      value, stop = printed[place.command], place.stop - at + 1
    elseif name then
      value, stop = name == "ARGUMENTS" and given or values[name], last
    elseif rest:find("^%$ARGUMENTS%f[^%w_]") then
      local bracket = rest:match("^%[%d+%]", 11) or ""
      value, stop = arguments(bracket), 11 + #bracket
    elseif first and rest:find("^%$%d%f[%D]") then
      local index = tonumber(rest:sub(2, 2)) - first
      value, stop = index >= 0 and argument(given, index) or nil, 3
      value = value ~= "" and value or nil -- "$5" of a price
    elseif rest:find("^%$[%a_]") then
      name = rest:match("^%$([%a_][%w_-]*)")
      name = values[name] and name or rest:match("^%$([%a_][%w_]*)") -- $issue-branch may be $issue and more
      value, stop = values[name], 2 + #name
    end
    out[#out + 1] = body:sub(pos, at - 1)
    out[#out + 1] = value or body:sub(at, at)
    pos = value and at + stop - 1 or at + 1
  end
  out[#out + 1] = body:sub(pos)
  return table.concat(out)
end

---What a person asked for; nil: nothing.
---@param task skillrt.Task
---@return string?
function M.task(task)
  local text = type(task.input) == "table" and task.input.task
  return type(text) == "string" and text:find("%S") and text or nil
end

local function add_resources(lines, task)
  local guide = task.guide
  if not guide.resources then
    return
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "[RESOURCES]"
  lines[#lines + 1] = "Files of the skill, below [SKILL_DIR]. Read one when the instructions call for it, not before."
  for _, one in ipairs(guide.resources) do
    lines[#lines + 1] = ("- %s (%d bytes)"):format(one.path, one.size)
  end
  if guide.more then
    lines[#lines + 1] = ("- and %d more"):format(guide.more)
  end
end

---The beginning of every prompt: what is to be done, where the skill's folder is, its tools.
---@param lines string[]
---@param task skillrt.Task
function M.add_places(lines, task)
  lines[#lines + 1] = "[SKILL_DIR] " .. task.dir
  if task.project_dir then
    lines[#lines + 1] = "[PROJECT_DIR] " .. task.project_dir
  end
  if task.tools and task.tools[1] then
    lines[#lines + 1] = "[TOOLS] " .. table.concat(task.tools, ", ")
  end
end

-- What an agent is to do with what it was given.
local function add_answer(lines, task)
  lines[#lines + 1] = ""
  lines[#lines + 1] = "[ANSWER]"
  if task.guide.steps then
    lines[#lines + 1] = ("The instructions have %d steps, which you are given one at a time. Do the step that you are "
      .. "given, and no other; your last message is its result, as text."):format(#task.guide.steps)
  else
    lines[#lines + 1] = "Do the task by these instructions. Your last message is the result, as text."
  end
  lines[#lines + 1] = ("If you cannot continue without a person's answer, end with one line: %s: your question"):format(
    M.QUESTION)
end

---A numbered step of the page, as it is given when its turn comes.
---@param task skillrt.Task
---@param index integer
---@return string
function M.step(task, index)
  local steps = task.guide.steps
  local last = index == #steps and "\n\nThis is the last step: your last message is the result of the whole task." or ""
  return ("[STEP %d of %d]\n%s%s"):format(index, #steps, M.filled(steps[index].text, task), last)
end

---The whole text of a plain task; the person's task, or the first step, comes last.
---@param task skillrt.Task
---@param untrusted fun(text: string, what: string): string
---@param values string?  the other input, as JSON
---@return string
function M.text(task, untrusted, values)
  local body = task.guide.body or ""
  local lines = { "[SKILL] " .. task.skill }
  M.add_places(lines, task)
  lines[#lines + 1] = "[WORK_DIR] " .. task.store:path() .. " (for files that have no other place)"
  lines[#lines + 1] = ""
  lines[#lines + 1] = "[INSTRUCTIONS]"
  lines[#lines + 1] = #body <= MAX_BODY and M.filled(body, task):match("^.*%S")
    or ("(read %s/SKILL.md)"):format(task.dir)
  add_resources(lines, task)
  if values then
    lines[#lines + 1] = "\n[INPUT]\n" .. untrusted(values, "INPUT")
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "[TASK]"
  lines[#lines + 1] = M.task(task) or "(nothing more was asked for: do what the instructions say)"
  add_answer(lines, task)
  if task.guide.steps then
    lines[#lines + 1] = "\n" .. M.step(task, 1)
  end
  return table.concat(lines, "\n")
end

---The question that a text ends with; nil: the text is an answer.
---@param text string
---@return string? question
function M.question(text)
  local last = text:sub(-4000)
  local from = last:find("%f[%w_]" .. M.QUESTION .. "%s*:") or last:find("^%s*" .. M.QUESTION .. "%s")
  local question = from and last:match("^%s*" .. M.QUESTION .. "%s*:?%s*(.*)$", from)
  question = question and question:match("^.*[^%s*`_]")
  return question and #question > 0 and question or nil
end

return M
