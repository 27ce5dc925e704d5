-- run/records.lua: the reports of a finished run (R185-R191): execution-record.md, and if it failed error-report.md,
-- in the language that the skill's `records` names.
--
-- Views of the journal, written when the run has ended or its time is up, never earlier. They link to nothing, as the
-- companion documents of the protocol are no part of a run (R192). Called by turn.lua, and by the command report.

local core = require("skillrt.core")
local cut = require("skillrt.base.text").cut
local json = require("skillrt.base.json")
local retry = require("skillrt.skill.retry")
local story_of = require("skillrt.run.story")
local suggestions = require("skillrt.run.records.suggestions")
local template = require("skillrt.base.template")

local M = {}

---The names of the files.
M.RECORD, M.REPORT = "execution-record.md", "error-report.md"

local MOST_STEPS <const>, LONGEST <const> = 200, 300

local MARKS <const> = { completed = "✓", partial = "~", failed = "✗", skipped = "-", open = "…" }

local LOADED <const> = { en = "load context", zh = "加载上下文" }
local NONE <const> = { en = "none", zh = "无" }

local UNITS <const> = {
  en = { "less than a second", " s", " min", " h" },
  zh = { "不到一秒", " 秒", " 分钟", " 小时" },
}

local function duration(ms, lang)
  local units, seconds = UNITS[lang], ms // 1000
  if seconds < 1 then
    return units[1]
  elseif seconds < 60 then
    return seconds .. units[2]
  end
  local text = (seconds % 3600 // 60) .. units[3]
  if seconds % 60 > 0 and seconds < 3600 then
    text = text .. " " .. (seconds % 60) .. units[2]
  end
  return seconds >= 3600 and (seconds // 3600) .. units[4] .. " " .. text or text
end

-- Text by others as one line of Markdown, so that it makes no heading, list or markup.
local function line(text, most)
  text = cut(tostring(text):gsub("[%c]+", " "), most or LONGEST, " ...")
  return (text:gsub("[\\`*<>%[%]|#]", "\\%0"))
end

local function said(value)
  return type(value) == "string" and value or json.encode(value) or "?"
end

local function inputs_of(story)
  local list = {}
  for _, name in ipairs(require("skillrt.base.names").sorted(story.run.input or {})) do
    list[#list + 1] = { name = line(name), value = line(said(story.run.input[name])) }
  end
  return list
end

local function time_of(at)
  return os.date("!%H:%M:%S", at // 1000)
end

-- The stages of the protocol that a step reached, each with its time (R201).
local function stages_of(step, lang)
  local list = {}
  for i, one in ipairs(step.stages or {}) do
    list[i] = { time = time_of(one.at), name = suggestions.stage_name(one.name, lang) }
  end
  return list
end

-- The run's own steps, after the loading of its contexts; those of sub-runs are inside their step.
local function steps_of(story, lang)
  local list, all, loaded = {}, {}, story.loaded
  for _, step in ipairs(story.steps) do
    all[#all + 1] = not step.sub and step or nil
  end
  local first, before = math.max(1, #all - MOST_STEPS + 1), story.left_out.own
  for i = first, #all do
    local step = all[i]
    local why = step.status == "failed" and step.message or step.status ~= "completed" and step.why or nil
    list[#list + 1] = { index = i + before + (loaded and 1 or 0), time = time_of(step.at),
      name = line(step.summary or step.id), mark = MARKS[step.status], why = why and line(why),
      stages = stages_of(step, lang) }
  end
  if loaded then
    table.insert(list, 1, { index = 1, time = time_of(loaded.at), name = LOADED[lang],
      mark = MARKS[loaded.failed and "failed" or "completed"], why = loaded.failed and line(loaded.failed) })
  end
  return list, first - 1 + before
end

-- The texts of a list and then those of steps, each once, as lines.
local function lines_of(before, story, text_of)
  local list, seen = {}, {}
  local function add(text)
    if text and not seen[text] then
      list[#list + 1], seen[text] = line(text), true
    end
  end
  for _, text in ipairs(before) do
    add(text)
  end
  for _, step in ipairs(story.steps) do
    add(not step.sub and text_of(step))
  end
  return list
end

local function outputs_of(story)
  return lines_of(story.left_out.files, story, function(step)
    return step.file
  end)
end

local function rendered(name, lang, data)
  local text = assert(core.asset(("templates/records/%s-%s.mustache"):format(lang, name)))
  return assert(template.render(text, data, nil, { name = name .. ".mustache" }))
end

---The record of a run (R189-R191).
---@param story skillrt.Story
---@param lang "en"|"zh"
---@return string
function M.record(story, lang)
  local steps, more = steps_of(story, lang)
  return rendered("record", lang, {
    date = os.date("!%Y-%m-%d %H:%M", story.run.at // 1000),
    skill = story.run.skill,
    inputs = inputs_of(story),
    steps = steps,
    more = more > 0 and more or nil,
    outputs = outputs_of(story),
    duration = duration(story:active_ms(), lang),
    status = story.status,
  })
end

-- The step that the run failed or paused at, and those that completed before.
local function failed_step(story)
  local at = story.status == "paused" and "open" or "failed"
  local failed = at == "failed" and story.left_out.last_failed or nil
  for _, step in ipairs(story.steps) do
    failed = step.status == at and step or failed
  end
  return failed, lines_of(story.left_out.completed, story, function(step)
    return step.status == "completed" and step.id
  end)
end

---The report of a run that failed, or whose time is up (R185-R188, R202).
---@param story skillrt.Story
---@param lang "en"|"zh"
---@param dir string  as people name it
---@return string
function M.report(story, lang, dir)
  local failed, completed = failed_step(story)
  local class, detail = failed and failed.class or story.reason or "unknown", failed and failed.message or story.message
  local task = story.run.input and story.run.input.task or story.run.skill
  local list = {}
  for i, text in ipairs(suggestions.for_class(class, story.reason, lang, dir)) do
    list[i] = { index = i, text = text }
  end
  return rendered("error", lang, {
    skill = story.run.skill,
    time = os.date("!%Y-%m-%d %H:%M:%S", story.at // 1000),
    status = story.status,
    class = line(suggestions.name(class, lang)),
    detail = line(detail or story.reason or "?", 2000),
    passes = retry.CLASSES[class] == true,
    stage = suggestions.stage(class, lang),
    step = failed and line(failed.id),
    task = line(said(task)),
    completed = completed[1] and table.concat(completed, ", ") or NONE[lang],
    current = failed and line(failed.id) or NONE[lang],
    suggestions = list,
  })
end

local OVER <const> = { completed = true, failed = true, aborted = true }

-- Whether a run writes its reports: when it has ended, and when its time is up (R202).
local function leaves(status, reason)
  return OVER[status] or status == "paused" and reason == "run_timeout"
end

-- The content of the two files; false: there is none. A file of the skill with the same name stays.
local function put(store, outputs, texts)
  for name, text in pairs(texts) do
    if text and not outputs[name] then
      local ok, message = store:keep(name, text)
      if not ok then
        return nil, message
      end
    elseif not outputs[name] then
      store:remove(name)
    end
  end
  return true
end

---Writes the reports of a run that has ended, or whose time is up.
---@param store skillrt.Store
---@param lang "en"|"zh"
---@return boolean|nil ok   false: the end is not on the disk yet
---@return string? message
function M.write(store, lang)
  local story, books = story_of.read(store.place, nil, story_of.MOST)
  if not story then
    return nil, books --[[@as string]]
  elseif not leaves(story.status, story.reason) then
    return false
  end
  local report = story.status ~= "completed" and M.report(story, lang, store.place)
  return put(store, books.outputs, { [M.RECORD] = M.record(story, lang), [M.REPORT] = report })
end

---A run that has ended writes its reports, whoever drives it; its result says why it cannot. A resumed run has none:
---those of its earlier end are outdated.
---@param run skillrt.Run
---@param has_left boolean|nil  whether it wrote them; nil: not known yet
---@return boolean|nil has_left
---@return string? trouble
function M.leave(run, has_left)
  local books = run.books
  if run.keeps_nothing or has_left then
    return has_left
  elseif leaves(books.status, books.reason) then
    local ok, message = M.write(run.store, run.skill.records)
    return ok ~= false, message
  elseif has_left == nil then
    put(run.store, books.outputs, { [M.RECORD] = false, [M.REPORT] = false })
  end
  return false
end

return M
