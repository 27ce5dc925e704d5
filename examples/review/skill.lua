-- skill.lua: reviews a source tree: cppcheck and luacheck as command agents, a few checks of its
-- own in Lua, batch by batch; ends with report.md in the work directory.
--
--   skillrt examples/review/skill.lua                      this repository's C and Lua
--   skillrt examples/review/skill.lua --set dir=PATH       another tree
--   ... --set batch=10 --set max_files=500                 smaller steps, fewer files
--
-- The state says what comes next: first the tools and the files, then for each batch of files
-- one step per checker, at the end the report. Killed at any moment it goes on where it was.

local skillrt = require "skillrt"
local here = (...):match "^(.*)/[^/]*$" or "."
local checks = dofile(here .. "/checks.lua")
local report = dofile(here .. "/report.lua")

local null = skillrt.json.null

-- How long a checker may take is not known beforehand. The first deadline is tight; an attempt
-- that meets it is repeated with one a hundred times as long, and the next batch begins with what
-- sufficed. So the first batch of a real tree is tried twice, the others once.
local FIRST_DEADLINE, MORE, LAST_DEADLINE = 0.25, 100, 600
local function deadline(state, ctx, tool)
  local first = state.deadlines[tool] or tonumber(ctx.input.deadline) or FIRST_DEADLINE
  return math.min(LAST_DEADLINE, first * MORE ^ (ctx.attempt - 1))
end

-- Adds to an update how long the function took; ctx.now is recorded, so a resumed run agrees.
local function timed(id, run)
  return function(state, ctx)
    local began = ctx.now()
    local update, message, class = run(state, ctx)
    if not update then
      return nil, message, class
    end
    local before = state.times[id] or { runs = 0, ms = 0 }
    update.times = { [id] = { runs = before.runs + 1, ms = before.ms + ctx.now() - began } }
    return update
  end
end

local function batch_key(state)
  return ("%04d"):format(state.batch.number)
end

-- What a checker found goes under a key of its own: the update is as large as what is new.
local function found(state, tool, list, update)
  local kept, left_out = {}, 0
  for i, finding in ipairs(list) do
    if i <= 1000 then
      kept[i] = finding
    else
      left_out = left_out + 1
    end
  end
  update.findings = { [batch_key(state) .. " " .. tool] = skillrt.json.array(kept) }
  if left_out > 0 then
    update.skipped = { [batch_key(state) .. " " .. tool] = left_out .. " more findings of one batch are not kept" }
  end
  return update
end

-- One batch through one of the declared agents.
local function check_with(tool)
  return timed(tool, function(state, ctx)
    local seconds = deadline(state, ctx, tool)
    local outcome, message, class = ctx.await { agent = tool, timeout = seconds }
    if not outcome then
      return nil, message, class
    end
    local more = { batch = { [tool] = null }, deadlines = { [tool] = seconds } }
    if ctx.attempt > 1 then
      more.retried = { [batch_key(state) .. " " .. tool] = { attempts = ctx.attempt, deadline = seconds } }
    end
    return found(state, tool, outcome.updates.found, more)
  end)
end

local function find_tools(_, ctx)
  local tools = {}
  for _, tool in ipairs { "cppcheck", "luacheck", "git" } do
    local reply = ctx.await { kind = "command", argv = { tool, "--version" }, timeout = 20 }
    tools[tool] = reply and reply.code == 0 and reply.stdout:match "[%d.]+%d" or false
    ctx.log(("%s: %s"):format(tool, tools[tool] or "not installed"))
  end
  return { tools = tools }
end

local function collect(_, ctx)
  local dir = ctx.input.dir or (ctx.dir .. "/../..")
  local reply, message, class = ctx.await { kind = "command", argv = { "pwd", "-P" }, cwd = dir }
  if not reply then
    return nil, message, class
  end
  local root, files, unnamed = reply.stdout:gsub("\n$", ""), {}, 0
  local patterns = ctx.input.dir and { "**/*.c", "**/*.h", "**/*.lua" }
    or { "csrc/**/*.c", "csrc/**/*.h", "lua/**/*.lua", "strategies/*.lua" }
  for _, pattern in ipairs(patterns) do
    local names, problem = ctx.glob(pattern, root)
    if not names then
      return nil, problem
    end
    for _, name in ipairs(names) do
      if name:find "%c" or not utf8.len(name) then
        unnamed = unnamed + 1
      else
        files[#files + 1] = name
      end
    end
  end
  local most, skipped = math.tointeger(tonumber(ctx.input.max_files)) or 2000, {}
  if #files > most then
    skipped.files = ("%d files: only the first %d are reviewed (--set max_files=...)"):format(#files - most, most)
    files = table.move(files, 1, most, 1, {})
  end
  if unnamed > 0 then
    skipped["unusual names"] = ("%d files with control characters or bytes that are not UTF-8"):format(unnamed)
  end
  if #files == 0 then
    return nil, ("%s: holds no .c, .h or .lua file; give another --set dir="):format(root)
  end
  local git = ctx.read(root .. "/.git/HEAD") ~= nil or ctx.read(root .. "/.git") ~= nil
  ctx.log(("%d files below %s"):format(#files, root))
  return { root = root, files = files, started = ctx.now(), git = git, skipped = skipped }
end

-- Takes the next files. {state.batch.cppcheck} and {state.batch.luacheck} are the lists that the
-- agents read on standard input; a tool that is missing gets none.
local function take(state, ctx)
  local size = math.tointeger(tonumber(ctx.input.batch)) or 10
  local first = state.taken + 1
  local last = math.min(#state.files, state.taken + math.max(size, 1))
  local lists = { cppcheck = {}, luacheck = {} }
  for i = first, last do
    local list = lists[state.files[i]:find "%.lua$" and "luacheck" or "cppcheck"]
    list[#list + 1] = state.files[i]
  end
  local batch = { number = (state.batches or 0) + 1, first = first, last = last, text = true }
  for tool, list in pairs(lists) do
    if #list > 0 and state.tools[tool] then
      batch[tool] = table.concat(list, "\n") .. "\n"
    end
  end
  return { taken = last, batches = batch.number, batch = batch }
end

local function check_text(state, ctx)
  local list, lines, skipped = {}, 0, {}
  for i = state.batch.first, state.batch.last do
    local name = state.files[i]
    local text, message = ctx.read(state.root .. "/" .. name)
    if text then
      lines = lines + checks.file(name, text, list)
    else
      skipped[name] = message
    end
  end
  return found(state, "own", list, { batch = { text = null }, lines = state.lines + lines, skipped = skipped })
end

local function write_report(state, ctx)
  local text, summary = report.render(state, ctx.now())
  local ok, message = ctx.write("report.md", text)
  if not ok then
    return nil, message
  end
  ctx.context.set("summary", summary)
  ctx.log(("%d errors, %d warnings, %d style, %d notes: report.md"):format(
    summary.error, summary.warning, summary.style, summary.note
  ))
  return { reported = true }
end

local BATCH_DONE = "!batch || !(batch.cppcheck || batch.luacheck || batch.text)"

return skillrt.skill {
  name = "review",
  mode = "autonomous",
  description = "Reviews a tree of C and Lua sources and writes report.md",
  state = {
    files = {}, taken = 0, lines = 0, findings = {}, times = {}, deadlines = {}, retried = {}, skipped = {},
    reported = false,
  },
  -- An object here, whatever Lua's {} looks like.
  schema = {
    tools = "object", git = "boolean", batch = "object", findings = "object", times = "object", deadlines = "object",
    retried = "object", skipped = "object",
  },
  agents = {
    -- {{file}} is cppcheck's own {file}; {state.root} is a placeholder of skillrt
    cppcheck = skillrt.agent.command {
      "cppcheck", "--quiet", "--file-list=-", "--output-file=/dev/stdout", "--inline-suppr",
      "--enable=warning,style,performance,portability", "--suppress=missingIncludeSystem",
      "--suppress=toomanyconfigs",
      "--template={{file}}\t{{line}}\t{{severity}}\t{{id}}\t{{message}}",
      stdin = "{state.batch.cppcheck}", cwd = "{state.root}", parse = checks.from_cppcheck,
    },
    luacheck = skillrt.agent.command {
      "xargs", "-r", "-d", "\\n", "luacheck", "--no-color", "--codes", "--formatter=plain",
      "--no-max-line-length", "--ignore", "6..", "--",
      stdin = "{state.batch.luacheck}", cwd = "{state.root}", ok_codes = { 0, 123 }, parse = checks.from_luacheck,
    },
    git = skillrt.agent.command {
      "git", "-C", "{state.root}", "log", "-1", "--format=%h of %cs",
      parse = function(output)
        return { revision = (output:gsub("%s+$", "")) }
      end,
    },
  },
  actions = {
    { id = "find-tools", priority = 90, when = "!tools", idempotent = true, run = timed("find-tools", find_tools) },
    {
      id = "collect", priority = 80, when = "files.length === 0", effects = { "files.length>0" },
      idempotent = true, run = timed("collect", collect),
    },
    { id = "revision", priority = 70, when = "git && tools.git", agent = "git", idempotent = true, optional = true },
    {
      id = "cppcheck", priority = 60, when = "batch.cppcheck", max_runs = 2000, optional = true,
      idempotent = true, effects = { "batch.cppcheck=null" }, run = check_with "cppcheck",
    },
    {
      id = "luacheck", priority = 50, when = "batch.luacheck", max_runs = 2000, optional = true,
      idempotent = true, effects = { "batch.luacheck=null" }, run = check_with "luacheck",
    },
    {
      id = "own-checks", priority = 40, when = "batch.text", max_runs = 2000, effects = { "batch.text=null" },
      run = timed("own-checks", check_text),
    },
    {
      id = "take", priority = 30, when = { "taken < files.length", BATCH_DONE }, max_runs = 2000,
      effects = { "taken++" }, run = timed("take", take),
    },
    {
      id = "report", priority = 10, effects = { "reported" },
      when = { "files.length > 0 && taken === files.length", BATCH_DONE, "!reported" }, run = write_report,
    },
  },
  retry = { base = 0.1 },
  limits = { max_iterations = 10000, max_errors = 3, max_retries = 3 },
}
