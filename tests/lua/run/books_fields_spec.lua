-- books_fields_spec.lua: each field of a run's books has a class, and a rollback does with it what that says.
local R = require "tests.support.runs"
local books_of = require "skillrt.run.books"
local fields = require "skillrt.run.books.fields"
local moments = require "skillrt.run.books.moments"
local state_of = require "skillrt.skill.state"

local NAMES = { self = true, books = true, scope = true, whole = true }

-- The fields that a source assigns to books.
local function assigned(text, found)
  for line in text:gmatch "[^\n]+" do
    local left = not line:find "^%s*%-%-" and line:match "^([^=~<>]-)%s=%s"
    for name, field in (left or ""):gsub("^%s*local.*", ""):gmatch "([%a_]+)%.([%a_]+)%f[^%w_.%[]" do
      found[#found + 1] = NAMES[name] and field or nil
    end
  end
  return found
end

local function begun()
  local books = books_of.new()
  books_of.apply(books, { t = "run", run = "r", skill = "s", mode = "autonomous", state = { own = 1 }, input = {},
    pins = {}, at = 0 })
  return books
end

describe("a field of the books", function()
  after_each(R.clean)

  it("has a class, wherever it is written, and in the books of every run", function()
    local found = {}
    for name in io.popen "ls lua/skillrt/run/books.lua lua/skillrt/run/books/*.lua":lines() do
      assigned(R.read(name), found)
    end
    assert.is_true(#found > 80)
    for _, field in ipairs(found) do
      assert.is_string(fields.BOOKS[field], field .. ": has no class in run/books/fields.lua")
    end
    for field in pairs(fields.TABLES) do
      assert.is_string(fields.BOOKS[field], field)
    end
    local dir = R.folder() .. "/run"
    assert(R.run({ actions = { { id = "a", on_error = "skip", run = R.fails() },
      { id = "b", run = function(_, ctx) return { answer = ctx.ask { question = "go?" } } end } } }, { work_dir = dir }))
    for field in pairs(assert(require("skillrt.run.look").books(dir))) do
      assert.is_string(fields.BOOKS[field], field .. ": has no class in run/books/fields.lua")
    end
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
    for field, class in pairs(fields.BOOKS) do
      if class ~= "apart" then
        there[field] = fields.TABLES[field] and { was = 1 } or "was"
        now[field] = fields.TABLES[field] and { is = 1 } or "is"
      end
    end
    now.rollbacks, now.subs, now.mode = 4, nil, "autonomous"
    local record = moments.record(there)
    record.at = 1
    moments.rollback(now, record, function() end)
    for field, class in pairs(fields.BOOKS) do
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
      moments.rollback(now, moments.record(there), function() end)
      assert.equal(wanted, now.state.root.metrics)
    end
  end)
end)
