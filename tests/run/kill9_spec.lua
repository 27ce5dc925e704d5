-- kill9_spec.lua: the real program, really killed by signal 9 at seeded random moments, and
-- resumed until it has come to its end.
local core = require "skillrt.core"
local json = require "skillrt.json"
local kit = require "tests.support.cli_kit"

local ROUNDS, SECONDS, STEPS = 50, 20, 200
local SCRIPT = core.files.current() .. "/tests/run/skills/count.lua"

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

-- Runs the program for some ms, then kills it; its exit code (137: it was killed).
local function killed_after(folder, durability, words, ms)
  local command = ("CRASH_DURABILITY=%s %s %s --quiet >%s/out 2>&1 & p=$!; sleep %.4f; kill -9 $p 2>/dev/null; wait $p"):format(
    durability, kit.quoted(kit.program), words, kit.quoted(folder.path), ms / 1000)
  local _, how, code = os.execute(("sh -c %s 2>/dev/null"):format(kit.quoted(command)))
  return how == "signal" and 128 + code or code
end

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

-- The payloads of all segments, in order.
local function payloads(run)
  local list = {}
  for segment = 1, math.huge do
    local text = read(("%s/journal/%08d.sj"):format(run, segment))
    if not text then
      return list
    end
    for line in text:gmatch "[^\n]*\n" do
      local record = assert(json.decode(line:match "^J1 %S+ %S+ %S+ %S+ %S+ %S+ ({.*})\n$"))
      if record.t ~= "journal" then -- the store's own
        list[#list + 1] = record
      end
    end
  end
end

-- How many steps the finished run did, or what is wrong with it.
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

local function survives(durability)
  local folder <close> = folder_in_memory()
  math.randomseed(20, durability == "power" and 1 or 2)
  local began, kills, runs, run, begun = core.mono_ns(), 0, 0, nil, false
  -- full rounds, and the last run to its end
  for round = 1, ROUNDS * 3 do
    local late = round > ROUNDS or core.mono_ns() - began > SECONDS / 2 * 1e9
    if not run then
      if late then break end
      runs = runs + 1
      run, begun = folder.path .. "/run" .. runs, false
    end
    local words = begun and ("resume " .. run) or ("%s --work-dir %s"):format(kit.quoted(SCRIPT), run)
    local code = killed_after(folder, durability, words, late and 5000 or 4 + math.random() * 26)
    begun = begun or (read(run .. "/journal/00000001.sj") or ""):find '"t":"run"[^\n]*\n' ~= nil
    -- it may have been killed behind its last record
    local over = code == 2 and read(folder.path .. "/out"):find("the run is completed", 1, true)
    if code == 0 or over then
      check(run)
      run = nil
    else
      kills = kills + 1
      assert.equal(137, code, read(folder.path .. "/out"))
    end
  end
  assert.is_nil(run, "the last run has come to its end")
  assert.is_true(kills > 10, "too few kills: " .. kills)
  print(("kill -9, %s: %d kills in %d runs, 0 lost, 0 duplicated"):format(durability, kills, runs))
end

describe("kill -9 on the program (R87, F41)", function()
  it("loses and repeats no step where runs survive power cuts", function()
    survives "power"
  end)
  it("nor where they survive only the process", function()
    survives "process"
  end)
end)
