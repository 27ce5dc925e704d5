-- run_session_again_spec.lua: how a session is taken up where its program is another one than before: killed
-- behind every record, and ended while the run goes on.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local PROGRAM = { "lua5.4", "tests/support/session_program.lua", "lines" }
local next_id = 0

local function say(ctx, what, more)
  next_id = next_id + 1
  local request = {
    kind = "session", session = "peer", argv = PROGRAM, id = next_id, expect = "json", idempotent = true, timeout = 20,
    message = json.encode { ["do"] = what, id = next_id },
  }
  for key, value in pairs(more or {}) do
    request[key] = value
  end
  local reply, message, class = ctx.await(request)
  return reply and reply.value, message, class, reply and reply.epoch
end

-- Three messages, and how many the program had been told with each.
local function counting(again)
  local function count(_, ctx)
    local counts = {}
    for i = 1, 3 do
      counts[i] = say(ctx, "echo", { again = again }).count
    end
    return { counts = counts }
  end
  return { actions = { { id = "one", run = count } } }
end

-- All that the program said unasked until now, in its order.
local function heard(ctx)
  local words = {}
  repeat
    local event = ctx.wait { event = "session:peer", timeout = 0.05 }
    words[#words + 1] = event and (event.ended and "ended" or event.method or event.note) or nil
  until not event
  return table.concat(words, " ")
end

-- What is left of a run that is killed behind each of its records, one after the other.
local function killed(definition)
  local dir = R.folder() .. "/run"
  next_id = 0
  assert.equal("completed", assert(R.run(definition(), { work_dir = dir })).status)
  local records, keep = R.records(dir), 0
  return function()
    keep = keep + 1
    if keep >= #records then
      return nil
    end
    local copy = ("%s-%d"):format(dir, keep)
    R.cut(dir, copy, keep)
    next_id = 0
    return copy
  end
end

-- How many calls of a run had left when it was killed, and what the answered ones gave: half a batch is none.
local function left(dir)
  local calls, answered = 0, {}
  for _, record in ipairs(R.records(dir)) do
    if record.t == "resume" then
      break
    end
    calls = calls + (record.t == "call" and 1 or 0)
    answered[#answered + 1] = record.t == "result" and record.reply and record.reply.body
      and json.decode(record.reply.body).count or nil
  end
  return calls, answered
end

-- What the calls give of which these were answered by another program.
local function counts_behind(answered)
  local counts = { table.unpack(answered) }
  for i = #answered + 1, 3 do
    counts[i] = i - #answered
  end
  return counts
end

local function resumed(dir, definition, options)
  options = options or {}
  options.skill = R.skill(definition)
  return assert(skillrt.resume(dir, options))
end

describe("a session that is taken up again", function()
  before_each(function() next_id = 0 end)
  after_each(R.clean)

  it("as stateless keeps what was answered and says nothing twice", function()
    for dir in killed(function() return counting "stateless" end) do
      local result = resumed(dir, counting "stateless")
      local _, answered = left(dir)
      assert.same(counts_behind(answered), result.state.counts)
    end
  end)

  it("by feeding is told what it had answered, in its order, and goes on from there", function()
    local tried = 0
    for dir in killed(function() return counting "feed" end) do
      assert.same({ 1, 2, 3 }, resumed(dir, counting "feed").state.counts)
      local calls, answered = left(dir)
      local list = R.records(dir, "call")
      if #answered > 0 and calls < #list then
        tried = tried + 1
        assert.same({ 1, 2 }, { list[calls].epoch, list[calls + 1].epoch })
      end
    end
    assert.is_true(tried >= 2) -- behind the first answer and behind the second
  end)

  it("as lost puts the work that is open in doubt, and nothing else", function()
    for dir in killed(function() return counting "lost" end) do
      local result = resumed(dir, counting "lost")
      local calls, answered = left(dir)
      if calls == 0 or #answered == 3 then
        assert.same({ "completed", { 1, 2, 3 } }, { result.status, result.state.counts })
      else
        assert.same({ "paused", "needs_decision" }, { result.status, result.reason })
        assert.equal(1, #R.records(dir, "doubt"))
        next_id = 0
        result = resumed(dir, counting "lost", { answer = "retry" })
        assert.same({ "completed", counts_behind(answered) }, { result.status, result.state.counts }, result.message)
      end
    end
  end)

  it("is so within one process, too, and hears that its program has ended, and how", function()
    for again, expected in pairs { stateless = { 1, 1 }, feed = { 2, 3 }, lost = {} } do
      local dir, ends = R.folder() .. "/" .. again, {}
      local result = assert(R.run({ actions = { { id = "one", run = function(_, ctx)
        say(ctx, "leave", { again = "stateless" })
        ends[1] = ctx.wait { event = "session:peer", timeout = 10 }
        say(ctx, "fall", { again = "stateless" })
        ends[2] = ctx.wait { event = "session:peer", timeout = 10 }
        local before = say(ctx, "echo", { session = "other", again = again })
        say(ctx, "leave", { session = "other", again = "stateless" })
        ctx.wait { event = "session:other", timeout = 10 }
        local behind = say(ctx, "echo", { session = "other", again = again })
        return { counts = { before.count, behind.count } }
      end } } }, { work_dir = dir }))
      assert.same({ { ended = true, epoch = 1, code = 4, stderr = "left\n" }, { ended = true, epoch = 2, signal = 9 } },
        ends)
      if again == "lost" then
        assert.same({ "paused", "needs_decision" }, { result.status, result.reason })
        assert.matches("other: its program has ended, and what it knew is lost", R.records(dir, "doubt")[1].message)
      else
        assert.same({ 1, expected[1] }, result.state.counts, json.encode(result.state.errors))
      end
    end
  end)

  it("is fed all at once where one answer needs another, and hears what was said and that it ended", function()
    local function definition()
      return { actions = { { id = "one", run = function(_, ctx)
        local held = ctx.all { function() return say(ctx, "hold", { again = "feed", timeout = 10 }) end,
          function() return say(ctx, "free", { again = "feed" }) end }
        say(ctx, "note", { again = "feed" })
        local count = say(ctx, "echo", { again = "feed" })
        return { count = count.count, heard = heard(ctx), held = held[1] and held[1].first }
      end } } }
    end
    local told, alone = {}, 0
    local function check(dir)
      local is_answered = left(dir) >= 4
      local result = resumed(dir, definition())
      assert.same({ 4, true }, { result.state.count, result.state.held }, json.encode(result.state.errors))
      local words = result.state.heard:gsub("ended ?", "")
      assert.matches("1 ask ?$", words) -- what it says to a message that was not answered it may say again
      if is_answered then -- it said all before it was killed
        assert.matches("^1 ask", result.state.heard)
      end
      told[#told + 1] = result.state.heard:match "ended"
    end
    for dir in killed(definition) do
      alone = alone + (#R.records(dir, "result") == 1 and 1 or 0) -- "free" was answered, "hold", said before it, was not
      check(dir)
    end
    assert.is_true(#told >= 3 and alone >= 1, #told)
  end)

  it("is fed nothing that was said to another session", function()
    local function two()
      return { actions = { { id = "one", run = function(_, ctx)
        return { counts = ctx.map({ "peer", "other" }, function(name)
          local counts = {}
          for i = 1, 3 do counts[i] = say(ctx, "echo", { again = "feed", session = name }).count end
          return counts
        end) }
      end } } }
    end
    local tried = 0
    for dir in killed(two) do
      assert.same({ { 1, 2, 3 }, { 1, 2, 3 } }, resumed(dir, two()).state.counts)
      tried = tried + 1
    end
    assert.is_true(tried > 3)
  end)

  it("records what it says before the answer behind it, and its end, whoever takes them", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run({ actions = { { id = "one", run = function(_, ctx)
      say(ctx, "note")
      say(ctx, "leave")
      ctx.wait { event = "session:peer" }
    end } } }, { work_dir = dir }))
    assert.equal("completed", result.status, result.message)
    local order = {}
    for _, record in ipairs(R.records(dir)) do
      local value = type(record.value) == "table" and record.value or {}
      order[#order + 1] = record.t == "event" and (value.ended and "ended" or "said")
        or record.t == "result" and record.c or nil
    end
    assert.equal("said said 1 2", table.concat(order, " ", 1, 4))
  end)

  it("tells whoever waits for it that its program ended with the process that ran the run", function()
    local function definition()
      return { actions = { { id = "one", run = function(_, ctx)
        local epochs = { (select(4, say(ctx, "echo"))) }
        local event = ctx.wait { event = "session:peer", timeout = 5 }
        epochs[2] = select(4, say(ctx, "echo"))
        return { event = event or "none", epochs = epochs }
      end } } }
    end
    local dir = R.folder() .. "/run"
    R.stopped(definition(), dir, function(record) return record.t == "call" and record.event end)
    next_id = 0
    local result = resumed(dir, definition())
    assert.same({ ended = true, epoch = 1 }, result.state.event, json.encode(result.state.errors))
    assert.same({ 1, 2 }, result.state.epochs)
  end)

  it("keeps of ends that nobody took the last, and of a program that is told all again none", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run({ actions = { { id = "one", run = function(_, ctx)
      for _ = 1, 3 do
        say(ctx, "leave")
        say(ctx, "leave", { session = "other", pure = true })
        ctx.await { kind = "sleep", seconds = 0.1 }
      end
      return { heard = heard(ctx), other = ctx.wait { event = "session:other", timeout = 0.05 } or "nothing" }
    end } } }, { work_dir = dir }))
    assert.same({ "ended", "nothing" }, { result.state.heard, result.state.other }, json.encode(result.state.errors))
    assert.same({ 1, 2, 3 }, { R.records(dir, "event")[1].ended, R.records(dir, "event")[2].ended,
      R.records(dir, "event")[3].ended })
  end)

  it("is fed behind its opening", function()
    local opening = { '{"do":"echo","method":"hello","id":0}', '{"do":"silent","method":"ready"}' }
    for again, expected in pairs { stateless = { 3, 4, 3, 4 }, feed = { 3, 4, 4, 5 } } do
      local result = assert(R.run({ limits = { calls = 4 }, actions = { { id = "one", run = function(_, ctx)
        local counts = {}
        for i, what in ipairs { "echo", "leave", "echo", "echo" } do
          local how = what == "leave" and "stateless" or again
          counts[i] = say(ctx, what, { opening = opening, again = how }).count
          while what == "leave" and not ctx.wait({ event = "session:peer", timeout = 5 }).ended do end
        end
        return { counts = counts }
      end } } }, { work_dir = R.folder() .. "/" .. again }))
      assert.same(expected, result.state.counts, json.encode(result.state.errors))
    end
  end)

  it("fails its call, which has not left, where the program answers nothing to what it is fed", function()
    local once = R.folder() .. "/once"
    local said
    local result = assert(R.run({ actions = { { id = "one", run = function(_, ctx)
      local more = { again = "feed", env = { ONCE = once, PATH = os.getenv "PATH" } }
      say(ctx, "once", more)
      more.again = "stateless"
      say(ctx, "leave", more)
      ctx.wait { event = "session:peer", timeout = 10 }
      more.again, more.idempotent = "feed", false
      said = { say(ctx, "echo", more) }
      return {}
    end } } }, { work_dir = R.folder() .. "/run" }))
    assert.same({ "completed", nil, "transient" }, { result.status, said[1], said[3] })
    assert.matches("ended with exit code 5", said[2])
  end)

  it("is not fed what steps said that are over", function()
    local function count(_, ctx)
      local before = say(ctx, "echo", { again = "feed" }).count
      say(ctx, "leave", { again = "stateless" })
      ctx.wait { event = "session:peer", timeout = 10 }
      return { counts = { before, say(ctx, "echo", { again = "feed" }).count } }
    end
    local result = assert(R.run({ actions = { { id = "one", run = count },
      { id = "two", when = "counts", run = count } } }, { work_dir = R.folder() .. "/run" }))
    assert.same({ 3, 2 }, result.state.counts, json.encode(result.state.errors))
  end)

  it("says how by a word that is known", function()
    local problem
    assert(R.run({ actions = { { id = "one", run = function(_, ctx)
      problem = select(2, pcall(say, ctx, "echo", { again = "fed" }))
    end } } }, { work_dir = R.folder() .. "/run" }))
    assert.matches("field \"again\" must be one of stateless, feed, lost", problem)
  end)
end)
