-- kill9_spec.lua: the real program, really killed by signal 9 at random moments, and resumed
-- until it has come to its end. So many kills are demanded, not so many in some time.
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local STEPS = 200
-- So many kills must land in the middle of a run; ROUNDS and SECONDS only end what never would.
local KILLS, ROUNDS, SECONDS = os.getenv "SKILLRT_NIGHTLY" and 25 or 5, 1000, 150
local SKILLS = core.files.current() .. "/tests/run/skills/"

-- In memory where that is possible: a run's flushes would find the disk busy with others.
local function folder_in_memory()
  local folder = kit.folder()
  if core.files.stat "/dev/shm" then
    local path = "/dev/shm/" .. folder.path:match "[^/]+$"
    assert(os.execute("rm -rf " .. folder.path .. " && mkdir " .. path))
    folder.path = path
  end
  return setmetatable(folder, { __close = function() os.execute("rm -rf " .. kit.quoted(folder.path)) end })
end

-- The whole journal, segment behind segment.
local function journal(run)
  local texts = {}
  for segment = 1, math.huge do
    local text = kit.read(("%s/journal/%08d.sj"):format(run, segment))
    if not text then
      return table.concat(texts)
    end
    texts[segment] = text
  end
end

local function payloads(run)
  local list = {}
  for line in journal(run):gmatch "[^\n]*\n" do
    local record = assert(json.decode(line:match "^J1 %S+ %S+ %S+ %S+ %S+ %S+ ({.*})\n$"))
    if record.t ~= "journal" then -- the store's own
      list[#list + 1] = record
    end
  end
  return list
end

-- A finished run has done each step once.
local function check(run)
  local seen, marks, done = {}, {}, 0
  local list = payloads(run)
  for _, record in ipairs(list) do
    if record.t == "done" then
      assert.is_nil(seen[record.step], "a step was done twice")
      assert.is_nil(marks[record.context.mark], "a mark was set twice")
      seen[record.step], marks[record.context.mark] = true, true
      done = done + 1
      assert.equal(done, record.set.n)
    end
  end
  assert.equal(STEPS, done)
  assert.equal("completed", list[#list].status)
end

-- The next kill's latest moment in ms: sooner where the program was over before it, later where
-- the program had not got anywhere. So it fits any machine, whatever else that does.
local function next_latest(latest, over, grew)
  return over and math.max(1, latest / 1.3) or grew and latest or math.min(20000, latest * 1.3)
end

-- Kills runs of a script until KILLS have landed and `resumes` of them, at least, were resumed from a record of all the
-- books. A resumed process writes no such record: it has read the journal before it reads the script that asks for it.
local function survives(what, script, environment, resumes)
  local folder <close> = folder_in_memory()
  local deadline = core.mono_ns() + SECONDS * 1e9
  local kills, runs, rounds, from_books, latest = 0, 0, 0, 0, 30
  local run, size
  repeat
    rounds = rounds + 1
    if not run then
      runs = runs + 1
      run, size = folder.path .. "/run" .. runs, 0
    end
    local begun = journal(run):find '"t":"run"[^\n]*\n' ~= nil
    local words = begun and { "resume", run } or { SKILLS .. script, "--work-dir", run }
    words[#words + 1], words.env = "--quiet", environment
    from_books = from_books + (begun and journal(run):find('"t":"books"}\n', 1, true) and 1 or 0)
    local enough = kills >= KILLS and from_books >= resumes
    local ended = enough and kit.run(folder, words) or kit.killed_after(folder, words, latest * math.random())
    -- it may have been killed behind its last record
    local over = ended.code == 0
      or (ended.code == 2 and (ended.out .. (ended.err or "")):find("the run is completed", 1, true))
    local grew = #journal(run) > size
    if over then
      check(run)
      run = nil
    else
      assert.equal(137, ended.code, ended.out .. (ended.err or ""))
      kills, size = kills + (grew and 1 or 0), #journal(run)
    end
    latest = next_latest(latest, over, grew)
  until (enough and not run) or rounds == ROUNDS or core.mono_ns() > deadline
  assert.is_true(kills >= KILLS and from_books >= resumes and not run,
    ("only %d kills landed in %d rounds, %d resumes from books"):format(kills, rounds, from_books))
  print(("kill -9, %s: %d kills in %d runs, %d rounds, %d resumes from books, 0 lost, 0 duplicated"):format(what, kills,
    runs, rounds, from_books))
end

describe("kill -9 on the program (R87, F41)", function()
  before_each(function() math.randomseed(20, 1) end)

  it("loses and repeats no step where runs survive power cuts", function()
    survives("power", "count.lua", "CRASH_DURABILITY=power", 0)
  end)
  it("nor where they survive only the process", function()
    survives("process", "count.lua", "CRASH_DURABILITY=process", 0)
  end)
  it("nor where a resume begins at a record of all the books", function()
    local environment = "CRASH_DURABILITY=process CRASH_BOOKS=1000 CRASH_SKILL=" .. kit.quoted(SKILLS .. "count.lua")
    survives("with books", "with_books.lua", environment, 2)
  end)
end)
