-- cli/command/abort.lua: `skillrt abort DIR ...`: ends runs for good; undoes what they did, where their actions say
-- how.

local ending = require("skillrt.cli.ending")
local selection = require("skillrt.cli.selection")

return {
  name = "abort",
  drives = true,
  summary = "Aborts a paused or interrupted run and undoes its actions that can be undone, the last one first",
  arguments = { selection.ARGUMENT },
  options = ending.options(selection.options({})),
  ---@param args table
  ---@return integer code
  run = function(args)
    return selection.each(args, "abort", function(dir)
      return ending.go_on(dir, { abort = true }, args)
    end)
  end,
}
