-- document/generate/words.lua: the few words of documents that no template can hold: inside of code, in front
-- matter, between the items of a list. Pure. Called by view, which hands them on as `words`.

---@class skillrt.generate.Words
---@field phase_done string  the summary of a phase, by its number
---@field done string        stands behind an action's name
---@field loop string        what a link to the loop is called
---@field phase string       what a link to a phase is called, by number and id
---@field join string        between the items of a list
---@field calls string       before the words that call a skill
---@field stop string        ends a sentence
---@field open string        before a quoted word
---@field close string

---@type table<string, skillrt.generate.Words>
return {
  en = {
    phase_done = "Phase %d done",
    done = " done",
    loop = "The loop",
    phase = "Phase %d: %s",
    join = ", ",
    calls = " Triggers on ",
    stop = ".",
    open = '"',
    close = '"',
  },
  zh = {
    phase_done = "阶段 %d 完成",
    done = "完成",
    loop = "执行循环",
    phase = "Phase %d: %s",
    join = "、",
    calls = "触发词：",
    stop = "。",
    open = "“",
    close = "”",
  },
}
