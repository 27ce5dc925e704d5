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

local UNFINISHED <const> = "its move to %s is not finished"

-- Finishes a move that was cut short: the place of the run; false: it had not arrived, and is in its old place again.
local function finish(from, to, left)
  local place = store_of.absolute(to, left.run_id)
  if store_of.everywhere(place) ~= left.known_as then
    return nil, from .. ": " .. UNFINISHED:format(left.known_as), "invalid"
  end
  local arrived, message, code = core.settle(from, place, false)
  return arrived and place or arrived, message, code
end

-- Undoes one: the run is in its old place again.
local function undo(from, left)
  local arrived, message, code = core.settle(from, store_of.from_here(left.known_as), true)
  if arrived then
    return nil, ("%s: the run has arrived at %s"):format(from, left.known_as), "invalid"
  end
  return arrived == false and from or nil, message, code
end

local function move(from, to)
  local digests, message, code, run_id = digests_of(from)
  local before = digests and look.books(from)
  if not digests then
    return nil, message, code
  elseif before and not look.has_ended(before) and (before.child_of or child.open(before)[1]) then
    return nil, from .. ": waits for its child, or its parent for it, where both are; move it once it has ended",
      "invalid"
  end
  local place = store_of.absolute(to, run_id)
  local ok, why, cause = core.move(from, place, digests, store_of.everywhere(place))
  local left = not ok and core.departed(from)
  if left and not left.ended then
    why = why .. "; " .. UNFINISHED:format(left.known_as)
  end
  return ok and place or nil, why, cause
end

return {
  name = "move",
  summary = "Moves a run from a directory into a PostgreSQL database, or from one into a directory",
  description = "The journal is copied to the byte, with its large values. Afterwards "
    .. "the run is resumed by its new place alone. Files that its steps wrote stay where they are. "
    .. "A move that was not finished is finished by the same command; FROM FROM undoes it, unless the run has arrived.",
  arguments = {
    { name = "FROM", help = "the run: its directory, or postgres://USER@HOST/DATABASE/RUN" },
    { name = "TO", help = "where it goes: a directory without a run, or postgres://USER@HOST/DATABASE, under its id, "
      .. "or DATABASE/NAME" },
  },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local from, to, place = args.from, args.to, false
    local left, message, code = core.departed(from)
    if left == nil then
      return nil, message, code, from
    elseif left and not left.ended and to == from then
      place, message, code = undo(from, left)
    elseif left and not left.ended then
      place, message, code = finish(from, to, left)
    end
    if place == false then
      place, message, code = move(from, to)
    end
    if not place then
      return nil, message, code, from
    elseif place == from then
      output.write(("%s contains its run again\n"):format(text_of.escape(from)))
      return 0
    end
    local books, shown = look.books(place), text_of.escape(text_of.shell(place))
    output.write(("%s is now %s\n"):format(text_of.escape(from), shown))
    if books and books.status ~= "completed" then
      output.say("info", ("next: skillrt resume %s"):format(shown))
    end
    return 0
  end,
}
