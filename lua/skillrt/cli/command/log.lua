-- cli/command/log.lua: `skillrt log DIR`: the journal of a run, record by record, for people or programs.
--
-- Reads the journal once and keeps nothing of it. Takes no lock, changes nothing.

local core = require("skillrt.core")
local ending = require("skillrt.cli.ending")
local store_of = require("skillrt.run.store")

local CHUNK = 64 * 1024 -- bytes gathered for one write

-- A sink that writes in large pieces; returns false once the reader has gone.
local function sink()
  local parts, size = {}, 0
  local self = { open = true }
  function self.flush()
    if #parts > 0 and self.open then
      self.open = core.terminal.write(1, table.concat(parts)) == true
      parts, size = {}, 0
    end
    return self.open
  end
  function self.put(text)
    parts[#parts + 1] = text
    size = size + #text
    return size < CHUNK or self.flush()
  end
  return self
end

-- Large values are stored separately; the log does not need them.
local function no_blob()
  return '"(kept apart)"'
end

local function people(out, with_state)
  local changes = with_state and require("skillrt.report.changes")
  local following = changes and changes.new()
  local json_record = require("skillrt.base.record")
  local instant = require("skillrt.base.instant")
  local output = require("skillrt.report.output")
  local formatter = require("skillrt.report.lines").new({ detail = true })
  local function show(record, seq)
    local at = record.at and instant.iso(record.at) or ("?"):rep(24)
    local changed = following and following:of(record, seq) or {}
    for _, line in ipairs(formatter:of(record)) do
      if not out.put(("%s  %s\n"):format(at, output.paint(1, line.kind, line.text))) then
        return false
      end
    end
    for _, change in ipairs(changed) do
      out.put(("%s      %s\n"):format((" "):rep(24), output.paint(1, "detail", changes.line(change))))
    end
    return true
  end
  return function(payload, seq)
    local record, why = json_record.decode(payload, no_blob)
    local record_of = require("skillrt.run.record")
    why = why or record_of.problem_of(record)
    if why then
      error({ message = ("record %d: %s"):format(seq, why), code = "corrupt" }, 0)
    end
    return record_of.each(record, show, seq)
  end
end

-- A record for programs; a step's start, if the record carries it, comes first, as in the live events.
local function told(payload, run_id)
  local event, record_of = require("skillrt.report.events").event, require("skillrt.base.record")
  local record = payload:find('"start":{', 1, true) and record_of.decode(payload, no_blob)
  local start = record and require("skillrt.run.record").start_in(record)
  if not start then
    return "", event(payload, run_id)
  end
  record.start = nil
  local rest = not payload:find('"blobs":', 1, true) and record_of.encode(record) or payload
  return event(record_of.encode(start), run_id) .. "\n", event(rest, run_id)
end

local function programs(out, with_state)
  local following = with_state and require("skillrt.report.changes").new()
  local is_books = require("skillrt.run.snapshot").is_books
  local run_id
  return function(payload, seq)
    if is_books(payload) then
      return true -- as in the live events
    end
    run_id = run_id or core.json.decode(payload).run or ""
    local before, line = told(payload, run_id)
    if following then
      local record = require("skillrt.base.record").decode(payload, no_blob)
      local changed = record and following:of(record, seq) or {}
      local list = changed[1] and core.json.encode(core.json.array(changed))
      line = list and ('%s,"changes":%s}'):format(line:sub(1, -2), list) or line
    end
    return out.put(before .. line .. "\n")
  end
end

-- Reads all of the run again: each record, each separate value, and whether the records fit together.
local function verify(dir, out)
  local books, report, code = require("skillrt.run.look").read(dir)
  if not books then
    return nil, report, code
  end
  out.put(("%d records, all as they were written\n"):format(report.records))
  ending.say_open_end(dir, report)
  return report
end

-- Shows what can be read, then says why it ends there.
local function read(dir, show)
  local shown, store = 0, store_of.at(dir)
  local function each(payload, seq)
    shown = shown + 1
    return show(payload, seq)
  end
  local called, report, message, code = pcall(store.read, store, each)
  if called and (code == "corrupt" or code == "newer") and shown == 0 then
    local went, raised = pcall(store.salvage, store, each) -- refused as a whole, with its undamaged part
    called, report = went, not went and raised or nil
  end
  if report and shown == 0 then
    report, code = nil, "missing"
    message = require("skillrt.run.look").nothing(dir)
  end
  if not called then
    local raised = type(report) == "table" and report or { message = tostring(report), code = "script" }
    report, message, code = nil, ("%s: %s"):format(dir, raised.message), raised.code
  end
  return report, message, code, shown > 0 and code == "corrupt"
end

local OVER <const> = { completed = true, failed = true, aborted = true }

-- Shows new records, too, until the run ends or the person interrupts. The exit code.
local function follow(dir, show, out)
  local from, over = 0, false
  local function each(payload, seq)
    if seq >= from then
      from = seq + 1
      local stop = payload:find('"t":"stop"', 1, true) and not payload:find('"sub":', 1, true)
      over = stop and OVER[payload:match('"status":"(%l+)"')] or false
      return show(payload, seq)
    end
    return true
  end
  local store = store_of.at(dir)
  if not store:exists() then
    return nil, dir .. ": contains no run", "missing"
  end
  while true do
    local report, message, code = store:read(each, { from = from })
    if not out.flush() then
      return 0
    elseif not report and code ~= "missing" then
      return nil, message, code, dir
    end
    if over or store:changed(60000) == nil then
      return over and 0 or require("skillrt.cli.exit_codes").interrupted
    end
  end
end

return {
  name = "log",
  summary = "Shows what happened in a run: its journal in readable form, with times",
  arguments = { require("skillrt.cli.selection").RUN },
  options = {
    { name = "json", help = "prints the journal's records, one JSON object per line, each with its run_id" },
    { name = "state", help = "shows which values of the state each step changed; with --json as changes" },
    { name = "follow", help = "keeps showing new records until the run ends" },
    { name = "verify", help = "checks every record and blob, and shows nothing else" },
  },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local out = sink()
    local show = (args.json and programs or people)(out, args.state)
    local report, message, code, damaged
    if args.follow then
      return follow(args.dir, show, out)
    elseif args.verify then
      report, message, code = verify(args.dir, out)
    else
      report, message, code, damaged = read(args.dir, show)
    end
    out.flush()
    if report or not out.open then
      return 0
    elseif damaged then
      return ending.damaged(message, code)
    end
    return nil, message, code
  end,
}
