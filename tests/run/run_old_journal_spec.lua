-- run_old_journal_spec.lua: journals of the form before there were calls: shown always, gone on with where no step
-- is open, and else refused with a clear word.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

-- CRC-32C of a text, bit by bit.
local function crc32c(text)
  local crc = 0xffffffff
  for i = 1, #text do
    crc = crc ~ text:byte(i)
    for _ = 1, 8 do
      crc = crc >> 1 ~ (crc & 1 == 1 and 0x82f63b78 or 0)
    end
  end
  return crc ~ 0xffffffff
end

-- Writes a journal's lines anew, each record as `change` gives it.
local function rewrite(dir, change)
  local path, out, previous = dir .. "/journal/00000001.sj", {}, "00000000"
  for seq, batch, mark, payload in R.read(path):gmatch "J1 %x+ (%x+) (%x+) (%x) %x+ %x+ ({[^\n]*})\n" do
    local record = json.decode(payload)
    if change(record) then
      payload = json.encode(record)
    end
    local covered = (" %s %s %s %s %08x %s\n"):format(seq, batch, mark, previous, #payload, payload)
    previous = ("%08x"):format(crc32c(covered))
    out[#out + 1] = "J1 " .. previous .. covered
  end
  R.write(path, table.concat(out))
  os.remove(dir .. "/state.json")
end

local function definition(answer, condition)
  return { actions = {
    { id = "a", priority = 1, run = R.sets { a = 1 } },
    { id = "b", when = condition, idempotent = true, run = function(_, ctx)
      return { b = assert(ctx.await { kind = "command", argv = { "echo", answer } }).stdout }
    end },
  } }
end

-- A run as the older form has it, which knew no calls but what was sent and what came.
local function old(dir)
  rewrite(dir, function(record)
    if record.t == "run" then
      record.format = nil
    elseif record.t == "call" then
      record.t, record.x, record.c = "send", 1, nil
    elseif record.t == "result" then
      record.t, record.x, record.c = "reply", 1, nil
    else
      return false
    end
    return true
  end)
end

describe("a journal written before there were calls", function()
  after_each(R.clean)

  it("is gone on with where no step is open", function()
    local dir = R.folder() .. "/run"
    assert.equal("blocked", assert(R.run(definition("yes", "go === true"), { work_dir = dir })).reason)
    old(dir)
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition "yes") }))
    assert.same({ "completed", 1, "yes\n" }, { result.status, result.state.a, result.state.b })
  end)

  it("is shown, and refused where a step is under way", function()
    local dir, copy = R.folder() .. "/run", R.folder() .. "/copy"
    assert.equal("completed", assert(R.run(definition "yes", { work_dir = dir })).status)
    local sent
    for i, record in ipairs(R.records(dir)) do
      sent = sent or record.t == "call" and i
    end
    R.cut(dir, copy, sent)
    old(copy)
    local result, message, code = skillrt.resume(copy, { skill = R.skill(definition "yes") })
    assert.same({ nil, "newer" }, { result, code })
    assert.truthy(message:find("knew no calls, and 1 of its steps are under way", 1, true), message)
    local list, books = R.records(copy)
    assert.same({ 1, "send" }, { books.open, list[#list].t })
    assert.equal(7, require("skillrt.cli.exit_codes").of_error(code))
  end)
end)
