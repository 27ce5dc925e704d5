-- run/record/rollback.lua: a run is rolled back to an earlier place, or starts at another run's. Usage stays counted;
-- run/books/fields.lua says how each field of the books is handled.

local fields = require("skillrt.run.books.fields")
local state_of = require("skillrt.skill.state")
local steps = require("skillrt.run.step.step")

-- Steps under way, also those of sub-runs, count as not started: the results that steps had at the place are in
-- `held`.
local function give_up_steps(books, record)
  local list = {}
  for _, step in pairs(books.steps) do
    list[#list + 1] = step
  end
  table.sort(list, function(a, b) return a.number > b.number end)
  for _, step in ipairs(list) do
    if step.sub then
      steps.remove(books.subs[step.sub], step)
    else
      steps.close(books, step, record)
    end
  end
end

-- Every key gets its old value, also those that are gone now; except effects outside, which are not undone.
local function restore_state(books, wanted)
  local of_machine = books.mode == "machine" and fields.MACHINE or {}
  local function grows(key)
    return (fields.STATE[key] or of_machine[key]) == "grows"
  end
  for key in pairs(books.state.root) do -- what is there may be removed meanwhile
    if wanted[key] == nil and not grows(key) then
      books.state:set(key, nil)
    end
  end
  for key, value in pairs(wanted) do
    if not grows(key) then
      books.state:set(key, state_of.copy(value))
    end
  end
end

return {
  doc = "the run is again as it was behind record `to`; with `from`, as another run was",
  beyond = "it was taken back",
  fields = [[
    to integer
    name string? of the checkpoint
    position table fields of the books
    state table
    from table? of another run
    last_step integer? ... the highest number of a step there: what had failed is resumed by its number
    set table? what changes in the state then
    files list? files that tools wrote are as they were
    texts table? ... what they held
    aside table? outputs that came later, put aside: their digests
  ]],

  apply = function(books, record)
    give_up_steps(books, record)
    for _, row in ipairs(fields.ROWS) do
      local name, class = row[1], row[2]
      if class == "position" then
        local value = record.position[name]
        if value == nil then
          value = row.empty
        end
        books[name] = state_of.copy(value)
      elseif class == "passes" then
        books[name] = nil
      end
    end
    restore_state(books, record.state)
    if record.set then
      books.state:patch(record.set)
    end
    books.state:set("current_action", nil)
    books.state:set("current_phase", nil)
    books.rollbacks = (books.rollbacks or 0) + 1
    books.last_step = record.last_step or books.last_step
    books.rolled = (record.files or record.aside) and record.to
  end,

  line = function(lines, record)
    local place = record.name and ("checkpoint %s, "):format(record.name) or ""
    if record.from then
      lines:say(false, "warning", "Forked from run %s: %srecord %d", record.from.run, place, record.to)
    else
      lines:say(false, "warning", "Rolled back to: %srecord %d", place, record.to)
    end
  end,

  point = function(record)
    local what, text = record.from and "forked" or "rolled back", record.from and "at %s" or "to %s"
    return { what = what, text = text:format(record.name or record.to) }
  end,
}
