-- cron_spec.lua: times that recur.
local cron = require "skillrt.base.cron"
local instant = require "skillrt.base.instant"

local function following(text, after)
  local at, why = cron.next(text, assert(instant.read(after)))
  return at and instant.iso(at):gsub(":00%.000Z", "") or why
end

describe("the text of a schedule", function()
  for _, row in ipairs({
    { "* * * * *", "2026-11-28T14:15:30Z", "2026-11-28T14:16" },
    { "* * * * *", "2026-12-31T23:59:00Z", "2027-01-01T00:00" },
    { "0 3 * * *", "2026-11-28T03:00:00Z", "2026-11-29T03:00" },
    { "*/15 9-17 * * mon-fri", "2026-11-27T17:45:00Z", "2026-11-30T09:00" },
    { "5/20 * * * *", "2026-11-28T14:15Z", "2026-11-28T14:25" },
    { "0 0 29 2 *", "2096-03-01", "2104-02-29T00:00" },
    { "0 0 13 * fri", "2026-11-28", "2026-12-04T00:00" },
    { "0 0 13 * *", "2026-11-28", "2026-12-13T00:00" },
    { "0 0 */2 * sun", "2026-11-28", "2026-11-29T00:00" },
    { "30 1,13 1 JAN,jul *", "2026-11-28", "2027-01-01T01:30" },
    { "0 0 * * 7", "2026-11-28", "2026-11-29T00:00" },
    { "@weekly", "2026-11-28", "2026-11-29T00:00" },
  }) do
    it(("%s comes next after %s at %s"):format(table.unpack(row)), function()
      assert.equal(row[3], following(row[1], row[2]))
    end)
  end

  it("is refused where it is none, or never comes", function()
    for text, why in pairs({ ["60 * * * *"] = "minute \"60\" is not within 0 to 59", ["* * * *"] = "less than five",
      ["* * * * * *"] = "more than five", ["0 0 31 2 *"] = "never comes", ["*/0 * * * *"] = "minute",
      ["1,,2 * * * *"] = "minute", ["5-1 * * * *"] = "minute", ["* * 0 * *"] = "day", ["* * * anf *"] = "month",
      ["* * * * 8"] = "weekday", ["-1 * * * *"] = "minute", [""] = "less than five" }) do
      assert.matches(why, following(text, "2026-11-28"), 1, true)
    end
  end)
end)
