-- books_spec.lua: what a sequence of records amounts to; a journal that does not fit is refused.
local json = require "skillrt.base.json"
local books_of = require "skillrt.run.books"
local consumption = require "skillrt.run.books.consumption"
local views = require "skillrt.run.views"

local function begun(more)
  local books = books_of.new()
  local first = { t = "run", run = "r", skill = "s", version = "1", mode = "sequential", input = {}, state = { n = 0 },
    pins = {}, context = "file", at = 1000 }
  for key, value in pairs(more or {}) do
    first[key] = value
  end
  books_of.apply(books, first)
  return books
end

local function apply(books, ...)
  for _, record in ipairs { ... } do
    record.at = record.at or 2000
    books_of.apply(books, record)
  end
  return books.state.root
end

describe("the books", function()
  it("remember 128 states that an action started in, and then begin anew", function()
    local books = books_of.new()
    for i = 1, 128 do
      consumption.same(books, "a", { print = "p" .. i, same = 1 })
    end
    assert.same({ 1, 1 }, { books.same.a.p1, books.same.a.p128 })
    consumption.same(books, "a", { print = "new", same = 2 })
    assert.same({ new = 2 }, books.same.a)
  end)

  it("begin with every field a run has (R27, R56)", function()
    local root = begun().state.root
    assert.same({ "pending", 0, 0 }, { root.status, root.error_count, root.iteration_count })
    assert.same({ {}, {}, {}, {}, {} }, { root.completed_actions, root.errors, root.context, root.phases_completed, root.outputs })
    assert.equal("1970-01-01T00:00:01.000Z", root.started_at)
  end)

  it("keep a failed sub-run that may be resumed, and each in one that is kept, and forget the others", function()
    local subs = { loose = { sub = "loose", newest = {} } }
    for i = 1, 20 do subs[tostring(i)] = { sub = tostring(i), newest = {} } end
    for i = 1, 19 do subs[tostring(i)].held = { { known = { ["1"] = { scope = subs[tostring(i + 1)] } } } } end
    local whole = { steps = {}, held = { { known = { ["1"] = { scope = subs["1"] } } } }, subs = subs }
    require("skillrt.run.books.subs").sweep(whole)
    assert.is_nil(subs.loose)
    for i = 1, 20 do assert.truthy(subs[tostring(i)], i) end
    whole.held = nil
    require("skillrt.run.books.subs").sweep(whole)
    assert.is_nil(whole.subs)
  end)

  it("keep what a changed script waits for when it asks for something else in another branch", function()
    local function open_ones(loose)
      local books = begun()
      apply(books, { t = "start", phase = "a", step = 1, n = 1 },
        { t = "call", step = 1, c = "1.1.1", kind = "command", to = "sh", digest = "old" },
        { t = "result", step = 1, c = "1.1.1", reply = { status = "ok" } },
        { t = "call", step = 1, c = "1.2.1", kind = "session", to = "script", digest = "d", pure = true },
        { t = "drop", step = 1, from = loose and {} or { "1.1.1" }, loose = loose })
      local step = books.steps[1]
      return step.calls["1.2.1"] ~= nil, step.known["1.1.1"] ~= nil
    end
    assert.same({ true, false }, { open_ones() })
    assert.same({ false, true }, { open_ones(true) }) -- nothing of it runs yet
  end)

  it("are the same from records that were read back as from those that were written (R69)", function()
    local records = {
      { t = "start", phase = "a", step = 1, n = 1 },
      { t = "start", phase = "b", step = 2, n = 2 },
      { t = "call", step = 1, c = "1", kind = "http", to = "u", key = "k", digest = "d", rec = { ["0"] = { 1, 0.5 } } },
      { t = "result", step = 1, c = "1", reply = { status = "ok", body = "b" } },
      { t = "fail", step = 2, attempt = 1, class = "transient", message = "m", retry = 5 },
      { t = "done", step = 1, set = { box = { x = {} }, n = json.null }, out = { 1 }, file = "a.json", context = { k = { v = 1 } } },
      { t = "fail", step = 2, attempt = 2, class = "permanent", message = "m" },
      { t = "skip", phase = "c", why = "no" },
      { t = "stop", status = "failed", reason = "phase_failed" },
    }
    local live, read = begun(), begun()
    apply(live, table.unpack(records))
    for _, record in ipairs(records) do
      books_of.apply(read, json.decode(json.encode(record)))
    end
    assert.equal(json.encode(views.state(live)), json.encode(views.state(read)))
    assert.same({ 0, 2, "failed", true }, { read.open, read.finished, read.status, read.failed.b })
    assert.same({ id = "b", step = 2, kind = "phase", finished = 2 }, read.last_failed)
  end)

  it("know who is under way: calls, results and where they lie, values by their place (F19, F40)", function()
    local books = begun()
    apply(books, { t = "start", action = "a", step = 1, n = 1 },
      { t = "call", step = 1, c = "1", kind = "http", to = "u", digest = "d", rec = { ["0"] = { 7 } } })
    books_of.apply(books, { t = "result", step = 1, c = "1", reply = { status = "ok" }, at = 2000 }, 12)
    apply(books, { t = "call", step = 1, c = "2", kind = "http", to = "v", digest = "e", rec = { ["1"] = { 8 } } })
    local step = books.steps[1]
    assert.same({ ["0"] = { 7 }, ["1"] = { 8 } }, step.values)
    assert.same({ "d", 12, true, "u" }, { step.known["1"].digest, step.known["1"].seq, step.known["1"].acted, step.known["1"].to })
    assert.same({ "v", "a" }, { step.calls["2"].to, books.state.root.current_action })
    apply(books, { t = "attempt", step = 1, c = "2", a = 1, class = "rate_limit", message = "m", retry = 70 })
    local failed = step.calls["2"].failed
    assert.equal(2070, failed.at + failed.retry)
    apply(books, { t = "result", step = 1, c = "2", reply = { status = "timeout" }, unknown = true },
      { t = "fail", step = 1, attempt = 1, class = "timeout", message = "m", retry = 50, blame = "2" })
    assert.same({ 2, 2050, nil }, { step.attempt, step.retry_at, step.known["2"] })
    assert.same({ ["0"] = { 7 }, ["1"] = { 8 } }, step.values) -- drawn before the call that is blamed
    assert.equal(12, step.known["1"].seq)
    assert.same({}, step.generations) -- it was not answered: the next one has the same key
    assert.equal(0, books.state.root.error_count)
  end)

  it("forget a sub-run that completed, and keep one that failed until its step is over", function()
    for status, is_kept in pairs { completed = false, failed = true } do
      local books = begun()
      apply(books, { t = "start", action = "a", step = 1, n = 1 },
        { t = "call", step = 1, c = "1", kind = "run", to = "s", digest = "d", idem = true, sub = "1.1" },
        { t = "run", sub = "1.1", step = 1, run = "r", skill = "s", mode = "autonomous", state = {} },
        { t = "stop", sub = "1.1", status = status, reason = "x" },
        { t = "result", step = 1, c = "1", reply = {} })
      assert.equal(is_kept, books.subs ~= nil and books.subs["1.1"] ~= nil, status)
      apply(books, { t = "done", step = 1 })
      assert.is_nil(books.subs)
    end
  end)

  it("forget a person's answer once it was used", function()
    local books = begun()
    apply(books, { t = "ask", q = 1, question = { question = "?" } }, { t = "answer", q = 1, value = "a" })
    assert.equal("a", books.answer)
    assert.is_nil(books.question)
    apply(books, { t = "start", action = "a", step = 1, n = 1 })
    assert.is_nil(books.answer)
  end)

  it("name another phase that is still under way as the current one (F22)", function()
    local books = begun()
    local root = apply(books, { t = "start", phase = "a", step = 1, n = 1 }, { t = "start", phase = "b", step = 2, n = 2 },
      { t = "done", step = 2 })
    assert.equal("a", root.current_phase)
    assert.is_nil(apply(books, { t = "done", step = 1 }).current_phase)
  end)

  it("take phases back on a rewind, with their outputs and what was under way (R35)", function()
    local books = begun()
    apply(books, { t = "start", phase = "a", step = 1, n = 1 }, { t = "done", step = 1, out = 1, file = "a.json" },
      { t = "start", phase = "b", step = 2, n = 2 }, { t = "done", step = 2, out = 2, file = "b.json" },
      { t = "start", phase = "c", step = 3, n = 3 }, { t = "loop", status = "completed", reason = "x" },
      { t = "rewind", phases = { "b", "c" }, loop = true })
    local root = books.state.root
    assert.same({ { "a" }, { a = 1 }, { ["a.json"] = "a" } }, { { root.phases_completed[1].id }, root.outputs, books.outputs })
    assert.same({ 0, 1 }, { books.open, #root.phases_completed })
    assert.is_nil(books.loop_end)
    assert.is_nil(root.current_phase)
  end)

  it("refuse a record of a kind they do not know", function()
    local ok, problem = pcall(function() books_of.apply(begun(), { t = "later" }) end)
    assert.is_false(ok)
    assert.matches('its type "later" is unknown', problem)
  end)
end)

describe("the views", function()
  local function policy(books, phases)
    return { books = books, known_views = {}, journal = {}, skill = { phases = phases or {} } }
  end

  local function names(list)
    local out = {}
    for i, view in ipairs(list) do
      out[i] = view[1]
    end
    return table.concat(out, " ")
  end

  it("are state.json, execution-state.json where there are phases, and a file per context key (R5, R27)", function()
    local books = begun()
    apply(books, { t = "start", action = "a", step = 1, n = 1 }, { t = "done", step = 1, context = { one = 1, two = { x = 2 } } })
    local run = policy(books, { { id = "a" } })
    local list = views.list(run, 5)
    table.sort(list, function(a, b) return a[1] < b[1] end)
    assert.equal("context/one.json context/two.json execution-state.json state.json", names(list))
    assert.equal('{\n  "x": 2\n}\n', list[2][2])
    local shown = json.decode(list[4][2])
    assert.equal(5, shown._skillrt.seq)
    assert.equal(json.null, shown.current_action)
    assert.equal("1970-01-01T00:00:02.000Z", shown.updated_at)
  end)

  it("are written again only where something changed", function()
    local books = begun()
    apply(books, { t = "start", action = "a", step = 1, n = 1 }, { t = "done", step = 1, context = { one = 1, two = 2 } })
    local run = policy(books)
    views.list(run, 5)
    assert.equal("", names(views.list(run, 5)))
    assert.equal("state.json", names(views.list(run, 6)))
    apply(books, { t = "start", action = "b", step = 2, n = 2 }, { t = "done", step = 2, context = { two = 3 } })
    assert.equal("context/two.json state.json", names(views.list(run, 7)))
    apply(books, { t = "start", action = "b", step = 3, n = 3 }, { t = "done", step = 3, context = { two = json.null } })
    local list = views.list(run, 8)
    assert.same({ "context/two.json", "null\n" }, list[1])
    assert.equal("state.json", names(views.list(run, 9)))
  end)

  it("tell how the phases ended (R34, F17)", function()
    local books = begun()
    apply(books, { t = "stop", status = "failed", reason = "phase_failed" })
    local shown = views.execution(books)
    assert.same({ "failed", "phase_failed", "1970-01-01T00:00:02.000Z" }, { shown.status, shown.reason, shown.failed_at })
    assert.is_nil(shown.completed_at)
    apply(books, { t = "resume" }, { t = "stop", status = "completed", reason = "x", at = 3000 })
    shown = views.execution(books)
    assert.equal("1970-01-01T00:00:03.000Z", shown.completed_at)
    assert.is_nil(shown.failed_at)
  end)
end)
