-- books_phased_spec.lua: what the books say of phases: which set is active, what came of each, bounded; and what a step
-- is told of those before it stays the same, whatever came since.
local books_of = require "skillrt.run.books"
local json = require "skillrt.base.json"
local record = require "skillrt.base.record"
local snapshot = require "skillrt.run.snapshot"

local function begun()
  local books = books_of.new()
  books_of.apply(books, { t = "run", run = "r", skill = "s", version = "1", mode = "autonomous", input = {},
    state = { n = 0, retry_count = 0 }, pins = {}, context = "file", at = 1000 })
  return books
end

local function apply(books, ...)
  for _, entry in ipairs { ... } do
    entry.at = entry.at or 2000
    books_of.apply(books, entry)
  end
  return books
end

local function start(step, set, keeps)
  return { t = "start", action = "a" .. step, step = step, n = step, tool_set = set, keeps = keeps }
end

local function seen(step)
  local out = {}
  for i, one in ipairs(step.phases or {}) do out[i] = one.phase end
  return table.concat(out, " ")
end

describe("the books of a run with tool sets", function()
  it("show a step the phases that were over when it began, and no others, also after a snapshot (R115)", function()
    local books = apply(begun(), start(1, "analysis"), start(2, "generation"), { t = "done", step = 1, set = { files = { "x" } } },
      start(3, "verification"), { t = "done", step = 2 },
      { t = "switch", step = 3, c = "1", from = "verification", to = "repair", by = "tool", summary = { errors = { "e" } } })
    assert.same({ "analysis", "repair" }, { seen(books.steps[3]), books.tool_set })
    assert.same({ "x" }, books.steps[3].phases[1].files)
    assert.same({ "e" }, books.phases[3].errors)
    assert.same("verification", books.steps[3].tool_set)
    local payload = assert(record.encode(snapshot.whole(books)))
    local other = books_of.new()
    local reader = snapshot.new(other)
    reader:add(payload, 1, function() end)
    reader:apply()
    assert.same({ "analysis", "verification", "repair", 4 }, { seen(other.steps[3]), other.steps[3].tool_set, other.tool_set,
      #other.phases })
  end)

  it("write what the runtime keeps when a step begins, and count a failed one once (F51)", function()
    local books = apply(begun(), start(1, "repair", { phase = "repair", retry_count = 1 }))
    assert.same({ "repair", 1 }, { books.state.root.phase, books.state.root.retry_count })
    apply(books, { t = "fail", step = 1, attempt = 1, class = "transient", message = "m", retry = 5 },
      { t = "fail", step = 1, attempt = 2, class = "permanent", message = "no idea" })
    assert.same({ 1, { "no idea" } }, { books.state.root.retry_count, books.phases[1].errors })
  end)

  it("hold the newest phases alone, and a few short texts of each (F58)", function()
    local books, long = begun(), ("é"):rep(5000)
    for i = 1, 100 do
      local set = { errors_found = {} }
      for k = 1, 50 do set.errors_found[k], set["f" .. k] = long, long end
      apply(books, start(i, "set" .. i), { t = "done", step = i, set = set, summary = long, at = 2000 + i })
    end
    assert.same({ 30, "set71", "set100" }, { #books.phases, books.phases[1].phase, books.phases[30].phase })
    local text = json.encode(books.phases)
    assert.is_true(#text < 30 * 2 * 10 * 400, #text)
    assert.truthy(utf8.len(text))
  end)

  it("hold each file once, in order, and say where there are more (F58)", function()
    local books = apply(begun(), start(1, "generation"))
    for i = 1, 20 do
      for _ = 1, 2 do
        apply(books, { t = "tool", step = 1, c = tostring(i), name = "write_file", digest = "d" },
          { t = "result", step = 1, c = tostring(i), digest = "d", value = { text = "" }, wrote = "f" .. i })
      end
    end
    assert.same("f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 and more", table.concat(books.phases[1].files, " "))
  end)

  it("do not enter a set that was refused or only advised", function()
    local books = apply(begun(), start(1, "analysis"), { t = "switch", step = 1, from = "analysis", to = "x", by = "tool",
      refused = "no" }, { t = "switch", step = 1, from = "analysis", to = "repair", by = "calls", advised = true })
    assert.same({ "analysis", 1, 2 }, { books.tool_set, #books.phases, books.steps[1].notes["0"] })
  end)
end)
