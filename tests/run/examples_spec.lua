-- examples_spec.lua: each example runs, prints what its README says, and leaves what it promises.

local pages = require "tests.support.pages"
local json = require "skillrt.base.json"

local build = os.getenv "SKILLRT_BUILD" or "build/release"
local program = ("NO_COLOR=1 timeout 120 %s/skillrt"):format(build)

-- The output that an example's README shows.
local function promised(name)
  for _, block in ipairs(pages.blocks(pages.read(("examples/%s/README.md"):format(name)))) do
    if block.info == "text output" then
      return block.text
    end
  end
end

local function run(name, work_dir, more)
  return pages.run(("%s examples/%s/skill.lua --work-dir '%s' %s"):format(program, name, work_dir, more or ""))
end

local function keeps_its_word(name, work_dir, more)
  local output, code = run(name, work_dir, more)
  assert(code == 0, ("examples/%s ended with %s:\n%s"):format(name, code, output))
  assert(pages.matches(output, promised(name)), ("examples/%s printed:\n%s"):format(name, output))
end

local function write(path, text)
  os.execute(("mkdir -p '%s'"):format(path:match "^(.*)/"))
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
end

describe("the example", function()
  it("demo keeps what was answered before a kill, is asked, is held by a budget, and ends", function()
    local folder <close> = pages.folder()
    local output, code = pages.run(("NO_COLOR=1 OUT='%s/demo' timeout 60 sh make/demo.sh %s"):format(folder.path, build))
    assert.equal(0, code, output)
    for _, line in ipairs { "2 answers reused, 0 calls repeated", "Let the judge decide?", "calls limit reached (2 of 2)" } do
      assert.truthy(output:find(line, 1, true), line .. "\n" .. output)
    end
    for _, run_of in ipairs { "plain", "workflow", "question", "budget" } do
      assert.equal("completed", json.decode(pages.read(("%s/demo/%s/state.json"):format(folder.path, run_of))).status)
    end
  end)

  it("hello greets and says goodbye", function()
    local folder <close> = pages.folder()
    keeps_its_word("hello", folder.path .. "/run")
  end)

  it("sequential runs its phases, two at once, and leaves one out (R30, R32)", function()
    local folder <close> = pages.folder()
    keeps_its_word("sequential", folder.path .. "/run")
    local summary = pages.read(folder.path .. "/run/summary.md")
    assert.has_match("7 lines that hold something, 95 words", summary, 1, true)
    local sha = pages.run "sha256sum examples/sequential/text.txt":match "^%x+"
    assert.has_match(sha, summary, 1, true)
    local books = json.decode(pages.read(folder.path .. "/run/execution-state.json"))
    assert.equal(4, #books.phases_completed)
    assert.equal("warn", books.phases_skipped[1].id)
  end)

  it("own_strategy packs by value and cost", function()
    local folder <close> = pages.folder()
    keeps_its_word("own_strategy", folder.path .. "/run")
    local state = json.decode(pages.read(folder.path .. "/run/state.json"))
    assert.same({ "lamp", "stove", "book", "chair" }, state.packed)
    run("own_strategy", folder.path .. "/other", "--strategy sequential")
    state = json.decode(pages.read(folder.path .. "/other/state.json"))
    assert.equal("tent", state.packed[1])
  end)

  it("machine goes through its states, with a plan or without, and fails by name where there is nothing (R117, R152)",
    function()
      local folder <close> = pages.folder()
      keeps_its_word("machine", folder.path .. "/run")
      assert.equal("- mend the fence\n- oil the door\n- water the beans\n", pages.read(folder.path .. "/run/todo.md"))
      local here = pages.run("pwd"):match "[^\n]*"
      local away = "cd '%s' && '%s/%s/skillrt' '%s/examples/machine/skill.lua' --quiet --work-dir away"
      assert.equal(0, select(2, pages.run(away:format(folder.path, here, build, here))))
      local none, code = run("machine", folder.path .. "/none", "--set target=examples/none")
      assert.equal(1, code)
      assert.has_match("failed (unrecoverable)", none, 1, true)
      run("machine", folder.path .. "/empty", "--set target=examples/machine")
      local state = json.decode(pages.read(folder.path .. "/empty/state.json"))
      assert.same({ "failed", "collecting_context" }, { state.status, state.state })
      assert.equal("edge_limit", state._skillrt.reason)
    end)

  it("review_machine reviews deeply what is of high risk, and reports in any case (R154, R203)", function()
    local folder <close> = pages.folder()
    local function way(name)
      local state, list = json.decode(pages.read(("%s/%s/state.json"):format(folder.path, name))), {}
      for i, one in ipairs(state.history) do
        list[i] = one.state
      end
      return table.concat(list, " ")
    end
    keeps_its_word("review_machine", folder.path .. "/run")
    assert.equal("initialized collecting_context analyzing deep_review generating_report completed", way "run")
    assert.has_match("2: security: runs a shell", pages.read(folder.path .. "/run/report.md"), 1, true)
    write(folder.path .. "/marked/a.lua", "return 1 -- FIXME\n")
    run("review_machine", folder.path .. "/low", ("--set target=%s/marked"):format(folder.path))
    assert.equal("initialized collecting_context analyzing generating_report completed", way "low")
    write(folder.path .. "/clean/a.lua", "return 1\n")
    run("review_machine", folder.path .. "/quick", ("--set target=%s/clean"):format(folder.path))
    assert.equal("initialized collecting_context quick_scan generating_report completed", way "quick")
    assert.has_match("1 files, 0 worth a look", pages.read(folder.path .. "/quick/report.md"), 1, true)
  end)

  it("http_agent and unit_tests pass their own tests, without an agent and a compiler (R152)", function()
    for name, count in pairs { http_agent = 3, unit_tests = 2 } do
      local output, code = pages.run(("%s test examples/%s/skill.lua"):format(program, name))
      assert.equal(0, code, output)
      assert.truthy(output:find(("%d successes / 0 failures / 0 errors"):format(count), 1, true), output)
    end
  end)

  it("http_agent comes back to a busy agent and reads its talk (R63, R64)", function()
    local folder <close> = pages.folder()
    local start = "%s/examples/http_agent/agent > '%s/url' 2>/dev/null & echo $!"
    local pid = assert(pages.run(start:format(build, folder.path)):match "%d+")
    local agent <close> = setmetatable({}, {
      __close = function()
        os.execute("kill " .. pid)
      end,
    })
    local url
    for _ = 1, 400 do
      url = pages.read(folder.path .. "/url"):match "%S+"
      if url then
        break
      end
      os.execute "sleep 0.05"
    end
    assert(url and agent, "the agent did not start")
    keeps_its_word("http_agent", folder.path .. "/run", "--set agent=" .. url)
    assert.has_match("written before anybody is told", pages.read(folder.path .. "/run/paragraph.md"), 1, true)
  end)
end)

-- A small tree in which each checker has something to find.
local function small_tree(folder)
  write(folder .. "/a.c", "int main(void) {\n  int *p = 0;\n  return *p; // TODO: check p\n}\n")
  write(folder .. "/b.lua", "local unused = 1\nlocal x = 2  \nreturn x\n")
  write(folder .. "/sub/c.lua", "return {\n")
  write(folder .. "/sub/long.lua", "local M = {}\nfunction M.long()\n" .. ("  print(1)\n"):rep(60) .. "end\nreturn M")
end

describe("the review", function()
  it("finds what each checker finds, and says where", function()
    local folder <close> = pages.folder()
    small_tree(folder.path .. "/tree")
    local output, code = run("review", folder.path .. "/run", ("--set dir=%s/tree --set batch=2"):format(folder.path))
    assert(code == 0, output)
    local report = pages.read(folder.path .. "/run/report.md")
    for _, line in ipairs {
      "**2 errors, 1 warning, 3 style, 1 note.**",
      "- `a.c:3` **error** Null pointer dereference: p (cppcheck nullPointer)",
      "- `sub/c.lua:2` **error** expected expression near \\<eof\\> (luacheck E011)",
      "- `b.lua:1` **warning** unused variable 'unused' (luacheck W211)",
      "- `b.lua:2` **style** blanks at the end of the line (own trailing-blank)",
      "- `sub/long.lua:2` **style** M.long has 62 lines, at most 50 (own long-function)",
      "- `sub/long.lua:64` **style** the last line has no end (own no-last-newline)",
      "- `a.c:3` **note** TODO: check p (own mark)",
      "## Skipped\n\nNothing.",
      "in 2 batches of files.",
    } do
      assert(report:find(line, 1, true), ("%q is not in the report:\n%s"):format(line, report))
    end
    local summary = json.decode(pages.read(folder.path .. "/run/context/summary.json"))
    assert.equal(2, summary.error)
    assert.equal(4, summary.files)
  end)

  it("repeats a check that met its deadline, with a longer one", function()
    local folder <close> = pages.folder()
    small_tree(folder.path .. "/tree")
    local output = run("review", folder.path .. "/run", ("--set dir=%s/tree --set deadline=0.001"):format(folder.path))
    assert.has_match("Retry: cppcheck: attempt 1 failed (timeout)", output, 1, true)
    local state = json.decode(pages.read(folder.path .. "/run/state.json"))
    assert.equal("completed", state.status)
    assert.is_true(state.retried["0001 cppcheck"].attempts >= 2)
    assert.equal(0, state.error_count)
    assert.has_match("Batch 0001 cppcheck took %d attempts", pages.read(folder.path .. "/run/report.md"))
  end)

  it("says which tool is missing and what it did not read", function()
    local folder <close> = pages.folder()
    small_tree(folder.path .. "/tree")
    write(folder.path .. "/bin/none", "")
    os.execute(("ln -s /bin/pwd '%s/bin/'"):format(folder.path))
    local command = "PATH='%s/bin' %s/skillrt examples/review/skill.lua --work-dir '%s/run' --set dir='%s/tree'"
    local output, code = pages.run(command:format(folder.path, build, folder.path, folder.path))
    assert(code == 0, output)
    local report = pages.read(folder.path .. "/run/report.md")
    assert.has_match("cppcheck is not installed: 1 file of C were read by the own checks only", report, 1, true)
    assert.has_match("luacheck is not installed: 3 files of Lua", report, 1, true)
    assert.has_match("**0 errors, 0 warnings, 3 style, 1 note.**", report, 1, true)
  end)

  it("takes files of any name and any bytes for data", function()
    local folder <close> = pages.folder()
    local tree = folder.path .. "/tree/"
    write(tree .. "-rf.lua", "local x = 1 -- TODO `|` <b>\xe4\xf6</b> [a](b)\n")
    write(tree .. "a $(touch pwned);.lua", "local x = 1 -- TODO " .. ("\u{e4}"):rep(300) .. "\n")
    write(tree .. "new\nline.lua", "return 1\n")
    write(tree .. "latin\xe4.c", "int x;\n")
    local output, code = run("review", folder.path .. "/run", ("--set dir='%s'"):format(tree))
    assert(code == 0, output)
    local report = pages.read(folder.path .. "/run/report.md")
    assert.has_match("- `-rf.lua:1` **warning** unused variable 'x' (luacheck W211)", report, 1, true)
    assert.has_match("TODO \\`\\|\\` \\<b\\>??\\</b\\> \\[a\\](b) (own mark)", report, 1, true)
    assert.has_match("- unusual names: 2 files", report, 1, true)
    assert.is_truthy(utf8.len(report))
    assert.is_nil(io.open(tree .. "pwned"))
  end)

  it("says what is wrong with a tree that holds nothing to review", function()
    local folder <close> = pages.folder()
    write(folder.path .. "/tree/notes.txt", "none\n")
    local output, code = run("review", folder.path .. "/run", ("--set dir=%s/tree"):format(folder.path))
    assert.is_true(code ~= 0)
    assert.has_match("holds no .c, .h or .lua file; give another --set dir=", output, 1, true)
  end)
end)
