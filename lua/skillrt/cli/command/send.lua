-- cli/command/send.lua: `skillrt send [DIR] NAME [JSON]`: sends an event to a run; one waiting step receives it,
-- once.

-- The event; or nil and what is wrong with it.
local function event_of(args)
  local words, json = args.dir, require("skillrt.base.json")
  local problem = require("skillrt.base.names").problem_of_event(words[1])
  if problem or #words > 2 then
    return nil, problem or "too many words; quote JSON of several words: '{\"a\": 1}'"
  end
  local event = { event = words[1], id = args.id }
  if words[2] then
    local value, why = json.decode(words[2])
    if value == nil then
      return nil, ("%s: %s; write a text in double quotes: '\"text\"'"):format(
        require("skillrt.base.names").show(words[2]), why)
    end
    event.value = value
  end
  return event
end

return {
  name = "send",
  summary = "Sends an event to a run; one waiting step receives it, once",
  description = "The event stays in the run's inbox until a process takes it.",
  arguments = {
    { name = "DIR", many = true, optional = true, usage = "[DIR] NAME [JSON]",
      help = "DIR: the run; default: the project's last run. NAME: the event's name; JSON: its value (default: true)" },
  },
  options = { { name = "id", value = "ID", help = "the event's id; of several with one id a run takes one" } },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local store_of = require("skillrt.run.store")
    local dir, books, message, code
    args.dir = args.dir or {}
    local is_value = args.dir[2] and require("skillrt.base.json").decode(args.dir[2]) ~= nil
    if args.dir[3] or args.dir[2] and not is_value or args.dir[1] and store_of.at(args.dir[1]):exists() then
      dir = table.remove(args.dir, 1)
    else
      dir, message, code = require("skillrt.cli.selection").last()
    end
    if not args.dir[1] then
      return nil, "name the event: skillrt send DIR NAME", "usage"
    end
    if dir then
      books, message, code = require("skillrt.run.look").books(dir)
    end
    if not books then
      return nil, message, code, dir
    elseif require("skillrt.run.look").has_ended(books) then
      return nil, ("%s: the run is %s and accepts no more events"):format(dir, books.status), "invalid"
    end
    local event, why = event_of(args)
    if not event then
      return nil, why, "invalid"
    end
    local store = store_of.at(dir)
    local name, problem = store:put(event)
    if not name then
      return nil, problem, "system"
    end
    if not store:holder() and store:fate(name) == "waits" then -- else a process took it, and may have ended
      local text_of = require("skillrt.base.terminal_text")
      require("skillrt.report.output").say("info",
        ("next: skillrt resume %s   (takes it)"):format(text_of.escape(text_of.shell(dir))))
    end
    return 0
  end,
}
