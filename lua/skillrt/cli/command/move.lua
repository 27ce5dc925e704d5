-- cli/command/move.lua: `skillrt move FROM TO`: moves a run into a database, or out of one.

local child = require("skillrt.run.call.kind.child")
local core = require("skillrt.core")
local look = require("skillrt.run.look")
local output = require("skillrt.report.output")
local record = require("skillrt.base.record")
local store_of = require("skillrt.run.store")
local text_of = require("skillrt.base.terminal_text")

-- The digests of the blobs that its records name.
local function digests_of(place)
  local list, seen, wishes = {}, {}, { whole = true }
  local report, message, code = store_of.at(place):read(function(payload)
    local function add(digest)
      if not seen[digest] then
        seen[digest], list[#list + 1] = true, digest
      end
      return "null"
    end
    local entry = record.decode(payload, add)
    for _, digest in pairs(entry and entry.submitted and entry.submitted.files or {}) do
      add(digest)
    end
  end, wishes)
  return report and list, message, code, report and report.run_id
end

return {
  name = "move",
  summary = "Moves a run from a directory into a PostgreSQL database, or from one into a directory",
  description = "The journal is copied to the byte, with its large values. Afterwards "
    .. "the run is resumed by its new place alone. Files that its steps wrote stay where they are.",
  arguments = {
    { name = "FROM", help = "the run: its directory, or postgres://USER@HOST/DATABASE/RUN" },
    { name = "TO", help = "where it goes: a directory without a run, or postgres://USER@HOST/DATABASE, under its id, "
      .. "or DATABASE/NAME" },
  },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local from, to, ok = args.from, args.to, nil
    local digests, message, code, run_id = digests_of(from)
    local before = digests and look.books(from)
    if before and not look.has_ended(before) and (before.child_of or child.open(before)[1]) then
      return nil, from .. ": waits for its child, or its parent for it, where both are; move it once it has ended",
        "invalid", from
    elseif digests then
      to = store_of.absolute(to, run_id)
      ok, message, code = core.move(from, to, digests)
    end
    if not ok then
      return nil, message, code, from
    end
    local books = look.books(to)
    local place = text_of.escape(text_of.shell(to))
    output.write(("%s is now %s\n"):format(text_of.escape(from), place))
    if books and books.status ~= "completed" then
      output.say("info", ("next: skillrt resume %s"):format(place))
    end
    return 0
  end,
}
