-- record_spec.lua: a type of records is one file: what is put there is applied, shown and counted, and named nowhere else.
local R = require "tests.support.runs"
local books_of = require "skillrt.run.books"
local json_log = require "skillrt.report.json_log"
local lines_of = require "skillrt.report.lines"
local record_of = require "skillrt.run.record"
local story_of = require "skillrt.run.story"

local RUN = { t = "run", run = "r", skill = "s", version = "1", mode = "autonomous", state = {}, input = {}, pins = {},
  at = 0 }

describe("a type of records", function()
  after_each(R.clean)

  it("is one file, found by its name: how a record is added", function()
    local folder, path = R.folder(), package.path
    assert(os.execute(("mkdir -p '%s/skillrt/run/record'"):format(folder)))
    R.write(folder .. "/skillrt/run/record/bell.lua", [=[return {
      doc = "a bell rang",
      fields = [[
        times integer how often
      ]],
      apply = function(books, record)
        books.reason = "rung " .. record.times
      end,
      line = function(lines, record)
        lines:say(false, "info", "Bell: %d", record.times)
      end,
      story = function(story, record)
        story.reason = record.times
      end,
      log = function(record)
        return "info", "Bell", { times = record.times }
      end,
      point = function()
        return { what = "bell" }
      end,
    }]=])
    package.path = folder .. "/?.lua;" .. path
    local _ <close> = setmetatable({}, { __close = function() package.path = path end })
    local books, story, record = books_of.new(), story_of.new(), { t = "bell", times = 3, at = 1 }
    books_of.apply(books, RUN)
    books_of.apply(books, record)
    story:add(RUN)
    story:add(record)
    assert.same({ "rung 3", 1, 3 }, { books.reason, books.at, story.reason })
    assert.same({ { kind = "info", text = "Bell: 3" } }, lines_of.new():of(record))
    assert.equal("Bell", json_log.lines(story, record, 0)[1].message)
    assert.equal("bell", record_of.types["bell"].point(record).what)
    assert.same({ { name = "times", type = "integer", may_be_absent = false, doc = "how often" } },
      record_of.rows(record_of.types["bell"].fields))
  end)

  it("that there is none of is refused, and so is a record whose file is broken", function()
    assert.is_false(record_of.types["later"])
    assert.is_false(record_of.types["../later"])
    package.preload["skillrt.run.record.broken"] = function() error "broken inside" end
    local ok, problem = pcall(function() return record_of.types["broken"] end)
    package.preload["skillrt.run.record.broken"] = nil
    assert.is_false(ok)
    assert.matches("broken inside", problem)
  end)

  it("says what its records hold and what they change", function()
    local count = 0
    for path in io.popen "ls lua/skillrt/run/record/*.lua":lines() do
      local kind = record_of.types[path:match "([^/]+)%.lua$"]
      assert.is_string(kind.doc, path)
      assert.is_function(kind.apply, path)
      local _, lines = kind.fields:gsub("%S[^\n]*\n", "")
      assert.equal(lines, #record_of.rows(kind.fields), path)
      count = count + 1
    end
    assert.is_true(count > 30)
  end)
end)
