-- fields_spec.lua: the fields of what lives in a run are written by the module of its class alone, or by its folder.
local files = require "skillrt.base.files"

-- By the name that variables of a class bear everywhere: where its fields may be written, as patterns of paths.
local RECORDED <const> = { "^run/record/", "^run/books", "^run/step/step", "^run/snapshot", "^mode/repeats",
  "^skill/limit/same_failures" }
local OWNERS <const> = {
  arrivals = { "^run/turn/arrivals" },
  bound = { "^run/limits" },
  books = RECORDED,
  branch = { "^run/branch/" },
  call = { "^run/call/" },
  calls = { "^run/call/" },
  execution = { "^run/branch/" },
  journal = { "^run/journal" },
  limits = { "^run/limits" },
  live = { "^run/step/", "^run/branch/draws", "^run/ctx/context" },
  newest = { "^run/snapshot" },
  mode = { "^mode/" },
  queue = { "^run/call/" },
  rest = { "^run/turn/pause" },
  run = { "^run/run%.lua" },
  scheduler = { "^run/turn/scheduler" },
  scope = { "^run/branch/", table.unpack(RECORDED) }, -- a combinator's, or the books of a sub-run
  session = { "^run/runner", "^run/call/session" }, -- how a run was opened, or a program one talks to
  snapshot = { "^run/snapshot" },
  step = { "^run/step/", "^run/story" }, -- also that of a story
  steps = { "^run/step/" },
  sub = { "^run/turn/subs" },
  subs = { "^run/turn/subs" },
  turn = { "^run/turn%.lua" },
}

-- Types of records say of a run's story, and of lines for people, what they add to those: `call`, `step`, `session`.
local TOLD <const> = { call = true, step = true, session = true }

local function may_write(path, owner)
  if path:find "^run/record/" and TOLD[owner] then
    return true
  end
  for _, pattern in ipairs(OWNERS[owner]) do
    if path:find(pattern) then
      return true
    end
  end
  return false
end

-- What a line assigns to: `owner.field` and `owner.field[key]`, each with the name in front of its last dot.
local function each_write(line, take)
  local code = line:gsub("%-%-.*$", ""):gsub('"[^"]*"', '""')
  local left = code:match "^%s*([%w_%.%[%]#%+%-, ]-)%s*=[^=]" or code:match "^%s*([%w_%.%[%]#%+%-, ]-)%s*=$"
  for item in (left and not left:find "^local " and left or ""):gmatch "[^,]+" do
    local owner, field = item:gsub("%b[]%s*$", ""):match "([%w_]+)%.([%w_]+)%s*$"
    if owner then
      take(owner, field)
    end
  end
end

-- The writes of fields by others, in a text.
local function foreign(path, text)
  local found, number = {}, 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    each_write(line, function(owner, field)
      if OWNERS[owner] and not may_write(path, owner) then
        found[#found + 1] = ("%s:%d: %s.%s"):format(path, number, owner, field)
      end
    end)
  end
  return found
end

describe("a field", function()
  it("of a run, a step, a call and what they consist of is written by its own module", function()
    local found = {}
    for _, path in ipairs(assert(files.glob("lua/skillrt", "run/**/*.lua"))) do
      local list = foreign(path, assert(files.read("lua/skillrt/" .. path)))
      table.move(list, 1, #list, #found + 1, found)
    end
    assert.same({}, found)
  end)

  it("that another module writes is found", function()
    local text = [[
        call.state = "due"
        one, what.step.ms = step.ms == 1, 2
        queue.cancels[#queue.cancels + 1] = 1
        if call.state == "due" then call:become("sent") end
        local step = { ms = 1 }]]
    assert.same({ "run/turn.lua:1: call.state", "run/turn.lua:2: step.ms", "run/turn.lua:3: queue.cancels" },
      foreign("run/turn.lua", text))
    assert.same({}, foreign("run/call/queue.lua", "call.number, queue.last = 1, 2"))
  end)
end)
