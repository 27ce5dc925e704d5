-- run_waits_spec.lua: a run that waits for people, events and times: every order in which they come, killed
-- behind every record, ends as it did without. The clock is a fake one: nothing here sleeps.
local clock = require "tests.support.fake_clock"
local core = require "skillrt.core"
local R = require "tests.support.runs"
local store = require "skillrt.run.store"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local HOUR <const> = 3600

-- What may come, each put into the inbox, or the time itself.
local COMES = {
  answer = { answer = "yes", question = 1, id = "answer" },
  other = { answer = "no", question = 2, id = "other" },
  event = { event = "go", value = { n = 1 }, id = "event" },
  second = { event = "go", value = { n = 2 }, id = "second" },
}

-- What was refused when it came is not there any more.
local function come(dir, what, is_gone)
  if what == "time" then
    return clock.pass(2 * HOUR)
  end
  clock.pass(1)
  if is_gone then
    return
  end
  local name = assert(store.at(dir):put(COMES[what]))
  clock.stamp(dir .. "/inbox/" .. name)
end

local function resume(definition, dir)
  return assert(skillrt.resume(dir, { skill = R.skill(definition), books_bytes = 1 }))
end

local function told(result)
  return assert(json.encode({ result.status, result.state.out or json.null, result.state.errors }, { sorted = true }))
    :gsub('"timestamp":"[^"]*"', "")
end

-- All orders of a list.
local function orders(list)
  if #list == 0 then
    return { {} }
  end
  local all = {}
  for i = 1, #list do
    local rest = table.move(list, 1, #list, 1, {})
    table.remove(rest, i)
    for _, order in ipairs(orders(rest)) do
      table.insert(order, 1, list[i])
      all[#all + 1] = order
    end
  end
  return all
end

local function is_refused(dir, what)
  for _, entry in ipairs(core.files.list(dir .. "/inbox/refused") or {}) do
    if entry.name:find("^" .. what .. "%-") then
      return true
    end
  end
  return false
end

-- One order: what the run comes to, in how many records at each stage, and when each stage was.
local function straight(definition, order)
  local dir = R.folder() .. "/run"
  local result = assert(R.run(definition, { work_dir = dir }))
  local stages = { { records = #R.records(dir), now = clock.now } }
  for i, what in ipairs(order) do
    come(dir, what)
    if result.status == "paused" then
      result = resume(definition, dir)
    end
    stages[i + 1] = { records = #R.records(dir), refused = is_refused(dir, what) }
  end
  return dir, told(result), stages
end

-- The same, killed behind a record: what had come by then lies in the inbox, taken or not.
local function killed(definition, order, dir, stages, keep)
  local copy, stage = R.folder() .. "/cut", 1
  while stages[stage].records < keep do
    stage = stage + 1
  end
  R.cut(dir, copy, keep)
  os.execute(("rm -rf '%s/inbox'"):format(copy))
  clock.now = stages[1].now
  for i = 1, stage - 1 do
    come(copy, order[i], i < stage - 1 and stages[i + 1].refused)
  end
  local result = resume(definition, copy)
  for i = stage, #order do
    come(copy, order[i])
    if result.status == "paused" then
      result = resume(definition, copy)
    end
  end
  return told(result)
end

-- The quick set kills at some of the points, others in each order; SKILLRT_NIGHTLY at all.
local EVERY <const> = os.getenv "SKILLRT_NIGHTLY" and 1 or 25

local function every(make, list)
  local ends, points, start = {}, 0, clock.now
  for number, order in ipairs(orders(list)) do
    clock.now = start
    local definition = { limits = { max_errors = 1, max_retries = 0 },
      actions = { { id = "a", run = make } } }
    local dir, wanted, stages = straight(definition, order)
    ends[wanted] = (ends[wanted] or 0) + 1
    for keep = 1 + number % EVERY, stages[#stages].records - 1, EVERY do
      assert.equal(wanted, killed(definition, order, dir, stages, keep),
        ("order %s, killed behind record %d"):format(table.concat(order, " "), keep))
      points = points + 1
    end
    R.clean()
  end
  return ends, points
end

local function count(map)
  local n = 0
  for _ in pairs(map) do n = n + 1 end
  return n
end

describe("a run that waits, killed behind every record, in every order of what comes", function()
  after_each(R.clean)

  it("ends the same where it waits for all", function()
    local ends, points = every(function(_, ctx)
      local out = ctx.all {
        function() return ctx.ask { question = "go on?", options = { "yes", "no" } } end,
        function() return ctx.wait { event = "go" } end,
        function() ctx.sleep(HOUR) return "slept" end,
        function() return ctx.wait { event = "go" } end,
      }
      return { out = out }
    end, { "answer", "event", "second", "time" })
    assert.is_true(count(ends) == 2, "the events meet who waits longest") -- in their order
    assert.is_true(points * EVERY > 400, points)
  end)

  it("ends as the first that came decides", function()
    local ends = every(function(_, ctx)
      local value, index = ctx.first {
        function() return ctx.ask { question = "go on?", options = { "yes", "no" }, timeout = 3 * HOUR } end,
        function() return ctx.wait { event = "go" } end,
        function() ctx.sleep(HOUR) return "slept" end,
      }
      return { out = { value, index } }
    end, { "answer", "event", "time" })
    assert.equal(3, count(ends), json.encode(ends))
  end)

  it("ends the same with times that are over before an answer came, and questions behind questions", function()
    local ends = every(function(_, ctx)
      local first = ctx.ask { question = "first?", options = { "yes", "no" }, timeout = HOUR, default = "no" }
      local second, message, class = ctx.ask { question = "second?", options = { "yes", "no" }, timeout = HOUR }
      return { out = { first, second or json.null, message or json.null, class or json.null } }
    end, { "answer", "other", "time", "time" })
    assert.is_true(count(ends) >= 3, json.encode(ends))
  end)

  it("ends the same in branches within branches, under a time limit of theirs", function()
    every(function(_, ctx)
      local out = ctx.map({ 1, 2 }, function(i)
        local value = ctx.within(HOUR, function()
          if i == 1 then
            return ctx.first {
              function() return ctx.wait { event = "go" } end,
              function() return ctx.ask { question = "or?", options = { "yes", "no" } } end,
            }
          end
          return ctx.wait { event = "go" }
        end)
        return value or "late"
      end)
      return { out = out }
    end, { "event", "answer", "second", "time" })
  end)
end)
