-- cli/command/recover.lua: `skillrt recover DIR`: shows what is wrong with a refused journal, and repairs it:
-- truncates the journal before the damage and keeps the rest in a separate file.

local ending = require("skillrt.cli.ending")
local output = require("skillrt.report.output")
local store = require("skillrt.run.store")
local text_of = require("skillrt.base.terminal_text")

-- The records before the damage, and the last of them for people.
local function readable(dir)
  local formatter = require("skillrt.report.lines").new({ detail = true })
  local decode = require("skillrt.base.record").decode
  local count, last = 0, nil
  store.at(dir):salvage(function(payload)
    count = count + 1
    local record = decode(payload, function()
      return '"(kept apart)"'
    end)
    require("skillrt.run.record").each(record or {}, function(one)
      for _, line in ipairs(formatter:of(one)) do
        last = line.text
      end
    end)
    return true
  end)
  return count, last
end

local function say(...)
  output.write(string.format(...) .. "\n")
end

local function cut(dir)
  local report, message, code = store.at(dir):recover()
  if not report then
    return nil, message, code, dir
  end
  if report.cut_bytes == 0 then
    say("nothing is damaged, so nothing was truncated")
    return 0
  end
  say("%d bytes were truncated and saved in %s/journal.cut-*; %d records remain", report.cut_bytes,
    text_of.escape(dir), report.records)
  if report.aside then
    say("state.json showed later steps; it was renamed to %s, and the next resume writes a new one",
      text_of.escape(report.aside))
  end
  say("reported steps may be lost, but not their side effects: check them before you resume")
  output.say("info", ("next: skillrt log %s"):format(text_of.escape(text_of.shell(dir))))
  return 0
end

return {
  name = "recover",
  summary = "Shows what is wrong with a damaged run; --cut truncates its journal just before the damage",
  arguments = { { name = "DIR", help = "the directory of the run" } },
  options = { { name = "cut", help = "truncates the journal where the damage begins; the rest is saved next to it" } },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    if args.cut then
      return cut(args.dir)
    end
    local report, message, code = store.at(args.dir):read(function()
      return true
    end, { whole = true })
    if report then
      local books, problem, cause = require("skillrt.run.look").read(args.dir)
      if not books then -- no byte is damaged, so nothing can be truncated
        return nil, problem, cause
      end
      say("%d records, none is damaged", report.records)
      ending.say_open_end(args.dir, report)
      return 0
    elseif code ~= "corrupt" then
      return nil, message, code
    end
    local count, last = readable(args.dir)
    if count > 0 then
      say("%d records before the damage can be read; the last one: %s", count, last or "nothing that a log shows")
    end
    local hint = count > 0 and ("skillrt recover --cut %s would truncate the journal there"):format(
      text_of.escape(text_of.shell(args.dir))) or nil
    ending.complain(message, hint)
    return require("skillrt.cli.exit_codes").of_error(code)
  end,
}
