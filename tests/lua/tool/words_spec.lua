-- words_spec.lua: what becomes of arguments in the words of a command, of patterns and of expressions.
require "tests.support.json_shim"
local json = require "skillrt.base.json"
local regex = require "skillrt.base.regex"
local tool = require "skillrt.tool"
local wildcard = require "skillrt.base.wildcard"
local words = require "skillrt.tool.command"

describe("the words of a command", function()
  it("hold each argument as one word, whatever is in it", function()
    local argv = assert(words.filled({ "cc", "-o{out}", "--", "{files}", "{missing}", "{{out}}" },
      { out = "a b; rm -rf /", files = json.array { "-x.c", "$(id)", "`id`", "a\nb" } }))
    assert.same({ "cc", "-oa b; rm -rf /", "--", "-x.c", "$(id)", "`id`", "a\nb", "{out}" }, argv)
  end)

  it("become no option by an argument, and hold no NUL byte", function()
    for _, value in ipairs { "-rf", "--output=/etc/passwd", "-", -5 } do
      local argv, message = words.filled({ "ls", "{path}" }, { path = value })
      assert.is_nil(argv)
      assert.matches("begins with %-: it would be an option of ls", message)
      assert.is_nil((words.filled({ "ls", "{paths}" }, { paths = json.array { "a", tostring(value) } })))
    end
    assert.is_nil((words.filled({ "ls", "{path}" }, { path = "a\0b" })))
  end)

  it("come with what is read from standard input, which is nothing where an argument of it was not given", function()
    local one = assert(tool.check("t", { description = "d", command = { "cat" }, stdin = "all: {text}",
      input = { type = "object", properties = { text = { type = "string" } } } }, "s"))
    local sent = {}
    local ctx = { await = function(request)
      sent[#sent + 1] = request.stdin
      return { status = "ok", code = 0 }
    end }
    one:perform(ctx, { text = "{text}" })
    one:perform(ctx, {})
    assert.same({ "all: {text}", "" }, sent)
  end)

  it("are checked when the skill is: no argument chooses the program, and each is in the schema", function()
    local input = { type = "object", properties = { path = { type = "string" } } }
    local function problem(command)
      return select(2, tool.check("t", { description = "d", input = input, command = command }, "s"))
    end
    assert.is_nil(problem { "ls", "{path}" })
    assert.matches("no argument chooses it", problem { "{path}" })
    assert.matches("{pth} in command is not in the properties of input", problem { "ls", "{pth}" })
  end)
end)

describe("a pattern for paths", function()
  it("fits by names and folders", function()
    local function fits(pattern, path) return wildcard.compile(pattern)(path) end
    for _, case in ipairs { { "*.c", "a.c", true }, { "*.c", "d/a.c", false }, { "**/*.c", "a.c", true },
      { "**/*.c", "d/e/a.c", true }, { "src/**", "src/a/b", true }, { "src/**/t?.{c,h}", "src/x/t1.h", true },
      { "src/**/t?.{c,h}", "src/x/t10.h", false }, { "a*b*c", "a1b2c", true }, { "a*b*c", "a1b2", false },
      { "*.c", "latin\xE4.c", true }, { "lat?n?.c", "latin\xE4.c", true }, { "a?b", "a\u{E4}b", true },
      { "a?b", "a\u{E4}\u{E4}b", false }, { "a?b", "a/b", false }, { "n*e.lua", "new\nline.lua", true } } do
      assert.equal(case[3], fits(case[1], case[2]), case[1] .. " " .. case[2])
    end
  end)

  it("takes time that grows with the texts alone", function()
    local begun = os.clock()
    assert.is_false(wildcard.compile(("*a"):rep(500) .. "b")(("a"):rep(255)))
    assert.is_false(wildcard.compile(("**/"):rep(300) .. "b")(("a/"):rep(60) .. "c"))
    assert.is_true(os.clock() - begun < 1)
  end)
end)

describe("an expression", function()
  it("is found as people expect", function()
    for _, case in ipairs { { "a.c", "xabcx", true }, { "a.c", "a\nc", false }, { "^ab", "xab", false }, { "ab$", "xab", true },
      { "function\\s+\\w+", "local function  foo()", true }, { "(a|b)*c", "ababc", true }, { "^(a|b)*$", "abxab", false },
      { "[a-c]+[^d]", "bd", false }, { "\\bfoo\\b", "a foo b", true }, { "\\bfoo\\b", "afoo b", false }, { "a{2,3}b", "ab", false },
      { "a{2,3}b", "aab", true }, { "^a{2}$", "aaa", false }, { "[]a]", "]", true }, { "", "x", true }, { "(?:ab)+$", "abab", true },
      { "\\.", "a", false } } do
      assert.equal(case[3], assert(regex.compile(case[1]))(case[2]), case[1] .. " " .. case[2])
    end
    assert.is_true(regex.compile("(?i)[A-C]x")("bX"))
    assert.is_true(regex.compile("^.a$")("\u{E9}a"))
    assert.is_false(regex.compile("a$")("a\n"))
    for _, bad in ipairs { "(a", "*a", "a)", "[a", "[z-a]", "a{3,1}", "\\" } do
      assert.is_nil((regex.compile(bad)), bad)
    end
  end)

  it("is refused with the place of what is wrong, and gives up what takes too long to tell", function()
    local found, message = regex.compile "ab[z-a]"
    assert.is_nil(found)
    assert.matches("range out of order", message)
    assert.matches(" at 5$", message)
    local begun = os.clock()
    assert.is_nil(regex.compile "^(a|aa)+$" (("a"):rep(5000) .. "b"))
    assert.is_false(regex.compile "(a*)*(a*)*(a|aa)+b" (("a"):rep(5000)))
    assert.is_nil((regex.compile(("((a{100}){100}){100}"))))
    assert.is_nil((regex.compile(("("):rep(100000))))
    assert.is_true(os.clock() - begun < 2)
    assert.is_false(regex.compile "." "\xFF")
  end)
end)
