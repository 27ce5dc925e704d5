-- files_spec.lua: tools for files stay below their folders, whatever a path says and whatever lies there.
require "tests.support.json_shim"
local F = require "tests.support.fake_ctx"
local R = require "tests.support.runs"
local store = require "skillrt.run.store"
local looking = require "skillrt.tool.looking"
local tool = require "skillrt.tool"

local base, task, ctx

local function sh(text)
  assert(os.execute(("cd '%s' && %s"):format(base, text)))
end

-- What a tool gives for arguments.
local function use(name, arguments, more)
  local definition = { roots = { read = { base .. "/in" }, write = { base .. "/out" } } }
  for key, value in pairs(more or {}) do definition[key] = value end
  local one = assert(tool.check(name, definition, "s"))
  return one:perform(ctx, arguments, task)
end

local SECRET <const> = "the secret of another folder"

-- Ways out of a folder, and things that are no regular files.
local function escapes(folder)
  return { "../secret", folder .. "/../secret", base .. "/secret", "/etc/passwd", folder .. "/link", folder .. "/up/secret",
    folder .. "/./../secret", "//" .. base .. "/secret", folder .. "/a/../../secret", folder .. "/abs/passwd", "", "\0", "a\0b",
    folder .. "/" .. ("x"):rep(300), ("d/"):rep(600) .. "x", folder .. "/fifo", folder .. "/device", "~/x", folder .. "-other/x",
    folder .. "\n/x", "/proc/self/root" .. base .. "/secret", "/dev/stdin", "/dev/fd/0" }
end

describe("tools for files", function()
  before_each(function()
    base = R.folder()
    R.write(base .. "/secret", SECRET)
    sh "mkdir in out in/d in-other out-other run skill; echo hello > in/a.txt; printf 'one\\ntwo two\\n' > out/b.txt; "
    sh "echo x > in-other/x; printf 'deep\\nneedle 7\\n' > in/d/deep.c; mkdir in/.git; echo needle > in/.git/x"
    for _, folder in ipairs { "in", "out" } do
      sh(("ln -s ../secret %s/link; ln -s .. %s/up; ln -s /etc %s/abs; mkfifo %s/fifo; ln -s /dev/zero %s/device"):format(
        folder, folder, folder, folder, folder))
    end
    ctx = F.performs(F.new {})
    task = F.task(ctx, { store = store.at(base .. "/run"), dir = base .. "/skill", project_dir = base })
  end)
  after_each(R.clean)

  it("read below what is declared, in parts", function()
    assert.equal("hello\n", (use("read_file", { path = "in/a.txt" })))
    assert.equal("hello\n", (use("read_file", { path = base .. "/in/a.txt" })))
    assert.matches("hell\n%(4 of 6 bytes; continue with offset 4%)", (use("read_file", { path = "in/a.txt", limit = 4 })))
    assert.equal("o\n", (use("read_file", { path = "in/a.txt", offset = 4 })))
    assert.equal("one\ntwo two\n", (use("read_file", { path = "out/b.txt" })))
    assert.matches("a%.txt %(6 bytes%)\n.*d/\n", (use("list_dir", { path = "in" })))
    assert.equal("d/deep.c", (use("glob", { pattern = "**/*.c", path = "in" })))
    assert.equal("d/deep.c:2:needle 7", (use("grep", { pattern = "needle \\d", path = "in" })))
    assert.equal("(nothing found)", (use("grep", { pattern = "needle", path = "in", files = "*.txt" })))
  end)

  it("read on in a file of any length, and say what is too long to be searched", function()
    sh "truncate -s 10G in/huge; printf 'the end \\303\\251' >> in/huge; (yes 'a line' | head -c 5000000; echo needle) > in/long"
    sh "printf '\\303\\251t' > in/letter"
    assert.equal("in/letter has no character that begins at this offset", (select(2, use("read_file", { path = "in/letter", offset = 1 }))))
    assert.matches("^\0+\n%(64 of 10737418250 bytes; continue with offset 64%)$", (use("read_file", { path = "in/huge", limit = 64 })))
    assert.equal("the end \u{E9}", (use("read_file", { path = "in/huge", offset = 10 << 30 })))
    assert.matches("^ end \n%(10737418248 of 10737418250 bytes; continue with offset 10737418248%)$",
      (use("read_file", { path = "in/huge", offset = (10 << 30) + 3, limit = 6 })))
    assert.equal("needle\n", (use("read_file", { path = "in/long", offset = 5000000 })))
    for offset, wanted in pairs { [(10 << 30) + 9] = "no character that begins", [11 << 30] = "has only 10737418250 bytes" } do
      local text, message = use("read_file", { path = "in/huge", offset = offset })
      assert.is_nil(text)
      assert.matches(wanted, message)
    end
    assert.equal("d/deep.c:2:needle 7\n(not searched: huge, long: more than 4194304 bytes, or not to be read)",
      (use("grep", { pattern = "needle", path = "in" })))
    assert.matches("^%(not searched: long: more than 4194304 bytes", (use("grep", { pattern = "needle", path = "in/long" })))
    R.write(base .. "/in/bad", "caf\xe9 au lait")
    assert.matches("in/bad is no text", select(2, use("read_file", { path = "in/bad" })))
  end)

  it("search for a bounded time, whatever the expression, and say so", function()
    R.write(base .. "/in/as", (("a"):rep(1999) .. "\n"):rep(20) .. ("a"):rep(1000) .. "b\n")
    local text, message = use("grep", { pattern = "^(a|aa)+$", path = "in/as" })
    assert.is_nil(text)
    assert.equal("the expression takes too long at as:21; write a simpler one", message)
    local most <const> = looking.SEARCH_SECONDS
    looking.SEARCH_SECONDS = 0
    text = use("grep", { pattern = "c", path = "in/as" })
    looking.SEARCH_SECONDS = most
    assert.equal("(and more: ask for less)", text)
    assert.matches("^as:21:a+b$", (use("grep", { pattern = "b", path = "in/as" })))
    assert.matches("missing closing parenthesis at 2$", select(2, use("grep", { pattern = "(b", path = "in/as" })))
  end)

  it("search neither .git nor what is no text, and find so many files and lines at most", function()
    R.write(base .. "/in/binary", "needle\0 9\n")
    assert.equal("d/deep.c:2:needle 7", (use("grep", { pattern = "needle", path = "in" })))
    sh "cd in && mkdir many && cd many && seq 600 | xargs touch && seq 600 > lines"
    for name, arguments in pairs { glob = { pattern = "*", path = "in/many" }, grep = { pattern = ".", path = "in/many" } } do
      local text = use(name, arguments)
      assert.matches("\n%(and more: ask for less%)$", text)
      assert.equal(500, select(2, text:gsub("\n", "")), name)
    end
    assert.matches("\n%.%.%. and 101 more$", (use("list_dir", { path = "in/many" })))
  end)

  it("read nothing outside: by links, .., absolute paths, FIFOs, devices", function()
    for _, path in ipairs(escapes "in") do
      for name, arguments in pairs { read_file = { path = path }, list_dir = { path = path },
        grep = { path = path, pattern = "secret|root|nobody" }, glob = { path = path, pattern = "**" } } do
        local text = use(name, arguments) or ""
        assert.is_nil(text:find(SECRET, 1, true), name .. " " .. path)
        assert.is_nil(text:find("root:", 1, true), name .. " " .. path)
        if name == "read_file" then assert.equal("", text, path) end
      end
    end
    for _, name in ipairs { "grep", "glob" } do -- what lies below is not left by a link either
      local text = use(name, { path = "in", pattern = name == "grep" and "secret|nobody" or "**" })
      assert.is_nil(text:find("secret", 1, true), text)
      assert.is_nil(text:find("passwd", 1, true), text)
    end
  end)

  it("write nothing outside, nothing through a link, no file of the run, nothing in .git", function()
    local paths = escapes "out"
    for _, path in ipairs { "in/a.txt", base .. "/in/new", base .. "/in-other/x", "out/up/x", "out/link", "out/.git/hooks/pre-commit",
      "out/fifo", "out/d/../../x", "out", "out/", "run/x" } do
      paths[#paths + 1] = path
    end
    sh "find . -type f -exec sha256sum {} + | sort > ../before"
    for _, path in ipairs(paths) do
      assert.is_nil((use("write_file", { path = path, content = "taken over" })), path)
      assert.is_nil((use("edit", { path = path, old = "e", new = "taken over", all = true })), path)
    end
    for path, why in pairs { ["/run"] = ": is a folder", ["/run/journal/x"] = ": is a file of the run itself" } do
      assert.same({ nil, base .. path .. why }, { use("write_file", { path = base .. path, content = "x" }, { roots = {} }) })
    end
    sh "find . -type f -exec sha256sum {} + | sort > ../after && cmp ../before ../after && rm ../before ../after"
  end)

  it("write into no .git, however a file system spells it; a name that only begins so is a name", function()
    local all = { roots = { write = { base .. "/out" } } }
    for _, name in ipairs { ".GIT", ".Git", ".git.", ".git ", ".git. .", "GIT~1", ".git::$INDEX_ALLOCATION", ".g\u{200C}it", "\u{FEFF}.git",
      ".gi\u{206B}t", "sub/.GIT", "sub\\.git" } do
      local text, message = use("write_file", { path = "out/" .. name .. "/hooks/pre-commit", content = "x" }, all)
      assert.is_nil(text, name)
      assert.matches("is in %.git", message, name)
    end
    for _, name in ipairs { ".gitignore", ".github/x.yml", "git/x", "a.git/x", "git~10" } do
      assert.matches("^written", (use("write_file", { path = "out/" .. name, content = "x" }, all)), name)
    end
  end)

  it("of two roots, one in the other, have the rights of the inner one, however the path or the root is spelled", function()
    for _, roots in ipairs { { write = { base }, read = { base .. "/in" } },
      { write = { base .. "//////////////" }, read = { base .. "/./in/" } } } do
      for _, path in ipairs { "in/new", base .. "/in/new", base .. "/./in/new", base .. "//in//new", "./in/./new",
        base .. "/in/./d/../new" } do
        assert.is_nil((use("write_file", { path = path, content = "x" }, { roots = roots })), path)
      end
      assert.is_false(R.exists(base .. "/in/new"))
      assert.matches("^written", (use("write_file", { path = "out/new", content = "x" }, { roots = roots })))
      roots = { read = { base .. "//////////////" }, write = { base .. "/in" } }
      assert.matches("^written", (use("write_file", { path = base .. "/./in/free", content = "x" }, { roots = roots })))
      assert.is_nil((use("write_file", { path = "out/other", content = "x" }, { roots = roots })))
    end
  end)

  it("write whole files, and edit what stands there once; modes stay", function()
    assert.equal("written: out/new/c.txt, 3 bytes", (use("write_file", { path = "out/new/c.txt", content = "abc" })))
    local one = assert(tool.check("edit", { roots = { write = { base .. "/out", "/elsewhere" } } }, "s"))
    assert.equal("out/new/c.txt", one:wrote(task, { path = base .. "/out/new/c.txt" }), "as people call it")
    assert.equal("/elsewhere/x", one:wrote(task, { path = "/elsewhere/x" }))
    assert.equal("abc", R.read(base .. "/out/new/c.txt"))
    sh "chmod 755 out/b.txt"
    assert.equal("edited: out/b.txt", (use("edit", { path = "out/b.txt", old = "one", new = "1" })))
    assert.equal("1\ntwo two\n", R.read(base .. "/out/b.txt"))
    sh "test $(stat -c %a out/b.txt) = 755 && test $(stat -c %a out/new/c.txt) != 600"
    assert.matches("more than once", select(2, use("edit", { path = "out/b.txt", old = "two", new = "2" })))
    assert.matches("is not in it", select(2, use("edit", { path = "out/b.txt", old = "three", new = "3" })))
    assert.equal("edited: out/b.txt", (use("edit", { path = "out/b.txt", old = "two", new = "2", all = true })))
    assert.equal("1\n2 2\n", R.read(base .. "/out/b.txt"))
    R.write(base .. "/out/b.txt", "--- x")
    assert.matches("more than once", select(2, use("edit", { path = "out/b.txt", old = "--", new = "+" })), "one in the other")
    assert.equal("edited: out/b.txt", (use("edit", { path = "out/b.txt", old = "--", new = "+", all = true })))
    assert.equal("+- x", R.read(base .. "/out/b.txt"))
  end)

  it("make an edit once, whenever they are asked again, and not over what somebody else wrote (the same after a crash)", function()
    local await, acts = ctx.await, {}
    ctx.await = function(request)
      acts[#acts + 1] = request
      return await(request)
    end
    use("edit", { path = "out/b.txt", old = "one", new = "one one" })
    assert.is_true(acts[1].idempotent)
    assert.equal("edited: out/b.txt", acts[1].run())
    assert.equal("one one\ntwo two\n", R.read(base .. "/out/b.txt"))
    R.write(base .. "/out/b.txt", "one\nby hand\n")
    assert.matches("was changed by somebody else", select(2, acts[1].run()))
    assert.equal("one\nby hand\n", R.read(base .. "/out/b.txt"))
  end)

  it("leave the run's own files alone, by whatever way they are named", function()
    local all = { roots = { write = { base } } }
    sh "ln -s . same"
    for _, path in ipairs { "run/state.json", "run/journal/00000001.sj", base .. "/run/run.lock" } do
      assert.is_nil((use("write_file", { path = path, content = "x" }, all)), path)
    end
    assert.matches("file of the run itself", select(2, use("write_file", { path = base .. "/same/run/state.json", content = "x" },
      { roots = { write = { base .. "/same" } } })))
    assert.matches("written", (use("write_file", { path = base .. "/run/notes.md", content = "x" }, { roots = {} })))
  end)

  it("are not led astray by what is put in a path's place between a look and a use", function()
    local one = assert(tool.check("read_file", { roots = { read = { base .. "/in" } } }, "s"))
    assert(os.execute(("cd '%s/in' && mkdir r r2 && echo mine > r/f && ln -s .. r3 && cp ../secret ../f"):format(base)))
    local swap = assert(io.popen(("cd '%s/in' && for i in $(seq 400); do mv r r4; mv r3 r; mv r r3; mv r4 r; done"):format(
      base)))
    local seen = {}
    for _ = 1, 3000 do
      local text = one:perform(ctx, { path = "in/r/f" }, task)
      seen[text or "nothing"] = true
    end
    swap:close()
    seen["mine\n"], seen.nothing = nil, nil
    assert.same({}, seen)
  end)
end)
