-- cli/command/test.lua: `skillrt test SKILL`: runs a skill's own tests, without a key and without a network.

return {
  name = "test",
  summary = "Runs the tests of a skill: with stubs for all that it calls, no key, no network, no waiting",
  description = "Specs are the files `*_spec.lua` in the skill's folder and its tests/; for a script X.lua only those "
    .. "whose name begins with X. They are written as for busted; see docs/write/testing.md. Specs run with your full "
    .. "permissions. Exit code 0: all passed, 1: some failed, 2: there are none.",
  own_codes = true,
  arguments = {
    { name = "SKILL", is_skill = "first",
      help = "a script, a skill's folder or configuration, a workflow script (.js)" },
    { name = "SPEC", help = "runs these files only", many = true, optional = true },
  },
  options = {
    { name = "filter", value = "PATTERN", help = "runs only tests whose full name matches a Lua pattern" },
    { name = "output", value = "FORM", choices = { "plain", "junit" }, help = "plain (the default) or junit" },
    { name = "timeout", value = "SECONDS", help = "the most seconds per test; default: 10" },
    require("skillrt.cli.trust").OPTION,
  },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    require("skillrt.base.fake_clock") -- before any module that reads the time
    local runner = require("skillrt.test.runner")
    local seconds = tonumber(args.timeout or 10)
    if not seconds or seconds <= 0 or seconds > 86400 then
      return nil, "--timeout: must be seconds above 0, not " .. tostring(args.timeout), "invalid"
    elseif args.filter and not pcall(string.find, "", args.filter) then
      return nil, "--filter: not a valid pattern: " .. args.filter, "invalid"
    end
    local files = require("skillrt.base.files")
    local _, missing = files.stat(args.skill)
    if missing then
      return nil, missing, "missing"
    end
    local specs = args.spec and #args.spec > 0 and args.spec or runner.find(args.skill)
    if not specs[1] then
      return nil, ("%s: has no tests; write NAME_spec.lua next to it or in tests/ (docs/write/testing.md)")
        :format(args.skill), "missing"
    end
    local ok, message, code = require("skillrt.document.gate").pass(args.skill, nil, nil, { specs = specs })
    if not ok then
      return nil, message, code
    end
    local counts = runner.run(args.skill, specs, { seconds = seconds, filter = args.filter,
      report = require("skillrt.test.output")[args.output or "plain"]() })
    local codes = require("skillrt.cli.exit_codes")
    return counts.failure + counts.error > 0 and codes.failed or codes.completed
  end,
}
