-- regex_spec.lua: expressions of strangers are matched within two million steps, and no longer.
local regex = require "skillrt.core".regex

describe("a regular expression", function()
  it("says whether it is found, or that it would take too long to tell", function()
    local find = assert(regex "^(a+)+$") -- each further "a" doubles its steps where the text ends with "b"
    assert.is_true(find(("a"):rep(1000)))
    assert.is_false(find(("a"):rep(18) .. "b"))
    assert.is_nil(find(("a"):rep(21) .. "b"))
    assert.same({ nil, "missing closing parenthesis at 2" }, { regex "(a" })
  end)
end)
