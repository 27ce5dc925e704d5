-- books_fields_spec.lua: each field of a run's books has a class, and a rollback does with it what that says.
local R = require "tests.support.runs"
local books_of = require "skillrt.run.books"
local fields = require "skillrt.run.books.fields"
local moment = require "skillrt.run.travel.moment"
local record = require "skillrt.base.record"
local rollback = require("skillrt.run.record.rollback").apply
local snapshot = require "skillrt.run.snapshot"
local state_of = require "skillrt.skill.state"

local function begun()
  local books = books_of.new()
  books_of.apply(books, { t = "run", run = "r", skill = "s", mode = "autonomous", state = { own = 1 }, input = {},
    pins = {}, at = 0 })
  return books
end

describe("a field of the books", function()
  after_each(R.clean)

  it("is declared, or raises where it is written, also in the books of a sub-run and in those read back", function()
    local books = begun()
    assert.is_false((pcall(function() books.another = 1 end)))
    books_of.apply(books, { t = "start", step = 1, action = "a", n = 1, at = 1 })
    books_of.apply(books, { t = "call", step = 1, c = "1", kind = "run", sub = "1.1", at = 2 })
    books_of.apply(books, { t = "run", sub = "1.1", step = 1, c = "1", run = "r", skill = "t", mode = "autonomous",
      state = {}, input = {}, pins = {}, at = 3 })
    assert.is_false((pcall(function() books.subs["1.1"].another = 1 end)))
    local read, kept = books_of.new(), snapshot.whole(books)
    kept.at = 3
    local reader = snapshot.new(read)
    reader:add(record.encode(kept), 4)
    reader:apply()
    assert.is_false((pcall(function() read.another = 1 end)))
    assert.is_false((pcall(function() read.subs["1.1"].another = 1 end)))
    assert.equal(1, read.steps[1].number)
  end)

  it("of the state that the runtime writes has one, and no other has", function()
    local reserved = {}
    for field in pairs(fields.STATE) do
      reserved[field] = true
    end
    assert.same(state_of.RESERVED, reserved)
    for field in pairs(fields.MACHINE) do
      assert.is_true(require("skillrt.run.books.machine").OWN[field])
    end
  end)

  it("becomes what it was, stays, or is forgotten, by its class (R86, F42)", function()
    local there, now = begun(), begun()
    for _, row in ipairs(fields.ROWS) do
      if row[2] ~= "apart" then
        there[row[1]] = row[3] == "table" and { was = 1 } or "was"
        now[row[1]] = row[3] == "table" and { is = 1 } or "is"
      end
    end
    there.held, now.held = { was = {} }, { is = {} }
    now.rollbacks, now.subs, now.mode = 4, nil, "autonomous"
    local back = moment.rollback(there)
    back.at = 1
    rollback(now, back)
    for _, row in ipairs(fields.ROWS) do
      local field, class = row[1], row[2]
      local is = now[field]
      is = type(is) == "table" and (is.was and "was" or is.is and "is") or is
      if field == "rollbacks" then
        assert.equal(5, is)
      elseif class ~= "apart" and field ~= "mode" then
        assert.equal(class == "position" and "was" or class == "grows" and "is" or nil, is, field)
      end
    end
  end)

  it("of a skill's own is restored also where it is called as a machine's is", function()
    for mode, wanted in pairs { autonomous = 1, machine = 2 } do
      local there, now = begun(), begun()
      now.mode = mode
      there.state:set("metrics", 1)
      now.state:set("metrics", 2)
      rollback(now, moment.rollback(there))
      assert.equal(wanted, now.state.root.metrics)
    end
  end)
end)
