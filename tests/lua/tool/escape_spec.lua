-- escape_spec.lua: ways out of the folders of tools that files_spec.lua does not try: what is put in a path's place
-- between a look and a use, names that are one file, kinds of files, mounts of the process, words of programs.
require "tests.support.json_shim"
local F = require "tests.support.fake_ctx"
local R = require "tests.support.runs"
local store = require "skillrt.run.store"
local json = require "skillrt.base.json"
local tool = require "skillrt.tool"

local base, task, ctx

local function sh(text)
  assert(os.execute(("cd '%s' && %s"):format(base, text)))
end

local function made(name, more)
  local definition = { roots = { read = { base .. "/in" }, write = { base .. "/out" } } }
  for key, value in pairs(more or {}) do definition[key] = value end
  return assert(tool.check(name, definition, "s"))
end

local function use(name, arguments)
  return made(name):perform(ctx, arguments, task)
end

-- While a folder is a link out of its root every second moment.
local function while_swapped(folder, fn)
  local swap = assert(io.popen(("cd '%s/%s' && for i in $(seq 150); do mv r r4; mv r3 r; mv r r3; mv r4 r; done"):format(base,
    folder)))
  local begun = os.clock()
  repeat fn() until os.clock() - begun > 0.7
  swap:close()
end

describe("no tool leaves its folders", function()
  before_each(function()
    base = R.folder()
    sh "mkdir -p in/r out/r outside run skill && echo the-secret > outside/f && echo mine > in/r/f && echo mine > out/r/f"
    sh "ln -s ../outside in/r3 && ln -s ../outside out/r3"
    ctx = F.performs(F.new {})
    task = F.task(ctx, { store = store.at(base .. "/run"), dir = base .. "/skill", project_dir = base })
  end)
  after_each(R.clean)

  it("where a folder on the way becomes a link while it is written: nothing lands elsewhere", function()
    local written, n = 0, 0
    while_swapped("out", function()
      n = n + 1
      written = written + (use("write_file", { path = "out/r/f", content = "taken over " .. n }) and 1 or 0)
      use("write_file", { path = ("out/r/new%d/f"):format(n % 50), content = "taken over" })
      use("edit", { path = "out/r/f", old = "taken", new = "taken" .. n })
    end)
    assert.is_true(written > 10, written)
    sh "test \"$(ls outside)\" = f && test \"$(cat outside/f)\" = the-secret"
  end)

  it("where it does while it is listed, searched or read", function()
    local seen = 0
    while_swapped("in", function()
      for name, arguments in pairs { list_dir = { path = "in/r" }, grep = { path = "in", pattern = "." },
        glob = { path = "in", pattern = "**" }, read_file = { path = "in/r/f" } } do
        local text = use(name, arguments) or ""
        seen = seen + (text:find "mine" and 1 or 0)
        assert.is_nil(text:find("the-secret", 1, true), name)
      end
    end)
    assert.is_true(seen > 10, seen)
  end)

  it("where a file has a second name outside: it is replaced, and the other stays what it was", function()
    sh "ln outside/f out/hard"
    assert.truthy(use("write_file", { path = "out/hard", content = "changed" }))
    sh "test \"$(cat outside/f)\" = the-secret && test \"$(cat out/hard)\" = changed"
    sh "ln -f outside/f out/hard"
    assert.truthy(use("edit", { path = "out/hard", old = "the", new = "a" }))
    sh "test \"$(cat outside/f)\" = the-secret"
  end)

  it("by what the process has open, its roots and folders, by links to any of these", function()
    sh "ln -s /proc/self/cwd in/cwd; ln -s /proc/self/root in/root; ln -s /proc/self/fd in/fd; ln -s /dev/fd/0 in/stdin"
    sh "cp -P in/cwd in/root in/fd out/"
    for _, path in ipairs { "in/cwd/README.md", "in/root/etc/passwd", "in/root" .. base .. "/outside/f", "in/fd/0", "in/stdin",
      "in/fd", "in/cwd" } do
      assert.is_nil((use("read_file", { path = path })), path)
      assert.is_nil((use("list_dir", { path = path })), path)
    end
    for _, path in ipairs { "out/cwd/made-by-a-tool", "out/root" .. base .. "/outside/f", "out/fd/1" } do
      assert.is_nil((use("write_file", { path = path, content = "taken over" })), path)
    end
    assert.is_false(R.exists "made-by-a-tool")
    sh "test \"$(cat outside/f)\" = the-secret"
  end)

  it("by names that look like another: bytes that are no text, dots, blanks, backslashes, cases, long ones", function()
    for _, name in ipairs { "..\\outside\\f", "out/..%2foutside/f", "out/\u{2025}/outside/f", "out/.\u{2024}/outside/f", "OUT/../outside/f",
      "out/r/.. /../outside/f", "out/... /f", "\xC0\xAE\xC0\xAE/outside/f", "out//../outside/f", "./out/./../outside/f", ".", "..",
      "/", "//", "out/" .. ("a/"):rep(3000), "out/" .. ("b"):rep(5000), "\n", " ", "~root/f", "file:///etc/passwd", "-", "--help" } do
      use("write_file", { path = name, content = "taken over" })
      use("edit", { path = name, old = "the", new = "taken over" })
      local text = use("read_file", { path = name }) or ""
      assert.is_nil(text:find("the-secret", 1, true), name)
    end
    sh "test \"$(cat outside/f)\" = the-secret && test \"$(ls | tr '\\n' ' ')\" = 'in out outside run skill '"
  end)

  it("where words of a program come from the model: each is one word behind its own, and none chooses the program", function()
    local asked
    ctx.await = function(request)
      asked = request
      return { status = "ok", code = 0, stdout = "ok", stderr = "" }
    end
    local input = { type = "object", properties = { path = { type = "string" }, list = { type = "array", items = { type = "string" } } } }
    local show = assert(tool.check("show", { description = "x", input = input, command = { "show", "{path}", "--", "{list}" } }, "s"))
    for _, word in ipairs { "a b", "$(touch x)", "`x`", "a;b", "a|b", "a&b", "a>b", "*", "?", "\n-rf", "'\"", "\\",
      "a\tb", "~", "=x", "@f", "#" } do
      assert.same({ "ok" }, { show:perform(ctx, { path = word, list = json.array { "-x", word } }, task) })
      assert.same({ "show", word, "--", "-x", word }, { table.unpack(asked.argv) })
    end
    for _, word in ipairs { "-", "-x", "--x=y", "\0", "a\0b" } do
      asked = nil
      assert.is_nil((show:perform(ctx, { path = word, list = json.array {} }, task)))
      assert.is_nil(asked, word)
    end
    local run = assert(tool.check("run", { allow = { { "cc", "-c", "*" }, { "git", "log", "..." } } }, "s"))
    for _, argv in ipairs { { "cc", "-c", "-o" }, { "cc", "-c", "a", "b" }, { "cc", "a" }, { "/usr/bin/cc", "-c", "a" }, { "git", "push" },
      { "git", "-c", "x=y", "log" }, { "sh", "-c", "git log" }, { "CC", "-c", "a" }, { "cc\0", "-c", "a" }, { " cc", "-c", "a" },
      { "cc", "-c", "a\0b" }, { "env", "cc", "-c", "a" }, {} } do
      asked = nil
      local text = run:perform(ctx, { argv = json.array(argv) }, task)
      assert.is_nil(text, table.concat(argv, " "))
      assert.is_nil(asked)
    end
    assert.same("ok", run:perform(ctx, { argv = json.array { "git", "log", "-x" } }, task))
  end)
end)
