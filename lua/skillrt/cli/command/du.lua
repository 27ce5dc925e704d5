-- cli/command/du.lua: `skillrt du [FOLDER ...]`: how much disk space runs use.

local output = require("skillrt.report.output")
local selection = require("skillrt.cli.selection")
local text_of = require("skillrt.base.terminal_text")

local function bytes(count)
  return count < 10000 and ("%d B"):format(count) or count < 10000000 and ("%d kB"):format(count // 1000)
    or ("%.1f MB"):format(count / 1e6)
end

return {
  name = "du",
  summary = "Shows what the runs of a folder take on the disk: journal, large values, all other files",
  arguments = { selection.FOLDER },
  options = table.move(selection.FILTERS, 1, #selection.FILTERS, 2, { { name = "json",
    help = "prints one JSON object per line" } }),
  ---@param args table
  ---@return integer code
  run = function(args)
    local all, count, unknown = 0, 0, nil
    local code = selection.chosen(args, function(one)
      local sizes, message = require("skillrt.run.store").at(one.dir):sizes()
      if not sizes then
        unknown = message
        return false
      end
      local whole = sizes.journal + sizes.blobs + sizes.others
      all, count = all + whole, count + 1
      if args.json then
        sizes.work_dir = one.dir
        output.write_json(sizes)
      else
        output.write(("%9s  %s  (journal %s, large values %s)\n"):format(bytes(whole), text_of.escape(one.dir),
          bytes(sizes.journal), bytes(sizes.blobs)))
      end
    end)
    if unknown then
      return nil, unknown, "invalid"
    elseif code == 0 and not args.json then
      output.write(("%9s  total, %d %s\n"):format(bytes(all), count, count == 1 and "run" or "runs"))
    end
    return code
  end,
}
