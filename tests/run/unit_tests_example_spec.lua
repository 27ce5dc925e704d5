-- unit_tests_example_spec.lua: examples/unit_tests: tests are written, compiled, run and repaired, in phases with a tool
-- set each; by the stand-in, by a model, killed in the middle, and where repairs end.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local pages = require "tests.support.pages"
local wires = require "tests.support.wires"

local here = pages.run "pwd":match "[^\n]*"
local build = os.getenv "SKILLRT_BUILD" or "build/release"
local SKILL <const> = "examples/unit_tests/skill.lua"

local function skillrt(words, environment)
  return pages.run(("cd '%s' && NO_COLOR=1 %s timeout 60 %s/skillrt %s"):format(here, environment or "", build, words))
end

-- The phases of a run as its journal has them: by the set that each step began with.
local function phases(dir)
  local list = {}
  for _, record in ipairs(R.records(dir, "start")) do
    list[#list + 1] = record.tool_set
  end
  return table.concat(list, " ")
end

local function state(dir)
  return R.json(dir .. "/state.json")
end

describe("the example unit_tests", function()
  local dir
  before_each(function() dir = R.folder() .. "/run" end)
  after_each(R.clean)

  it("does not compile at first, fails then, and passes after the second repair (R107, R109)", function()
    local promised
    for _, block in ipairs(pages.blocks(pages.read "examples/unit_tests/README.md")) do
      promised = block.info == "text output" and block.text or promised
    end
    local output, code = skillrt(("%s --work-dir '%s'"):format(SKILL, dir))
    assert.equal(0, code, output)
    assert.is_true(pages.matches(output, promised), output)
    assert.equal("analysis generation verification repair verification repair verification", phases(dir))
    assert.same({ true, true, 2, "verification" }, { state(dir).success, state(dir).verified, state(dir).retry_count,
      state(dir).phase })
    local said, good = pages.run(("'%s/test_words'"):format(dir))
    assert.same({ 0, "all tests passed\n" }, { good, said })
  end)

  it("shows what each of its sets saves (F56)", function()
    local output, code = skillrt("tokens " .. SKILL)
    assert.equal(0, code, output)
    assert.matches("\nanalysis +3 +%d+ +%d+ +%d+%.%d%%", output)
    assert.matches("\nverification +1 ", output)
  end)

  it("gives up where its repairs are used up, after a last verification (R110, F51)", function()
    local output, code = skillrt(("%s --work-dir '%s' --set retries=1"):format(SKILL, dir))
    assert.equal(1, code, output)
    assert.equal("analysis generation verification repair verification", phases(dir))
    assert.same({ "failed", false, 1, 1 }, { state(dir).status, state(dir).success, state(dir).retry_count,
      #state(dir).errors_found })
    assert.matches("^FAILED line 29", state(dir).errors_found[1])
  end)

  it("goes on where it was killed in the middle of a repair, which counts once, and makes nothing again (R110, F51)", function()
    local script = R.folder() .. "/kill.sh"
    R.write(script, ([[
      STAND_IN_SECONDS=0.5 %s/skillrt %s --work-dir '%s' --quiet & pid=$!
      n=0
      while [ $n -lt 400 ] && ! grep -qs '"tool_set":"repair"' '%s'/journal/*.sj; do sleep 0.05; n=$((n + 1)); done
      kill -9 $pid
      wait $pid 2>/dev/null
      echo "ended with $?"]]):format(build, SKILL, dir, dir))
    assert.matches("ended with 137", (pages.run(("cd '%s' && sh '%s'"):format(here, script))))
    assert.equal("analysis generation verification repair", phases(dir))
    local output, code = skillrt(("resume '%s' --quiet"):format(dir))
    assert.equal(0, code, output)
    assert.equal("analysis generation verification repair verification repair verification", phases(dir))
    assert.same({ true, 2 }, { state(dir).success, state(dir).retry_count })
    local open = {}
    for _, record in ipairs(R.records(dir)) do -- no call that was answered was made again
      local place = record.c and ("%d %s"):format(record.step, record.c)
      if record.t == "result" then
        assert.is_nil(open[place])
        open[place] = true
      end
    end
  end)

  it("gives a model the tools of its phase and no others, and takes the compiler's word (R108, R113)", function()
    local server, folder, files = R.server "/echo\n", R.folder(), 0
    local wire = wires.of.anthropic
    local function raw(reply)
      files = files + 1
      R.write(("%s/%d"):format(folder, files), P.bytes(reply))
      return ("/raw?file=%s/%d"):format(folder, files)
    end
    local good = '{"status":"completed","stateUpdates":{"analysis":"three functions","verified":true}}'
    local wrong, right = R.read "examples/unit_tests/replies/repair-1.c", R.read "examples/unit_tests/replies/repair-2.c"
    server.plan(table.concat({
      raw(wire.asks { { id = "a", name = "read_file", input = { path = here .. "/examples/unit_tests/library/words.h" } },
        { id = "b", name = "write_file", input = { path = dir .. "/test_words.c", content = "too soon" } } }),
      raw(wire.says(good)),
      raw(wire.asks { { id = "c", name = "write_file", input = { path = dir .. "/test_words.c", content = wrong } },
        { id = "d", name = "compile", input = {} } }),
      raw(wire.says(good)),
      raw(wire.asks { { id = "e", name = "edit", input = { path = dir .. "/test_words.c", old = "== 3 && strcmp(word, \"lon\")",
        new = "== 6 && strcmp(word, \"lon\")" } } }),
      raw(wire.says(good)) }, "\n") .. "\n")
    local output, code = skillrt(("%s --agent anthropic --work-dir '%s'"):format(SKILL, dir),
      ("ANTHROPIC_BASE_URL='%s/plan'"):format(server.url))
    assert.equal(0, code, output)
    assert.equal("analysis generation verification repair verification", phases(dir))
    local sent = {}
    for n = 1, 6 do
      local list = {}
      for i, one in ipairs(select(2, server.request(n)).tools) do list[i] = one.name end
      sent[n] = table.concat(list, " "):gsub(" read ask_user", "")
    end
    assert.same({ "read_file list_dir grep", "read_file list_dir grep write_file", "read_file write_file compile",
      "read_file write_file compile", "read_file edit write_file compile", "read_file edit write_file compile" }, sent)
    local told = wire.all(select(2, server.request(2)))
    assert.matches("words_count", told[1][2])
    assert.matches("the tool write_file was not available", told[2][2])
    assert.equal("they compile", wire.all(select(2, server.request(4)))[2][2])
    assert.equal(right, R.read(dir .. "/test_words.c"))
    assert.equal(1, state(dir).retry_count)
    local costs = skillrt(("tokens '%s'"):format(dir))
    assert.matches("analysis +3 .* 50%.0 %(2 calls%)\n", costs)
    server.stop()
  end)
end)
