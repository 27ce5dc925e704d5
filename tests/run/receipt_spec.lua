-- receipt_spec.lua: receipts of real runs: signed by skillrt, verified by it, and by the script of docs/run/receipts.md
-- with the cryptography of Node.js.
local K = require "tests.support.cli_kit"
local envelope = require "skillrt.cli.envelope"
local json = require "skillrt.base.json"
local receipt = require "skillrt.report.receipt"

local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "acts", description = "Acts", phases = {
  { id = "work", output = "out.md", run = function(_, ctx)
    ctx.await { kind = "command", argv = { "echo", "before" } }
    if not ctx.approve { what = "May it?", arguments = { a = 1 } } then return nil, "no" end
    ctx.await { kind = "command", argv = { "echo", "hello" } }
    ctx.await { kind = "http", url = "http://127.0.0.1:1/", method = "POST" }
    ctx.await { kind = "command", idempotent = true, argv = { "sh", "-c", "head -c 100000 /dev/zero | tr '\\\\0' 1" } }
    return "the report"
  end },
} }
]]

local folder

local function run(...)
  return K.run(folder, { env = ("HOME=%s XDG_STATE_HOME=%s/.state"):format(folder.path, folder.path), ... })
end

-- A run with an approval, and its receipt.
local function make()
  folder.file("skill.lua", SKILL)
  assert.equal(3, run("run", "--trust", "skill.lua", "--work-dir", "r").code)
  folder.file("paused.receipt", run("receipt", "r").out)
  local answered = run("answer", "r", "1", "approve")
  assert.equal(0, answered.code, answered.err)
  local made = run("receipt", "r")
  assert.equal(0, made.code, made.err)
  folder.file("r.receipt", made.out)
  return made.out
end

local function statements(text)
  local list = {}
  for _, one in ipairs(K.objects(text)) do list[#list + 1] = json.decode(require("skillrt.base.base64").decode(one.payload)) end
  return list
end

-- The text with one byte changed.
local function flipped(text, at) return text:sub(1, at - 1) .. string.char(text:byte(at) ~ 1) .. text:sub(at + 1) end

describe("a receipt", function()
  before_each(function() folder = K.folder() end)
  after_each(function() getmetatable(folder).__close() end)

  it("(F97) states each call that left the run: what came back, what was not executed, what a person approved before", function()
    local list = statements(make())
    assert.equal(5, #list)
    local whole, first = list[1], list[2].predicate
    assert.same({ "acts", "completed", 4 }, { whole.predicate.skill, whole.predicate.status, #whole.predicate.acts })
    assert.same({ "echo", "command", "work", 0 }, { first.to, first.kind, first.name, #first.approvals })
    assert.same({ "replied", "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" },
      { list[3].predicate.outcome.state, list[3].predicate.outcome.sha256 })
    assert.same({ "May it?", 1 }, { list[3].predicate.approvals[1].what, list[3].predicate.approvals[1].question })
    assert.equal("not_executed", list[4].predicate.outcome.state)
    assert.equal("out.md", whole.subject[2].name)
    assert.same(whole.subject[1], list[2].subject[1])
  end)

  it("states that an outcome is unknown where the run died before a reply", function()
    folder.file("skill.lua", [[
      return require("skillrt").skill { name = "dies", description = "Dies", actions = {
        { id = "work", run = function(_, ctx)
          ctx.await { kind = "command", argv = { "sh", "-c", "kill -9 $PPID; sleep 60" } }
        end } } }]])
    assert.equal(137, run("run", "--trust", "skill.lua", "--work-dir", "r").code)
    local list = statements(run("receipt", "r").out)
    assert.same({ "executing", "unknown", "unknown" }, { list[1].predicate.status, list[2].predicate.outcome.state,
      list[2].predicate.attempts[1].outcome })
  end)

  it("is verified without the journal and with it, which may have grown; not where an output has gone", function()
    make()
    local alone, both = run("verify", "r.receipt"), run("verify", "r.receipt", "r")
    assert.same({ 0, 0 }, { alone.code, both.code }, alone.err .. both.err)
    assert.truthy(alone.out:find("not compared with a journal", 1, true))
    assert.equal(0, run("verify", "paused.receipt", "r").code)
    os.remove(folder.path .. "/r/out.md")
    assert.same({ 0, 7 }, { run("verify", "r.receipt").code, run("verify", "r.receipt", "r").code })
  end)

  -- Copies with one byte changed, all over it; not the last digits of base64, whose bits others may ignore.
  local function damaged(text)
    local names = {}
    for at = 5, #text, #text // 20 do
      if not text:sub(at, at + 1):find '[="]' then
        names[#names + 1] = ("bad%d.receipt"):format(at)
        folder.file(names[#names], flipped(text, at))
      end
    end
    local first = text:match "^(.-\n).-\n$"
    folder.file("short.receipt", first)
    return names
  end

  local SCRIPTS <const> = { javascript = "node verify.mjs", python = "python3 verify.py" }
  for language, command in pairs(SCRIPTS) do
    it(("is verified by the script in %s of its page, and not if a byte of it was changed"):format(language), function()
      local program = command:match "^%S+"
      if not os.execute("command -v " .. program .. " >/dev/null 2>&1") then return pending("needs " .. program) end
      local text, page = make(), K.read "docs/run/receipts.md"
      folder.file(command:match "%S+$", page:match("```" .. language .. "\n(.-)```"))
      local function verified(name)
        return os.execute(("cd %s && %s %s .state/skillrt/receipt.key.pub >.said 2>&1"):format(folder.path, command, name))
      end
      assert.is_true(verified "r.receipt", folder.read ".said")
      assert.truthy(folder.read(".said"):find(": completed, 4 acts", 1, true))
      local names = damaged(text)
      assert.is_true(#names > 10)
      for _, name in ipairs(names) do assert.is_nil(verified(name), name) end
      assert.is_nil(verified "short.receipt")
    end)
  end

  it("is verified by sigstore's library, and not if a byte of it was changed", function()
    local official = os.getenv "SKILLRT_OFFICIAL"
    if not official then return pending "needs SKILLRT_OFFICIAL (make test-serve)" end
    local names, lines = damaged(make()), {}
    os.execute(("cp tests/support/receipt_sigstore.mjs %s && cd %s && node receipt_sigstore.mjs %s .state/skillrt/receipt.key.pub "
      .. "r.receipt %s >.said 2>&1"):format(folder.path, folder.path, official, table.concat(names, " ")))
    for line in folder.read(".said"):gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.same({ "5", #names }, { table.remove(lines, 1), #lines })
    for i, line in ipairs(lines) do assert.equal("refused", line, names[i]) end
  end)

  it("(F97) does not hold where any byte of it was changed, a line is missing, or the key is another", function()
    local text, path, key = make(), folder.path .. "/r.receipt", folder.path .. "/.state/skillrt/receipt.key.pub"
    assert.truthy(envelope.open(path, key))
    for at = 1, #text, 23 do
      folder.file("r.receipt", flipped(text, at))
      assert.is_nil((envelope.open(path, key)), at)
    end
    local lines = {}
    for line in text:gmatch "[^\n]+\n" do lines[#lines + 1] = line end
    for _, wrong in ipairs { lines[1], text .. lines[2], lines[1] .. lines[3] .. lines[2], text .. "\n", text .. " ",
      text:sub(1, -2), "" } do
      folder.file("r.receipt", wrong)
      local list, _, code = envelope.open(path, key)
      assert.same({ nil, "corrupt" }, { list, code })
    end
    folder.file("r.receipt", text)
    os.execute(("cd %s && openssl genpkey -algorithm ed25519 -out other.pem && openssl genpkey -algorithm x25519 -out no.pem"):format(
      folder.path))
    local refused = run("verify", "r.receipt", "--key", "other.pem")
    assert.equal(7, refused.code)
    assert.matches("r.receipt: line 1: is signed by another key", refused.err, 1, true)
    os.remove(folder.path .. "/.state/skillrt/receipt.key")
    assert.matches("you have no key here; name the signer's: --key FILE", run("verify", "r.receipt").err, 1, true)
    refused = run("verify", folder.file("other.txt", "{}\n"))
    assert.same({ 7, ("skillrt: %s: is no receipt\n"):format(folder.path .. "/other.txt") }, { refused.code, refused.err })
    assert.equal(2, run("verify", "r.receipt", "--key", "no.pem").code)
    assert.equal(2, run("receipt", "r", "--key", ".state/skillrt/receipt.key.pub").code)
  end)

  it("(F97) does not hold where any byte of a record, of a value apart or of an output was changed", function()
    local list = statements(make())
    local place, whole = folder.path .. "/r", assert(receipt.statements(folder.path .. "/r"))
    assert.same(json.encode(list[1], { sorted = true }), whole[1])
    local function changed(name)
      local text = K.read(name)
      for at = 1, #text, math.max(1, #text // 60) do
        local file <close> = assert(io.open(name, "wb"))
        file:write(flipped(text, at))
        file:close()
        local called, now = pcall(receipt.statements, place, list[1].predicate.last)
        assert.is_falsy(called and now and now[1] == whole[1], ("%s: byte %d"):format(name, at))
      end
      local file <close> = assert(io.open(name, "wb"))
      file:write(text)
    end
    local blobs = io.popen(("ls %s/blobs"):format(place)):read "l"
    assert.truthy(blobs)
    changed(place .. "/out.md")
    changed(place .. "/blobs/" .. blobs)
    changed(place .. "/journal/00000001.sj")
    assert.equal(whole[1], receipt.statements(place)[1])
  end)

  it("makes a key that its owner alone can read", function()
    make()
    local modes = io.popen(("stat -c %%a %s/.state/skillrt/receipt.key"):format(folder.path)):read "l"
    assert.equal("600", modes)
  end)

  it("is refused, with what to install, where skillrt/sign.so cannot be loaded", function()
    local name, loaded = "skillrt.sign", package.loaded["skillrt.sign"]
    package.loaded[name], package.preload[name] = nil, function() error("no libcrypto.so.3", 0) end
    local key, message = envelope.key "any"
    package.loaded[name], package.preload[name] = loaded, nil
    assert.is_nil(key)
    assert.matches("install libcrypto .*\n.*no libcrypto.so.3", message)
  end)
end)
