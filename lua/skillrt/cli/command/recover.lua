-- cli/command/recover.lua: `skillrt recover DIR`: what is wrong with a run whose journal is refused,
-- and the way out: the journal ends where the damage begins, the rest is kept beside it.

local core = require("skillrt.core")
local ending = require("skillrt.cli.ending")
local files = require("skillrt.base.files")
local output = require("skillrt.report.output")
local text_of = require("skillrt.base.shown")

-- The records in front of the damage, and the last of them for people.
local function readable(dir)
  local formatter = require("skillrt.report.lines").new({ detail = true })
  local decode = require("skillrt.base.record").decode
  local count, last = 0, nil
  core.salvage(dir, function(payload)
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

-- What the state knows beyond the journal's new end must not be taken for the state.
local function put_aside(dir, report)
  local path = files.join(dir, "state.json")
  if report.view_seq <= report.last then
    return nil
  end
  local aside = ("%s.cut-%d"):format(path, report.view_seq)
  local ok, message, code = files.rename(path, aside)
  return ok and aside or nil, message, code
end

local function cut(dir)
  local report, message, code = core.recover(dir)
  if not report then
    return ending.refused(message, code, nil, dir)
  end
  if report.cut_bytes == 0 then
    say("nothing was damaged, nothing was cut")
  else
    say("%d bytes were cut off and are kept in %s/journal.cut-*; %d records are left", report.cut_bytes,
      text_of.escape(dir), report.records)
  end
  local aside, problem = put_aside(dir, report)
  if problem then
    return ending.refused(problem, "system", nil, dir)
  elseif aside then
    say("state.json knew more than that; it is %s now, and is written again by the next resume", text_of.escape(aside))
  end
  say("steps that were reported may be lost, and what they did stays done: look before you resume")
  output.say("info", ("next: skillrt log %s"):format(text_of.escape(text_of.shell(dir))))
  return 0
end

return {
  name = "recover",
  summary = "Tells what is wrong with a damaged run; with --cut, ends its journal in front of the damage",
  arguments = { { name = "DIR", help = "the directory of the run" } },
  options = { { name = "cut", help = "cut the journal where the damage begins; the rest is kept beside it" } },
  ---@param args table
  ---@return integer code
  run = function(args)
    if args.cut then
      return cut(args.dir)
    end
    local report, message, code = core.read(args.dir, function()
      return true
    end, { whole = true })
    if report then
      local books, problem, cause = require("skillrt.run.runner.reading").read(args.dir)
      if not books then -- no byte is damaged, so nothing can be cut
        return ending.refused(problem --[[@as string]], cause, nil, args.dir)
      end
      say("%d records, none is damaged", report.records)
      ending.say_open_end(args.dir, report)
      return 0
    elseif code ~= "corrupt" then
      return ending.refused(message, code, nil, args.dir)
    end
    local count, last = readable(args.dir)
    if count > 0 then
      say("%d records in front of the damage can be read; the last tells: %s", count, last or "nothing for people")
    end
    local hint = count > 0 and ("skillrt recover --cut %s would end the journal there"):format(
      text_of.escape(text_of.shell(args.dir))) or nil
    ending.complain(message, hint)
    return require("skillrt.cli.exit_codes").of_error(code)
  end,
}
