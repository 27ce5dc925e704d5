-- load_yaml_spec.lua: YAML in its safe form, and front matter by the Agent Skills specification.
local findings = require "skillrt.document.findings"
local front_matter = require "skillrt.document.load.front_matter"
local json = require "skillrt.base.json"
local skill_md = require "skillrt.document.load.skill_md"
local yaml = require "skillrt.document.load.yaml"

local function refused(text, part, line, limits)
  local value, message, where = yaml.parse(text, limits)
  assert.is_nil(value, text)
  assert.truthy(message:find(part, 1, true), message)
  assert.equal(line, where, message)
end

describe("YAML", function()
  it("gives values by the rules of 1.2: no is a text, numbers are numbers", function()
    local value = yaml.parse "a: no\nb: 010\nc: 1.5e1\nd: .5\ne: 0x1F\nf: 1.2.3\ng: ~\nh: '1'\ni: true\nj: -3\nk: 0o17\n"
    assert.same({
      a = "no", b = 10, c = 15.0, d = 0.5, e = 31, f = "1.2.3", g = json.null, h = "1", i = true, j = -3, k = 15,
    }, value)
  end)

  it("keeps the line of every key and item", function()
    local _, lines = yaml.parse "a:\n  - x\n  - b: 1\n    c: 2\n"
    assert.same({ 1, 2, 3, 4 }, { lines.a, lines["a[1]"], lines["a[2].b"], lines["a[2].c"] })
  end)

  it("marks lists, so that an empty one stays one", function()
    local value = yaml.parse "tools: []\nempty: {}\n"
    assert.is_true(json.is_array(value.tools))
    assert.is_false(json.is_array(value.empty))
  end)

  it("gives null for an empty text", function()
    assert.equal(json.null, (yaml.parse ""))
    assert.equal(json.null, (yaml.parse "# nothing\n"))
  end)

  it("refuses tags, on values and on keys", function()
    refused("a: 1\nb: !!python/object:os.system x\n", "tags are not read", 2)
    refused("a: !ruby/object {}\n", "tags are not read", 1)
    refused("!!str a: 1\n", "tags are not read", 1)
  end)

  it("refuses a key twice, and says where the first is", function()
    refused("a: 1\nb: 2\na: 3\n", "key a occurs here a second time, the first is 2 lines above", 3)
  end)

  it("reads an alias as a copy, and bounds what aliases make", function()
    local value = yaml.parse "a: &x [1, 2]\nb: *x\n"
    assert.same({ 1, 2 }, value.b)
    assert.are_not.equal(value.a, value.b)
    local bomb = { "l0: &l0 [x, x, x, x, x, x, x, x, x, x]" }
    for i = 1, 6 do
      local below = ("*l%d, "):format(i - 1):rep(9) .. ("*l%d"):format(i - 1)
      bomb[#bomb + 1] = ("l%d: &l%d [%s]"):format(i, i, below)
    end
    refused(table.concat(bomb, "\n"), "holds more than 50000 values", 5)
    refused("a: &x 1\nb: [" .. ("*x, "):rep(70) .. "]\n", "more than 64 aliases", 2)
    refused("a: &x [*x]\n", "has no anchor before it", 1)
  end)

  it("bounds depth and size", function()
    refused(("["):rep(40) .. ("]"):rep(40), "more than 32 deep", 1)
    refused("a: 1", "at most 2 are read", 1, { max_bytes = 2 })
    refused("[1, 2, 3, 4]", "more than 3 values", 1, { max_nodes = 3 })
  end)

  it("refuses merge keys, second documents, keys that are no text, NUL bytes", function()
    refused("<<: 1\n", "merge keys", 1)
    refused("--- 1\n--- 2\n", "second document", 2)
    refused("? [a]\n: 1\n", "a key must be a plain text", 1)
    refused("a: 1\nb: \0\n", "NUL", 2)
  end)

  it("says where a text is no YAML", function()
    refused("a: 1\nb: c: d\n", "mapping values are not allowed", 2)
    refused("a: [1, 2\n", "is no YAML", 2)
  end)

  it("is loaded with the first text only", function()
    local probe = [[package.path="./lua/?.lua;./lua/?/init.lua;"..package.path require "skillrt.document.load.skill_md"
      assert(not package.loaded.yaml and not package.loaded.lyaml)]]
    local cpath = ("package.cpath=%q "):format(package.cpath)
    local pipe = assert(io.popen(("lua5.4 -e '%s' 2>&1"):format(cpath .. probe)))
    assert.equal("", pipe:read "a")
    pipe:close()
  end)
end)

local function front(text)
  local found = findings.new()
  return front_matter.read(text, "SKILL.md", found), found
end

describe("front matter", function()
  it("gives its fields, their lines in the file and the body", function()
    local read = front "---\nname: a\ndescription: >\n  two\n  lines\n---\n# T\nbody\n"
    assert.same({ name = "a", description = "two lines\n" }, read.fields)
    assert.same({ 2, 3 }, { read.lines.name, read.lines.description })
    assert.same({ "# T\nbody\n", 7 }, { read.body, read.body_line })
  end)

  it("is nothing where the first line is no ---", function()
    assert.is_nil((front "# T\n---\nname: a\n---\n"))
  end)

  it("that is never closed is an error", function()
    local read, found = front "---\nname: a\n"
    assert.is_nil(read)
    assert.same({ "error", 1 }, { found[1].level, found[1].line })
    assert.same({ "---\nname: a\n", 1 }, { front_matter.body "---\nname: a\n" })
  end)

  it("with a colon in a value is read line by line, and told", function()
    local read, found = front "---\nname: a\ndescription: Use when: it rains\nhint: [x] [y]\n---\n"
    assert.same({ name = "a", description = "Use when: it rains", hint = "[x] [y]" }, read.fields)
    assert.same({ "load.front-matter-yaml", "warning", 3 }, { found[1].code, found[1].level, found[1].line })
  end)

  it("with tags is not read in another way", function()
    local read, found = front "---\nname: !!js/function a\n---\n"
    assert.is_nil(read)
    assert.equal("error", found[1].level)
  end)
end)

local function codes(text, folder)
  local found = findings.new()
  local read = skill_md.read(text, "SKILL.md", folder, found)
  local out = {}
  for i, one in ipairs(found) do
    out[i] = one.code
  end
  return out, read, found
end

local function with(more)
  return "---\nname: demo\ndescription: Does it.\n" .. more .. "---\nbody\n"
end

describe("SKILL.md", function()
  it("by the specification has nothing to tell", function()
    local more = "license: MIT\ncompatibility: any\nmetadata: {a: b}\nallowed-tools: Read, Bash(git:*) Grep\n"
    local told, read = codes(with(more), "demo")
    assert.same({}, told)
    assert.same({ "demo", "Does it." }, { read.name, read.description })
    assert.same({ "Read", "Bash(git:*)", "Grep" }, read.allowed_tools)
  end)

  it("takes allowed-tools as a list too", function()
    local _, read = codes(with "allowed-tools: [Read, 'Bash(a b)']\n", "demo")
    assert.same({ "Read", "Bash(a b)" }, read.allowed_tools)
  end)

  it("tells a name that is none", function()
    for _, name in ipairs { "Demo", "a--b", "-a", "a-", "a_b", ("a"):rep(65), "'a b'" } do
      local told = codes("---\nname: " .. name .. "\ndescription: d\n---\n")
      assert.same({ "config.name" }, told, name)
    end
    assert.same({}, (codes("---\nname: " .. ("a"):rep(64) .. "\ndescription: d\n---\n")))
    assert.same({ "config.missing" }, (codes "---\ndescription: d\n---\n"))
    assert.same({ "config.type" }, (codes "---\nname: 7\ndescription: d\n---\n"))
  end)

  it("tells a name that differs from the folder's", function()
    assert.same({ "load.skill-folder" }, (codes(with "", "other")))
  end)

  it("counts characters of description and compatibility", function()
    local function of(description)
      return (codes("---\nname: demo\ndescription: " .. description .. "\n---\n"))
    end
    assert.same({}, of(("\u{5BA1}"):rep(1024)))
    assert.same({ "config.description" }, of(("a"):rep(1025)))
    assert.same({ "config.missing" }, of "''")
    assert.same({ "config.description" }, (codes(with("compatibility: " .. ("a"):rep(501) .. "\n"), "demo")))
    assert.same({ "config.type" }, (codes(with("compatibility: { recommended: [x] }\n", "demo")))) -- nothing to shorten
  end)

  it("tells keys that are not in the specification, as a note", function()
    local told, _, found = codes(with "context: fork\nwhatever: 1\ncolor: red\n", "demo")
    assert.same({ "config.unknown-key", "config.unread" }, told)
    assert.same({ "note", 5, "note", 4 }, { found[1].level, found[1].line, found[2].level, found[2].line })
  end)

  it("without front matter, or with a metadata that is a list, is an error", function()
    assert.same({ "load.front-matter" }, (codes "# Demo\n"))
    assert.same({ "config.type" }, (codes(with "metadata: [a]\n", "demo")))
  end)
end)
