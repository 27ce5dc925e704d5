-- cli/command/receipt.lua: `skillrt receipt DIR`: what a run did, as signed statements.

local envelope = require("skillrt.cli.envelope")

return {
  name = "receipt",
  summary = "Writes a signed receipt of a run: one line for the run, and one for each call that left it",
  arguments = { require("skillrt.cli.selection").RUN },
  options = { envelope.option("the private Ed25519 key in PEM; your own is made where it is missing") },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local text, message, code = envelope.receipt(args.dir, args.key)
    if not text then
      return nil, message, code
    end
    require("skillrt.report.output").write(text)
    return 0
  end,
}
