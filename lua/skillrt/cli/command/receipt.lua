-- cli/command/receipt.lua: `skillrt receipt DIR`: what a run did, in statements that are signed.

local envelope = require("skillrt.cli.envelope")

return {
  name = "receipt",
  summary = "Writes a signed receipt of a run: one line for the run, and one for each call that left it",
  arguments = { require("skillrt.cli.selection").RUN },
  options = { envelope.option("the private Ed25519 key in PEM; your own is made where it is missing") },
  ---@param args table
  ---@return integer code
  run = function(args)
    local ending = require("skillrt.cli.ending")
    local list, message, code = require("skillrt.report.receipt").statements(args.dir)
    if not list then
      return ending.refused(message, code, nil, args.dir)
    end
    local key, text
    key, message = envelope.key(args.key, true)
    if key then
      text, message = envelope.seal(key, list)
    end
    if not text then
      return ending.refused(message, "invalid")
    end
    require("skillrt.report.output").write(text)
    return 0
  end,
}
