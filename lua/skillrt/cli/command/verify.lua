-- cli/command/verify.lua: `skillrt verify RECEIPT [DIR]`: whether a receipt is unchanged since it was signed, and
-- agrees with the run's journal.

local envelope = require("skillrt.cli.envelope")

return {
  name = "verify",
  summary = "Verifies a receipt, and that a run's journal and outputs are those that it states",
  arguments = { { name = "RECEIPT", help = "the file with the receipt" },
    { name = "DIR", optional = true, help = "the directory of the run; without it only signatures are verified" } },
  options = { envelope.option("the Ed25519 key in PEM of whoever signed, public or private") },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local output = require("skillrt.report.output")
    local there, missing = require("skillrt.base.files").stat(args.receipt)
    if not there then
      return nil, missing, "missing"
    end
    local list, run, code = envelope.open(args.receipt, args.key)
    if not list then
      return nil, run, code
    end
    local same, message
    if args.dir then
      same, message, code = require("skillrt.report.receipt").statements(args.dir, run.last)
      if not same then
        return nil, message, code
      end
    end
    for i, body in ipairs(same or {}) do
      if body ~= list[i] then
        return nil, ("%s: line %d does not match the run in %s (an output file that was "
          .. "changed counts, too)"):format(args.receipt, i, args.dir), "corrupt"
      end
    end
    output.write(("%d valid statement%s: run %s, %s, up to record %d%s\n"):format(#list, #list == 1 and "" or "s",
      run.run, run.status, run.last, args.dir and "" or "; not compared with a journal"))
    return 0
  end,
}
